"""Name the call that would work after one that failed: by the catalog, or by the problems of its arguments.

For a day without data it says why a market may have none, and which day before has: weekends are known, holidays are
not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.errors import CallError, InvalidArguments, NoData, PremiumOnly, WriteNotAllowed
from toolfold.execution.calendar_dates import impossible_date
from toolfold.execution.validation import validator_of
from toolfold.fuzzy import closest_matches
from toolfold.meta_tools.arguments import next_call
from toolfold.meta_tools.detail_levels import properties
from toolfold.meta_tools.result import dumps_compact
from toolfold.meta_tools.tool_names import examples_note, fitting_arguments

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog

_SATURDAY, _SUNDAY = 5, 6
_DAY = timedelta(days=1)
_NEW = timedelta(days=7)
"""Age of a day from which on every source has it: some publish days later."""


class DayStep(NamedTuple):
    """The next step of a call without data: what may be wrong with its day.

    Attributes:
        text: the sentence; empty: nothing is known of a day.
        is_certain: whether no market has data of that day.
    """

    text: str = ""
    is_certain: bool = False


def calendar_day(value: Any) -> date | None:
    """Return the day that an argument names, or None."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) and len(value) == len("2026-01-09") else None
    except ValueError:
        return None


def doubt_of(day: date, today: date) -> tuple[str, date | None]:
    """Return why there may be no data of ``day``, and the weekday before it; None where that is too new to be known.

    >>> doubt_of(date(2026, 1, 10), date(2026, 3, 2))
    ('is a Saturday', datetime.date(2026, 1, 9))
    """
    before = weekday_before(day) if day < today - _NEW else None
    if day > today:
        return "is in the future", before
    if day.weekday() in (_SATURDAY, _SUNDAY):
        return f"is a {('Saturday', 'Sunday')[day.weekday() - _SATURDAY]}", before
    return ("may not be over" if day == today else "may be a market holiday"), before


def weekday_before(day: date) -> date:
    """Return the last day before ``day`` that is not in a weekend."""
    day -= _DAY
    while day.weekday() in (_SATURDAY, _SUNDAY):
        day -= _DAY
    return day


_MAX_ARGUMENTS_CHARS = 300
"""Characters of arguments that an error repeats: longer ones are named instead."""

_TOOL_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""What looks like the name of a tool in the suggestion of a source."""

_MAX_KEYWORDS = 60
"""Characters of a symbol that is searched for."""


def add_next_step(error: CallError, catalog: Catalog, tool: Tool, arguments: Mapping[str, Any]) -> CallError:
    """Return ``error`` with a suggestion that names the next call, where there is a better one than it has.

    Args:
        error: the failure of a call, as the source reports it.
        catalog: the current catalog.
        tool: the tool that was called.
        arguments: its arguments, as the caller sent them.
    """
    if isinstance(error, WriteNotAllowed):
        error.details = {
            **error.details,
            **next_call("TOOL_CALL_WRITE", {"tool_name": tool.name, "arguments": arguments}),
        }
        return error
    if not isinstance(error, PremiumOnly | NoData | InvalidArguments) or "schema" in error.details:
        return error

    arguments = validator_of(catalog, tool).resolve(arguments).arguments  # under the names of the parameters
    if isinstance(error, PremiumOnly):
        steps = list(_without_premium(catalog, tool, arguments))
        if steps:
            steps.append("tell the user that a premium plan is needed")
            text = "; or ".join(steps)
            error.suggestion = f"{text[0].upper()}{text[1:]}."
    else:
        error.suggestion = _check_values(error, catalog, tool, arguments)
    return error


def add_next_call(catalog: Catalog, arguments: Mapping[str, Any], error: InvalidArguments) -> None:
    """Add to ``error`` the call that would work, where it lists the problems of a tool's arguments.

    Args:
        catalog: the current catalog.
        arguments: those of the TOOL_CALL that failed, in the documented form.
        error: is changed.
    """
    problems = error.details.get("problems")
    tool = catalog.get(arguments["tool_name"])
    if not problems or "next_call" in error.details or tool is None or "Call TOOL_CALL with " in error.suggestion:
        return  # one next call, not two that differ

    given = arguments.get("arguments") or {}
    corrected = _corrected(tool, given, problems)
    if validator_of(catalog, tool).validate(corrected)[1]:
        corrected = dict(tool.example)
    others = {name: value for name, value in arguments.items() if name in ("select", "max_tokens", "fresh")}
    following = next_call("TOOL_CALL", {"tool_name": tool.name, "arguments": corrected, **others})
    if following:
        error.details = {**error.details, **following}
        error.suggestion += examples_note(given, corrected)


def name_executor(catalog: Catalog, error: CallError) -> None:
    """Name TOOL_CALL_WRITE in the next call of ``error``, which is changed, where TOOL_CALL would refuse the tool."""
    proposed = error.details.get("next_call") or {}
    call = proposed.get("TOOL_CALL")
    tool = catalog.get(call["tool_name"]) if call and isinstance(call.get("tool_name"), str) else None
    if tool is not None and tool.effect != "read":
        error.details = {**error.details, "next_call": {"TOOL_CALL_WRITE": call}}


def _without_premium(catalog: Catalog, tool: Tool, arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield calls that every plan includes."""
    if tool.access != "premium":
        premium = tool.hints.get("premium", {})
        dropped = [name for name, values in premium.items() if arguments.get(name) in values]
        if not dropped and not tool.hints.get("free_items"):
            return  # the source refused something that is not in the catalog, and says what
        if dropped:
            rest = {name: value for name, value in arguments.items() if name not in dropped}
            yield f"call again without {' and '.join(dropped)}: {_call(tool.name, rest)}"
        for name, most in tool.hints.get("free_items", {}).items():
            items = _items(tool, name, arguments.get(name))
            if len(items) > most:
                fewer = {**arguments, name: ",".join(items[:most])}
                yield f"call again with at most {most} {name}: {_call(tool.name, fewer)}"
    free = tool.hints.get("free_instead")
    other = None if free is None else catalog.get(free["tool"])
    if free is not None and other is not None:
        yield f"take {_call(other.name, _arguments_of(other, tool, arguments, free['arguments']))}, which is free"


def _arguments_of(other: Tool, tool: Tool, arguments: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments for another tool: the caller's where it has such a parameter, else those of its example."""
    premium, hints = other.hints.get("premium", {}), other.hints.get("complete", {})
    parameters, required = properties(other.parameters), other.parameters.get("required", ())
    given = {name: other.example[name] for name in required if name in other.example}
    for name, value in arguments.items():
        rule = parameters.get(name)
        allowed = rule is not None and name not in hints and ("enum" not in rule or value in rule["enum"])
        if allowed and value not in premium.get(name, ()):
            # Of several symbols the first, where the other tool takes one.
            items = _items(tool, name, value)
            given[name] = value if name in other.call.get("lists", {}) or not items else items[0]
    return {**given, **fixed}


def _items(tool: Tool, name: str, value: Any) -> list[str]:
    """Return the items of a joined list; empty for another argument."""
    listed = tool.call.get("lists", {}).get(name)
    if listed is None or value is None:
        return []
    texts = value if isinstance(value, list) else str(value).split(listed["separator"])
    return [str(text).strip() for text in texts if str(text).strip()]


def _check_values(error: CallError, catalog: Catalog, tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Return how to find values that the source knows."""
    if "upstream_says" in error.details:
        return error.suggestion
    if isinstance(error, NoData) and "no_data" in tool.hints:
        return str(tool.hints["no_data"])
    if isinstance(error, InvalidArguments) and not _names_a_tool(catalog, error.suggestion):
        return error.suggestion  # of the source, about something else than values that another tool finds
    day = _day_step(tool, arguments) if isinstance(error, NoData) else DayStep()
    if day.is_certain:
        return day.text
    for name, finder in tool.hints.get("found_by", {}).items():
        value = arguments.get(name)
        other = None if value is None else catalog.get(finder["tool"])
        if other is not None:
            guess = (_items(tool, name, value) or [str(value)])[0].partition(".")[0][:_MAX_KEYWORDS]
            search = {finder["parameter"]: guess} if finder["parameter"] else {}
            others = day.text or "or change the other arguments, such as dates and filters."
            return f"Check {name}: {_call(other.name, search)}; {others}"
    return f"Change dates and filters, or check the arguments: TOOL_GET {dumps_compact({'tool_name': tool.name})}."


def _day_step(tool: Tool, arguments: Mapping[str, Any]) -> DayStep:
    """Return what to call instead where the day that is requested may have no data."""
    for name in tool.hints.get("repeated_as", {}):
        day = calendar_day(arguments.get(name))
        if day is not None:
            doubt, other = doubt_of(day, datetime.now(UTC).date())
            rest = {key: value for key, value in arguments.items() if key != name}
            if other is None and name not in tool.parameters.get("required", ()):
                step = f"leave {name} out for the newest day: {_call(tool.name, rest)}."
            else:
                other = other or weekday_before(day)
                step = f"take {other}: {_call(tool.name, {**arguments, name: other.isoformat()})}."
            if doubt.startswith("may"):
                return DayStep(f"or, as {name} {day} {doubt}, {step}", False)
            return DayStep(f"{name} {day} {doubt}: {step}", True)
    return DayStep()


def _names_a_tool(catalog: Catalog, text: str) -> bool:
    return any(catalog.canonical_name(word) is not None for word in _TOOL_NAME.findall(text))


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as the client would make it."""
    call = {"tool_name": name, "arguments": dict(arguments)}
    text = dumps_compact(call)
    return f"TOOL_CALL {text}" if len(text) <= _MAX_ARGUMENTS_CHARS else name


def _corrected(tool: Tool, given: Mapping[str, Any], problems: list[Mapping[str, str]]) -> dict[str, Any]:
    """Return what of ``given`` has no problem, with the closest values for the rest."""
    wrong = {problem["parameter"].partition(".")[0].partition("[")[0] for problem in problems}
    corrected = {name: value for name, value in given.items() if name not in wrong}
    known = tool.parameters.get("properties", {})
    for problem in problems:
        name = problem["parameter"]
        if name not in known:
            if name in given and (meant := closest_matches(name, known)):
                corrected.setdefault(meant[0], given[name])
        elif (closest := _closest_value(known[name], given.get(name))) is not None:
            corrected[name] = closest
        elif name in given and name in tool.example:
            corrected[name] = tool.example[name]
    return fitting_arguments(tool, corrected)


def _closest_value(rule: Any, value: Any) -> str | None:
    """Return the value allowed by ``rule`` that is closest to ``value``, or the date before one that does not exist."""
    if isinstance(value, str) and (wrong := impossible_date(value)) is not None and wrong.nearest:
        return wrong.nearest
    options = rule.get("enum") if isinstance(rule, Mapping) else None
    if not isinstance(options, list) or not isinstance(value, str | int | float):
        return None
    closest = closest_matches(str(value), [option for option in options if isinstance(option, str)], least=0.5)
    return closest[0] if closest else None
