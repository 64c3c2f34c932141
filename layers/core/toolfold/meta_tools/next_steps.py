"""Name what to call next where the source of a tool refused a call, or had no data for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolfold import messages
from toolfold.errors import CallError, InvalidArguments, NoData, PremiumOnly, WriteNotAllowed
from toolfold.execution.argument_reader import reader_of
from toolfold.execution.argument_values import bound_of
from toolfold.meta_tools.arguments import next_call
from toolfold.meta_tools.corrections import correct
from toolfold.wording import CallText, Text, joined

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog

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
        steps = list(_without_premium(catalog, tool, arguments))
        return error.changed(next_step=joined(*steps, messages.TELL_OF_PLAN)) if steps else error
    return error.changed(next_step=_check_values(error, catalog, tool, arguments))


def with_executor(catalog: Catalog, error: CallError) -> CallError:
    """Return ``error`` with TOOL_CALL_WRITE in its next call, where TOOL_CALL would refuse the tool."""
    call = (error.details.get("next_call") or {}).get("TOOL_CALL")
    tool = catalog.get(call["tool_name"]) if call and isinstance(call.get("tool_name"), str) else None
    if tool is None or tool.effect == "read":
        return error
    return error.changed(next_call={"TOOL_CALL_WRITE": call})


def _without_premium(catalog: Catalog, tool: Tool, arguments: Mapping[str, Any]) -> Iterator[Text]:
    """Yield calls that every plan includes."""
    if tool.access != "premium":
        premium = tool.hints.get("premium", {})
        dropped = [name for name, values in premium.items() if arguments.get(name) in values]
        if not dropped and not tool.hints.get("free_items"):
            return  # the source refused something that is not in the catalog, and says what
        if dropped:
            rest = {name: value for name, value in arguments.items() if name not in dropped}
            yield messages.LEAVE_OUT.filled(names=" and ".join(dropped), call=_call(tool.name, rest))
        for name, most in tool.hints.get("free_items", {}).items():
            items = _items(tool, name, arguments.get(name))
            if len(items) > most:
                fewer = {**arguments, name: ",".join(items[:most])}
                yield messages.SEND_FEWER.filled(most=most, name=name, call=_call(tool.name, fewer))
    free = tool.hints.get("free_instead")
    other = None if free is None else catalog.get(free["tool"])
    if free is not None and other is not None:
        reader, hints = reader_of(catalog, other), other.hints
        given = {
            name: value
            for name, value in arguments.items()
            if name in reader.properties.keys() - hints.get("complete", {}).keys()
            and (isinstance(value, list) or reader.reads(name, value))
            and value not in hints.get("premium", {}).get(name, ())
        }
        found = correct(catalog, other, {**given, **free["arguments"]})
        yield messages.TAKE_FREE.filled(call=_call(other.name, found.arguments))


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
        advice = str(step.fields.get("advice", "")) if isinstance(step, Text) else ""
        if not any(catalog.get(word.strip(".,")) for word in advice.split()):
            return step
    for name, finder in finders.items():
        value = arguments.get(name)
        other = None if value is None else catalog.get(finder["tool"])
        if other is not None:
            guess = (_items(tool, name, value) or [str(value)])[0].partition(".")[0][:_MAX_KEYWORDS]
            search = {finder["parameter"]: guess} if finder["parameter"] else {}
            others: str | Text = "or change the other arguments, such as dates and filters."
            required = tool.parameters.get("required", ())
            days = tool.hints.get("repeated_as", {})
            ends = [one for one in arguments if (bound_of(one) or one in days) and one not in required]
            if ends:  # there may be no data in a period
                call = _call(tool.name, {one: value for one, value in arguments.items() if one not in ends})
                others = messages.WITHOUT_PERIOD.filled(names=" and ".join(ends), call=call)
            return messages.CHECK_VALUE.filled(name=name, call=_call(other.name, search), others=others)
    return messages.CHECK_ARGUMENTS.filled(description=CallText({"tool_name": tool.name}, "TOOL_GET"))


def _call(name: str, arguments: Mapping[str, Any]) -> str | Text:
    """Return a call as the reader would make it; the name alone where it is long."""
    call = CallText({"tool_name": name, "arguments": dict(arguments)})
    return call if len(str(call)) <= _MAX_CALL_CHARS else name
