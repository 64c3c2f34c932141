"""Name what to call next where the source of a tool refused a call, or had no data for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from toolfold import messages
from toolfold.catalog.json_schema import properties
from toolfold.dates import parse_date
from toolfold.errors import CallError, InvalidArguments, NoData, PremiumOnly, WriteNotAllowed
from toolfold.execution.argument_reader import reader_of
from toolfold.execution.argument_values import bound_of, is_currency, parse_pair
from toolfold.meta_tools.arguments import next_call
from toolfold.meta_tools.corrections import correct
from toolfold.text_safety import quoted
from toolfold.wording import CallText, Text, joined

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog

_MONDAY, _SATURDAY, _SUNDAY = 0, 5, 6
_DAY = timedelta(days=1)
_NEW = timedelta(days=7)
"""Age of a day from which on every source has it: some publish days later."""


def doubt_of(day: date, today: date) -> str:
    """Return why there may be no data of ``day``.

    >>> doubt_of(date(2026, 1, 10), date(2026, 3, 2))
    'is a Saturday'
    """
    if day > today:
        return "is in the future"
    if day.weekday() in (_SATURDAY, _SUNDAY):
        return f"is a {('Saturday', 'Sunday')[day.weekday() - _SATURDAY]}"
    return "may not be over" if day == today else "may be a market holiday"


_MAX_CALL_CHARS = 310
"""Characters of a call that an error repeats: a longer one is named instead."""

_MAX_KEYWORDS = 60
"""Characters of a symbol that is searched for."""


def with_next_step(error: CallError, catalog: Catalog, tool: Tool, arguments: Mapping[str, Any]) -> CallError:
    """Return ``error`` with a next step that names a call, where there is a better one than it has."""
    if isinstance(error, WriteNotAllowed):
        return error.changed(**next_call("TOOL_CALL_WRITE", {"tool_name": tool.name, "arguments": arguments}))
    if not isinstance(error, PremiumOnly | NoData | InvalidArguments) or "schema" in error.details:
        return error

    arguments = reader_of(catalog, tool).resolve(arguments).arguments  # under the names of the parameters
    if isinstance(error, PremiumOnly):
        steps = [text.filled(**fields) for text, fields in _without_premium(catalog, tool, arguments)]
        if not steps:
            return error
        first, *others = (*steps, messages.TELL_OF_PLAN)
        step = joined(first.capitalized(), *others, separator="; or ")
        return error.changed(next_step=messages.SENTENCE.filled(text=step))
    return error.changed(next_step=_check_values(error, catalog, tool, arguments))


def with_executor(catalog: Catalog, error: CallError) -> CallError:
    """Return ``error`` with TOOL_CALL_WRITE in its next call, where TOOL_CALL would refuse the tool."""
    call = (error.details.get("next_call") or {}).get("TOOL_CALL")
    tool = catalog.get(call["tool_name"]) if call and isinstance(call.get("tool_name"), str) else None
    if tool is None or tool.effect == "read":
        return error
    return error.changed(next_call={"TOOL_CALL_WRITE": call})


def _without_premium(
    catalog: Catalog, tool: Tool, arguments: Mapping[str, Any]
) -> Iterator[tuple[Text, Mapping[str, Any]]]:
    """Yield calls that every plan includes: the text with its fields."""
    if tool.access != "premium":
        premium = tool.hints.get("premium", {})
        dropped = [name for name, values in premium.items() if arguments.get(name) in values]
        if not dropped and not tool.hints.get("free_items"):
            return  # the source refused something that is not in the catalog, and says what
        if dropped:
            rest = {name: value for name, value in arguments.items() if name not in dropped}
            yield messages.LEAVE_OUT, {"names": " and ".join(dropped), "call": _call(tool.name, rest)}
        for name, most in tool.hints.get("free_items", {}).items():
            items = _items(tool, name, arguments.get(name))
            if len(items) > most:
                fewer = {**arguments, name: ",".join(items[:most])}
                yield messages.SEND_FEWER, {"most": most, "name": name, "call": _call(tool.name, fewer)}
    free = tool.hints.get("free_instead")
    other = None if free is None else catalog.get(free["tool"])
    if free is not None and other is not None:
        reader, complete, premium = (
            reader_of(catalog, other),
            other.hints.get("complete", {}),
            other.hints.get("premium", {}),
        )
        own = {name: value for name, value in arguments.items() if name in reader.properties.keys() - complete.keys()}
        taken = {name: value for name, value in own.items() if isinstance(value, list) or reader.reads(name, value)}
        given = {name: value for name, value in taken.items() if value not in premium.get(name, ())}
        found = correct(catalog, other, {**given, **free["arguments"]})
        yield messages.TAKE_FREE, {"call": _call(other.name, found.arguments)}


def _items(tool: Tool, name: str, value: Any) -> list[str]:
    listed = tool.call.get("lists", {}).get(name)
    if listed is None or value is None:
        return []
    texts = value if isinstance(value, list) else str(value).split(listed["separator"])
    return [str(text).strip() for text in texts if str(text).strip()]


def _check_values(error: CallError, catalog: Catalog, tool: Tool, arguments: Mapping[str, Any]) -> str | Text:
    if "upstream_says" in error.details:
        return error.next_step
    if isinstance(error, NoData) and "no_data" in tool.hints:
        return str(tool.hints["no_data"])
    finders = tool.hints.get("found_by", {})
    if isinstance(error, InvalidArguments):
        step = error.next_step
        # The advice of the source's table of faults names a tool which finds values.
        advice = step.fields["advice"] if isinstance(step, Text) and step.is_of(messages.OF_SOURCE) else ""
        if not any(catalog.get(word.strip(".,")) for word in advice.split()):
            return step
    day, is_certain = _day_step(tool, arguments) if isinstance(error, NoData) else ("", False)
    if is_certain:
        return day
    for name, finder in finders.items():
        value = arguments.get(name)
        other = None if value is None else catalog.get(finder["tool"])
        if other is not None and (of_pair := _of_pair(catalog, tool, name, arguments)):
            return of_pair
        if other is not None:
            guess = (_items(tool, name, value) or [str(value)])[0].partition(".")[0][:_MAX_KEYWORDS]
            search = {finder["parameter"]: guess} if finder["parameter"] else {}
            others = day or "or change the other arguments, such as dates and filters."
            required = tool.parameters.get("required", ())
            ends = [one for one in arguments if bound_of(one) and one not in required]
            if ends and not day:  # there may be no data in a period
                call = _call(tool.name, {one: value for one, value in arguments.items() if one not in ends})
                others = messages.WITHOUT_PERIOD.filled(names=" and ".join(ends), call=call)
            return messages.CHECK_VALUE.filled(name=name, call=_call(other.name, search), others=others)
    return messages.CHECK_ARGUMENTS.filled(description=CallText({"tool_name": tool.name}, "TOOL_GET"))


def _of_pair(catalog: Catalog, tool: Tool, name: str, arguments: Mapping[str, Any]) -> Text | None:
    """Return the call of a similar tool for a symbol that is a pair: its examples have such codes."""
    value = arguments[name]
    if (pair := parse_pair(value)) is None:
        return None

    def taken(other: Tool) -> list[str]:
        """Return the two parameters that the pair becomes."""
        found = reader_of(catalog, other).rename({name: value}).arguments
        return list(found) if tuple(found.values()) == pair else []

    similar = sorted(filter(None, map(catalog.get, tool.use_instead.values())), key=lambda one: not taken(one))
    further = [other for one in similar for other in filter(None, map(catalog.get, one.use_instead.values()))]
    for other in (*similar, *further):
        parameters = taken(other)[:1]
        examples = [code for one in parameters for code in properties(other.parameters)[one].get("examples", ())]
        if any(is_currency(code) == is_currency(pair[0]) for code in examples):
            found, has_rows = correct(catalog, other, arguments), other.returns.startswith("rows")
            if found.is_complete and not found.examples and has_rows == tool.returns.startswith("rows"):
                return messages.OF_PAIR.filled(value=quoted(value), call=_call(other.name, found.arguments))
    return None


def _day_step(tool: Tool, arguments: Mapping[str, Any]) -> tuple[str | Text, bool]:
    """Return what to call instead where the day that is requested may have no data, and whether no market has any."""
    for name in tool.hints.get("repeated_as", {}):
        readings = parse_date(arguments.get(name))
        day = readings[0].low.date() if readings else None
        if day is not None and str(day) == arguments[name]:
            today = datetime.now(UTC).date()
            doubt = doubt_of(day, today)
            if day >= today - _NEW and name not in tool.parameters.get("required", ()):
                rest = {key: value for key, value in arguments.items() if key != name}
                step = messages.NEWEST_DAY.filled(name=name, call=_call(tool.name, rest))
            else:
                other = day - _DAY * {_SUNDAY: 2, _MONDAY: 3}.get(day.weekday(), 1)  # the weekday before
                call = _call(tool.name, {**arguments, name: other.isoformat()})
                step = messages.OTHER_DAY.filled(day=other, call=call)
            is_certain = not doubt.startswith("may")
            text = messages.WRONG_DAY if is_certain else messages.DOUBTFUL_DAY
            return text.filled(name=name, day=day, doubt=doubt, step=step), is_certain
    return "", False


def _call(name: str, arguments: Mapping[str, Any]) -> str | Text:
    """Return a call as the reader would make it; the name alone where it is long."""
    call = CallText({"tool_name": name, "arguments": dict(arguments)})
    return call if len(str(call)) <= _MAX_CALL_CHARS else name
