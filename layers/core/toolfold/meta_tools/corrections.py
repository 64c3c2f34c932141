"""Make the call that was meant of one that failed: every value that the caller gave and the tool takes, and no other.

A value that the caller did not give is never made up, but for a choice of form (an enum, a number, a boolean) that is
required: the error names it. A call that lacks more than that is not proposed; the error names what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold import messages
from toolfold.catalog.json_schema import allowed_types, keyword, properties
from toolfold.dates import impossible_date, parse_date
from toolfold.errors import CallError, InvalidArguments
from toolfold.execution.argument_reader import ArgumentReader, reader_of
from toolfold.execution.argument_values import REQUESTED, bound_of, listed_values, numbers
from toolfold.execution.validation_problems import Problem, parameter_of
from toolfold.fuzzy import closest_matches, names_beginning, normalize
from toolfold.meta_tools.arguments import is_blank, next_call
from toolfold.meta_tools.definitions import MAX_CALLS
from toolfold.results.values import has_decimal_comma, parse_number, with_decimal_point
from toolfold.text_safety import quoted, shortened
from toolfold.wording import CallText, Text, joined, names_call

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog


_OPTIONS = ("select", "max_tokens", "fresh", "inspect")
_WITH = re.compile(r"with (?P<parameter>\w+) also (?P<column>\w+)")
"""A column that an answer has only with a parameter; the columns after it need the same."""

_MAX_NAMED, _MAX_PLACED = 5, 20
"""Unknown arguments that a note names, and that are compared with the parameters: a call may have any number."""

_COUNTED = re.compile(r"(?:limit|last) \d+")
"""Steps which count off rows, after those that choose them."""

_PLAIN = re.compile(r"[^\W\d][\w.-]*|-?\d+(?:\.\d+)?|\d{4}-\d\d-\d\d")
"""A value without quotes; 100-200 is a difference without them."""

_COMPARED = re.compile(r"[<>]=? ?-?\d+(?:\.\d+)?")
_ENDS = re.compile(r"(\d+(?:\.\d+)?) ?(?:-|to|\.\.) ?(\d+(?:\.\d+)?)")


class Correction(NamedTuple):
    """A corrected call of a tool.

    Attributes:
        arguments: those of the tool.
        select: the rows requested by arguments which are columns of the answer; empty: none.
        examples: choices of form that the caller has not made so: those of the tool's example, or the closest.
        left_out: arguments that the tool does not take.
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
        if not tool.source:
            return next_call(tool.name, self.arguments)
        beside = _beside(tool, self.select, options)
        return next_call("TOOL_CALL", {"tool_name": tool.name, "arguments": self.arguments, **beside})

    def note(self, tool: Tool) -> str | Text:
        """Return the sentence that says what of the call was not requested, or of the question is not in it."""
        texts = [messages.EXAMPLE if len(self.examples) == 1 else messages.EXAMPLES] if self.examples else []
        notes = [text.filled(names=", ".join(self.examples)) for text in texts]
        if self.left_out:
            names = ", ".join(map(shortened, self.left_out[:_MAX_NAMED]))
            text = messages.LEFT_OUT if tool.source else messages.LEFT_OUT_OF_META
            notes.append(text.filled(names=names, tool=tool.name, has=tool.summary))
        return joined(*notes) if notes else ""


def with_next_call(catalog: Catalog, arguments: Mapping[str, Any], error: CallError) -> CallError:
    """Return ``error`` with the call that would work, where it lists the problems of a tool's arguments.

    A call of the tool that it names has the options of the caller.
    """
    tool = catalog.get(arguments["tool_name"])
    if "next_call" in error.details or tool is None:
        return error
    if names_call(error.next_step):  # one next call, not two that differ
        named = reader_of(catalog, tool).rename(arguments.get("arguments") or {}).arguments
        step = _with_options(error.next_step, tool, {**arguments, "arguments": named})
        return error.changed(schema=None, next_step=step)
    if not isinstance(error, InvalidArguments) or not error.details.get("problems"):
        return error
    return corrected(catalog, tool, arguments.get("arguments") or {}, error, arguments)


def corrected(
    catalog: Catalog,
    tool: Tool,
    arguments: Mapping[str, Any],
    error: InvalidArguments,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> InvalidArguments:
    """Return ``error``, which lists what is wrong with ``arguments`` of the tool, with the call that would work."""
    correction = correct(catalog, tool, arguments, error.details["problems"])
    following = correction.call(tool, options)
    # The same value would fail the same way: it was refused by the source, and no other is known.
    refused = arguments.keys() & {problem["parameter"] for problem in error.details["problems"]}
    is_refused = any(correction.arguments.get(name) == arguments[name] for name in refused)
    if not following or correction.arguments == arguments or is_refused:
        return error
    step = joined(messages.CALL_AGAIN, correction.note(tool))
    return error.changed(next_step=step, schema=None, **following)


def _beside(tool: Tool, select: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a call, in which ``select`` comes before the rows and columns that were chosen."""
    from toolfold.results.select.expressions import split_outside  # imports sqlglot
    from toolfold.results.select.suggestions import SUMMARY_STEP

    beside = {name: options[name] for name in _OPTIONS if not is_blank(options.get(name))}
    given = beside.get("select")
    given = "; ".join(map(str, given)) if isinstance(given, list) else given
    if select and isinstance(given, str):
        table, _, rest = map(str.strip, given.partition(";"))
        first, rest = (table, rest) if rest and table in _tables(tool) else ("", given)
        steps = select.split("; ")
        counted = [step for step in steps if _COUNTED.fullmatch(step)]
        given_steps = [text.strip() for text, _ in split_outside(rest, ";")]
        at = next((place for place, step in enumerate(given_steps) if SUMMARY_STEP.match(step)), len(given_steps))
        chosen = [step for step in steps if step not in counted]
        beside["select"] = "; ".join(filter(None, (first, *chosen, *given_steps[:at], *counted, *given_steps[at:])))
    elif select:
        beside["select"] = select
    return beside


def _with_options(text: Any, tool: Tool, call: Mapping[str, Any]) -> Any:
    """Return a text in which a call of the tool has the options of the caller, and all values of its lists."""
    if isinstance(text, CallText) and text.tool == "TOOL_CALL" and text.fields["tool_name"] == tool.name:
        given = call["arguments"]
        lists = {name: given[name] for name in text.fields["arguments"] if isinstance(given.get(name), list)}
        own = {"arguments": {**text.fields["arguments"], **lists}}
        return CallText({**text.fields, **own, **_beside(tool, "", call)})
    if type(text) is Text:
        return text.filled(**{name: _with_options(value, tool, call) for name, value in text.fields.items()})
    return text


def divide(tool: Tool, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what of ``given`` is for the tool, and what are options of TOOL_CALL."""
    options = {name: given[name] for name in _OPTIONS if name in given and name not in properties(tool.parameters)}
    return {name: value for name, value in given.items() if name not in options}, options


def correct(catalog: Catalog, tool: Tool, arguments: Mapping[str, Any], refused: Sequence[Problem] = ()) -> Correction:
    """Return the call that ``arguments`` mean; ``refused``: by the source, beside what the schema refuses."""
    reader, required = reader_of(catalog, tool), tool.parameters.get("required", ())
    problems = *reader.resolve(arguments).problems, *refused
    wrong = {parameter_of(problem, reader.properties) for problem in problems}
    renamed, _, contradictions = reader.rename(arguments)
    given = {name: value for name, value in renamed.items() if name in reader.properties}
    others = ((name, value) for name, value in renamed.items() if name not in given and not is_blank(value))
    unknown = dict(islice(others, _MAX_PLACED))
    if inside := _inside(tool, {name: renamed[name] for name in renamed if name not in given}, given):
        given, unknown, wrong = given | inside, {}, wrong - inside.keys()
    if _as_select(tool, unknown)[0]:  # rows fewer than the tool returns are counted off after the condition
        unknown |= {name: given.pop(name) for name in list(given) if _is_few(tool, name, given[name])}
    read = {
        name: _closest_value(reader, tool, name, value) if name in wrong else value for name, value in given.items()
    }
    corrected = {name: value for name, value in read.items() if name not in wrong or value is not None}
    moved, select, homeless = _move(reader, tool, unknown, given, corrected)
    corrected |= moved
    lacking = [name for name in given if name not in corrected]
    offered = {name: found[0] for name in lacking if (found := closest_matches(str(given[name]), _options(tool, name)))}
    corrected |= offered
    missing = [name for name in required if name not in {*corrected, *given}]
    # A number may be the very thing that an argument which has no place is about, such as an id.
    is_free = _options if homeless else _is_form
    examples = [name for name in missing if name in tool.example and is_free(tool, name)]
    corrected |= {name: tool.example[name] for name in examples}
    lost = [name for name in given if name not in corrected and not is_blank(given[name])]
    # Of a meta-tool no value but the required ones says what the question is about; no is not yes in another form.
    optional = [name for name in lost if name not in required]
    dropped = [name for name in optional if not tool.source or _is_form(tool, name, of_yes_and_no=False)]
    left_out = (*(f"{name} {quoted(given[name])}" for name in dropped), *homeless)
    # Of a list that stands for several calls each must be complete.
    lists = [name for name, value in corrected.items() if isinstance(value, list) and value]
    first = {name: corrected[name][0] for name in lists if not reader.accepts(name, corrected[name])}
    unclear = contradictions or any(len(parse_date(value)) > 1 for value in unknown.values())
    # A call that changes data has all of the values, and one of several calls all of the arguments.
    has_all = lost == dropped and (tool.only_reads or not left_out)
    is_complete = has_all and not unclear and not reader.resolve({**corrected, **first}).problems
    return Correction(corrected, select, (*offered, *examples), left_out, is_complete)


def _move(
    reader: ArgumentReader,
    tool: Tool,
    unknown: Mapping[str, Any],
    given: Mapping[str, Any],
    corrected: Mapping[str, Any],
) -> tuple[dict[str, Any], str, list[str]]:
    """Return where arguments go that are no parameters of the tool: to its parameters, to ``select``, or nowhere."""
    conditions, needed = _as_select(tool, unknown)
    placed = {name: _place(reader, tool, name, corrected) for name in unknown if name not in conditions}
    targets = list(placed.values())
    placed = {name: target if targets.count(target) == 1 else "" for name, target in placed.items()}
    rows = {
        name: unknown[name]
        for name, target in placed.items()
        if reader.period_hint({name: unknown[name]})
        and (name in reader.properties or not reader.reads(target, unknown[name]))
    }
    if hint := reader.period_hint(rows):
        placed = {name: target for name, target in placed.items() if name not in rows}
    found = {
        **{target: unknown[name] for name, target in placed.items() if target},
        **{name: True for name in needed if name in reader.properties and name not in given},
    }
    select = "; ".join(filter(None, (" and ".join(conditions.values()), hint)))
    return found, select, [name for name, target in placed.items() if not target]


def _closest_value(reader: ArgumentReader, tool: Tool, name: str, value: Any) -> Any:
    """Return the value that a refused one means: the closest option, day or number, or a list; None: none is known."""
    rule = properties(tool.parameters).get(name, {})
    bounded = rule.get("type") == "integer" and (not tool.source or _counts_rows(name))
    number = next((one.value for one in numbers(str(value))), 0) if bounded else 0
    if isinstance(number, int) and number > 0:
        return min(max(number, rule.get("minimum", 1)), rule.get("maximum", number))
    if "number" in allowed_types(tool.parameters, rule) and isinstance(value, str) and has_decimal_comma(value.strip()):
        decimal = parse_number(with_decimal_point(value.strip()))
        return None if isinstance(decimal, str) else decimal
    listed = value if isinstance(value, list) else listed_values(value)
    if len(listed or ()) > MAX_CALLS:
        return None
    takes = reader.reads(name, listed) if reader.separator(name) else all(reader.reads(name, one) for one in listed)
    if listed and takes and (tool.only_reads or len(listed) == 1):
        return listed[0] if len(listed) == 1 else listed
    separator = reader.separator(name)
    items = tool.call.get("lists", {}).get(name, {}).get("items")
    if items := items or _listed(tool, keyword(tool.parameters, rule, "items")):
        given = value if isinstance(value, list) else str(value).split(separator or ",")
        read = [_closest_option(str(item).strip(), items) for item in given]
        return (separator.join(filter(None, read)) if separator else read) if read and all(read) else None
    if isinstance(value, str) and not value.isdecimal() and (wrong := impossible_date(value)) and wrong.nearest:
        return wrong.nearest
    is_free = "string" in allowed_types(tool.parameters, rule) and keyword(tool.parameters, rule, "format") is None
    if tool.source and type(value) is int and is_free and reader.accepts(name, str(value)):
        return str(value)
    return _closest_option(str(value), _options(tool, name)) if isinstance(value, str | int | float) else None


def _closest_option(text: str, options: Sequence[str]) -> str | None:
    """Return the option that ``text`` resembles, or begins; None where none or several do."""
    digits = re.findall(r"\d+", text)
    options = [option for option in options if re.findall(r"\d+", option) == digits]  # another number is another value
    begun = names_beginning(text, options, least=1 if len(text) == 1 else 3)
    closest = begun if len(begun) == 1 else closest_matches(text, options)
    return closest[0] if closest else None


def _place(reader: ArgumentReader, tool: Tool, name: str, corrected: Mapping[str, Any]) -> str:
    """Return the parameter that the name of an unknown argument resembles, begins or ends; empty: none, or several."""
    bound = bound_of(name)  # a start is not an end, and neither is a day
    free = [one for one in reader.properties if one not in corrected and bound in ("", bound_of(one))]
    required = [one for one in free if one in tool.parameters.get("required", ())]
    # lat of latitude, q of the query that is required, id of petId
    begun, end = names_beginning(name, free, least=3) or names_beginning(name, required, least=1), normalize(name)
    partly = begun or [one for one in free if len(end) > 1 and normalize(one).endswith(end)]
    closest = closest_matches(name, free) or (partly if len(partly) == 1 else [])
    return closest[0] if closest else ""


def _inside(tool: Tool, unknown: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one object that has all the unknown arguments as members, with these; empty where none or two do.

    ``filter[min]`` and ``filter.min`` are members of ``filter``.
    """
    found: dict[str, Any] = {}
    for parameter, rule in properties(tool.parameters).items() if unknown else ():
        of_query = re.compile(rf"^{re.escape(parameter)}[.\[]([^.\[\]]+)\]?$")
        members = {of_query.sub(r"\1", name): value for name, value in unknown.items()}
        before = given.get(parameter, {})
        if isinstance(before, dict) and members.keys() <= properties(tool.parameters, rule).keys() - before.keys():
            found[parameter] = {**before, **members}
    return found if len(found) == 1 else {}


def _options(tool: Tool, name: str) -> list[str]:
    return _listed(tool, properties(tool.parameters).get(name, {}))


def _listed(tool: Tool, rule: Any) -> list[str]:
    """Return the texts that a schema lists, or one of its alternatives does."""
    rules = (rule, *(keyword(tool.parameters, rule, "anyOf") or keyword(tool.parameters, rule, "oneOf") or ()))
    options = next(filter(None, (keyword(tool.parameters, one, "enum") for one in rules)), None)
    return [option for option in options if isinstance(option, str)] if isinstance(options, list) else []


def _counts_rows(name: str) -> bool:
    return REQUESTED.get(normalize(name)) in ("first", "last")


def _is_few(tool: Tool, name: str, value: Any) -> bool:
    """Return whether a number of rows is less than the one that a parameter has by default."""
    default = properties(tool.parameters)[name].get("default") if _counts_rows(name) else None
    return isinstance(default, int) and any(one.value < default for one in numbers(str(value)))


def _is_form(tool: Tool, name: str, *, of_yes_and_no: bool = True) -> bool:
    """Return whether a parameter is a choice of form, whose value does not say what the question is about."""
    rule = properties(tool.parameters).get(name, {})
    types, options = allowed_types(tool.parameters, rule), keyword(tool.parameters, rule, "enum")
    if "boolean" in types and not of_yes_and_no:
        return False
    return not types - {"integer", "number", "boolean"} or isinstance(options, list)


def _as_select(tool: Tool, unknown: Mapping[str, Any]) -> tuple[dict[str, str], list[str]]:
    """Return the condition of ``select`` for each argument that is a column, and the parameters these need."""
    columns: dict[str, tuple[str, str]] = {}
    needed = ""
    title, _, listed = tool.returns.partition("\n")[0].partition(": ")
    for text in map(str.strip, listed.split(",") if title == "rows" else ()):
        found = _WITH.fullmatch(text)
        needed = found["parameter"] if found else needed
        column = found["column"] if found else text
        columns[normalize(column)] = (column, needed)
    clauses: dict[str, str] = {}
    parameters: list[str] = []
    for name, value in unknown.items():
        spelled = normalize(name)
        last = normalize(name.rpartition("_")[2])  # option_type is the type
        is_whole = spelled in columns or {spelled, last} & REQUESTED.keys() or spelled.startswith(("min", "max"))
        other = spelled if is_whole else last
        column, parameter = columns.get(other, ("", ""))
        if column and isinstance(value, str | int | float | list) and not (isinstance(value, bool) or value == []):
            clauses[name] = _condition(column, value)
            parameters += [parameter] if parameter else []
    return clauses, parameters


def _tables(tool: Tool) -> list[str]:
    """Return the names of the tables of an answer, where it has several."""
    parts = tool.returns.partition("\n")[0].split("; ")
    names = [name for part in parts for name in part.partition(": ")[0].split(", ")]
    return [name for name in names if name not in ("rows", "fields", "meta")]


def _condition(column: str, value: Any) -> str:
    """Return the condition that ``200``, ``>= 200``, ``200-250`` or a list of values is for a column."""
    if isinstance(value, list):
        return f"{column} in ({', '.join(map(_literal, value))})"
    if _COMPARED.fullmatch(str(value)):
        return f"{column} {value}"
    if (ends := _ENDS.fullmatch(str(value))) and float(ends[1]) < float(ends[2]):
        return f"{column} between {ends[1]} and {ends[2]}"
    return f"{column} = {_literal(value)}"


def _literal(value: Any) -> str:
    return str(value) if _PLAIN.fullmatch(str(value)) else "'" + str(value).replace("'", "''") + "'"
