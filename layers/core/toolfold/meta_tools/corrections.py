"""Make the call that was meant of one that failed: every value that the caller gave and the tool takes, and no other.

A value that the caller did not give is never made up, but for a choice of form (an enum, a number, a boolean) that is
required: the error names it. A call that lacks more than that is not proposed; the error names what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold import messages
from toolfold.catalog.json_schema import allowed_types, keyword, properties
from toolfold.dates import impossible_date
from toolfold.errors import InvalidArguments
from toolfold.execution.argument_repair import read_value, rename
from toolfold.execution.argument_values import listed_values
from toolfold.execution.validation import ArgumentValidator, validator_of
from toolfold.fuzzy import closest_matches, normalize
from toolfold.meta_tools.arguments import escape, is_blank, next_call
from toolfold.wording import joined, names_call

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.wording import Text

__all__ = ["Correction", "call_or_description", "correct", "with_next_call"]

_OPTIONS = ("select", "max_tokens", "fresh")
_MAX_VALUE = 40
"""Characters of an argument that is proposed under another name."""

_WITH = re.compile(r"with (?P<parameter>\w+) also (?P<column>\w+)")
"""A column that an answer has only with a parameter; the columns after it need the same."""

_MAX_NAMED, _MAX_PLACED = 5, 20
"""Unknown arguments that a note names, and that are compared with the parameters: a call may have any number."""

_PLAIN = re.compile(r"[\w.-]+")


class Correction(NamedTuple):
    """A corrected call of a tool.

    Attributes:
        arguments: those of the tool.
        select: the rows requested by arguments which are columns of the answer; empty: none.
        examples: choices of form that the caller has not made so: those of the tool's example, or the closest.
        left_out: arguments that the tool has no place for.
        is_complete: whether the tool takes the call.
    """

    arguments: dict[str, Any]
    select: str
    examples: tuple[str, ...]
    left_out: tuple[str, ...]
    is_complete: bool

    def call(self, tool: Tool, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the detail of an error with this call; empty where it is not complete, or long."""
        if not self.is_complete:
            return {}
        beside = {name: options[name] for name in _OPTIONS if not is_blank(options.get(name))}
        if self.select:
            given = beside.get("select")
            beside["select"] = f"{self.select}; {given}" if isinstance(given, str) else self.select
        return next_call("TOOL_CALL", {"tool_name": tool.name, "arguments": self.arguments, **beside})

    def note(self, tool: Tool) -> str | Text:
        """Return the sentence that says what of the call was not requested, or of the question is not in it."""
        texts = [messages.EXAMPLE if len(self.examples) == 1 else messages.EXAMPLES] if self.examples else []
        notes = [text.filled(names=", ".join(self.examples)) for text in texts]
        if self.left_out:
            names = ", ".join(map(escape, self.left_out[:_MAX_NAMED]))
            notes.append(messages.LEFT_OUT.filled(names=names, tool=tool.name, has=tool.summary))
        return joined(*notes) if notes else ""


def with_next_call(catalog: Catalog, arguments: Mapping[str, Any], error: InvalidArguments) -> InvalidArguments:
    """Return ``error`` with the call that would work, where it lists the problems of a tool's arguments.

    Args:
        catalog: the current catalog.
        arguments: those of the TOOL_CALL that failed, in the documented form.
        error: the failure.
    """
    problems = error.details.get("problems")
    tool = catalog.get(arguments["tool_name"])
    if not problems or "next_call" in error.details or tool is None:
        return error
    if names_call(error.next_step):
        return error.changed(schema=None)  # one next call, not two that differ
    refused = [problem["parameter"] for problem in problems]
    correction = correct(catalog, tool, arguments.get("arguments") or {}, refused)
    following = correction.call(tool, arguments)
    if not following:
        return error
    step = joined(messages.CALL_AGAIN, correction.note(tool))
    return error.changed(next_step=step, schema=None, **following)


def call_or_description(
    catalog: Catalog, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any] = {}
) -> dict[str, Any]:
    """Return the detail of an error with a call of the tool ``name``, or with its TOOL_GET where values are missing."""
    tool = catalog.get(name)
    if tool is None:
        return {}
    return correct(catalog, tool, arguments).call(tool, options) or next_call("TOOL_GET", {"tool_name": name})


def correct(catalog: Catalog, tool: Tool, arguments: Mapping[str, Any], refused: Sequence[str] = ()) -> Correction:
    """Return the call of ``tool`` that ``arguments`` mean.

    Args:
        catalog: the current catalog.
        tool: the tool.
        arguments: as the caller sent them.
        refused: the parameters that the source does not take, beside those that the schema refuses.
    """
    validator = validator_of(catalog, tool)
    given = rename(validator, arguments).arguments
    problems = [problem["parameter"] for problem in validator.resolve(arguments).problems]
    wrong = {name.partition(".")[0].partition("[")[0] for name in (*problems, *refused)}
    known = validator.properties
    corrected = {name: value for name, value in given.items() if name in known and name not in wrong}
    for name in [name for name in given if name in known and name in wrong]:
        if (value := _closest_value(validator, tool, name, given[name])) is not None:
            corrected[name] = value
    others = (item for item in given.items() if item[0] not in known and not is_blank(item[1]))
    unknown = dict(islice(others, _MAX_PLACED))
    select, needed = _as_select(tool, unknown)
    placed = {name: _place(tool, name, value, known, corrected, len(unknown)) for name, value in unknown.items()
              if name not in select}  # fmt: skip
    corrected |= {target: unknown[name] for name, target in placed.items() if target}
    corrected |= {name: True for name in needed if name in known and name not in given}
    required = tool.parameters.get("required", ())
    offered = {
        name: options[0]
        for name in given
        if name in known
        and name not in corrected
        and (options := closest_matches(str(given[name]), _options(tool, name)))
    }
    corrected |= offered
    examples = [
        name
        for name in required
        if name not in corrected and name not in given and name in tool.example and _is_form(tool, name)
    ]
    corrected |= {name: tool.example[name] for name in examples}
    lost = [name for name in given if name in known and name not in corrected and not is_blank(given[name])]
    dropped = [name for name in lost if name not in required and _is_form(tool, name)]
    is_complete = lost == dropped
    lists = {name: value[0] for name, value in corrected.items() if isinstance(value, list) and value}
    single = {
        **corrected,
        **{name: item for name, item in lists.items() if not validator.accepts(name, corrected[name])},
    }
    is_complete = is_complete and not validator.resolve(single).problems
    left_out = (*dropped, *(name for name, target in placed.items() if not target))
    return Correction(corrected, " and ".join(select.values()), (*offered, *examples), left_out, is_complete)


def _closest_value(validator: ArgumentValidator, tool: Tool, name: str, value: Any) -> Any:
    """Return the value that a refused one means: the closest option or day, or a list; None: none is known."""
    rule = validator.properties[name]
    listed = listed_values(value)
    may_list = len(listed) == 1 or (tool.effect == "read" and not tool.needs_approval)
    if listed and may_list and all(validator.accepts(name, read_value(validator, name, item)) for item in listed):
        return listed[0] if len(listed) == 1 else listed
    if items := tool.call.get("lists", {}).get(name, {}).get("items"):
        return _closest_items(validator, name, value, items)
    if isinstance(value, str) and not value.isdecimal() and (wrong := impossible_date(value)) and wrong.nearest:
        return wrong.nearest
    options = keyword(validator.schema, rule, "enum")
    if isinstance(options, list) and isinstance(value, str | int | float):
        return _closest_option(str(value), [option for option in options if isinstance(option, str)])
    return None


def _closest_items(validator: ArgumentValidator, name: str, value: Any, known: Sequence[str]) -> str | None:
    """Return a list in one text with the closest known item for each; None where one resembles none."""
    separator = validator.separator(name)
    given = value if isinstance(value, list) else str(value).split(separator)
    read = [_closest_option(str(item).strip(), known) for item in given]
    return separator.join(item for item in read if item) if read and all(read) else None


def _closest_option(text: str, options: Sequence[str]) -> str | None:
    """Return the option that ``text`` resembles, or begins; None where none or several do."""
    digits = re.findall(r"\d+", text)
    options = [option for option in options if re.findall(r"\d+", option) == digits]  # another number is another value
    begun = [option for option in options if normalize(text) and normalize(option).startswith(normalize(text))]
    closest = begun if len(begun) == 1 else closest_matches(text, options)
    return closest[0] if closest else None


def _place(
    tool: Tool, name: str, value: Any, known: Iterable[str], corrected: Mapping[str, Any], unknown_count: int
) -> str:
    """Return the parameter that an unknown argument may mean: the one with a like name, or the only one missing."""
    closest = closest_matches(name, [parameter for parameter in known if parameter not in corrected])
    if closest:
        return closest[0]
    missing = [one for one in tool.parameters.get("required", ()) if one not in corrected]
    is_value = isinstance(value, str) and 0 < len(value) <= _MAX_VALUE and "key" not in normalize(name)
    is_only = unknown_count == len(missing) == 1 and isinstance(tool.example.get(missing[0]), str)
    return missing[0] if is_value and is_only else ""


def _options(tool: Tool, name: str) -> list[str]:
    """Return the texts that a choice of form allows; empty for another parameter."""
    options = keyword(tool.parameters, properties(tool.parameters).get(name, {}), "enum")
    return [option for option in options if isinstance(option, str)] if isinstance(options, list) else []


def _is_form(tool: Tool, name: str) -> bool:
    """Return whether a parameter is a choice of form, whose value does not say what the question is about."""
    rule = properties(tool.parameters).get(name, {})
    is_number = not allowed_types(tool.parameters, rule) - {"integer", "number", "boolean"}
    return is_number or isinstance(keyword(tool.parameters, rule, "enum"), list)


def _as_select(tool: Tool, unknown: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Return the condition of ``select`` for each argument that is a column, and the parameters these need."""
    columns: dict[str, tuple[str, str]] = {}
    needed = ""
    for text in _columns(tool):
        found = _WITH.fullmatch(text)
        needed = found["parameter"] if found else needed
        column = found["column"] if found else text
        columns[normalize(column)] = (column, needed)
    clauses: dict[str, str] = {}
    parameters: list[str] = []
    for name, value in unknown.items():
        column, parameter = columns.get(normalize(name), ("", ""))
        if column and isinstance(value, str | int | float) and not isinstance(value, bool):
            text = str(value) if _PLAIN.fullmatch(str(value)) else "'" + str(value).replace("'", "''") + "'"
            clauses[name] = f"{column} = {text}"
            parameters += [parameter] if parameter else []
    return clauses, parameters


def _columns(tool: Tool) -> Sequence[str]:
    title, _, names = tool.returns.partition("\n")[0].partition(": ")
    return names.split(",") if title == "rows" else []
