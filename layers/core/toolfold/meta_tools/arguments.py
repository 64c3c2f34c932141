"""Arguments of the meta-tools, as models send them: mended where they cannot be misread, refused in a sentence else.

Numbers come as strings, lists as their JSON text or with commas, one string for a list, null or nothing for "not
given". Nothing that is repeated to the caller is longer than :data:`SHOWN` or holds a control character.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from toolfold.errors import InvalidArguments

SHOWN = 64
"""Characters of what was sent that are repeated: enough to recognise it."""

MOST_ITEMS = 50
"""Items of a list that are read. More than there are categories or tags to combine."""

LIKE = 0.4
"""How alike a known word must be to be offered for an unknown one, as for the names of tools."""


def shown(value: Any) -> str:
    """``value`` for a sentence: text in quotes, cut, what does not print escaped; of an object or list its kind."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    return f"'{escaped(value)}'" if isinstance(value, str) else escaped(json.dumps(value))


def escaped(text: str) -> str:
    """``text`` in at most :data:`SHOWN` characters, with what does not print escaped."""
    plain = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text[:SHOWN])
    return plain[: SHOWN - 1] + "…" if len(text) > SHOWN or len(plain) > SHOWN else plain


def refused(tool: str, message: str, suggestion: str, **details: Any) -> InvalidArguments:
    """The error for arguments of the meta-tool ``tool`` that cannot be used."""
    return InvalidArguments(f"{tool}: {message}.", suggestion, **details)


def only(tool: str, arguments: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse an argument that the meta-tool does not have: what it meant would be silently left undone.

    Raises:
        InvalidArguments: for the first such argument. Its value is not repeated: it may well be an API key.
    """
    for name in arguments:
        if name not in known:
            from toolfold.fuzzy import closest_matches  # for mistakes alone

            near = closest_matches(name, known, least=LIKE)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise refused(tool, f"there is no argument {shown(name)}", f"{hint}It takes {', '.join(known)}.")


def absent(given: Any) -> bool:
    """Whether nothing was given: null or blank text, which clients send for what they leave out."""
    return given is None or (isinstance(given, str) and not given.strip())


def number(tool: str, arguments: Mapping[str, Any], name: str, least: int, most: int) -> int | None:
    """The whole number given as ``name``, None when none is.

    Raises:
        InvalidArguments: it is no whole number of ``least`` to ``most``.
    """
    given = arguments.get(name)
    if absent(given):
        return None
    value = _whole(given)
    if value is None or not least <= value <= most:
        allowed = f"a whole number, {least:,} to {most:,}"
        raise refused(
            tool, f"{name} must be {allowed}, not {shown(given)}", f"Send {name} as {allowed}, or leave it out."
        )
    return value


def _whole(given: Any) -> int | None:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        value = float(given)
    except (ValueError, OverflowError):
        return None
    return int(value) if math.isfinite(value) and value.is_integer() else None


def choice(tool: str, arguments: Mapping[str, Any], name: str, options: Sequence[str]) -> str | None:
    """Which of ``options`` is given as ``name``, in any case and with blanks around it; None when nothing is.

    Raises:
        InvalidArguments: it is none of them.
    """
    given = arguments.get(name)
    if absent(given):
        return None
    meant = given.strip().lower() if isinstance(given, str) else None
    if meant not in options:
        allowed = ", ".join(options)
        raise refused(tool, f"{name} must be one of {allowed}, not {shown(given)}", f"Send {name} as one of {allowed}.")
    return meant


def texts(tool: str, arguments: Mapping[str, Any], name: str) -> list[str]:
    """The strings given as ``name``: a list, its JSON text, one string or several with commas. None may be given.

    Raises:
        InvalidArguments: it is nothing of that kind, or has more than :data:`MOST_ITEMS` items.
    """
    given = arguments.get(name)
    if given is None:
        return []
    items = parsed_list(given) if isinstance(given, str) else given
    if not isinstance(items, list) or len(items) > MOST_ITEMS or not all(isinstance(item, str) for item in items):
        told = f"a list of {len(items)}" if isinstance(items, list) else shown(given)
        raise refused(
            tool,
            f"{name} must be a string, or a list of at most {MOST_ITEMS} strings, not {told}",
            f'Send {name} as a string or a list, e.g. ["a", "b"], or leave it out.',
        )
    return [item.strip() for item in items if item.strip()]


def parsed_list(text: str) -> Any:
    """What a client that can send only strings means by ``text``: the list whose JSON it is, or parts between commas.

    Returns:
        A JSON value, most often a list; of JSON that is broken None.
    """
    if not text.lstrip().startswith("["):
        return text.split(",")
    return parsed(text)


def parsed(text: str) -> Any:
    """The JSON value that ``text`` is, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
