"""Finding columns and reading their cells, for what selects among them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from toolfold.fuzzy import normalize
from toolfold.results import values
from toolfold.results.render import compact
from toolfold.results.tables import Table

_DATE_NAMES = {"date", "time", "datetime", "day", "timestamp"}
"""What the column of dates is called by who has not seen the answer."""


def index_of(table: Table, name: str) -> int | None:
    """Where the column is: by its exact name, else without regard to case and signs; dates by any name for them."""
    if name in table.columns:
        return table.columns.index(name)
    wanted = normalize(name)
    found = next((index for index, column in enumerate(table.columns) if normalize(column) == wanted and wanted), None)
    return dates_of(table) if found is None and wanted in _DATE_NAMES else found


def dates_of(table: Table) -> int | None:
    """The first column that holds nothing but dates."""
    for index in range(len(table.columns)):
        cells = [row[index] for row in table.rows if row[index] is not None]
        if cells and all(map(values.is_date, cells)):
            return index
    return None


def as_text(cell: Any) -> str:
    """A cell as text; what is nested as compact JSON."""
    return cell if isinstance(cell, str) else compact(cell)


def as_number(cell: Any) -> Decimal | None:
    """The number that a cell means, exactly: doubles as they are written, digits that were kept as text."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    try:
        number = Decimal(repr(cell) if isinstance(cell, float) else cell)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def by_date(rows: Sequence[Sequence[Any]], dates: int) -> list[int]:
    """Positions of the rows that have a date, oldest first; among equals as the list runs."""
    dated = [at for at in range(len(rows)) if rows[at][dates] is not None]
    if dated and rows[dated[0]][dates] > rows[dated[-1]][dates]:
        dated.reverse()
    return sorted(dated, key=lambda at: rows[at][dates])
