"""What a ``select`` requests of an answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Requested:
    """What a ``select`` requests, as far as that depends on the length of a series.

    Attributes:
        low: the first date, perhaps only a part of one; empty: without a lower bound.
        high: the last date, in the same way.
        row_count: how many rows; 0: not a number of them.
        rows_before: how many rows before each one its values are computed from: windows and earlier values.
        is_oldest_first: whether the oldest rows are requested, so that nothing may be missing before them.
        is_summary: whether the answer is computed from all rows there are: functions or the largest rows.
        is_filtered: whether rows are chosen by conditions on other columns than that of dates.
        functions: the functions that are applied to rows.
        columns: the columns that are named, in lower case; none: all.
        table: the table that is named; empty: none.
    """

    low: str = ""
    high: str = ""
    row_count: int = 0
    rows_before: int = 0
    is_oldest_first: bool = False
    is_summary: bool = False
    is_filtered: bool = False
    functions: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()
    table: str = ""

    @property
    def depends_on_length(self) -> bool:
        """Whether it matters how far the rows of an answer reach."""
        return self.has_period or bool(self.needed_rows) or self.is_summary or self.is_filtered

    @property
    def needed_rows(self) -> int:
        """How many rows are read; 0: not a number of them. None are before the oldest."""
        if self.is_oldest_first or not self.rows_before:
            return self.row_count
        return max(self.row_count, 1) + self.rows_before

    @property
    def has_period(self) -> bool:
        """Whether there is a bound on dates."""
        return bool(self.low or self.high)
