"""An endpoint of the mock API: a tool of the catalog, the parameters that it takes, and the form of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any

import jsonschema_rs

from toolfold.catalog.entries import Source, Tool

Query = Sequence[tuple[str, str]]

_NUMBERED = re.compile(r"^\d+(\.\d+)?[.:] ")
_OUTLINE = re.compile(r"(rows|fields|meta): ([^;]*)")
_NESTED = re.compile(r"([^\[:{]+?)(?:: )?(\[\]|\[?\{(.*)\}\]?)?")


def get_values(query: Query, name: str) -> tuple[str, ...]:
    """Return every value sent for ``name``, in order. An empty value counts as not sent."""
    return tuple(value for key, value in query if key == name and value != "")


def get_first(query: Query, name: str) -> str:
    """Return the first value sent for ``name``, or an empty string."""
    return next(iter(get_values(query, name)), "")


def split_list(text: str) -> list[str]:
    """Split a list at its commas, except inside brackets as in ``HISTOGRAM(bins=5,x=1)``."""
    return [part.strip() for part in re.split(r",(?![^()]*\))", text)] if text else []


def strip_number(key: str) -> str:
    """Return a key without its number: ``price`` for ``"05. price"``, ``Time`` for ``"5: Time"``."""
    return _NUMBERED.sub("", key)


_TIME = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}T\d{4}")
"""A text that is refused unless that time exists."""


def _exists(text: str) -> bool:
    """Return whether a text is not blank, nor a time that does not exist."""
    try:
        return bool(text.strip()) and not (_TIME.fullmatch(text) and not datetime.fromisoformat(text))
    except ValueError:
        return False


def _typed(text: str) -> Any:
    """Return the JSON that a text is, or the text."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


def _readings(sent: Sequence[str]) -> Iterator[Any]:
    """Yield what the texts of one parameter may mean: a text or JSON, or a list of these, also behind commas."""
    yield from (sent[0], _typed(sent[0]))
    for texts in (list(sent), sent[0].split(",")):
        yield from (texts, [_typed(text) for text in texts])


@dataclass(frozen=True, slots=True)
class Request:
    """A validated request.

    Attributes:
        endpoint: What is requested.
        values: Every argument that was sent or has a default.
        today: The newest day of the data.
    """

    endpoint: Endpoint
    values: Mapping[str, tuple[str, ...]]
    today: date

    def __hash__(self) -> int:
        return hash((self.endpoint.function, self.today, frozenset(self.values.items())))

    @property
    def function(self) -> str:
        """The name of the endpoint."""
        return self.endpoint.function

    def text(self, name: str) -> str:
        """Return the first value of a parameter, or an empty string."""
        return next(iter(self.values.get(name, ())), "")

    def items(self, name: str) -> list[str]:
        """Return the parts of a list separated by commas."""
        return split_list(self.text(name))


@dataclass(frozen=True)
class Endpoint:
    """What the mock API knows of one tool: all of it is from the catalog.

    Attributes:
        tool: The tool.
        source: The source that has it.
        siblings: Parameter of any tool of the source → JSON Schema, which also describes a column of that name;
            empty for Alpha Vantage.
    """

    tool: Tool
    source: Source
    siblings: Mapping[str, Mapping[str, Any]]

    @property
    def function(self) -> str:
        """The name by which the source knows it."""
        return str(self.tool.call["function"])

    @property
    def path(self) -> str:
        """The path of a tool that has one of its own; empty for a function."""
        return str(self.tool.call.get("path", ""))

    @property
    def label(self) -> str:
        """What some functions call themselves: ``Historical Options``."""
        return self.function.replace("_", " ").title()

    @property
    def has_json(self) -> bool:
        """Whether JSON can be requested."""
        return "json" in self.tool.formats

    @property
    def is_typed(self) -> bool:
        """Whether numbers are numbers in JSON. Alpha Vantage writes them as texts."""
        return self.source.kind != "alpha_vantage"

    @property
    def rules(self) -> Mapping[str, Mapping[str, Any]]:
        """Argument → JSON Schema."""
        properties: Mapping[str, Any] = self.tool.parameters.get("properties", {})
        return properties

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The keys of a row in JSON, some with what is in them: ``topics[{topic, relevance_score}]``."""
        answer = self.tool.answer
        found = answer.get("columns") or self._outline.get("rows") or self._outline.get("fields")
        return tuple(filter(None, found or (answer["csv"] or "").split(",")))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys beside the rows of a JSON answer, with those of the rows in their place."""
        return tuple(self.tool.answer.get("keys") or (*self._outline.get("meta", ()), *filter(None, self.rows)))

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The paths of the rows in a JSON answer; an empty one for the answer itself."""
        return tuple(self.tool.answer["rows"])

    @property
    def kind(self) -> str:
        """``list``, ``map`` (of a time to a row), ``object`` or ``names``."""
        kind = self.tool.answer.get("kind")
        return str(kind) if kind and kind != "typed" else "list" if self.rows or not self.has_json else "object"

    @cached_property
    def csv_header(self) -> tuple[str, ...]:
        """The header of the CSV."""
        known = self.tool.answer["csv"]
        return tuple(known.split(",")) if known else tuple(strip_number(key) for key in self.columns)

    @cached_property
    def _outline(self) -> Mapping[str, list[str]]:
        """The outline that an importer made of the declared response: its rows or fields, and what is beside them."""
        return {part: names.split(",") for part, names in _OUTLINE.findall(self.tool.returns)}

    @cached_property
    def _validators(self) -> Mapping[str, jsonschema_rs.Validator]:
        """Argument → what checks its value."""
        shared = {"$defs": self.tool.parameters.get("$defs", {})}
        return {name: jsonschema_rs.validator_for({**shared, **rule}) for name, rule in self.rules.items()}

    @cached_property
    def _arguments(self) -> Mapping[tuple[str, str], str]:
        """Place and name in a request → argument; a whole body has no name."""
        body, bound = self.tool.call.get("body", {}), self.tool.call.get("parameters", {})
        found = {("body", name): argument for argument, name in body.get("fields", {}).items()}
        found |= {("body", ""): body["argument"]} if "argument" in body else {}
        for argument in [*bound, *self.rules]:
            how = bound.get(argument, {})
            name = how.get("name", argument)
            place = how.get("in", "path" if f"{{{name}}}" in self.path else "query")
            if argument not in found.values():
                found[place, name.lower() if place == "header" else name] = argument
        return found

    def arguments_of(self, sent: Iterable[tuple[str, str, str]]) -> Query:
        """Return place, name and value of what was sent as pairs of argument and value."""
        return [(self._arguments.get((place, name), name), value) for place, name, value in sent]

    def parse(self, query: Query, today: date) -> Request | None:
        """Return the validated request, or None when a required argument is missing or a value is invalid.

        Arguments that the endpoint does not have are ignored, as the vendor does.
        """
        values: dict[str, tuple[str, ...]] = {}
        lists, required = self.tool.call.get("lists", {}), self.tool.parameters.get("required", ())
        for name, rule in self.rules.items():
            sent, is_valid = get_values(query, name), self._validators[name].is_valid
            listed = lists.get(name)
            parts = [part for text in sent[:1] for part in split_list(text)] if listed else list(sent)
            groups = [[part] for part in parts] if listed else [parts] if parts else []
            if (not sent and name in required) or not all(
                all(map(_exists, group)) and any(map(is_valid, _readings(group))) for group in groups
            ):
                return None
            allowed = (listed or {}).get("items")
            if allowed and not all(part.partition("(")[0] in allowed for part in parts):
                return None
            default = rule.get("default")
            if sent or default is not None:
                values[name] = sent or (str(default).lower() if isinstance(default, bool) else str(default),)
        choices = [set(one.get("required", ())) for one in self.tool.parameters.get("anyOf", ())]
        if choices and not any(choice <= values.keys() for choice in choices):
            return None
        return Request(self, values, today)


def parse_column(column: str) -> tuple[str, list[str] | None]:
    """Return the key of a column, and the columns of the list in it; ``[]`` for a list of texts, None without a list.

    >>> parse_column("topics[{topic, relevance_score}]"), parse_column("aliases[]"), parse_column("1. open")
    (('topics', ['topic', 'relevance_score']), ('aliases', []), ('1. open', None))
    """
    match = _NESTED.fullmatch(column)
    if match is None or match[2] is None:
        return column, None
    return match[1], match[3].split(", ") if match[3] else []
