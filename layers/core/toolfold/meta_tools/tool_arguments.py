"""What a TOOL_CALL has beside the tool's name: the tool's own arguments, and the options of TOOL_CALL.

A parameter of the tool itself comes first: an object named ``parameters`` is an argument of a tool that has a parameter
of that name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments
from toolfold.fuzzy import closest_matches, did_you_mean, normalize
from toolfold.meta_tools.arguments import (
    MAX_NEXT_CALL,
    NAMES_OF_ARGUMENTS,
    OPTIONS,
    boolean,
    invalid,
    is_blank,
    json_problem,
    next_call,
    parse_object,
    put,
    quote,
    whole_number,
)
from toolfold.meta_tools.definitions import arguments_of
from toolfold.meta_tools.tool_names import find_name

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog

TOOL = "TOOL_CALL"

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


def _as_jmespath(value: Any) -> Any:
    text = value.strip() if isinstance(value, str) else value
    return f"jmespath: {text}" if isinstance(text, str) and not text.lower().startswith("jmespath:") else text


def _as_columns(value: Any) -> Any:
    is_list = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return ",".join(value) if is_list else value


def _as_limit(value: Any) -> Any:
    number = whole_number(value)
    return value if number is None else f"limit {number}"


def _negated(value: Any) -> Any:
    given = boolean(value)
    return value if given is None else not given


_CONVERTED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(["columns", "fields"], ("select", _as_columns)),
    "jmespath": ("select", _as_jmespath),
    **dict.fromkeys(["limit", "maxrows"], ("select", _as_limit)),
    **dict.fromkeys(["cache", "usecache"], ("fresh", _negated)),
}
"""A name that stands for an option with another value → the option, and what makes its value."""


def _as_option(name: str, value: Any) -> tuple[str, Any] | None:
    """Return the option that an argument called ``name`` is, and its value."""
    if (converted := _CONVERTED.get(normalize(name))) is not None:
        return converted[0], converted[1](value)
    option = next((one for one in NAMES_OF_ARGUMENTS[TOOL].of(name) if one in OPTIONS), None)
    return None if option is None else (option, value)


class ArgumentReader:
    """Reads the arguments of one call of ``tool``."""

    def __init__(self, catalog: Catalog, tool: Tool) -> None:
        self._catalog, self._tool = catalog, tool
        self._own: Mapping[str, Any] = tool.parameters.get("properties", {})
        self._own_kinds: frozenset[str] = frozenset()
        self._arguments: dict[str, Any] = {}
        self._options: dict[str, Any] = {}

    def read(self, rest: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of TOOL_CALL in the documented form."""
        # ``$select`` is a parameter called ``select``.
        self._own_kinds = frozenset(map(normalize, self._own))
        is_flat = all(is_blank(rest.get(key)) for key in rest if normalize(key) in WRAPPERS)
        # Beside the arguments an option is TOOL_CALL's own, even where the tool has a parameter of that name.
        options = {name: rest[name] for name in OPTIONS if name in rest and not (is_flat and name in self._own)}
        self._collect({name: value for name, value in rest.items() if name not in options}, 0)
        for name, value in options.items():
            self._set_option(name, value, name)
        self._check_spelling()
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
            if key in self._own or kind in self._own_kinds:
                self._set_argument(key, value)
            elif (option := _as_option(key, value)) is not None:
                self._set_option(*option, key)
            elif kind != "toolname" or not isinstance(value, str) or find_name(self._catalog, value) != self._tool.name:
                self._set_argument(key, value)

    def _set_argument(self, name: str, value: Any) -> None:
        known = self._arguments
        if name in known and not is_blank(known[name]) and not is_blank(value) and known[name] != value:
            problem = f"{quote(name)} is given twice, with different values"
            raise invalid(TOOL, problem, "Send it once, in arguments.", **next_call(TOOL, self._call()))
        if name not in known or not is_blank(value):
            known[name] = value

    def _set_option(self, name: str, value: Any, given_as: str) -> None:
        known = self._options.get(name)
        if name == "select" and isinstance(known, str) and isinstance(value, str) and known != value:
            # Rows of one and columns of the other.
            self._options[name] = f"{known}; {value}"
        else:
            put(TOOL, self._options, name, value, given_as)

    def _check_spelling(self) -> None:
        """Raise an error for a misspelt option among the tool's arguments."""
        unknown = (key for key in self._arguments if key not in self._own)
        for key in list(itertools.islice(unknown, _MAX_COMPARED)):
            closest = closest_matches(key, [*self._own, *OPTIONS, "arguments"])
            if closest and closest[0] not in self._own:
                meant, value = closest[0], self._arguments.pop(key)
                inner = parse_object(value)
                if meant == "arguments" and inner is not None:
                    self._arguments.update(inner)
                call = self._call() if meant == "arguments" else self._call(**{meant: value})
                hint = f"{did_you_mean(key, closest)}TOOL_CALL takes {', '.join(arguments_of(TOOL))}."
                raise invalid(TOOL, f"there is no argument {quote(key)}", hint, **next_call(TOOL, call))

    def _not_an_object(self, value: Any) -> InvalidArguments:
        """Return the error for ``arguments`` that are no object."""
        text = value.strip() if isinstance(value, str) else ""
        problem = json_problem(text if text.startswith(("{", "[")) else "[]")
        from toolfold.meta_tools.corrections import correct

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
