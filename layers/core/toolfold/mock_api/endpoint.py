"""An endpoint of the mock API: a tool of the catalog, the parameters that it takes, and the form of its answer.

What the catalog does not say of a function of Alpha Vantage is in ``functions.csv``: ``answer``, what computes it, and
else the number of its ``rows``, or ``periods`` or ``year``, and the ``minutes`` between them; its ``interval``; what an
``unknown`` symbol gets, an error body, ``nothing`` (``{}``) or an answer without rows; and whether symbols are those of
a ``company``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import jsonschema_rs

from toolfold.catalog.entries import Source, Tool
from toolfold.mock_api.market import read_table

Query = Sequence[tuple[str, str]]

_NUMBERED = re.compile(r"^\d+(\.\d+)?[.:] ")
_OUTLINE = re.compile(r"(rows|fields|meta): ([^;]*)")
_NESTED = re.compile(r"([^\[:{]+?)(?:: )?(\[\]|\[?\{(.*)\}\]?)?")

_FUNCTIONS = {line["function"]: line for line in read_table("functions.csv")}


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


def _json_or_text(text: str) -> Any:
    """Return the JSON that a text is, or the text."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


def _readings(sent: Sequence[str]) -> list[Any]:
    """Return what the texts of one parameter may mean: a text or JSON, or a list of these, also behind commas."""
    lists = list(sent), sent[0].split(",")
    return [sent[0], _json_or_text(sent[0]), *lists, *([_json_or_text(text) for text in texts] for texts in lists)]


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

    def text(self, name: str) -> str:
        """Return the first value of a parameter, or an empty string."""
        return next(iter(self.values.get(name, ())), "")

    def items(self, name: str) -> list[str]:
        """Return the parts of a list separated by commas."""
        return split_list(self.text(name))


class Endpoint:
    """What the mock API knows of one tool.

    Args:
        tool: The tool.
        source: The source that has it.
        siblings: Parameter of any tool of the source → JSON Schema, which also describes a column of that name.

    Attributes:
        function: The name by which the source knows it.
        facts: Its line of ``functions.csv``, or the one without a name.
        path: The path of a tool that has one of its own; empty for a function.
        label: What some functions call themselves: ``Historical Options``.
        has_json: Whether JSON can be requested.
        is_typed: Whether numbers are numbers in JSON. Alpha Vantage writes them as texts.
        rules: Argument → JSON Schema.
        rows: The paths of the rows in a JSON answer; an empty one for the answer itself.
        kind: ``list``, ``map`` (of a time to a row), ``object`` or ``names``.
        columns: The keys of a row in JSON, some with what is in them: ``topics[{topic, relevance_score}]``.
        keys: The keys beside the rows of a JSON answer, with those of the rows in their place.
        csv_header: The header of the CSV.
    """

    def __init__(self, tool: Tool, source: Source, siblings: Mapping[str, Mapping[str, Any]]) -> None:
        self.tool, self.source, self.siblings, answer = tool, source, siblings, tool.answer
        self.function, self.path = str(tool.call["function"]), str(tool.call.get("path", ""))
        self.facts: Mapping[str, str] = _FUNCTIONS.get(self.function, _FUNCTIONS[""])
        self.label = self.function.replace("_", " ").title()
        self.has_json, self.is_typed = "json" in tool.formats, source.kind != "alpha_vantage"
        self.rules: Mapping[str, Mapping[str, Any]] = tool.parameters.get("properties", {})
        self.rows = tuple(map(str, answer["rows"]))
        kind = answer.get("kind")
        self.kind = kind if kind not in (None, "", "typed") else "list" if self.rows or not self.has_json else "object"
        # The outline that an importer made of the declared response: its rows or fields, and what is beside them.
        outline = {part: names.split(",") for part, names in _OUTLINE.findall(tool.returns)}
        header = (answer["csv"] or "").split(",")
        columns = answer.get("columns") or outline.get("rows") or outline.get("fields") or header
        self.columns = tuple(filter(None, columns))
        self.keys = tuple(answer.get("keys") or (*outline.get("meta", ()), *filter(None, self.rows)))
        self.csv_header = tuple(header) if answer["csv"] else tuple(map(strip_number, self.columns))

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
        for name, rule in self.rules.items():
            sent, listed = get_values(query, name), self.tool.call.get("lists", {}).get(name)
            if sent:
                allowed, is_valid = (listed or {}).get("items"), self._validators[name].is_valid
                for group in [(part,) for part in split_list(sent[0])] if listed else [sent]:
                    is_known = not allowed or group[0].partition("(")[0] in allowed
                    if not is_known or not any(map(is_valid, _readings(group))):
                        return None
                values[name] = sent
            elif (default := rule.get("default")) is not None:
                values[name] = (str(default).lower() if isinstance(default, bool) else str(default),)
        required = self.tool.parameters.get("required", ())
        choices = [set(one.get("required", ())) for one in self.tool.parameters.get("anyOf", ())]
        if not all(get_values(query, name) for name in required) or (
            choices and not any(choice <= values.keys() for choice in choices)
        ):
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
