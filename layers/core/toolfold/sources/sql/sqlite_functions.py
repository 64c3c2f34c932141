"""Functions of SQLite whose own versions take a time that is the product of the lengths of two texts.

SQLite cannot be interrupted inside a function: ``instr`` of two texts of a megabyte would run for minutes. Those of
Python take a time in proportion to the texts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

__all__ = ["replace_slow_functions"]

Value = str | bytes | int | float | None


def replace_slow_functions(connection: sqlite3.Connection, max_chars: int) -> None:
    """Replace ``instr``, ``replace`` and the ``trim`` functions of a connection.

    Args:
        connection: a new connection.
        max_chars: characters that a result may have.
    """

    def replace(text: Value, old: Value, new: Value) -> Value:
        if text is None or old is None or new is None:
            return None
        texts = _text(text), _text(old), _text(new)
        if not texts[1]:
            return texts[0]
        if len(texts[0]) + texts[0].count(texts[1]) * max(0, len(texts[2]) - len(texts[1])) > max_chars:
            raise OverflowError  # SQLite reports an error of the function
        return texts[0].replace(texts[1], texts[2])

    functions: tuple[tuple[str, int, Callable[..., Any]], ...] = (
        ("instr", 2, _instr),
        ("replace", 3, replace),
        ("trim", 2, lambda text, characters: _strip(str.strip, text, characters)),
        ("ltrim", 2, lambda text, characters: _strip(str.lstrip, text, characters)),
        ("rtrim", 2, lambda text, characters: _strip(str.rstrip, text, characters)),
    )
    for name, count, function in functions:
        connection.create_function(name, count, function, deterministic=True)


def _instr(text: Value, part: Value) -> int | None:
    if text is None or part is None:
        return None
    if isinstance(text, bytes) and isinstance(part, bytes):
        return text.find(part) + 1
    return _text(text).find(_text(part)) + 1


def _strip(function: Callable[[str, str], str], text: Value, characters: Value) -> str | None:
    if text is None or characters is None:
        return None
    # Without characters str.strip removes white space, SQLite nothing.
    return function(_text(text), _text(characters)) if characters not in ("", b"") else _text(text)


def _text(value: str | bytes | int | float) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
