"""Say why a market may have no data of a day, and which day before it has: weekends are known, holidays are not."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, NamedTuple

_SATURDAY, _SUNDAY = 5, 6
_DAY = timedelta(days=1)
_NEW = timedelta(days=7)
"""Age of a day from which on every source has it: some publish days later."""


class DayStep(NamedTuple):
    """The next step of a call without data: what may be wrong with its day.

    Attributes:
        text: the sentence; empty: nothing is known of a day.
        is_certain: whether no market has data of that day.
    """

    text: str = ""
    is_certain: bool = False


def calendar_day(value: Any) -> date | None:
    """Return the day that an argument names, or None."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) and len(value) == len("2026-01-09") else None
    except ValueError:
        return None


def doubt_of(day: date, today: date) -> tuple[str, date | None]:
    """Return why there may be no data of ``day``, and the weekday before it; None where that is too new to be known.

    >>> doubt_of(date(2026, 1, 10), date(2026, 3, 2))
    ('is a Saturday', datetime.date(2026, 1, 9))
    """
    before = weekday_before(day) if day < today - _NEW else None
    if day > today:
        return "is in the future", before
    if day.weekday() in (_SATURDAY, _SUNDAY):
        return f"is a {('Saturday', 'Sunday')[day.weekday() - _SATURDAY]}", before
    return ("may not be over" if day == today else "may be a market holiday"), before


def weekday_before(day: date) -> date:
    """Return the last day before ``day`` that is not in a weekend."""
    day -= _DAY
    while day.weekday() in (_SATURDAY, _SUNDAY):
        day -= _DAY
    return day
