"""Units of time: the name of the group that a time belongs to, when it begins, and times some units apart."""

from calendar import monthrange
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

UNITS: dict[str, Callable[[datetime], str]] = {
    "year": lambda at: f"{at.year}",
    "quarter": lambda at: f"{at.year}-Q{(at.month + 2) // 3}",
    "month": lambda at: f"{at:%Y-%m}",
    "week": lambda at: "{}-W{:02}".format(*at.isocalendar()[:2]),
    "weekday": lambda at: WEEKDAYS[at.weekday()],
    "day": lambda at: at.date().isoformat(),
}
"""Unit of time → the name of the group that a time belongs to."""

PARTS: dict[str, Callable[[datetime], Any]] = {
    "year": lambda at: at.year,
    "quarter": lambda at: (at.month + 2) // 3,
    "month": lambda at: at.month,
    "weekday": lambda at: WEEKDAYS[at.weekday()],
}
"""Part of a date → what a function of that name gives."""


def floor(at: datetime, unit: str) -> datetime:
    """Return when the day, week, month, quarter or year of a time begins."""
    day = datetime(at.year, at.month, at.day)
    if unit == "week":
        return day - timedelta(days=day.weekday())
    if unit == "day":
        return day
    month = {"month": at.month, "quarter": (at.month - 1) // 3 * 3 + 1, "year": 1}[unit]
    return datetime(at.year, month, 1)


def shift(at: datetime, count: int, unit: str) -> datetime:
    """Return a time some units later; a day that a month does not have is its last."""
    if unit in ("day", "week"):
        return at + timedelta(days=count * (7 if unit == "week" else 1))
    months = at.year * 12 + at.month - 1 + count * {"month": 1, "quarter": 3, "year": 12}[unit]
    year, month = divmod(months, 12)
    return at.replace(year=year, month=month + 1, day=min(at.day, monthrange(year, month + 1)[1]))
