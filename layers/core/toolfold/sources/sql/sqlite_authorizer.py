"""Let a statement of SQLite read the tables of its source, and nothing else.

Functions of SQLite whose own versions take a time that is the product of the lengths of two texts.

SQLite cannot be interrupted inside a function: ``instr`` of two texts of a megabyte would run for minutes. Those of
Python take a time in proportion to the texts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from typing import Any

from toolfold.sources.sql.functions import SQLITE_FUNCTIONS, SQLITE_TABLE_FUNCTIONS

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


_PRAGMAS = frozenset({"data_version", "page_size"})
"""What full-text search reads of its file. Without a value, a pragma of these changes nothing."""


class Authorizer:
    """Decide about each action of a statement while SQLite compiles it. Everything that is not allowed is denied.

    Args:
        tables: the tables that may be read.
        others: all other tables of the database. A view may read them: its definition is the operator's.
        shadows: the tables in which virtual tables store their data, as those of FTS5 do. A virtual table reads its own
            while a statement runs.
        has_views: whether there are views among ``tables``. SQLite does not say for which view it counts rows.
    """

    def __init__(
        self,
        tables: Collection[str],
        others: Collection[str],
        shadows: Collection[str] = (),
        *,
        has_views: bool = False,
    ) -> None:
        self._has_views = has_views
        self._tables = {name.lower() for name in tables}
        self._others = {name.lower() for name in others}
        self._shadows = {name.lower() for name in shadows}

    def __call__(
        self, action: int, first: str | None, second: str | None, _database: str | None, view: str | None
    ) -> int:
        """Return whether an action is allowed: ``SQLITE_OK`` or ``SQLITE_DENY``."""
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            return _allow((second or "").lower() in SQLITE_FUNCTIONS)
        if action == sqlite3.SQLITE_PRAGMA:
            return _allow(first in _PRAGMAS and second is None)
        if action == sqlite3.SQLITE_READ:
            return _allow(self._may_read((first or "").lower(), second or "", (view or "").lower()))
        return sqlite3.SQLITE_DENY

    def _may_read(self, table: str, column: str, view: str) -> bool:
        if table in self._tables or table in SQLITE_TABLE_FUNCTIONS:
            return True
        if table in self._shadows:
            return any(table.startswith(f"{name}_") for name in self._tables)
        if table.startswith(("sqlite_", "pragma_")):
            return False
        if view in self._tables:
            return True
        # Without a column: the rows of a subquery, a common table expression or a view are counted.
        return not column and (self._has_views or table not in self._others)


def _allow(is_allowed: bool) -> int:
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY
