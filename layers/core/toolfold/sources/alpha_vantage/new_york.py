"""Wall time in New York, by which US markets open and close.

Worked out from the rule, not from a time zone database, which a small Lambda image or a Windows machine need not have.
A test holds it against the database.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_SUMMER, _WINTER = timedelta(hours=-4), timedelta(hours=-5)


def wall(moment: float) -> datetime:
    """The clock in New York at ``moment`` (seconds since 1970), without a zone."""
    utc = datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
    return utc + (_SUMMER if _is_summer(utc) else _WINTER)


def moment(clock: datetime) -> float:
    """The moment at which clocks in New York first show ``clock``."""
    utc = clock - _SUMMER
    return (utc if _is_summer(utc) else clock - _WINTER).replace(tzinfo=UTC).timestamp()


def next_midnight(now: float) -> float:
    """When the next day begins in New York."""
    return moment(wall(now).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1))


def _is_summer(utc: datetime) -> bool:
    # Since 2007 (Energy Policy Act of 2005): from 2:00 on the second Sunday of March to 2:00 on the first of November.
    return _sunday(utc.year, 3, 2) + timedelta(hours=7) <= utc < _sunday(utc.year, 11, 1) + timedelta(hours=6)


def _sunday(year: int, month: int, nth: int) -> datetime:
    first = datetime(year, month, 1)
    return first + timedelta(days=6 - first.weekday() + 7 * (nth - 1))
