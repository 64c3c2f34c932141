"""The rows of one table of an answer in SQLite: only the columns that a statement reads are loaded."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from toolfold.results import values
from toolfold.results.select.names import Column
from toolfold.results.select.sandbox import Statements, explained
from toolfold.results.tables import Origin, Table
from toolfold.results.types import Kind

_DIGITS = 12
"""Significant digits of a computed number: what a sum of doubles has."""


class Rows:
    """One table of an answer; ``needed`` are the columns that steps have read, by their indexes."""

    def __init__(self, table: Table, statements: Statements) -> None:
        self.table, self._statements, self.budget = table, statements, statements.budget
        self.needed: dict[int, Column] = {}
        self._loaded: set[int] | None = None

    @cached_property
    def date_index(self) -> int | None:
        """The index of the column of dates; None without one."""
        self.budget.check_time(20 * len(self.table.rows))
        return self.table.date_index

    @cached_property
    def has_distinct_dates(self) -> bool:
        """Whether no two rows have the same date."""
        return len(set(self.table.dates)) == len(self.table.dates)

    def varies(self, index: int) -> bool:
        """Return whether a column has different cells."""
        rows = self.table.rows
        return len(rows) < 2 or any(row[index] != rows[0][index] for row in rows)

    def typed(self, column: Column) -> Column:
        """Return a column of the table with its kind, and load it before the next statement."""
        index = column.index
        assert index is not None  # noqa: S101 - columns of the table have one
        self.budget.check_time(20 * len(self.table.rows) if index not in self.needed else 0)
        found = self.table.type_of(index)
        typed = replace(column, kind=found.kind, unit=found.unit, misfit=found.misfit)
        self.needed.setdefault(index, typed)
        return typed

    def load(self, name: str) -> None:
        """Make a table in the database of the columns that are needed."""
        columns = [(column.sql, self.table.type_of(index).values, column.kind)
                   for index, column in sorted(self.needed.items())]  # fmt: skip
        self._statements.load(name, columns, len(self.table.rows))

    def run(self, ctes: Sequence[str], select: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement over the steps.

        Raises:
            InvalidSelect: a step cannot be run.
            AnswerTooLarge: it takes more time or memory than there is.
        """
        if self._loaded != self.needed.keys():
            self.load("t0")
            self._loaded = set(self.needed)
        steps = "".join(f", s{index} AS ({cte})" for index, cte in enumerate(ctes))
        statement = f"WITH t AS (SELECT *, rowid AS _n, rowid AS _r FROM t0){steps} {select}"
        try:
            return self._statements.query(statement)[1]
        except sqlite3.Error as error:
            raise explained(error) from None

    def shown(self, columns: Sequence[Column], computed: Sequence[Column], found: Sequence[tuple[Any, ...]]) -> Table:
        """Return rows with the cells of the answer where they are not computed.

        ``found`` has the number of each row in the answer, and the values of the columns that are ``computed``.
        """
        self.budget.reserve((64 + 24 * len(columns)) * len(found))
        places = {column.sql: place for place, column in enumerate(computed, 1)}
        nothing = (None,) * len(self.table.columns)
        rows = [nothing if row[0] is None else self.table.rows[row[0] - 1] for row in self.budget.checked(found)]
        cells = [
            rounded([row[places[column.sql]] for row in found], column.kind)
            if column.index is None
            else [row[column.index] for row in rows]
            for column in columns
        ]
        keys = tuple(column.name for column in columns if column.is_key)
        titles = tuple(column.name for column in columns)
        origin = Origin(self.table, [row[0] for row in found], [column.index for column in columns])
        return Table(self.table.name, titles, list(zip(*cells, strict=True)), keys, origin=origin)


def rounded(column: Sequence[Any], kind: Kind = Kind.ANY) -> Sequence[Any]:
    """Return computed values as they are shown: numbers to twelve digits, conditions as true or false."""
    if kind is Kind.BOOLEAN:
        return [bool(value) if isinstance(value, int) else value for value in column]
    if float not in set(map(type, column)):
        return list(map(values.lossless, column))
    # A number of at most 15 digits stays as it is: sums of such numbers have more, and are noise behind twelve.
    return [
        values.lossless(value if float(f"{value:.15g}") == value else float(f"{value:.{_DIGITS}g}"))
        if type(value) is float
        else values.lossless(value)
        for value in column
    ]
