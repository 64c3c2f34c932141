"""Read a call of a meta-tool in the forms that models and clients send, and return it in the documented form.

Accepted is what can mean one thing only: other names of an argument, other spellings of a tool's name, arguments one
level too deep or too high, JSON text for an object. Nothing is dropped: an argument without a place is an error that
says where it belongs, and has the call that would work.

TOOL_LIST and TOOL_GET only read, and clients may run them without asking a person. A call that belongs to TOOL_CALL is
therefore proposed by them, never performed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import COMBINING_TOOLS, META_TOOLS, RESERVED_NAMES
from toolfold.errors import InvalidArguments
from toolfold.fuzzy import closest_matches, did_you_mean, normalize
from toolfold.messages import DESCRIBE_OR_SEARCH, NAME_TOOL, ONE_TOOL
from toolfold.meta_tools.arguments import (
    MAX_NEXT_CALL,
    OPTIONS,
    boolean,
    invalid,
    is_blank,
    json_problem,
    next_call,
    own_name,
    parse_call_text,
    parse_object,
    put,
    quote,
    sendable,
    whole_number,
)
from toolfold.meta_tools.corrections import call_or_description, correct
from toolfold.meta_tools.definitions import TOOLS
from toolfold.meta_tools.result import MetaCall
from toolfold.meta_tools.tool_names import find_meta_tool, find_name, tool_not_found
from toolfold.wording import Text

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog


TOOL = "TOOL_CALL"

_NAME_KEYS = ("toolname", "tool", "name", "functionname", "function", "command", "action", "method", "operation")
"""Other names of ``tool_name``, the surest first, as ``fuzzy.normalize`` spells them."""

_KINDS_OF_CALLS = frozenset({"function", "function_call", "tool_call", "tool_use"})
"""Values of ``type`` in the calls of other interfaces, which wrap a call of a function."""

_PAGED_BY = 8
"""Tools on a page of a search, where ``page`` comes without ``limit``; as in ``tool_list.SEARCH_TOOLS``."""


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
        if meta_tool in (TOOL, "TOOL_CALL_WRITE"):
            return read_tool_call(catalog, _merged(rest), depth + 1)
        inner = rest if meta_tool in COMBINING_TOOLS else _merged(rest)
        return MetaCall(meta_tool, read_arguments(catalog, meta_tool, inner))
    if tool is None and (found := find_name(catalog, name)) is not None:
        tool = catalog.called_tool(found)
    if tool is None:
        if (call := parse_call_text(name)) is not None:
            return read_tool_call(catalog, {**rest, "tool_name": call[0], "arguments": call[1]}, depth + 1)
        raise tool_not_found(catalog, name, _merged(rest))
    return MetaCall(TOOL, _CallReader(catalog, tool).read(rest))


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
        name, kind = own_name(tool, key), normalize(key)
        if name is not None:
            put(tool, read, name, value, key)
        elif tool == "TOOL_LIST" and (meant := _as_filter(kind, value, given)) is not None:
            put(tool, read, *meant, key)
        elif kind not in _IGNORED and not (kind in WRAPPERS and (is_blank(value) or parse_object(value) == {})):
            unknown.append(key)
    if tool == "TOOL_GET" and "tool_name" not in read and any(own_name("TOOL_LIST", key) for key in unknown):
        read["tool_name"] = _name_in_query(catalog, given)
        unknown = [key for key in unknown if own_name("TOOL_LIST", key) != "query"]
    if unknown:
        raise _no_such_argument(catalog, tool, read, given, unknown[0])
    return read if tool in META_TOOLS else {name: value for name, value in read.items() if not is_blank(value)}


def _as_filter(kind: str, value: Any, given: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return the argument of TOOL_LIST that ``page`` or ``free`` means, with its value; None for another name."""
    number = whole_number(value)
    if kind == "page" and number is not None and number >= 1:
        limit = next((one for key, one in given.items() if own_name("TOOL_LIST", key) == "limit"), None)
        return "offset", (number - 1) * (whole_number(limit) or _PAGED_BY)
    if kind in ("free", "freeonly", "premium", "premiumonly") and value in (True, "true"):
        return "access", kind.removesuffix("only")
    return None


_IGNORED = ("includemutation", "includeeffects")
"""Arguments of other systems for what every answer says: which tools change data."""


def _unwrapped(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``arguments`` with those of an object around them one level up."""
    given = dict(arguments)
    for _ in range(MAX_UNWRAPPED):
        wrapped = [key for key in given if normalize(key) in WRAPPERS and _is_around(tool, key, given)]
        if not wrapped:
            return given
        given = _lifted(tool, given, wrapped)
    raise invalid(tool, "arguments are nested too deeply", f"Send {', '.join(TOOLS[tool].arguments)} at the top.")


def _lifted(tool: str, given: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """Return ``given`` with the members of the objects ``keys`` in their place."""
    lifted: dict[str, Any] = {}
    for key, value in given.items():
        for name, inner in (parse_object(value) or {}).items() if key in keys else [(key, value)]:
            put(tool, lifted, name, inner, name)
    return lifted


def _is_around(tool: str, key: str, given: Mapping[str, Any]) -> bool:
    """Return whether ``key`` is an object that has arguments of the meta-tool, and is not one itself."""
    inner = parse_object(given[key])
    if inner is None:
        return False
    if tool in META_TOOLS:
        is_known = all(own_name(tool, name) or normalize(name) in WRAPPERS for name in inner)
        return key not in TOOLS[tool].arguments and is_known
    main = next(iter(TOOLS[tool].arguments))
    has_main = any(own_name(tool, name) in (main, "continue") and not is_blank(given[name]) for name in given)
    # Beside the main argument an object of options has others; an object without it may be an argument itself.
    return normalize(key) == "options" if has_main else bool(inner)


def _merged(rest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a meta-tool, or of an unknown tool: those in an object, and those beside it."""
    wrappers = [key for key in rest if normalize(key) in WRAPPERS]
    given = {key: value for key, value in rest.items() if not (key in wrappers and is_blank(value))}
    return _lifted(TOOL, given, [key for key in wrappers if parse_object(rest[key]) is not None])


def _take_name(catalog: Catalog, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of the tool, and what was given beside it."""
    for _ in range(MAX_UNWRAPPED):
        key = "tool_name" if not is_blank(given.get("tool_name")) else _name_key(catalog, given)
        if key is None:
            only, value = next(iter(given.items())) if len(given) == 1 else ("", None)
            if only and find_name(catalog, only) is not None and (is_blank(value) or parse_object(value)):
                return only, {"arguments": value}
            key = next((key for key in given if normalize(key) in WRAPPERS and _names_a_tool(given[key])), None)
            if key is None:
                raise _without_name(catalog, given)
        else:
            value = given[key]
            rest = {name: other for name, other in given.items() if name != key}
            if isinstance(value, list) and len(value) == 1:
                value = value[0]
            if isinstance(value, str):
                return value, rest if key == "tool_name" else _without_kind(rest)
            if not isinstance(value, dict):
                first = value[0] if isinstance(value, list) and value and isinstance(value[0], str) else None
                found = None if first is None else find_name(catalog, first)
                following = next_call("TOOL_LIST", {})
                if found is not None:
                    following = call_or_description(catalog, found, _merged(rest))
                problem = f"tool_name must be the name of a tool, not {quote(value)}"
                raise invalid(TOOL, problem, ONE_TOOL, **following)
            given = {**rest, key: value}
        given = _lifted(TOOL, _without_kind(given), [key])
    raise invalid(TOOL, "calls are nested too deeply", "Send tool_name and arguments at the top.")


def _name_key(catalog: Catalog, given: Mapping[str, Any]) -> str | None:
    keys = {normalize(key): key for key, value in given.items() if not is_blank(value)}
    candidates = [keys[kind] for kind in _NAME_KEYS if kind in keys]
    for key in candidates:
        value = given[key]
        if _names_a_tool(value) or (isinstance(value, str) and (find_meta_tool(value) or find_name(catalog, value))):
            return key
    # An unknown name, which is then reported: but for the words that are often parameters of a tool.
    return next((key for key in candidates if normalize(key) in _NAME_KEYS[:6]), None)


def _names_a_tool(value: Any) -> bool:
    inner = parse_object(value)
    return inner is not None and any(normalize(key) in _NAME_KEYS for key in inner)


def _without_kind(given: dict[str, Any]) -> dict[str, Any]:
    """Return ``given`` without what says only that it is a call: ``"type": "function"`` and the id of the call."""
    is_kind = isinstance(given.get("type"), str) and given["type"] in _KINDS_OF_CALLS
    return {key: value for key, value in given.items() if not (is_kind and key in ("type", "id"))}


def _without_name(catalog: Catalog, given: Mapping[str, Any]) -> InvalidArguments:
    rest = _merged(given)
    for key, value in rest.items():
        if isinstance(value, str) and (found := find_name(catalog, value)) is not None:
            others = {name: other for name, other in rest.items() if name != key}
            following = call_or_description(catalog, found, others)
            break
    else:
        query = rest.get("query", rest.get("q"))
        following = next_call("TOOL_LIST", {"query": query} if isinstance(query, str) else {})
    return invalid(TOOL, "tool_name must be the name of a tool", NAME_TOOL, **following)


def _name_in_query(catalog: Catalog, given: Mapping[str, Any]) -> str:
    """Return the name of a tool that a TOOL_GET without ``tool_name`` has as ``query``."""
    renamed = {own_name("TOOL_LIST", key): value for key, value in given.items()}
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
    if found is not None and (inner is not None or name in TOOLS[TOOL].arguments):
        options = {key: given[key] for key in OPTIONS if key in given and key not in kept}
        following = call_or_description(catalog, found, inner or {}, options)
        return invalid(tool, f"{quote(name)} belongs to a call", Text("{TOOL_CALL} runs the tool."), **following)
    elsewhere = [other for other in META_TOOLS if name in TOOLS[other].arguments]
    hint = did_you_mean(name, TOOLS[tool].arguments)
    if hint:
        kept.setdefault(closest_matches(name, TOOLS[tool].arguments)[0], given[name])
    elif tool in COMBINING_TOOLS:
        # A call without it would be another one.
        hint, kept = f"{name} belongs to each call in it. " if name in OPTIONS else "", {}
    elif normalize(name) == "page":
        hint = "Send offset, a number: an answer has the next one in more. "
    elif elsewhere:
        hint = f"{name} belongs to {' and '.join(elsewhere)}. "
    elif tool == "TOOL_LIST" and "key" not in normalize(name):
        hint = "Arguments of a tool go into TOOL_CALL's arguments. "
    following = next_call(tool, kept) if kept or tool == "TOOL_LIST" else {}
    takes = Text(
        "{hint}{" + tool + "} takes {names}.", fields={"hint": hint, "names": ", ".join(TOOLS[tool].arguments)}
    )
    return invalid(tool, f"there is no argument {quote(name)}", takes, **following)


WRAPPERS = frozenset(
    {
        *("args", "argument", "arguments", "functionargs", "functionarguments", "input", "inputs", "kwargs", "options"),
        *("parameters", "params", "payload", "toolargs", "toolarguments", "toolinput", "toolparameters", "toolparams"),
    }
)
"""Names of an object that has the arguments, as ``fuzzy.normalize`` spells them."""

MAX_UNWRAPPED = 5
"""Levels of objects around the arguments."""

_MAX_COMPARED = 20
"""Unknown arguments that are compared with the options."""

_PAIR = re.compile(r"\s*([\w.-]+)\s*[=:]\s*(.*?)\s*")


_ORDER_BY = re.compile(r"(-?)(?!(?:asc|desc)\w*$)([a-z_]\w*)(?:[ :]+(asc|desc)\w*)?", re.IGNORECASE)
_PLACES: Mapping[str, int] = {
    **dict.fromkeys(("sort", "sortby", "orderby"), 1),
    **dict.fromkeys(("columns", "fields"), 2),
    **dict.fromkeys(("offset", "skip"), 3),
    **dict.fromkeys(("limit", "maxrows"), 4),
}
"""Other names of ``select`` → their place after the conditions, which are first: as the clauses of SQL."""


def _as_option(name: str, value: Any) -> tuple[str, Any] | None:
    """Return the option of TOOL_CALL that another name means, with its value; None for another name."""
    match normalize(name):
        case "columns" | "fields":
            is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
            return "select", ",".join(value) if is_list else value
        case "jmespath":
            is_bare = isinstance(value, str) and not value.strip().lower().startswith("jmespath:")
            return "select", f"jmespath: {value.strip()}" if is_bare else value
        case "limit" | "maxrows":
            number = whole_number(value)
            return "select", value if number is None else f"limit {number}"
        case "offset" | "skip" if (number := whole_number(value)) is not None and number >= 0:
            return "select", f"[{number}:]"
        case "sort" | "sortby" | "orderby" if isinstance(value, str) and (key := _ORDER_BY.fullmatch(value.strip())):
            is_down = key[1] or (key[3] or "").lower() == "desc"
            return "select", f"order by {key[2]}{' desc' if is_down else ''}"
        case "cache" | "usecache":
            given = boolean(value)
            return "fresh", value if given is None else not given
    option = own_name(TOOL, name)
    return (option, value) if option in OPTIONS else None


class _CallReader:
    """Reads the arguments of one call of ``tool``."""

    def __init__(self, catalog: Catalog, tool: Tool) -> None:
        self._catalog, self._tool = catalog, tool
        self._own: Mapping[str, Any] = tool.parameters.get("properties", {})
        self._own_kinds = frozenset(map(normalize, self._own))  # ``$select`` is a parameter called ``select``
        self._arguments: dict[str, Any] = {}
        self._options: dict[str, Any] = {}
        self._steps: dict[str, int] = {}

    def read(self, rest: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of TOOL_CALL in the documented form."""
        is_flat = all(is_blank(rest.get(key)) for key in rest if normalize(key) in WRAPPERS)
        # Beside the arguments an option is TOOL_CALL's own, even where the tool has a parameter of that name.
        options = {name: rest[name] for name in OPTIONS if name in rest and not (is_flat and name in self._own)}
        self._collect({name: value for name, value in rest.items() if name not in options}, 0)
        for name, value in options.items():
            self._set_option(name, value, name)
        unknown = (key for key in self._arguments if key not in self._own)
        for key in list(itertools.islice(unknown, _MAX_COMPARED)):
            closest = closest_matches(key, [*self._own, *OPTIONS, "arguments"])
            if closest and closest[0] not in self._own:
                raise self._misspelt(key, closest[0])
        return self._call()

    def _call(self, **more: Any) -> dict[str, Any]:
        return {"tool_name": self._tool.name, "arguments": self._arguments, **self._options, **more}

    def _collect(self, given: Mapping[str, Any], depth: int) -> None:
        """Divide ``given`` into the tool's arguments and the options, which are changed."""
        for key, value in given.items():
            kind = normalize(key)
            if kind in WRAPPERS and (key not in self._own or (depth == 0 and key == "arguments")):
                if is_blank(value):
                    continue
                only = value[0] if isinstance(value, list) and len(value) == 1 else value
                inner = parse_object(only)
                if inner is None and kind == "arguments":
                    inner = self._pairs(only)
                if inner is not None and depth < MAX_UNWRAPPED:
                    self._collect(inner, depth + 1)
                    continue
                if kind == "arguments":
                    raise self._not_an_object(only)
            # Rows that the tool itself cuts off are not sorted, nor counted, after that; an open tool may do it itself.
            is_open = self._tool.parameters.get("additionalProperties") is not False
            is_own = ("limit" in self._own_kinds or is_open) and _PLACES.get(kind) in (1, 3)
            if key not in self._own and kind not in self._own_kinds and not is_own:
                if (option := _as_option(key, value)) is not None:
                    self._set_option(*option, key)
                    continue
                if kind == "toolname" and isinstance(value, str) and find_name(self._catalog, value) == self._tool.name:
                    continue
            known = self._arguments.get(key)
            if not is_blank(known) and not is_blank(value) and known != value:
                problem = f"{quote(key)} is given twice, with different values"
                raise invalid(TOOL, problem, "Send it once, in arguments.", **next_call(TOOL, self._call()))
            if key not in self._arguments or not is_blank(value):
                self._arguments[key] = value

    def _set_option(self, name: str, value: Any, given_as: str) -> None:
        steps = value if isinstance(value, list) else [value]
        if name != "select" or is_blank(value) or not all(isinstance(step, str) for step in steps):
            put(TOOL, self._options, name, value, given_as)
            return
        if "; ".join(steps) not in self._steps:
            self._steps["; ".join(steps)] = _PLACES.get(normalize(given_as), 0)
        self._options[name] = (
            "; ".join(sorted(self._steps, key=self._steps.__getitem__)) if len(self._steps) > 1 else value
        )

    def _misspelt(self, name: str, meant: str) -> InvalidArguments:
        value = self._arguments.pop(name)
        if meant == "arguments":
            self._arguments.update(parse_object(value) or {})
        call = self._call() if meant == "arguments" else self._call(**{meant: value})
        hint = did_you_mean(name, [meant]).strip()
        return invalid(TOOL, f"there is no argument {quote(name)}", hint, **next_call(TOOL, call))

    def _not_an_object(self, value: Any) -> InvalidArguments:
        text = value.strip() if isinstance(value, str) else ""
        problem = json_problem(text if text.startswith(("{", "[")) else "[]")
        guessed = self._guessed(text)
        following = correct(self._catalog, self._tool, guessed).call(self._tool, self._options) if guessed else {}
        return InvalidArguments(
            f"{self._tool.name}: {problem}.",
            "Send arguments as an object; nothing was sent.",
            **(following or {"schema": self._tool.parameters}),
        )

    def _pairs(self, value: Any) -> dict[str, Any] | None:
        """Return the arguments that a text has as pairs with the names of parameters: ``symbol=IBM&interval=daily``."""
        if not isinstance(value, str) or len(value) > MAX_NEXT_CALL:
            return None
        found = self._guessed(value) if re.search("[=:]", value) else {}
        is_clear = found and found.keys() <= self._own.keys() and not any(map(is_blank, found.values()))
        return found if is_clear else None

    def _guessed(self, text: str) -> dict[str, Any]:
        """Return the arguments that ``text`` may mean: pairs, or the value of the only required parameter."""
        if not text or len(text) > MAX_NEXT_CALL:
            return {}
        pairs = [_PAIR.fullmatch(part) for part in re.split(r"[&,;\n]", text)]
        if all(pairs):
            return {pair[1]: pair[2].strip("'\"") for pair in pairs if pair is not None}
        required = self._tool.parameters.get("required", ())
        is_value = len(required) == 1 and re.fullmatch(r"[\"']?[\w.:-]{1,20}[\"']?", text)
        return {required[0]: text.strip("'\"")} if is_value else {}
