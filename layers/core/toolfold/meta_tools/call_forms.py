"""Read a TOOL_CALL in the forms that models send: which tool it names, at which level, in which spelling.

See ``reader`` for what is accepted, and ``argument_reader`` for what is beside the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import COMBINING_TOOLS, RESERVED_NAMES
from toolfold.errors import InvalidArguments
from toolfold.fuzzy import normalize
from toolfold.messages import NAME_TOOL, ONE_TOOL
from toolfold.meta_tools.argument_reader import ArgumentReader
from toolfold.meta_tools.arguments import invalid, is_blank, next_call, quote
from toolfold.meta_tools.object_text import parse_call_text, parse_object
from toolfold.meta_tools.reader import MAX_UNWRAPPED, WRAPPERS, put, read_arguments
from toolfold.meta_tools.result import MetaCall
from toolfold.meta_tools.tool_names import find_meta_tool, find_name, tool_not_found

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

TOOL = "TOOL_CALL"

_NAME_KEYS = ("toolname", "tool", "name", "functionname", "function", "command", "action", "method", "operation")
"""Other names of ``tool_name``, the surest first, as ``fuzzy.normalize`` spells them."""

_KINDS_OF_CALLS = frozenset({"function", "function_call", "tool_call", "tool_use"})
"""Values of ``type`` in the calls of other interfaces, which wrap a call of a function."""


def read_meta_call(catalog: Catalog, name: str, arguments: Mapping[str, Any]) -> MetaCall:
    """Return a call of the meta-tool ``name`` in the documented form.

    Raises:
        InvalidArguments: an argument has no place, or two contradict each other.
        ToolNotFound: TOOL_CALL names no tool.
    """
    if name == TOOL:
        return read_tool_call(catalog, arguments)
    return MetaCall(name, read_arguments(catalog, name, arguments))


def read_tool_call(catalog: Catalog, arguments: Mapping[str, Any], depth: int = 0) -> MetaCall:
    """Return a TOOL_CALL in the documented form, or the call of a meta-tool that it names.

    Raises:
        InvalidArguments: the tool's name is missing, an argument has no place, or two contradict each other.
        ToolNotFound: no tool has the name.
    """
    if depth > MAX_UNWRAPPED:
        raise invalid(TOOL, "calls are nested too deeply", "Send tool_name and arguments at the top.")
    name, rest = _take_name(catalog, dict(arguments))
    tool = None if name in RESERVED_NAMES else catalog.called_tool(name)
    if tool is None and (meta_tool := find_meta_tool(name)) is not None:
        if meta_tool in COMBINING_TOOLS:
            return MetaCall(meta_tool, read_arguments(catalog, meta_tool, rest))
        inner = _merged(rest)
        if meta_tool in (TOOL, "TOOL_CALL_WRITE"):
            return read_tool_call(catalog, inner, depth + 1)
        return MetaCall(meta_tool, read_arguments(catalog, meta_tool, inner))
    if tool is None and (found := find_name(catalog, name)) is not None:
        tool = catalog.called_tool(found)
    if tool is None:
        if (call := parse_call_text(name)) is not None:
            return read_tool_call(catalog, {**rest, "tool_name": call[0], "arguments": call[1]}, depth + 1)
        raise tool_not_found(catalog, name, _merged(rest))
    return MetaCall(TOOL, ArgumentReader(catalog, tool).read(rest))


def read_call(catalog: Catalog, item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return one of several calls in the documented form of TOOL_CALL.

    Raises:
        CallError: it cannot be read, no tool has its name, or it is the call of a meta-tool that lists or combines.
    """
    call = read_tool_call(catalog, item)
    if call.name != TOOL:
        raise InvalidArguments(
            f"{call.name} cannot be called here: only tools of the catalog can be combined.",
            f"Call {call.name} on its own; nothing was sent.",
        )
    return call.arguments


def _take_name(catalog: Catalog, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the tool's name, and the other arguments."""
    for _ in range(MAX_UNWRAPPED):
        key = _name_key(catalog, given)
        if key is None:
            only = next(iter(given.items()), ("", None)) if len(given) == 1 else ("", None)
            if only[0] and find_name(catalog, only[0]) is not None and (is_blank(only[1]) or parse_object(only[1])):
                return only[0], {"arguments": only[1]}
            wrapper = next((key for key in given if normalize(key) in WRAPPERS and _names_a_tool(given[key])), None)
            if wrapper is None:
                raise _without_name(catalog, given)
            given = _lifted(given, wrapper, parse_object(given[wrapper]) or {})
            continue
        value = given[key]
        rest = {name: other for name, other in given.items() if name != key}
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, str):
            if key != "tool_name":
                _drop_kind(rest)
            return value, rest
        if not isinstance(value, dict):
            raise _wrong_name(catalog, value, rest)
        given = _lifted(given, key, value)
    raise invalid(TOOL, "calls are nested too deeply", "Send tool_name and arguments at the top.")


def _name_key(catalog: Catalog, given: Mapping[str, Any]) -> str | None:
    """Return which argument has the tool's name."""
    if not is_blank(given.get("tool_name")):
        return "tool_name"
    keys = {normalize(key): key for key, value in given.items() if not is_blank(value)}
    candidates = [keys[kind] for kind in _NAME_KEYS if kind in keys]
    for key in candidates:
        value = given[key]
        if _names_a_tool(value) or (isinstance(value, str) and (find_meta_tool(value) or find_name(catalog, value))):
            return key
    # An unknown name, which is then reported: but for the words that are often parameters of a tool.
    return next((key for key in candidates if normalize(key) in _NAME_KEYS[:6]), None)


def _names_a_tool(value: Any) -> bool:
    """Return whether ``value`` is an object that has the name of a tool."""
    inner = parse_object(value)
    return inner is not None and any(normalize(key) in _NAME_KEYS for key in inner)


def _lifted(given: Mapping[str, Any], key: str, inner: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``given`` with the members of the object ``key`` in its place."""
    lifted = {name: value for name, value in given.items() if name != key}
    _drop_kind(lifted)
    for name, value in inner.items():
        put(TOOL, lifted, name, value, name)
    return lifted


def _drop_kind(given: dict[str, Any]) -> None:
    """Remove from ``given`` what says only that it is a call: ``"type": "function"`` and the id of the call."""
    if isinstance(given.get("type"), str) and given["type"] in _KINDS_OF_CALLS:
        del given["type"]
        given.pop("id", None)


def _merged(rest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a meta-tool, or of an unknown tool: those in an object, and those beside it."""
    merged: dict[str, Any] = {}
    for key, value in rest.items():
        inner = parse_object(value) if normalize(key) in WRAPPERS else None
        if inner is None:
            if not (is_blank(value) and normalize(key) in WRAPPERS):
                put(TOOL, merged, key, value, key)
            continue
        for name, other in inner.items():
            put(TOOL, merged, name, other, name)
    return merged


def _without_name(catalog: Catalog, given: Mapping[str, Any]) -> InvalidArguments:
    """Return the error for a TOOL_CALL that names no tool."""
    rest = _merged(given)
    named = next(
        (key for key, value in rest.items() if isinstance(value, str) and find_name(catalog, value) is not None), None
    )
    if named is not None:
        found = find_name(catalog, rest[named]) or ""
        others = {key: value for key, value in rest.items() if key != named}
        following = _call_of(catalog, found, others)
    else:
        query = rest.get("query", rest.get("q"))
        following = next_call("TOOL_LIST", {"query": query} if isinstance(query, str) else {})
    return invalid(
        TOOL,
        "tool_name must be the name of a tool",
        NAME_TOOL,
        **following,
    )


def _wrong_name(catalog: Catalog, value: Any, rest: Mapping[str, Any]) -> InvalidArguments:
    """Return the error for a ``tool_name`` that is not a name."""
    first = value[0] if isinstance(value, list) and value and isinstance(value[0], str) else None
    found = None if first is None else find_name(catalog, first)
    following = next_call("TOOL_LIST", {})
    if found is not None:
        following = _call_of(catalog, found, _merged(rest))
    return invalid(
        TOOL,
        f"tool_name must be the name of a tool, not {quote(value)}",
        ONE_TOOL,
        **following,
    )


def _call_of(catalog: Catalog, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    from toolfold.meta_tools.corrections import call_or_description  # for errors only

    return call_or_description(catalog, name, arguments)
