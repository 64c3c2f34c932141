"""Read the arguments of TOOL_BATCH, TOOL_PIPE and TOOL_SCRIPT in the forms that models send."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from toolfold.errors import InvalidArguments, ToolNotExposed
from toolfold.fuzzy import did_you_mean, normalize
from toolfold.meta_tools.accepted_forms import WRAPPERS, put
from toolfold.meta_tools.arguments import COMBINED_ARGUMENTS, invalid, is_blank, parse_json, quote, whole_number
from toolfold.meta_tools.object_text import parse_object

__all__ = ["own_option", "read_combined", "read_items", "switched_off"]

_SYNONYMS: Mapping[str, Mapping[str, str]] = {
    tool: {normalize(word): name for name, words in names.items() for word in [name, *words.split()]}
    for tool, names in {
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
    }.items()
}
"""Meta-tool → another name of an argument → the argument."""

_FIRST = {"TOOL_BATCH": "calls", "TOOL_PIPE": "steps", "TOOL_SCRIPT": "script"}
"""Meta-tool → its main argument."""

_OPTIONS = "options"
"""An object beside the main argument, whose members are arguments as well."""

_MAX_UNWRAPPED = 3


def switched_off(tool: str, off: Collection[str]) -> ToolNotExposed:
    """Return the error for a call of ``tool``, one of ``off``."""
    others = [name for name in COMBINED_ARGUMENTS if name not in off]
    step = f"Use {' or '.join(others)}" if others else "Make the calls one after the other, with TOOL_CALL"
    return ToolNotExposed(
        f"{tool} is switched off here; nothing was called.", f"{step}; the operator can switch {tool} on."
    )


def read_combined(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call under their own names.

    Raises:
        InvalidArguments: an argument has no place, or two contradict each other.
    """
    given = dict(arguments)
    for _ in range(_MAX_UNWRAPPED):
        if any(_own_name(tool, key) in (_FIRST[tool], "continue") and not is_blank(given[key]) for key in given):
            break
        wrapper = next((key for key in given if normalize(key) in WRAPPERS and parse_object(given[key])), None)
        if wrapper is None:
            break
        inner = parse_object(given.pop(wrapper)) or {}
        for key, value in inner.items():
            put(tool, given, key, value, key)
    for key in [key for key in given if normalize(key) == _OPTIONS and parse_object(given[key]) is not None]:
        for option, value in (parse_object(given.pop(key)) or {}).items():
            put(tool, given, option, value, option)
    read: dict[str, Any] = {}
    for key, value in given.items():
        name = _own_name(tool, key)
        if name is None and normalize(key) in WRAPPERS and (is_blank(value) or parse_object(value) == {}):
            continue
        if name is None:
            raise _no_such_argument(tool, key)
        put(tool, read, name, value, key)
    return {name: value for name, value in read.items() if not is_blank(value)}


def _own_name(tool: str, key: str) -> str | None:
    return key if key in COMBINED_ARGUMENTS[tool] else _SYNONYMS[tool].get(normalize(key))


def _no_such_argument(tool: str, key: str) -> InvalidArguments:
    takes = f"{tool} takes {', '.join(COMBINED_ARGUMENTS[tool])}."
    hint = did_you_mean(key, COMBINED_ARGUMENTS[tool])
    return invalid(tool, f"there is no argument {quote(key)}", f"{hint}{takes}")


def read_items(tool: str, name: str, given: Any, maximum: int, example: str) -> list[Any]:
    """Return the items of a list argument: a list, its JSON text, one item, or an object of named items.

    Raises:
        InvalidArguments: there is no list, it is empty, or it has more than ``maximum`` items.
    """
    if isinstance(given, str):
        given = parse_json(given)
    if isinstance(given, dict):
        is_named = all(isinstance(value, dict) for value in given.values()) and "arguments" not in given
        given = [{"id": key, **value} for key, value in given.items()] if given and is_named else [given]
    if not isinstance(given, list) or not given:
        problem = (
            "is missing" if given is None else "is empty" if given == [] else f"must be a list, not {quote(given)}"
        )
        raise invalid(tool, f"{name} {problem}", f"Send {name} as a list, e.g. {example}.")
    if len(given) > maximum:
        raise invalid(
            tool,
            f"{name} has {len(given):,} items; at most {maximum} are allowed",
            f"Send the first {maximum}, then the others in another call; nothing was sent.",
        )
    return given


def own_option(item: dict[str, Any], names: Sequence[str]) -> str:
    """Remove the first of ``names`` from ``item`` and return it as text; empty where it has none of them.

    Raises:
        InvalidArguments: it is neither text nor a whole number.
    """
    for name in names:
        if name in item:
            value = item.pop(name)
            if is_blank(value):
                continue
            number = whole_number(value) if not isinstance(value, str) else None
            if not isinstance(value, str) and number is None:
                raise InvalidArguments(f"{name} must be text, not {quote(value)}.", f"Send {name} as a short name.")
            return value.strip() if isinstance(value, str) else str(number)
    return ""
