"""Write a period that ends at the newest row, or today, as a condition on the dates, and say which dates it has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from toolfold.dates import bounds, first_day, moved
from toolfold.results.select.coverage import DAILY_DAYS, step_days
from toolfold.results.select.grammar import Clause

MAX_DATED_ROWS = 10
"""Days of ``last 5 days`` up to which daily rows are counted, as the market or the source has them."""

_LONG_AGO = timedelta(days=4)
"""Before the first of too few days: over any weekend."""

_STEPS = {"previous": -1, "this": 0, "next": 1}


def relative(
    clause: Clause, dated: str, parts: Sequence[str], newest_of: Iterable[tuple[Any, ...]], today: date
) -> tuple[str, str]:
    """Return the condition in SQL of a relative period on the column ``dated``, and a note on its dates.

    ``newest_of`` has the values of the columns ``parts``, which have dates of their own, and the newest date of each.
    """
    conditions, spans = [], set()
    for *key, newest in newest_of:
        if newest is not None:
            low, high = span(clause, newest, today)
            spans.add(f"{low} to {high[:10] if 'T23:59:59' in high else high}")
            same = "".join(f"{part} IS {_literal(value)} AND " for part, value in zip(parts, key, strict=True))
            conditions.append(f"({same}{dated} >= {_literal(low)} AND {dated} <= {_literal(high)})")
    count = (clause.numbers[0] if clause.numbers else 0) or 0
    units = f"{abs(count)} {clause.unit}{'s' if abs(count) != 1 else ''}"
    words = f"{clause.by} {clause.unit}" if clause.by else f"{'last' if count > 0 else 'next'} {units}"
    note = f"{words}: {next(iter(spans))}." if len(spans) == 1 else ""
    return " OR ".join(conditions) or "0", note


def span(clause: Clause, newest: str, today: date) -> tuple[str, str]:
    """Return the first and the last moment of a relative period, which ends at the newest row, or today."""
    last = min(bounds(newest)[0], today)
    count = (clause.numbers[0] if clause.numbers else 0) or 0
    day = timedelta(days=1)
    if clause.by:
        unit = "day" if clause.unit in ("hour", "minute") else clause.unit
        low = _moved(first_day(today if clause.by == "next" else last, unit), _STEPS[clause.by], unit)
        high = _moved(low, 1, unit) - day
    elif clause.unit in ("hour", "minute"):
        first = _moved(datetime.fromisoformat(newest), -count, clause.unit) + timedelta(seconds=1)
        return first.isoformat(), newest
    elif count < 0:
        low, high = today + day, _moved(today, -count, clause.unit)
    else:
        low, high = _moved(last, -count, clause.unit) + day, last
    return low.isoformat(), f"{high}T23:59:59.999999"


def counted_days(clause: Clause, dates: Iterable[str], today: date) -> int:
    """Return the number of days of ``last 5 days`` where those are the days that have rows; 0: other periods."""
    count = (clause.numbers[0] if clause.numbers else 0) or 0
    if clause.unit != "day" or not 0 < count <= MAX_DATED_ROWS:
        return 0
    known = sorted(set(dates))
    is_daily = len(known) > 1 and step_days(known) <= DAILY_DAYS and known[-1] <= f"{today}~"
    return count if is_daily else 0


def first_counted_day(count: int, dates: Iterable[str]) -> str:
    """Return the first of so many days that have rows; where there are fewer, a day before all of them."""
    days = sorted({text[:10] for text in dates})
    return days[-count] if count <= len(days) else (bounds(days[0])[0] - _LONG_AGO).isoformat()


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def _moved(day: date, count: int, unit: str) -> date:
    try:
        return moved(day, count, unit)
    except (ValueError, OverflowError):
        return date.max if count > 0 else date(1, 1, 1)
