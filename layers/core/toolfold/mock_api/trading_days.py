"""Trading days: weekdays, and the sessions of the New York exchanges without their full-day holidays."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache

MONDAY, THURSDAY, SATURDAY, SUNDAY = 0, 3, 5, 6

# The first day with prices. The vendor's history starts around this day too.
ORIGIN = date(2000, 1, 3)


def all_days(first: date, last: date) -> list[date]:
    """Return every day from ``first`` to ``last``, both included."""
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def weekdays(first: date, last: date) -> list[date]:
    """Return every Monday to Friday from ``first`` to ``last``."""
    return [day for day in all_days(first, last) if day.weekday() < SATURDAY]


@lru_cache(maxsize=8)
def trading_days(first: date, last: date) -> tuple[date, ...]:
    """Return the days from ``first`` to ``last`` on which New York traded."""
    return tuple(day for day in weekdays(first, last) if day not in holidays(day.year))


def is_trading_day(day: date) -> bool:
    """Return whether New York trades on this day."""
    return day.weekday() < SATURDAY and day not in holidays(day.year)


def trading_day_on_or_after(day: date) -> date:
    """Return the first trading day that is not before ``day``."""
    while not is_trading_day(day):
        day += timedelta(days=1)
    return day


def trading_day_on_or_before(day: date) -> date:
    """Return the last trading day that is not after ``day``."""
    while not is_trading_day(day):
        day -= timedelta(days=1)
    return day


def month_end(day: date) -> date:
    """Return the last calendar day of the month of ``day``."""
    return add_months(day.replace(day=1), 1) - timedelta(days=1)


def add_months(day: date, months: int) -> date:
    """Return ``day`` moved by whole months. Only valid for days up to the 28th."""
    index = day.year * 12 + day.month - 1 + months
    return date(index // 12, index % 12 + 1, day.day)


@lru_cache(maxsize=64)
def holidays(year: int) -> frozenset[date]:
    """Return the full-day holidays of the New York exchanges by rule, without one-off closings (storms, mourning)."""
    days = {
        _nth(year, 1, MONDAY, 3),  # Martin Luther King
        _nth(year, 2, MONDAY, 3),  # Presidents
        _easter(year) - timedelta(days=2),  # Good Friday
        _nth(year, 6, MONDAY, 1) - timedelta(days=7),  # Memorial: the last Monday of May
        _observed(date(year, 7, 4)),
        _nth(year, 9, MONDAY, 1),  # Labor
        _nth(year, 11, THURSDAY, 4),  # Thanksgiving
        _observed(date(year, 12, 25)),
    }
    if date(year, 1, 1).weekday() != SATURDAY:  # the exchanges do not move a Saturday New Year into the old year
        days.add(_observed(date(year, 1, 1)))
    if year >= 2022:  # Juneteenth is a holiday of the exchanges since then
        days.add(_observed(date(year, 6, 19)))
    return frozenset(days)


def _nth(year: int, month: int, weekday: int, count: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (count - 1))


def _observed(day: date) -> date:
    return day + timedelta(days={SATURDAY: -1, SUNDAY: 1}.get(day.weekday(), 0))


def _easter(year: int) -> date:
    """Return Easter Sunday, by the anonymous Gregorian algorithm."""
    golden, century, short = year % 19, year // 100, year % 100
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - century // 4 - correction + 15) % 30
    offset = (32 + 2 * (century % 4) + 2 * (short // 4) - epact - short % 4) % 7
    shift = (golden + 11 * epact + 22 * offset) // 451
    total = epact + offset - 7 * shift + 114
    return date(year, total // 31, total % 31 + 1)
