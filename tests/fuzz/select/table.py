"""Tables whose cells have both what the answer shows and what it means."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

DATES = frozenset(("date", "datetime", "coarse", "unit"))
"""Kinds of columns that can be the date column. ``coarse``: months and quarters; ``unit``: groups of a unit of time."""

NULLS = (None, "", "None", "-", "N/A")
"""Spellings of null."""


@dataclass(frozen=True)
class Cell:
    """A cell of an answer.

    Args:
        shown: what the answer has, a JSON value.
        value: what it means: a number, a text, a boolean, a ``datetime`` (UTC, without a zone), or None.
        family: what kind of value it is, ``null`` for a null.
    """

    shown: Any
    value: Any
    family: str


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Args:
        name: as the answer has it.
        kind: number, percent, date, datetime, coarse, unit, boolean, text, mixed or empty.
        cells: one for each row.
    """

    name: str
    kind: str
    cells: tuple[Cell, ...]

    def values(self) -> list[Any]:
        """Return what the cells mean."""
        return [cell.value for cell in self.cells]


@dataclass(frozen=True)
class Table:
    """A table of an answer: rows of cells."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    keys: tuple[str, ...] = ()

    def typed(self) -> list[Column]:
        """Return the columns, each with the kind that all its cells together have."""
        return [
            Column(name, kind_of([row[index] for row in self.rows]), tuple(row[index] for row in self.rows))
            for index, name in enumerate(self.columns)
        ]


def kind_of(cells: list[Cell]) -> str:
    """Return the kind of a column: that of all its cells which are not null, or ``mixed``."""
    families = {cell.family for cell in cells} - {"null"}
    if not families:
        return "empty"
    if families <= {"monthfirst", "dayfirst"}:
        # 02/03/2024 has two readings; one day after the twelfth in the column decides.
        known = [cell.value for cell in cells if isinstance(cell.value, datetime)]
        is_clear = any(at.day > 12 for at in known) or all(at.day == at.month for at in known)
        return "date" if len(families) == 1 and is_clear else "mixed"
    return families.pop() if len(families) == 1 else "mixed"
