"""Functions of dates that other dialects of SQL have: dates are texts in ISO 8601, as in the answer."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from toolfold.dates import MONTHS, add_months

_PLAIN_LENGTH = len("2026-01-05")

_PARTS: Mapping[str, Callable[[datetime.datetime], int]] = {
    "year": lambda time: time.year,
    "quarter": lambda time: (time.month + 2) // 3,
    "month": lambda time: time.month,
    "week": lambda time: time.isocalendar().week,
    "day": lambda time: time.day,
    "weekday": lambda time: time.isoweekday() % 7,
    "dow": lambda time: time.isoweekday() % 7,
    "dayofweek": lambda time: time.isoweekday() % 7,
    "isodow": lambda time: time.isoweekday(),
    "doy": lambda time: time.timetuple().tm_yday,
    "dayofyear": lambda time: time.timetuple().tm_yday,
    "hour": lambda time: time.hour,
    "minute": lambda time: time.minute,
    "second": lambda time: time.second,
    "epoch": lambda time: int(time.replace(tzinfo=datetime.UTC).timestamp()),
}
"""Part of a date → how to get it. Sunday is 0, as in ``strftime('%w', date)``."""

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}

_FORMATS = (
    *(("YYYY", "%Y"), ("yyyy", "%Y"), ("MM", "%m"), ("DD", "%d"), ("dd", "%d"), ("HH24", "%H"), ("HH", "%H")),
    *(("MI", "%M"), ("SS", "%S"), ("ss", "%S"), ("Mon", "%b"), ("Month", "%B"), ("Day", "%A"), ("Dy", "%a")),
)
_ALLOWED_FORMATS = frozenset("YmdHMSbBaAjwyI%")


def _time(value: Any) -> datetime.datetime | None:
    if isinstance(value, int) and 1000 <= value <= 9999:
        value = str(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    if len(text) in (4, 7):  # a year, or a month
        text += "-01-01"[: _PLAIN_LENGTH - len(text)] if len(text) == 4 else "-01"
    try:
        return datetime.datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return None


def _text(time: datetime.datetime, like: Any) -> str:
    """Return a time in ISO 8601; a date where ``like`` is one."""
    return time.isoformat() if isinstance(like, str) and len(like) > _PLAIN_LENGTH else time.date().isoformat()


def date_part(unit: Any, value: Any) -> int | None:
    """Return the year, quarter, month, week, day or hour of a date."""
    part, time = _PARTS.get(_singular(unit)), _time(value)
    return None if part is None or time is None else part(time)


def date_trunc(unit: Any, value: Any) -> str | None:
    """Return the first day of the year, quarter, month or week of a date; of a time the hour or minute as well."""
    time, unit = _time(value), _singular(unit)
    if time is None:
        return None
    midnight = time.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        return (midnight - datetime.timedelta(days=midnight.weekday())).date().isoformat()
    days = {
        "year": midnight.replace(month=1, day=1),
        "quarter": midnight.replace(month=(midnight.month - 1) // 3 * 3 + 1, day=1),
        "month": midnight.replace(day=1),
        "day": midnight,
    }
    if unit in days:
        return days[unit].date().isoformat()
    hours = {"hour": time.replace(minute=0, second=0, microsecond=0), "minute": time.replace(second=0, microsecond=0)}
    return hours[unit].isoformat() if unit in hours else None


def date_add(unit: Any, count: Any, value: Any) -> str | None:
    """Return a date plus a number of units."""
    time, unit = _time(value), _singular(unit)
    if time is None or not isinstance(count, int | float):
        return None
    try:
        if unit in _SECONDS:
            return _text(time + datetime.timedelta(seconds=count * _SECONDS[unit]), value)
        months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
        if months is None:
            return None
        return _text(add_months(time, int(count) * months), value)
    except (ValueError, OverflowError):
        return None


def date_minus(value: Any, other: Any) -> float | int | str | None:
    """Return the days between two dates, or the date a number of days before another."""
    if isinstance(other, int | float) and _time(value) is not None and not isinstance(value, int | float):
        return date_add("day", -other, value)
    if isinstance(value, int | float) and isinstance(other, int | float):
        return value - other
    return date_diff("day", other, value)


def date_diff(unit: Any, start: Any, end: Any) -> float | int | None:
    """Return how many units are between two dates; months and years by the calendar."""
    first, last, unit = _time(start), _time(end), _singular(unit)
    if first is None or last is None:
        return None
    if unit in _SECONDS:
        return int((last - first).total_seconds() // _SECONDS[unit])
    months = (last.year - first.year) * 12 + last.month - first.month
    size = {"month": 1, "quarter": 3, "year": 12}.get(unit)
    if size == 12:
        return last.year - first.year
    return None if size is None else months // size


def date_format(value: Any, pattern: Any) -> str | None:
    """Return a date in a format of ``strftime`` (``%Y-%m``) or of TO_CHAR (``YYYY-MM``)."""
    time = _time(value)
    if time is None or not isinstance(pattern, str) or len(pattern) > 100:
        return None
    if "%" not in pattern:
        for written, code in _FORMATS:
            pattern = pattern.replace(written, code)
    else:
        pattern = pattern.replace("%i", "%M").replace("%s", "%S").replace("%c", "%m").replace("%e", "%d")
    codes = pattern.split("%")[1:]
    return time.strftime(pattern) if all(code[:1] in _ALLOWED_FORMATS for code in codes if code) else None


def _singular(unit: Any) -> str:
    return str(unit).lower().removesuffix("s")


def _day_name(value: Any) -> str | None:
    time = _time(value)
    return None if time is None else _DAYS[time.weekday()]


def _month_name(value: Any) -> str | None:
    time = _time(value)
    return None if time is None else MONTHS[time.month - 1].capitalize()


def _part(unit: str) -> Callable[[Any], int | None]:
    return lambda value: date_part(unit, value)


DATE_FUNCTIONS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("date_part", 2, date_part),
    ("date_trunc", 2, date_trunc),
    ("date_add", 3, date_add),
    ("date_diff", 3, date_diff),
    ("date_minus", 2, date_minus),
    ("date_format", 2, date_format),
    ("to_char", 2, date_format),
    ("dayname", 1, _day_name),
    ("monthname", 1, _month_name),
    *((unit, 1, _part(unit)) for unit in ("year", "quarter", "month", "week", "day", "weekday", "hour", "minute")),
)
