"""Read a date in the spellings that people and models use, and write it in the form that a schema accepts.

A spelling that two calendars read differently (``01/02/2024``) has two readings, and the caller of :func:`parse_date`
refuses it. Nothing here knows a parameter: its schema decides which of the :func:`spellings` it takes.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, NamedTuple

__all__ = ["Bound", "Reading", "bound_of", "end_of_month", "parse_date", "spellings"]

Precision = Literal["year", "quarter", "month", "day", "time"]
Bound = Literal["start", "end", ""]
"""Which end of a period a parameter is; empty: neither."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MAX_CHARS = 64
_EPOCH_S = range(10**9, 4 * 10**9)
"""Numbers that are read as seconds since 1970: the years 2001 to 2096. A thousand times as much: milliseconds."""

_START_WORDS = frozenset({"from", "start", "since", "after", "begin", "min", "earliest"})
_END_WORDS = frozenset({"to", "end", "until", "before", "max", "latest"})

_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTH_NAME = r"(?P<name>[a-z]{3,9})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_TIME = (
    r"(?:[t ]\s*(?P<hour>\d\d):?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,]\d+)?)?\s*(?P<zone>z|utc|[+-]\d\d:?\d\d)?)?"
)
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"{_YEAR}(?P<separator>[-/. ]?)(?P<month>\d\d?)(?P=separator){_DAY}{_TIME}",
        rf"{_YEAR}[-/. ]?(?P<month>\d\d?)",
        rf"(?P<month>\d\d?)[-/. ]{_YEAR}",
        rf"{_MONTH_NAME}[- ]{_DAY},?[- ]{_YEAR}{_TIME}",
        rf"{_DAY}[- ](?:of )?{_MONTH_NAME},?[- ]{_YEAR}{_TIME}",
        rf"{_YEAR}[- ]{_MONTH_NAME}[- ]{_DAY}",
        rf"{_MONTH_NAME},?[- ]{_YEAR}",
        rf"{_YEAR}[- ]{_MONTH_NAME}",
        rf"{_YEAR}[- ]?(?:q|quarter )(?P<quarter>[1-4])",
        rf"(?:q|quarter )(?P<quarter>[1-4]),?[-/ ]?{_YEAR}",
        rf"(?P<quarter>[1-4])(?:q|st quarter|nd quarter|rd quarter|th quarter)(?: of)?[-/ ]?{_YEAR}",
        rf"{_YEAR}",
    )
)
_TWO_ORDERS = re.compile(rf"(?P<first>\d\d?)(?P<separator>[-/.])(?P<second_number>\d\d?)(?P=separator){_YEAR}{_TIME}")
_WEEKDAY = re.compile(r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? ")
_AGO = re.compile(r"(?P<count>\d{1,4}) (?P<unit>day|week|month|year)s? ago")
_RELATIVE_DAYS = {"today": 0, "now": 0, "yesterday": -1, "tomorrow": 1}
_RELATIVE_MONTHS = {"this month": 0, "current month": 0, "last month": -1, "previous month": -1}


class Reading(NamedTuple):
    """One meaning of a text: a point in time, how precisely it was given, and whether it was relative to today."""

    at: datetime
    precision: Precision
    is_relative: bool = False


def bound_of(parameter: str) -> Bound:
    """Return which end of a period ``parameter`` is, by the words of its name."""
    words = set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", parameter).lower()))
    return "start" if words & _START_WORDS else "end" if words & _END_WORDS else ""


def parse_date(value: object, today: date) -> list[Reading]:
    """Return the readings of ``value``: none where it is not a date, two for a date in an unknown order.

    >>> [str(reading.at.date()) for reading in parse_date("01/02/2024", date(2024, 3, 1))]
    ['2024-01-02', '2024-02-01']

    Args:
        value: text, or a number: ``20240115`` or seconds since 1970.
        today: what ``yesterday`` and ``3 days ago`` refer to.
    """
    if isinstance(value, bool) or not isinstance(value, str | int) or len(text := str(value)) > _MAX_CHARS:
        return []
    text = _WEEKDAY.sub("", " ".join(text.lower().split()), count=1)
    if relative := _relative(text, today):
        return [relative]
    if text.isdecimal() and len(text) in (10, 13):
        seconds = int(text) // (1000 if len(text) == 13 else 1)
        return [Reading(datetime.fromtimestamp(seconds, UTC), "time")] if seconds in _EPOCH_S else []
    if match := _TWO_ORDERS.fullmatch(text):
        first, second = int(match["first"]), int(match["second_number"])
        orders = dict.fromkeys([(first, second), (second, first)])
        found = (_reading(match, month, day) for month, day in orders)
        return [reading for reading in found if reading]
    for form in _FORMS:
        if match := form.fullmatch(text):
            groups = match.groupdict()
            month = _month_number(groups["name"]) if groups.get("name") else int(groups.get("month") or 0)
            if month is None:
                continue
            reading = _reading(match, month, int(groups.get("day") or 0))
            if reading:
                return [reading]
    return []


def end_of_month(value: object) -> date | None:
    """Return the last day of the month in ``value``, a date with a later day of it, as June 31, 2025; else None."""
    if not isinstance(value, str) or len(value) > _MAX_CHARS:
        return None
    text = _WEEKDAY.sub("", " ".join(value.lower().split()), count=1)
    matches = [match for form in (_TWO_ORDERS, *_FORMS) if (match := form.fullmatch(text))]
    for groups in (match.groupdict() for match in matches):
        numbers = [int(groups.get("first") or 0), int(groups.get("second_number") or 0)]
        day = max(*numbers, int(groups.get("day") or 0))
        month = _month_number(groups["name"]) if groups.get("name") else int(groups.get("month") or min(numbers))
        if month and month <= 12 and day > (last := monthrange(int(groups["year"]), month)[1]):
            return date(int(groups["year"]), month, last)
    return None


def _relative(text: str, today: date) -> Reading | None:
    at = datetime(today.year, today.month, today.day, tzinfo=UTC)
    if text in _RELATIVE_DAYS:
        return Reading(at + timedelta(days=_RELATIVE_DAYS[text]), "day", True)
    if text in _RELATIVE_MONTHS:
        return Reading(_months_later(at, _RELATIVE_MONTHS[text]), "month", True)
    if match := _AGO.fullmatch(text):
        count, unit = int(match["count"]), match["unit"]
        try:
            if unit in ("day", "week"):
                return Reading(at - timedelta(days=count * (7 if unit == "week" else 1)), "day", True)
            return Reading(_months_later(at, -count * (12 if unit == "year" else 1)), "day", True)
        except (ValueError, OverflowError):
            return None
    return None


def _months_later(at: datetime, months: int) -> datetime:
    index = at.year * 12 + at.month - 1 + months
    year, month = index // 12, index % 12 + 1
    return at.replace(year=year, month=month, day=min(at.day, monthrange(year, month)[1]))


def _month_number(name: str) -> int | None:
    full = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
            "november", "december")  # fmt: skip
    if name[:3] not in _MONTHS:
        return None
    number = _MONTHS.index(name[:3])
    return number + 1 if full[number].startswith(name) or name == "sept" else None


def _reading(match: re.Match[str], month: int, day: int) -> Reading | None:
    groups = match.groupdict()
    year, hour = int(groups["year"]), groups.get("hour")
    precision: Precision = "time" if hour else "day" if day else "month" if month else "year"
    if groups.get("quarter"):
        month, precision = 3 * int(groups["quarter"]) - 2, "quarter"
    try:
        at = datetime(year, month or 1, day or 1, int(hour or 0), int(groups.get("minute") or 0),
                      int(groups.get("second") or 0), tzinfo=UTC)  # fmt: skip
    except ValueError:
        return None
    zone = groups.get("zone") or "z"
    if zone[0] in "+-":
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        at = at - offset if zone[0] == "+" else at + offset
    return Reading(at, precision)


def spellings(reading: Reading, bound: Bound) -> Iterator[tuple[str, bool]]:
    """Yield the forms of ``reading`` that schemas ask for, the most precise fitting one first.

    Args:
        reading: a point in time.
        bound: which end of a period is wanted: a reading without a day becomes the first or the last one of it.

    Yields:
        The text, and whether it says less than the reading did.
    """
    at, precision = reading.at, reading.precision
    if precision in ("quarter", "year"):
        yield (f"{at.year}" if precision == "year" else f"{at.year}Q{(at.month + 2) // 3}"), False
    is_day = precision in ("day", "time")
    if precision == "time":
        yield from _with_time(at)
    elif is_day or bound:
        at = at if is_day else _first_or_last_day(reading, bound)
    if is_day or bound:
        yield f"{at:%Y-%m-%d}", precision == "time" and at.time() != time()
        yield f"{at:%Y%m%d}", precision == "time" and at.time() != time()
        if precision != "time":
            yield from _with_time(at.replace(hour=23, minute=59, second=59) if bound == "end" else at)
    if precision != "year":
        yield f"{at:%Y-%m}", is_day
        yield f"{at:%Y%m}", is_day
        yield f"{at.year}Q{(at.month + 2) // 3}", True


def _with_time(at: datetime) -> Iterator[tuple[str, bool]]:
    for form in ("%Y%m%dT%H%M", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y%m%dT%H%M%S"):
        yield at.strftime(form), False


def _first_or_last_day(reading: Reading, bound: Bound) -> datetime:
    at, months = reading.at, {"year": 12, "quarter": 3}.get(reading.precision, 1)
    first = at.replace(month=1, day=1) if reading.precision == "year" else at.replace(day=1)
    return first if bound == "start" else _months_later(first, months) - timedelta(days=1)
