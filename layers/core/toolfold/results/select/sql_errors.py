"""Say in one sentence why a statement of SQL cannot be run, and what can."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, InvalidArguments
from toolfold.fuzzy import closest_matches
from toolfold.results.tables import Table
from toolfold.text_safety import MAX_NAME_CHARS, quoted_name

EXAMPLE = "SELECT date, close FROM data WHERE close > 200 ORDER BY date DESC LIMIT 5"

_MAX_LISTED = 60
_MISSING_TABLE = re.compile(r"no such table: (?:main\.)?(.*)", re.S)
_MISSING_COLUMN = re.compile(r"no such column: \"?(.*?)\"?(?: - should this be .*)?\Z", re.S)


def invalid_sql(problem: str, offset: int | None = None, suggestion: str = "") -> InvalidArguments:
    """Return the error for a statement; ``offset`` is the character, from 0, at which the problem is."""
    place = "" if offset is None else f" (at character {offset})"
    position: dict[str, Any] = {} if offset is None else {"position": offset}
    return InvalidArguments(f"select: {problem}{place}.", suggestion or f"Write e.g. {EXAMPLE}.", **position)


def missing_table(message: str) -> str | None:
    """Return the name of the table that a statement reads in vain, or None for another error."""
    found = _MISSING_TABLE.fullmatch(message)
    return None if found is None else found[1]


def missing_column(message: str) -> str | None:
    """Return the same for a column; it may have its table's name before a point."""
    found = _MISSING_COLUMN.fullmatch(message)
    return None if found is None else found[1]


def explain(message: str, statement: str, tables: Sequence[Table], budget: WorkBudget) -> CallError:
    """Return the error for what SQLite returned for a statement."""
    if (table := missing_table(message)) is not None:
        listed = _listed(one.name for one in tables)
        return invalid_sql(f"there is no table {quoted_name(table)}", _position(statement, table), f"Tables: {listed}.")
    if (column := missing_column(message)) is not None:
        return _no_column(column, statement, tables)
    if "too big" in message:
        return budget.too_large("A text in the SQL or in its result is longer than a megabyte.")
    return invalid_sql(f"this SQL cannot be run: {message[:120]}")


def _no_column(column: str, statement: str, tables: Sequence[Table]) -> InvalidArguments:
    known = list(dict.fromkeys(name for table in tables for name in table.columns))[:2000]
    name = column.rpartition(".")[2] or column
    compared = [other for other in known if len(other) <= MAX_NAME_CHARS]
    closest = "".join(f"Did you mean {quoted_name(one)}? " for one in closest_matches(name, compared))
    return invalid_sql(
        f"there is no column {quoted_name(column)}", _position(statement, name), f"{closest}Columns: {_listed(known)}."
    )


def _position(statement: str, name: str) -> int | None:
    """Return where a name is in a statement."""
    found = statement.lower().find(name.lower())
    return None if found < 0 or not name else found


def _listed(names: Any) -> str:
    return ", ".join(quoted_name(name) for name, _ in zip(names, range(_MAX_LISTED), strict=False))
