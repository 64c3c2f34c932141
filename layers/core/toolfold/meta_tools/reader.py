"""Read a call of a meta-tool in the forms that models and clients send, and return it in the documented form.

Accepted is what can mean one thing only: other names of an argument, other spellings of a tool's name, arguments one
level too deep or too high, JSON text for an object. Nothing is dropped: an argument without a place is an error that
says where it belongs, and has the call that would work.

TOOL_LIST and TOOL_GET only read, and clients may run them without asking a person. A call that belongs to TOOL_CALL is
therefore proposed by them, never performed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments
from toolfold.fuzzy import closest_matches, did_you_mean, normalize
from toolfold.messages import DESCRIBE_OR_SEARCH
from toolfold.meta_tools.arguments import (
    ARGUMENTS,
    COMBINED_ARGUMENTS,
    invalid,
    is_blank,
    next_call,
    quote,
    whole_number,
)
from toolfold.meta_tools.object_text import parse_object
from toolfold.meta_tools.tool_names import find_name

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

WRAPPERS = frozenset(
    {
        *("args", "argument", "arguments", "functionargs", "functionarguments", "input", "inputs", "kwargs", "options"),
        *("parameters", "params", "payload", "toolargs", "toolarguments", "toolinput", "toolparameters", "toolparams"),
    }
)
"""Names of an object that has the arguments, as ``fuzzy.normalize`` spells them."""

_ALIASES: Mapping[str, Mapping[str, str]] = {
    "TOOL_LIST": {
        "query": "q search search_query search_term term terms keyword keywords text question prompt task need "
        "request find intent name names tool tools tool_name tool_names",
        "category": "categories group groups domain topic",
        "tag": "tags label labels",
        "tag_mode": "tags_mode",
        "access": "access_level plan",
        "source": "sources server servers api provider connector service",
        "limit": "max top_k top k count n size page_size per_page max_results max_tools num_results",
        "offset": "skip start",
        "token_budget": "max_tokens token_limit budget",
        "detail": "details detail_level level verbosity",
    },
    "TOOL_GET": {
        "tool_name": "name names tool tools tool_names function function_name functions id ids method command",
        "detail": "details detail_level level verbosity",
        "known": "known_hashes hashes",
    },
    "TOOL_BATCH": {
        "calls": "batch requests items tools tool_calls invocations operations tasks jobs commands",
        "stop_on_error": "fail_fast stop_on_failure abort_on_error",
        "max_parallel": "parallel concurrency max_concurrency parallelism workers",
        "max_tokens": "token_budget token_limit max_output_tokens",
        "join": "join_on merge merge_on on",
        "select": "sql query filter",
        "continue": "continue_token continuation cursor token next resume",
    },
    "TOOL_PIPE": {
        "steps": "pipe pipeline calls chain stages tasks commands",
        "return": "returns output result",
        "max_tokens": "token_budget token_limit max_output_tokens",
        "continue": "continue_token continuation cursor token next resume",
        "approval_token": "approval",
    },
    "TOOL_SCRIPT": {
        "script": "code source python program text",
        "inputs": "input variables vars args arguments parameters params values",
        "max_tokens": "token_budget token_limit max_output_tokens",
    },
}
"""Meta-tool → argument → other names of it."""

_NAMES: Mapping[str, Mapping[str, str]] = {
    tool: {normalize(word): name for name, words in names.items() for word in [name, *words.split()]}
    for tool, names in _ALIASES.items()
}
"""Meta-tool → a name as ``fuzzy.normalize`` spells it → the argument."""

MAX_UNWRAPPED = 5
"""Levels of objects around the arguments."""

_PAGED_BY = 8
"""Tools on a page of a search, where ``page`` comes without ``limit``; as in ``tool_list.SEARCH_TOOLS``."""


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
        elif tool in ARGUMENTS or not (normalize(key) in WRAPPERS and (is_blank(value) or parse_object(value) == {})):
            unknown.append(key)
    if tool == "TOOL_LIST":
        unknown = _read_paging(read, given, unknown)
    elif tool == "TOOL_GET" and "tool_name" not in read and any(_own_name("TOOL_LIST", key) for key in unknown):
        read["tool_name"] = _name_in_query(catalog, read, given)
        unknown = [key for key in unknown if _own_name("TOOL_LIST", key) != "query"]
    if unknown:
        raise _no_such_argument(catalog, tool, read, given, unknown[0])
    return read if tool in ARGUMENTS else {name: value for name, value in read.items() if not is_blank(value)}


def _documented(tool: str) -> tuple[str, ...]:
    return ARGUMENTS.get(tool) or COMBINED_ARGUMENTS[tool]


def _own_name(tool: str, key: str) -> str | None:
    return key if key in _documented(tool) else _NAMES[tool].get(normalize(key))


def _unwrapped(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``arguments`` with those of an object around them one level up."""
    given = dict(arguments)
    for _ in range(MAX_UNWRAPPED):
        wrapped = {
            key: inner
            for key in given
            if normalize(key) in WRAPPERS
            and (inner := parse_object(given[key])) is not None
            and _is_around(tool, key, inner, given)
        }
        if not wrapped:
            return given
        given = {key: value for key, value in given.items() if key not in wrapped}
        for inner in wrapped.values():
            for key, value in inner.items():
                put(tool, given, key, value, key)
    raise invalid(tool, "arguments are nested too deeply", f"Send {', '.join(_documented(tool))} at the top.")


def _is_around(tool: str, key: str, inner: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """Return whether the object ``inner`` has arguments of the meta-tool, and is not one itself."""
    if tool in ARGUMENTS:
        is_known = all(normalize(name) in _NAMES[tool] or normalize(name) in WRAPPERS for name in inner)
        return key not in ARGUMENTS[tool] and is_known
    main = _documented(tool)[0]
    has_main = any(_own_name(tool, name) in (main, "continue") and not is_blank(given[name]) for name in given)
    # Beside the main argument an object of options has others; an object without it may be an argument itself.
    return normalize(key) == "options" if has_main else bool(inner)


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
        elif normalize(kind) == "input" and isinstance(value, str):
            put("TOOL_LIST", read, "query", value, key)
        else:
            left.append(key)
    return left


def put(tool: str, read: dict[str, Any], name: str, value: Any, given_as: str) -> None:
    """Set an argument in ``read``, which is changed, unless it is there already.

    Raises:
        InvalidArguments: it has another value there.
    """
    if name not in read or is_blank(read[name]):
        read[name] = value
    elif not is_blank(value) and read[name] != value:
        twice = f"{name} is given twice" if given_as == name else f"{quote(given_as)} and {name} are the same argument"
        following = next_call(tool, _sendable(tool, read)) if tool != "TOOL_CALL" or read.get("tool_name") else {}
        raise invalid(tool, f"{twice}, with different values", f"Send {name} once.", **following)


def _sendable(tool: str, read: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in read.items() if key in _documented(tool)}


def _name_in_query(catalog: Catalog, read: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Return the name of a tool that a TOOL_GET without ``tool_name`` has as ``query``.

    Raises:
        InvalidArguments: it has none; the next step is TOOL_LIST with its arguments.
    """
    renamed = {_own_name("TOOL_LIST", key): value for key, value in given.items()}
    query = renamed.get("query")
    if isinstance(query, str) and (found := find_name(catalog, query)) is not None:
        return found
    raise invalid(
        "TOOL_GET",
        "tool_name is missing",
        DESCRIBE_OR_SEARCH,
        **next_call("TOOL_LIST", {key: value for key, value in renamed.items() if key}),
    )


def _no_such_argument(
    catalog: Catalog, tool: str, read: Mapping[str, Any], given: Mapping[str, Any], name: str
) -> InvalidArguments:
    """Return the error for an argument that the meta-tool does not have. Its value may be a key: it is not repeated."""
    kept = _sendable(tool, read)
    names = read.get({"TOOL_GET": "tool_name", "TOOL_LIST": "query"}.get(tool, ""))
    inner = parse_object(given[name]) if normalize(name) in WRAPPERS else None
    found = find_name(catalog, names) if isinstance(names, str) else None
    if found is not None and (inner is not None or name in ARGUMENTS["TOOL_CALL"]):
        options = {key: given[key] for key in ARGUMENTS["TOOL_CALL"][2:] if key in given and key not in kept}
        from toolfold.meta_tools.corrections import call_or_description

        following = call_or_description(catalog, found, inner or {}, options)
        return invalid(tool, f"{quote(name)} belongs to TOOL_CALL", "TOOL_CALL runs the tool.", **following)
    takes = f"{tool} takes {', '.join(_documented(tool))}."
    closest = closest_matches(name, _documented(tool))
    elsewhere = [other for other, names in ARGUMENTS.items() if name in names]
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
