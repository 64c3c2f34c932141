"""Parse the arguments of the meta-tools: accept the forms that models send, reject the rest in one sentence.

Numbers may come as strings, lists as their JSON text or with commas, a single string for a list, null or blank text for
"not given". No error repeats more than :data:`MAX_QUOTED` characters or a control character.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments

if TYPE_CHECKING:
    from toolfold.wording import Text

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "TOOL_LIST": (
        "query",
        "category",
        "tag",
        "tag_mode",
        "access",
        "source",
        "limit",
        "offset",
        "token_budget",
        "detail",
    ),
    "TOOL_GET": ("tool_name", "detail", "known"),
    "TOOL_CALL": ("tool_name", "arguments", "select", "max_tokens", "fresh"),
}
"""Meta-tool of ``/mcp`` → its arguments."""

COMBINED_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "TOOL_BATCH": ("calls", "stop_on_error", "max_parallel", "max_tokens", "join", "select", "continue"),
    "TOOL_PIPE": ("steps", "return", "max_tokens", "continue", "approval_token"),
    "TOOL_SCRIPT": ("script", "inputs", "max_tokens"),
}
"""Meta-tool that combines calls → its arguments, the main one first."""

MAX_ARGUMENTS = 1000
"""Arguments of a call that are read: more than any tool has parameters."""

MAX_QUOTED = 64
"""Characters of a value that an error repeats: enough to recognise it."""

MAX_NEXT_CALL = 600
"""Characters of the arguments of a call that an error proposes: more than any call has that a model would repeat."""

MAX_ITEMS = 50
"""Items of a list argument: more than there are categories or tags to combine."""

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no", "")


def quote(value: Any) -> str:
    """Return ``value`` as an error may show it: text quoted, shortened and escaped; an object or list by its kind."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return f"'{escape(value)}'" if isinstance(value, str) else escape(json.dumps(value))


def escape(text: str) -> str:
    """Return at most :data:`MAX_QUOTED` characters of ``text``, with unprintable ones escaped."""
    printable = "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text[:MAX_QUOTED]
    )
    is_cut = len(text) > MAX_QUOTED or len(printable) > MAX_QUOTED
    return printable[: MAX_QUOTED - 1] + "…" if is_cut else printable


def next_call(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the detail of an error that has the call to make next, ``{"next_call": {tool: arguments}}``.

    It is empty for a call that is longer than :data:`MAX_NEXT_CALL` characters.
    """
    try:
        length = len(json.dumps(arguments, ensure_ascii=False))
    except (ValueError, RecursionError):
        return {}
    return {"next_call": {tool: dict(arguments)}} if length <= MAX_NEXT_CALL else {}


def invalid(tool: str, problem: str | Text, next_step: str | Text, **details: Any) -> InvalidArguments:
    """Return the error for an argument of the meta-tool ``tool`` that cannot be used."""
    from toolfold.messages import META_ARGUMENT  # needed for an error only

    return InvalidArguments(META_ARGUMENT.filled(tool=tool, problem=problem), next_step, **details)


def correction(tool: str, arguments: Mapping[str, Any], name: str, value: Any = None) -> dict[str, Any]:
    """Return the detail :func:`next_call` with another ``value`` for an argument, or without it."""
    known = ARGUMENTS.get(tool) or COMBINED_ARGUMENTS[tool]
    others = {key: given for key, given in arguments.items() if key != name and key in known}
    return next_call(tool, others if value is None else {**others, name: value})


def is_blank(value: Any) -> bool:
    """Return whether ``value`` is null or blank text, which clients send for what they leave out."""
    return value is None or (isinstance(value, str) and not value.strip())


def parse_integer(tool: str, arguments: Mapping[str, Any], name: str, minimum: int, maximum: int) -> int | None:
    """Return the whole number given as ``name``, or None when it was not given.

    Raises:
        InvalidArguments: it is not a whole number from ``minimum`` to ``maximum``.
    """
    given = arguments.get(name)
    if is_blank(given):
        return None
    value = whole_number(given)
    if value is None or not minimum <= value <= maximum:
        allowed = f"a whole number, {minimum:,} to {maximum:,}"
        raise invalid(
            tool,
            f"{name} must be {allowed}, not {quote(given)}",
            f"Send {name} as {allowed}, or leave it out.",
            **correction(tool, arguments, name, None if value is None else min(max(value, minimum), maximum)),
        )
    return value


def whole_number(value: Any) -> int | None:
    """Return the whole number that ``value`` is or spells, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return int(number) if math.isfinite(number) and number.is_integer() else None


def boolean(value: Any) -> bool | None:
    """Return the boolean that ``value`` is or spells, False when it was not given, or None when it is neither."""
    if value is None or isinstance(value, bool):
        return bool(value)
    spelling = str(value).strip().lower()
    return spelling in _TRUE if spelling in _TRUE + _FALSE else None


def parse_choice(tool: str, arguments: Mapping[str, Any], name: str, options: Sequence[str]) -> str | None:
    """Return which of ``options`` is given as ``name``, without regard to case; None when it was not given.

    Raises:
        InvalidArguments: the value is not one of ``options``.
    """
    given = arguments.get(name)
    if is_blank(given):
        return None
    value = given.strip().lower() if isinstance(given, str) else None
    if value not in options:
        from toolfold.fuzzy import closest_matches  # needed for errors only

        allowed = ", ".join(options)
        closest = closest_matches(given, options) if isinstance(given, str) else []
        raise invalid(
            tool,
            f"{name} must be one of {allowed}, not {quote(given)}",
            f"Send {name} as one of {allowed}.",
            **correction(tool, arguments, name, closest[0] if closest else None),
        )
    return value


def parse_strings(tool: str, arguments: Mapping[str, Any], name: str) -> list[str]:
    """Return the strings given as ``name``: a list, its JSON text, one string or several separated by commas.

    Raises:
        InvalidArguments: the value has another type, or more than :data:`MAX_ITEMS` items.
    """
    given = arguments.get(name)
    if given is None:
        return []
    items = parse_list(given) if isinstance(given, str) else given
    if not isinstance(items, list) or len(items) > MAX_ITEMS or not all(isinstance(item, str) for item in items):
        received = f"a list of {len(items)}" if isinstance(items, list) else quote(given)
        raise invalid(
            tool,
            f"{name} must be a string, or a list of at most {MAX_ITEMS} strings, not {received}",
            f'Send {name} as a string or a list, e.g. ["a", "b"], or leave it out.',
            **correction(tool, arguments, name),
        )
    return [item.strip() for item in items if item.strip()]


def parse_list(text: str) -> Any:
    """Parse a list from a client that can send only strings: JSON, or parts separated by commas.

    Returns:
        A JSON value, usually a list; None for malformed JSON.
    """
    if not text.lstrip().startswith("["):
        return text.split(",")
    return parse_json(text)


def parse_json(text: str) -> Any:
    """Return the JSON value that ``text`` holds, or None when it is malformed."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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
