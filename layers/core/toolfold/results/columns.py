"""Find the columns of a table and read their cells, for ``select``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from toolfold.results import values
from toolfold.results.tables import Table

DATE_NAMES = {"date", "time", "datetime", "day", "timestamp"}
"""Names by which a model may call the date column of an answer that it has not seen."""


def date_column(table: Table) -> int | None:
    """Return the index of the first column that holds only dates, or None."""
    for index in range(len(table.columns)):
        cells = [row[index] for row in table.rows if row[index] is not None]
        if cells and all(map(values.is_date, cells)):
            return index
    return None


def as_number(cell: Any) -> Decimal | None:
    """Return the exact number that a cell holds or spells, or None."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    try:
        number = Decimal(repr(cell) if isinstance(cell, float) else cell)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def positions_by_date(rows: Sequence[Sequence[Any]], date_index: int) -> list[int]:
    """Return the positions of the rows that have a date, oldest first, equal dates in the order of the table."""
    dated = [position for position, row in enumerate(rows) if row[date_index] is not None]
    if dated and rows[dated[0]][date_index] > rows[dated[-1]][date_index]:
        dated.reverse()
    return sorted(dated, key=lambda position: rows[position][date_index])


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of columns, equal ones with a number."""
    taken: dict[str, None] = {}
    for given in names:
        name, number = given, 1
        while name in taken:
            number += 1
            name = f"{given}_{number}"
        taken[name] = None
    return tuple(taken)
