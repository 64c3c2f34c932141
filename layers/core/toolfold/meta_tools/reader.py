"""Read a call of a meta-tool in the forms that models and clients send, and return it in the documented form.

Accepted is what can mean one thing only: other names of an argument, other spellings of a tool's name, arguments one
level too deep or too high, JSON text for an object. Nothing is dropped: an argument without a place is an error that
says where it belongs, and has the call that would work.

TOOL_LIST and TOOL_GET only read, and clients may run them without asking a person: they never perform a call.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog.entries import COMBINING_TOOLS, RESERVED_NAMES
from toolfold.errors import InvalidArguments
from toolfold.execution.argument_reader import reader_of
from toolfold.execution.validation import invalid_arguments
from toolfold.execution.validation_problems import describe_expected
from toolfold.fuzzy import closest_matches, did_you_mean, normalize
from toolfold.messages import NAME_TOOL, NAME_TOOLS, ONE_TOOL
from toolfold.meta_tools.arguments import (
    MAX_NEXT_CALL,
    MAX_READ,
    OPTIONS,
    invalid,
    is_blank,
    meta_tool,
    next_call,
    own_name,
    parse_object,
    put,
    too_many,
)
from toolfold.meta_tools.corrections import correct, corrected
from toolfold.meta_tools.definitions import TOOLS
from toolfold.meta_tools.result import MetaCall
from toolfold.meta_tools.tool_names import find_meta_tool, find_name, tool_not_found
from toolfold.text_safety import load_json, quoted
from toolfold.wording import joined

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog


TOOL = "TOOL_CALL"

_NAME_KEYS = ("toolname", "tool", "name", "functionname", "function", "command", "action", "method", "operation")
"""Other names of ``tool_name``, the surest first, as ``fuzzy.normalize`` spells them."""


WRAPPERS = frozenset(
    {
        *("args", "argument", "arguments", "functionargs", "functionarguments", "input", "inputs", "kwargs", "options"),
        *("parameters", "params", "payload", "toolargs", "toolarguments", "toolinput", "toolparameters", "toolparams"),
    }
)
"""Names of an object that has the arguments, as ``fuzzy.normalize`` spells them."""

MAX_UNWRAPPED = 5
"""Levels of objects around the arguments."""


def read_tool_call(
    catalog: Catalog, arguments: Mapping[str, Any], depth: int = 0, *, only_tools: bool = False
) -> MetaCall:
    """Return a TOOL_CALL in the documented form, or the call of a meta-tool that it names.

    Raises:
        InvalidArguments: the tool's name is missing, an argument has no place, or two contradict each other.
        ToolNotFound: no tool has the name.
    """
    if depth > MAX_UNWRAPPED:
        raise invalid(TOOL, "calls are nested too deeply", "Send tool_name and arguments at the top.")
    name, rest = _take_name(catalog, dict(arguments))
    tool = None if name in RESERVED_NAMES else catalog.get(name)
    if tool is None and (meta_name := find_meta_tool(name)) is not None:
        if meta_name in (TOOL, "TOOL_CALL_WRITE"):
            return read_tool_call(catalog, _merged(rest), depth + 1, only_tools=only_tools)
        if only_tools:
            problem = f"{meta_name} cannot be called here: only tools of the catalog can be combined."
            raise InvalidArguments(problem, f"Call {meta_name} on its own; nothing was sent.")
        inner = rest if meta_name in COMBINING_TOOLS else _merged(rest)
        return MetaCall(meta_name, read_arguments(catalog, meta_name, inner))
    if tool is None and (found := find_name(catalog, name)) is not None:
        tool = catalog.get(found)
    if tool is None:
        raise tool_not_found(catalog, name, _merged(rest))
    return MetaCall(TOOL, _CallReader(catalog, tool).read(rest))


def read_arguments(catalog: Catalog, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a meta-tool in the documented form: of any but TOOL_CALL, which has those of its tool.

    Raises:
        InvalidArguments: an argument has no place, or two contradict each other.
    """
    known, read = TOOLS[tool].arguments, dict[str, Any]()

    def is_own(key: str, value: Any, _: int) -> bool:
        names = parse_object(value) or ()
        return key in known or not any(own_name(tool, name) or normalize(name) in WRAPPERS for name in names)

    given = list(_opened(arguments, is_own))
    if len(given) > MAX_READ:
        raise too_many(tool, given, known)
    continues = tool in COMBINING_TOOLS and any(key == "continue" and not is_blank(value) for key, value in given)
    for key, value in given:
        name = own_name(tool, key) or key
        if continues and value == []:  # the token has the calls
            continue
        if is_blank(value) and not (isinstance(value, str) and name == "query"):
            continue
        if name in known or not (
            normalize(key) in _IGNORED or (normalize(key) in WRAPPERS and parse_object(value) == {})
        ):
            put(tool, read, name, value, key)
    return read_values(catalog, tool, read)


def read_values(catalog: Catalog, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a meta-tool, which have their own names, with the values that its schema takes.

    Raises:
        InvalidArguments: it takes no such argument, or not the value.
    """
    known = TOOLS[name].arguments
    if name == TOOL:
        arguments = {key: value for key, value in arguments.items() if not is_blank(value)}
        if all(known[key].takes(value) for key, value in arguments.items()):
            return arguments
    tool = meta_tool(name)
    for key, value in arguments.items():
        if isinstance(value, list) and len(value) > MAX_READ and key in known:
            expected = describe_expected(tool.parameters["properties"][key], tool.parameters)
            raise invalid(name, f"{key} has {len(value):,} items: {expected}", "Ask for less in one call.")
    resolved = reader_of(catalog, tool).resolve(arguments)
    if resolved.problems:
        error = corrected(catalog, tool, arguments, invalid_arguments(tool, resolved))
        if name == "TOOL_GET" and "next_call" not in error.details:  # no name is known
            meant = {own_name("TOOL_LIST", key): value for key, value in arguments.items() if key not in known}
            search = {key: value for key, value in meant.items() if key}
            error = error.changed(next_step=NAME_TOOLS, schema=None, **next_call("TOOL_LIST", search))
        raise error
    return resolved.arguments


_IGNORED = ("includemutation", "includeeffects")
"""Arguments of other systems for what every answer says: which tools change data."""


def _opened(
    given: Mapping[str, Any], is_own: Callable[[str, Any, int], bool], depth: int = 0, levels: int = MAX_UNWRAPPED
) -> Iterator[tuple[str, Any]]:
    """Yield what is given, the members of an object around arguments in its place, unless it is one of its own."""
    for key, value in given.items():
        only = value[0] if isinstance(value, list) and len(value) == 1 else value
        is_around = depth < levels and normalize(key) in WRAPPERS and not is_own(key, only, depth)
        if is_around and (inner := parse_object(only)) is not None:
            yield from _opened(inner, is_own, depth + 1, levels)
        else:
            yield key, value


def _merged(rest: Mapping[str, Any], only: str = "") -> dict[str, Any]:
    """Return the arguments of a meta-tool, or of an unknown tool: those in an object, or in ``only``, and beside it."""
    merged: dict[str, Any] = {}
    for key, value in _opened(rest, lambda key, *_: only not in ("", key), levels=1):
        put(TOOL, merged, key, value, key)
    return merged


def _take_name(catalog: Catalog, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of the tool, and what was given beside it."""
    for _ in range(MAX_UNWRAPPED):
        key = "tool_name" if not is_blank(given.get("tool_name")) else _name_key(catalog, given)
        if key is not None:
            value = given.pop(key)
            value = value[0] if isinstance(value, list) and len(value) == 1 else value
            if isinstance(value, str):
                return value, given
            problem = f"tool_name must be the name of a tool, not {quoted(value)}"
            raise invalid(TOOL, problem, ONE_TOOL, **next_call("TOOL_LIST", {}))
        inner = {key: parse_object(given[key]) or {} for key in given if normalize(key) in WRAPPERS}
        wrapper = next((key for key in inner if any(normalize(name) in _NAME_KEYS for name in inner[key])), None)
        if wrapper is None:
            rest = _merged(given)
            query = rest.get("query", rest.get("q"))
            following = next_call("TOOL_LIST", {"query": query} if isinstance(query, str) else {})
            raise invalid(TOOL, "tool_name must be the name of a tool", NAME_TOOL, **following)
        given = _merged(given, wrapper)
    raise invalid(TOOL, "calls are nested too deeply", "Send tool_name and arguments at the top.")


def _name_key(catalog: Catalog, given: Mapping[str, Any]) -> str | None:
    keys = {normalize(key): key for key, value in given.items() if not is_blank(value)}
    candidates = [keys[kind] for kind in _NAME_KEYS if kind in keys]
    for key in candidates:
        value = given[key]
        if isinstance(value, str) and (find_meta_tool(value) or find_name(catalog, value)):
            return key
    # An unknown name, which is then reported: but for the words that are often parameters of a tool.
    return next((key for key in candidates if normalize(key) in _NAME_KEYS[:6]), None)


_MAX_COMPARED = 20
"""Unknown arguments that are compared with the options."""

_PAIR = re.compile(r"""\s*["']?([\w.-]+)["']?\s*[=:]\s*(.*?)\s*""")


class _CallReader:
    """Reads the arguments of one call of ``tool``."""

    def __init__(self, catalog: Catalog, tool: Tool) -> None:
        self._catalog, self._tool = catalog, tool
        self._own: Mapping[str, Any] = tool.parameters.get("properties", {})
        self._own_kinds = frozenset(map(normalize, self._own))  # ``$select`` is a parameter called ``select``
        self._arguments: dict[str, Any] = {}
        self._options: dict[str, Any] = {}

    def read(self, rest: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of TOOL_CALL in the documented form."""
        is_flat = all(is_blank(rest.get(key)) for key in rest if normalize(key) in WRAPPERS)
        # Beside the arguments an option is TOOL_CALL's own, even where the tool has a parameter of that name.
        options = {name: rest[name] for name in OPTIONS if name in rest and not (is_flat and name in self._own)}
        self._collect({name: value for name, value in rest.items() if name not in options})
        for name, value in options.items():
            put(TOOL, self._options, name, value, name)
        unknown = (key for key in self._arguments if key not in self._own)
        for key in list(itertools.islice(unknown, _MAX_COMPARED)):
            closest = closest_matches(key, [*self._own, *OPTIONS, "arguments"])
            if closest and closest[0] not in self._own:
                value, meant = self._arguments.pop(key), closest[0]
                if meant == "arguments":
                    self._arguments.update(parse_object(value) or {})
                call = self._call() if meant == "arguments" else self._call(**{meant: value})
                hint = did_you_mean(key, [meant]).strip()
                raise invalid(TOOL, f"there is no argument {quoted(key)}", hint, **next_call(TOOL, call))
        return read_values(self._catalog, TOOL, self._call())

    def _call(self, **more: Any) -> dict[str, Any]:
        return {"tool_name": self._tool.name, "arguments": self._arguments, **self._options, **more}

    def _collect(self, given: Mapping[str, Any]) -> None:
        """Divide ``given`` into the tool's arguments and the options, which are changed."""
        pairs = list(_opened(given, lambda key, _, depth: key in self._own and (depth > 0 or key != "arguments")))
        if len(pairs) > MAX_READ and self._tool.parameters.get("additionalProperties") is False:
            raise too_many(self._tool.name, pairs, self._own)
        for key, value in pairs:
            kind = normalize(key)
            if kind in WRAPPERS and (key not in self._own or (key == "arguments" and given.get(key) is value)):
                if is_blank(value):
                    continue
                if kind == "arguments":
                    raise self._not_an_object(value)
            if key not in self._own and kind not in self._own_kinds:
                if (option := own_name(TOOL, key)) in OPTIONS:
                    put(TOOL, self._options, option, value, key)
                    continue
                if kind == "toolname" and isinstance(value, str) and find_name(self._catalog, value) == self._tool.name:
                    continue
            known = self._arguments.get(key)
            if not is_blank(known) and not is_blank(value) and known != value:
                problem = f"{quoted(key)} is given twice, with different values"
                raise invalid(TOOL, problem, "Send it once, in arguments.", **next_call(TOOL, self._call()))
            if key not in self._arguments or not is_blank(value):
                self._arguments[key] = value

    def _not_an_object(self, value: Any) -> InvalidArguments:
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        text, problem = value.strip() if isinstance(value, str) else "", "must be an object, or the JSON text of one"
        try:
            load_json(text if text.startswith(("{", "[")) else "{}")
        except RecursionError:
            problem = "is nested too deeply"
        except ValueError as error:
            problem = f"is not valid JSON ({error})"
        guessed = self._guessed(text)
        correction = correct(self._catalog, self._tool, guessed)
        following = correction.call(self._tool, self._options) if guessed else {}
        return InvalidArguments(
            f"{self._tool.name}: arguments {problem}.",
            joined("Send arguments as an object; nothing was sent.", correction.note(self._tool) if following else ""),
            **(following or {"schema": self._tool.parameters}),
        )

    def _guessed(self, text: str) -> dict[str, Any]:
        """Return the arguments that ``text`` may mean: pairs, or the value of the only required parameter."""
        if not text or len(text) > MAX_NEXT_CALL:
            return {}
        parts = re.split(r"[&,;\n]", text.strip("{}"))
        named = {pair[1]: pair[2].strip("'\"") for part in parts if (pair := _PAIR.fullmatch(part)) is not None}
        if len(named) == len(parts):  # all are pairs, and none of them has the name of another
            return named
        required = self._tool.parameters.get("required", ())
        is_value = len(required) == 1 and re.fullmatch(r"[\"']?[\w.:-]{1,20}[\"']?", text)
        return {required[0]: text.strip("'\"")} if is_value else {}
