"""Write a period as a condition on the column of dates, and say which dates it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from toolfold.dates import Reading, bounds, parse_date
from toolfold.results.select.coverage import DAILY_DAYS, step_days
from toolfold.results.select.errors import invalid
from toolfold.results.select.functions import first_day, moved
from toolfold.results.select.grammar import Clause
from toolfold.results.select.kinds import high_of, low_of, two_dates
from toolfold.results.select.names import Column
from toolfold.results.select.rows import Rows

_MAX_DATED_ROWS = 10
"""Days of ``last 5 days`` up to which daily rows are counted, as the market or the source has them."""

_SHORT = {"hour": 3600, "minute": 60}


@dataclass(frozen=True)
class Periods:
    """The dates of one step.

    Attributes:
        rows: the rows.
        dated: the column of dates.
        partition: columns whose values have dates of their own.
        today: the day from which the future counts.
    """

    rows: Rows
    dated: Column
    partition: Sequence[Column]
    today: date

    def condition(self, clause: Clause, ctes: Sequence[str], current: str) -> tuple[str, str]:
        """Return a condition of SQL, or ``rank N`` for the last N dates, and a note on what is relative.

        Raises:
            InvalidSelect: a date can be two dates.
        """
        if not clause.unit:
            return self._absolute(clause), ""
        count = clause.numbers[0] if clause.numbers else None
        if count is not None and 0 < count <= _MAX_DATED_ROWS and clause.unit == "day" and self._is_daily():
            return f"rank {count}", f"last {count} days: the last {count} dates that have rows."
        parts = [column.sql for column in self.partition]
        keys = ", ".join([*parts, f"max({self.dated.sql})"])
        grouped = f" GROUP BY {', '.join(parts)}" if parts else ""
        found = self.rows.run(ctes, f"SELECT {keys} FROM {current}{grouped}")  # noqa: S608
        conditions, spans = [], set()
        for *key, newest in found:
            if newest is None:
                continue
            span = self.span(clause, newest, self.today)
            spans.add(span)
            same = [f"{part} IS {literal(value)}" for part, value in zip(parts, key, strict=True)]
            conditions.append(" AND ".join([*same, self._within(*span)]))
        note = f"{_words(clause)}: {_shown(*next(iter(spans)))}." if len(spans) == 1 else ""
        return " OR ".join(f"({one})" for one in conditions) or "0", note

    def _absolute(self, clause: Clause) -> str:
        low, high = (self._reading(text) if text else None for text in (clause.low, clause.high))
        sql = self.dated.sql
        conditions = []
        if low is not None:
            bound = f"> {literal(high_of(low))}" if clause.is_after else f">= {literal(low_of(low))}"
            conditions.append(f"{sql} {bound}")
        if high is not None:
            bound = f"< {literal(low_of(high))}" if clause.is_before else f"<= {literal(high_of(high))}"
            conditions.append(f"{sql} {bound}")
        return " AND ".join(conditions)

    def _reading(self, text: str) -> Reading:
        readings = parse_date(text, self.today)
        if len(readings) > 1:
            raise two_dates(text, readings)
        if not readings:
            raise invalid(f"{text} is not a date", "Write e.g. 2025-06-30.")
        return readings[0]

    def _within(self, low: str, high: str) -> str:
        return f"{self.dated.sql} >= {literal(low)} AND {self.dated.sql} <= {literal(high)}"

    def _is_daily(self) -> bool:
        dates = self.rows.dates()
        return len(dates) > 1 and step_days(dates) <= DAILY_DAYS

    @staticmethod
    def span(clause: Clause, newest: str, today: date) -> tuple[str, str]:
        """Return the first and the last moment of a relative period, which ends at the newest row, or today."""
        last = min(bounds(newest)[0], today)
        count = clause.numbers[0] if clause.numbers else 0
        if clause.by:
            low, high = calendar_unit(last, clause.unit)
            if clause.by == "previous":
                low, high = calendar_unit(low - timedelta(days=1), clause.unit)
            if clause.by == "next":
                low, high = calendar_unit(calendar_unit(today, clause.unit)[1] + timedelta(days=1), clause.unit)
            return low.isoformat(), f"{high}T23:59:59.999999"
        if clause.unit in _SHORT and count is not None:
            return _moments_before(newest, count * _SHORT[clause.unit]), newest
        if count is not None and count < 0:
            return (today + timedelta(days=1)).isoformat(), f"{_moved(today, -count, clause.unit)}T23:59:59.999999"
        first = _moved(last, -(count or 0), clause.unit) + timedelta(days=1)
        return first.isoformat(), f"{last}T23:59:59.999999"


def calendar_unit(day: date, unit: str) -> tuple[date, date]:
    """Return the first and the last day of the week, month, quarter or year that a day is in."""
    first = first_day(day, unit)
    return first, moved(first, 1, unit if unit in ("week", "month", "quarter", "year") else "day") - timedelta(days=1)


def literal(value: Any) -> str:
    """Return a value as SQL."""
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def _moved(day: date, count: int, unit: str) -> date:
    try:
        return moved(day, count, unit)
    except (ValueError, OverflowError):
        return date.max if count > 0 else date(1, 1, 1)


def _moments_before(newest: str, seconds: int) -> str:
    try:
        return (datetime.fromisoformat(newest) - timedelta(seconds=seconds - 1)).isoformat()
    except (ValueError, OverflowError):
        return ""


def _words(clause: Clause) -> str:
    if clause.by:
        return f"{clause.by} {clause.unit}"
    count = clause.numbers[0] or 0
    which = "last" if count > 0 else "next"
    return f"{which} {abs(count)} {clause.unit}{'s' if abs(count) != 1 else ''}"


def _shown(low: str, high: str) -> str:
    return f"{low} to {high[:10] if 'T23:59:59' in high else high}"
