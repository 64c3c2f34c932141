"""Find what a ``select`` needs and the answer does not have: dates before its first row or after its last."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

from toolfold.errors import CallError
from toolfold.results.select import resolver
from toolfold.results.select.periods import Bounds, Dates
from toolfold.results.select.selection import AnyOf, Column, Comparison, Condition, Period, Selection, top_conditions
from toolfold.results.select.statements import Statements
from toolfold.results.tables import Document

_TOLERANCE_DAYS = {"intraday": 4, "daily": 4, "weekly": 7, "monthly": 31, "quarterly": 92, "yearly": 366}
"""Days between two rows that are not a gap: a long weekend, a month."""


@dataclass(frozen=True)
class Shortfall:
    """What is wanted, and what there is. Dates are in ISO 8601.

    Attributes:
        asked_from: first date that is wanted; ``""`` where the answer begins early enough.
        asked_to: last date that is wanted; ``""`` where the answer ends late enough.
        asked_rows: number of newest rows that are wanted; 0 where there are as many.
        held_from: date of the first row.
        held_to: date of the last row.
        held_rows: rows of the table.
    """

    asked_from: str
    asked_to: str
    asked_rows: int
    held_from: str
    held_to: str
    held_rows: int

    @property
    def notes(self) -> list[str]:
        """The same in sentences for the reader."""
        notes = []
        if self.asked_from:
            notes.append(f"Asked from {self.asked_from}; the data begin {self.held_from[:10]}.")
        if self.asked_to:
            notes.append(f"Asked until {self.asked_to}; the data end {self.held_to[:10]}.")
        if self.asked_rows:
            notes.append(f"Asked for {self.asked_rows} rows; the data have {self.held_rows}.")
        return notes


def missing_period(
    selection: Selection | None, document: Document, today: datetime.date | None = None
) -> Shortfall | None:
    """Return what the rows of ``document`` lack of the period or the number of rows that a selection needs.

    Args:
        selection: what :func:`toolfold.results.select.parser.parse_select` returns.
        document: the parsed answer.
        today: the current day.

    Returns:
        The shortfall of the first table that has one; None: nothing is missing, or it cannot be known.
    """
    if selection is None or selection.jmespath or selection.sql or not document.tables:
        return None
    try:
        resolved = resolver.resolve(selection, document)
        for lookup in resolved.lookups:
            if lookup.date_index is None:
                continue
            found = table_shortfall(resolved.selection, Statements(lookup, today or datetime.date.today()))
            if found is not None:
                return found
    except CallError:  # evaluating the selection explains it
        return None
    return None


def table_shortfall(selection: Selection, statements: Statements) -> Shortfall | None:
    """Return the shortfall of one table for a resolved selection."""
    index, limit = statements.lookup.date_index, selection.row_limit
    rows = len(statements.table.rows)
    wants_newest = limit is not None and limit.which in ("last", "newest")
    is_whole = not selection.groups and not selection.distinct
    asked_rows = limit.count if limit is not None and wants_newest and is_whole and limit.count > rows else 0
    if selection.condition is None and not asked_rows:
        return None
    dates = None if index is None else statements.dates(index)
    if index is None or dates is None:
        return None
    lows, highs = [], []
    for low, high in wanted_periods(selection.condition, statements, index):
        lows.append(low)
        highs.append(high)
    low = max(filter(None, lows), default="")
    high = min(filter(None, highs), default="")
    shortfall = Shortfall(
        low if low and _is_before(low, dates) else "",
        high if high and _is_after(high, dates) else "",
        asked_rows, dates.oldest, dates.newest, rows,
    )  # fmt: skip
    return shortfall if shortfall.notes else None


def wanted_periods(condition: Condition | None, statements: Statements, index: int) -> Iterator[tuple[str, str]]:
    """Yield the first and the last date of each period that all rows must be in."""
    for one in top_conditions(condition):
        if isinstance(one, Period):
            bounds = statements.bounds(one, index)
            yield bounds.low, "" if one.relative else bounds.high
        elif isinstance(one, AnyOf) and all(isinstance(part, Period) for part in one.conditions):
            every = [statements.bounds(part, index) for part in one.conditions if isinstance(part, Period)]
            yield (
                min(bounds.low for bounds in every),
                max((bounds.high for bounds in every), key=lambda high: high or "9"),
            )
        elif isinstance(one, Comparison) and isinstance(one.left, Column) and statements.index(one.left.name) == index:
            yield from _compared(one, statements, index)


def _compared(comparison: Comparison, statements: Statements, index: int) -> Iterator[tuple[str, str]]:
    if comparison.operator not in ("=", ">", ">=", "<", "<=", "between"):
        return
    every: list[Bounds] = [statements.date_operand(operand, index) for operand in comparison.operands]
    low = min(bounds.low for bounds in every) if comparison.operator in ("=", ">", ">=", "between") else ""
    high = max(bounds.high for bounds in every) if comparison.operator in ("=", "<", "<=", "between") else ""
    yield low, high


def _is_before(low: str, dates: Dates) -> bool:
    asked = _first_day(low)
    return asked is not None and (_day(dates.oldest) - asked).days > _TOLERANCE_DAYS.get(dates.spacing, 0)


def _is_after(high: str, dates: Dates) -> bool:
    asked = _last_day(high)
    if asked is None:
        return False
    asked = min(asked, dates.today)
    return (asked - _day(dates.newest)).days > _TOLERANCE_DAYS.get(dates.spacing, 0)


def _first_day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(
            f"{text[:10]}{'-01-01'[len(text[:10]) - 4 :]}" if len(text) < 10 else text[:10]
        )
    except ValueError:
        return None


def _last_day(text: str) -> datetime.date | None:
    if len(text) >= 10:
        return _first_day(text)
    first = _first_day(text)
    if first is None:
        return None
    months = 12 if len(text) == 4 else 1
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return datetime.date(year, month + 1, 1) - datetime.timedelta(1) if year < datetime.MAXYEAR else first


def _day(text: str) -> datetime.date:
    return _first_day(text) or datetime.date.min
