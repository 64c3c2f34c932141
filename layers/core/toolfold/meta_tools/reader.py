"""Read a call of a meta-tool in the forms that models and clients send, and return it in the documented form.

Accepted is what can mean one thing only: other names of an argument, other spellings of a tool's name, arguments one
level too deep or too high, JSON text for an object. Nothing is dropped: an argument without a place is an error that
says where it belongs, and has the call that would work.

TOOL_LIST and TOOL_GET only read, and clients may run them without asking a person. A call that belongs to TOOL_CALL is
therefore proposed by them, never performed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import COMBINING_TOOLS, META_TOOLS, RESERVED_NAMES
from toolfold.errors import InvalidArguments
from toolfold.fuzzy import closest_matches, did_you_mean, normalize
from toolfold.messages import DESCRIBE_OR_SEARCH, NAME_TOOL, ONE_TOOL
from toolfold.meta_tools.arguments import (
    NAMES_OF_ARGUMENTS,
    invalid,
    is_blank,
    next_call,
    parse_call_text,
    parse_object,
    put,
    quote,
    sendable,
    whole_number,
)
from toolfold.meta_tools.definitions import arguments_of
from toolfold.meta_tools.result import MetaCall
from toolfold.meta_tools.tool_arguments import MAX_UNWRAPPED, WRAPPERS, ArgumentReader
from toolfold.meta_tools.tool_names import find_meta_tool, find_name, tool_not_found

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

TOOL = "TOOL_CALL"

_NAME_KEYS = ("toolname", "tool", "name", "functionname", "function", "command", "action", "method", "operation")
"""Other names of ``tool_name``, the surest first, as ``fuzzy.normalize`` spells them."""

_KINDS_OF_CALLS = frozenset({"function", "function_call", "tool_call", "tool_use"})
"""Values of ``type`` in the calls of other interfaces, which wrap a call of a function."""

_PAGED_BY = 8
"""Tools on a page of a search, where ``page`` comes without ``limit``; as in ``tool_list.SEARCH_TOOLS``."""


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
    name, given = arguments.get("tool_name"), arguments.get("arguments")
    if isinstance(name, str) and isinstance(given, dict) and arguments.keys() <= arguments_of(TOOL).keys():
        tool = None if name in RESERVED_NAMES else catalog.called_tool(name)
        if tool is not None and given.keys() <= tool.parameters.get("properties", {}).keys():
            return MetaCall(TOOL, {**arguments, "tool_name": tool.name})
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


def read_arguments(catalog: Catalog, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a meta-tool under their own names: of any but TOOL_CALL, which has those of its tool.

    Raises:
        InvalidArguments: an argument has no place, or two contradict each other.
    """
    given = _unwrapped(tool, arguments)
    read: dict[str, Any] = {}
    unknown: list[str] = []
    for key, value in given.items():
        name = _own_name(tool, key)
        if name is not None:
            put(tool, read, name, value, key)
        elif tool in META_TOOLS or not (normalize(key) in WRAPPERS and (is_blank(value) or parse_object(value) == {})):
            unknown.append(key)
    if tool == "TOOL_LIST":
        unknown = _read_paging(read, given, unknown)
    elif tool == "TOOL_GET" and "tool_name" not in read and any(_own_name("TOOL_LIST", key) for key in unknown):
        read["tool_name"] = _name_in_query(catalog, given)
        unknown = [key for key in unknown if _own_name("TOOL_LIST", key) != "query"]
    if unknown:
        raise _no_such_argument(catalog, tool, read, given, unknown[0])
    return read if tool in META_TOOLS else {name: value for name, value in read.items() if not is_blank(value)}


def _own_name(tool: str, key: str) -> str | None:
    return key if key in arguments_of(tool) else next(iter(NAMES_OF_ARGUMENTS[tool].of(key)), None)


def _lifted(tool: str, given: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """Return ``given`` with the members of the objects ``keys`` in their place."""
    lifted: dict[str, Any] = {}
    for key, value in given.items():
        for name, inner in (parse_object(value) or {}).items() if key in keys else [(key, value)]:
            put(tool, lifted, name, inner, name)
    return lifted


def _unwrapped(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``arguments`` with those of an object around them one level up."""
    given = dict(arguments)
    for _ in range(MAX_UNWRAPPED):
        wrapped = [key for key in given if normalize(key) in WRAPPERS and _is_around(tool, key, given)]
        if not wrapped:
            return given
        given = _lifted(tool, given, wrapped)
    raise invalid(tool, "arguments are nested too deeply", f"Send {', '.join(arguments_of(tool))} at the top.")


def _is_around(tool: str, key: str, given: Mapping[str, Any]) -> bool:
    """Return whether ``key`` is an object that has arguments of the meta-tool, and is not one itself."""
    inner = parse_object(given[key])
    if inner is None:
        return False
    if tool in META_TOOLS:
        is_known = all(_own_name(tool, name) or normalize(name) in WRAPPERS for name in inner)
        return key not in arguments_of(tool) and is_known
    main = next(iter(arguments_of(tool)))
    has_main = any(_own_name(tool, name) in (main, "continue") and not is_blank(given[name]) for name in given)
    # Beside the main argument an object of options has others; an object without it may be an argument itself.
    return normalize(key) == "options" if has_main else bool(inner)


def _merged(rest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a meta-tool, or of an unknown tool: those in an object, and those beside it."""
    wrappers = [key for key in rest if normalize(key) in WRAPPERS]
    given = {key: value for key, value in rest.items() if not (key in wrappers and is_blank(value))}
    return _lifted(TOOL, given, [key for key in wrappers if parse_object(rest[key]) is not None])


def _take_name(catalog: Catalog, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the tool's name, and the other arguments."""
    for _ in range(MAX_UNWRAPPED):
        key = "tool_name" if not is_blank(given.get("tool_name")) else _name_key(catalog, given)
        if key is None:
            only = next(iter(given.items()), ("", None)) if len(given) == 1 else ("", None)
            if only[0] and find_name(catalog, only[0]) is not None and (is_blank(only[1]) or parse_object(only[1])):
                return only[0], {"arguments": only[1]}
            wrapper = next((key for key in given if normalize(key) in WRAPPERS and _names_a_tool(given[key])), None)
            if wrapper is None:
                raise _without_name(catalog, given)
            given = _lifted(TOOL, _without_kind(given), [wrapper])
            continue
        value = given[key]
        rest = {name: other for name, other in given.items() if name != key}
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, str):
            return value, rest if key == "tool_name" else _without_kind(rest)
        if not isinstance(value, dict):
            raise _wrong_name(catalog, value, rest)
        given = _lifted(TOOL, _without_kind({**rest, key: value}), [key])
    raise invalid(TOOL, "calls are nested too deeply", "Send tool_name and arguments at the top.")


def _name_key(catalog: Catalog, given: Mapping[str, Any]) -> str | None:
    """Return which argument has the tool's name under another name."""
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


def _without_kind(given: dict[str, Any]) -> dict[str, Any]:
    """Return ``given`` without what says only that it is a call: ``"type": "function"`` and the id of the call."""
    is_kind = isinstance(given.get("type"), str) and given["type"] in _KINDS_OF_CALLS
    return {key: value for key, value in given.items() if not (is_kind and key in ("type", "id"))}


def _without_name(catalog: Catalog, given: Mapping[str, Any]) -> InvalidArguments:
    """Return the error for a TOOL_CALL that names no tool."""
    rest = _merged(given)
    named = (key for key, value in rest.items() if isinstance(value, str) and find_name(catalog, value) is not None)
    if (key := next(named, None)) is not None:
        others = {name: value for name, value in rest.items() if name != key}
        following = _call_of(catalog, find_name(catalog, rest[key]) or "", others)
    else:
        query = rest.get("query", rest.get("q"))
        following = next_call("TOOL_LIST", {"query": query} if isinstance(query, str) else {})
    return invalid(TOOL, "tool_name must be the name of a tool", NAME_TOOL, **following)


def _wrong_name(catalog: Catalog, value: Any, rest: Mapping[str, Any]) -> InvalidArguments:
    """Return the error for a ``tool_name`` that is not a name."""
    first = value[0] if isinstance(value, list) and value and isinstance(value[0], str) else None
    found = None if first is None else find_name(catalog, first)
    following = next_call("TOOL_LIST", {}) if found is None else _call_of(catalog, found, _merged(rest))
    return invalid(TOOL, f"tool_name must be the name of a tool, not {quote(value)}", ONE_TOOL, **following)


def _call_of(
    catalog: Catalog, name: str, arguments: Mapping[str, Any], options: Mapping[str, Any] = {}
) -> dict[str, Any]:
    from toolfold.meta_tools.corrections import call_or_description  # for errors only

    return call_or_description(catalog, name, arguments, options)


def _read_paging(read: dict[str, Any], given: Mapping[str, Any], unknown: Sequence[str]) -> list[str]:
    """Turn ``page``, ``cursor`` and ``more`` into an offset, ``free`` into a filter; return what remains unknown.

    ``read`` is changed.
    """
    left = []
    for key in unknown:
        value, kind = given[key], normalize(key)
        number = whole_number(value.get("offset") if isinstance(value, dict) else value)
        if kind == "page" and number is not None and number >= 1:
            put("TOOL_LIST", read, "offset", (number - 1) * (whole_number(read.get("limit")) or _PAGED_BY), key)
        elif kind in ("cursor", "more", "nextoffset") and (number is not None or is_blank(value)):
            put("TOOL_LIST", read, "offset", number, key)
        elif kind in ("includemutation", "includeeffects"):
            continue  # what changes data is marked in every answer
        elif kind in ("free", "freeonly", "premium", "premiumonly") and value in (True, "true"):
            put("TOOL_LIST", read, "access", kind.removesuffix("only"), key)
        elif kind == "input" and isinstance(value, str):
            put("TOOL_LIST", read, "query", value, key)
        else:
            left.append(key)
    return left


def _name_in_query(catalog: Catalog, given: Mapping[str, Any]) -> str:
    """Return the name of a tool that a TOOL_GET without ``tool_name`` has as ``query``."""
    renamed = {_own_name("TOOL_LIST", key): value for key, value in given.items()}
    query = renamed.get("query")
    if isinstance(query, str) and (found := find_name(catalog, query)) is not None:
        return found
    following = next_call("TOOL_LIST", {key: value for key, value in renamed.items() if key})
    raise invalid("TOOL_GET", "tool_name is missing", DESCRIBE_OR_SEARCH, **following)


def _no_such_argument(
    catalog: Catalog, tool: str, read: Mapping[str, Any], given: Mapping[str, Any], name: str
) -> InvalidArguments:
    """Return the error for an argument that the meta-tool does not have. Its value may be a key: it is not repeated."""
    kept = sendable(tool, read)
    names = read.get({"TOOL_GET": "tool_name", "TOOL_LIST": "query"}.get(tool, ""))
    inner = parse_object(given[name]) if normalize(name) in WRAPPERS else None
    found = find_name(catalog, names) if isinstance(names, str) else None
    if found is not None and (inner is not None or name in arguments_of(TOOL)):
        beside = [key for key in arguments_of(TOOL) if key not in ("tool_name", "arguments", *kept)]
        following = _call_of(catalog, found, inner or {}, {key: given[key] for key in beside if key in given})
        return invalid(tool, f"{quote(name)} belongs to TOOL_CALL", "TOOL_CALL runs the tool.", **following)
    takes = f"{tool} takes {', '.join(arguments_of(tool))}."
    closest = closest_matches(name, arguments_of(tool))
    elsewhere = [other for other in META_TOOLS if name in arguments_of(other)]
    if closest:
        hint = did_you_mean(name, closest)
        kept.setdefault(closest[0], given[name])
    else:
        hint = f"{name} belongs to {' and '.join(elsewhere)}. " if elsewhere else ""
        if normalize(name) in ("cursor", "page", "more"):
            hint = "Send offset, a number: an answer has the next one in more. "
        elif not elsewhere and tool == "TOOL_LIST" and "key" not in normalize(name):
            hint = "Arguments of a tool go into TOOL_CALL's arguments. "
    following = next_call(tool, kept) if kept or tool == "TOOL_LIST" else {}
    return invalid(tool, f"there is no argument {quote(name)}", f"{hint}{takes}", **following)
