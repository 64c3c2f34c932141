"""Read dates and periods in the spellings that people, models and sources use, and write them in those of schemas.

A text that two calendars read differently (``01/02/2024``) has two readings, and the caller refuses it. Nothing here
knows a parameter or a column. Texts of other numbers are not guessed: a day and a month have two digits each where
nothing separates them. The expressions are compiled for the first text that is read, not when a process starts.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import Literal, TypeVar, cast

Day = TypeVar("Day", bound=date)

Precision = Literal["year", "half", "quarter", "month", "day", "minute", "second"]
Bound = Literal["start", "end", ""]
"""Which end of a period is wanted; empty: neither."""

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
          "december")  # fmt: skip

UNITS: Mapping[str, str] = {
    spelled: unit
    for unit, words in {
        "second": "s sec secs second seconds",
        "minute": "min mins minute minutes minutely t",
        "hour": "h hr hrs hour hours hourly",
        "day": "d day days daily",
        "week": "w wk wks week weeks weekly",
        "month": "mo mos mon mth mths month months monthly",
        "quarter": "q qtr qtrs quarter quarters quarterly",
        "halfyear": "semiannual semiannually halfyear halfyearly biannual",
        "year": "y yr yrs year years yearly annual annually a",
    }.items()
    for spelled in words.split()
}
"""Spelling of a unit of time → its name. A lone ``m`` is a minute or a month: the caller knows which."""

_MAX_CHARS = 64
_EPOCH_S = range(10**9, 4 * 10**9)
"""Numbers that are read as seconds since 1970: the years 2001 to 2096. A thousand times as much: milliseconds."""

MONTHS_IN: Mapping[str, int] = {"year": 12, "half": 6, "quarter": 3, "month": 1}
SECONDS_IN: Mapping[str, int] = {"week": 604_800, "day": 86_400, "hour": 3600, "minute": 60, "second": 1}
_DAYS_FROM_TODAY = {"today": 0, "now": 0, "yesterday": -1, "tomorrow": 1}
_STEPS = {"this": 0, "current": 0, "last": -1, "previous": -1}

_PIECES = {
    "YEAR": r"(?P<year>(?:1[5-9]|20|21)\d\d)",
    "MONTH": r"(?P<month>\d\d?)",
    "NAME": rf"(?P<name>sept|{'|'.join(f'{name[:3]}(?:{name[3:]})?' for name in MONTHS)})\.?",
    "DAY": r"(?P<day>\d\d?)(?:st|nd|rd|th)?",
    "QUARTER": r"(?P<quarter>[1-4])",
    "HALF": r"(?P<half>[12])",
    "TIME": r"(?:(?:[t :]|,|,? at) ?(?P<hour>\d\d?(?=:)|\d\d):?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,]\d+)?)?"
    r"(?: ?(?P<noon>[ap])\.?m\.?)? ?(?P<zone>z|utc|gmt|[+-]\d\d(?::?\d\d)?)?)?",
}
_FORMS = (
    r"(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d)TIME)?",
    r"YEAR(?P<month>\d\d)(?:(?P<day>\d\d)TIME)?",
    r"YEAR(?P<separator>[-/. ])MONTH(?:(?P=separator)DAY TIME)?",
    r"MONTH(?P<separator>[-/.])DAY(?P=separator)YEAR TIME",
    r"DAY(?P<separator>[-/.])MONTH(?P=separator)YEAR TIME",
    r"MONTH[-/. ]YEAR",
    r"NAME[ -]*DAY[ ,-]+YEAR TIME",
    r"DAY[ /-]*(?:of )?NAME[ ,/-]*YEAR TIME",
    r"YEAR[ ,-]*NAME(?:[ -]*DAY)?",
    r"NAME[ ,-]*YEAR",
    r"YEAR[ -]?(?:q|quarter )QUARTER",
    r"(?:q|quarter )QUARTER[ ,/-]*YEAR",
    r"QUARTER(?:q|(?:st|nd|rd|th) quarter)(?: of)?[-/ ]?YEAR",
    r"QUARTERq[ '-]?(?P<year>\d\d)",
    r"qQUARTER[ '-]?(?P<year>\d\d)",
    r"YEAR[ -]?hHALF",
    r"hHALF[ -]?YEAR",
    r"YEAR",
)
"""What a date looks like, in :data:`_PIECES`. A text that fits two with different results is ambiguous."""

_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? "
_AGO = r"(\d{1,4}) (day|week|month|year)s? ago"
_UNIT_OF_TODAY = rf"({'|'.join(_STEPS)}) (month|quarter|year)"
_SPAN = r"(?:last |past )?(?:0*([1-9]\d{0,3}))?[ _-]*([a-z][a-z-]{0,12})"
_RANGE = r"(?:from |between )?(.*?)(?: ?\.\.\.? ?| to | until | through | and | - )(.*)"
_ONE_END = r"(since|from|until|to|through) (.*)"


@dataclass(frozen=True, slots=True)
class Reading:
    """One meaning of a text: its first and its last second in UTC.

    Attributes:
        low: the first second.
        high: the last one: of ``2024-02`` that of February 29.
        precision: how precisely it was given.
        is_relative: whether it depends on today.
    """

    low: datetime
    high: datetime
    precision: Precision
    is_relative: bool = False

    @property
    def has_time(self) -> bool:
        """Whether it is more precise than a day."""
        return self.precision in ("minute", "second")


@dataclass(frozen=True, slots=True)
class Period:
    """What is between two dates, or a number of units up to the newest date there is.

    Attributes:
        low: where it begins; None: open.
        high: where it ends, inclusive; None: open.
        count: how many units; 0: the one that is not over, as year to date.
        unit: a name of :data:`UNITS`; empty: it has dates.
    """

    low: Reading | None = None
    high: Reading | None = None
    count: int = 0
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ImpossibleDate:
    """What is wrong with a date, and the nearest one in the same form; empty: none is."""

    problem: str
    nearest: str = ""


def parse_date(value: object, today: date | None = None) -> list[Reading]:
    """Return the readings of ``value``: none where it is not a date, two for a date in an unknown order.

    >>> [str(reading.low.date()) for reading in parse_date("01/02/2024")]
    ['2024-01-02', '2024-02-01']

    Args:
        value: text, or a number: ``20240115`` or seconds since 1970.
        today: what ``yesterday`` and ``3 days ago`` refer to; None: these are no dates.
    """
    text = _simple_text(value)
    if not text:
        return []
    if today is not None and (relative := _relative(text, today)) is not None:
        return [relative]
    if text.isdecimal() and len(text) in (10, 13):
        seconds = int(text) // (1000 if len(text) == 13 else 1)
        return [_reading(datetime.fromtimestamp(seconds, UTC), "second")] if seconds in _EPOCH_S else []
    found: dict[Reading, None] = {}
    if len(text) in (7, 10) and text[4] == "-":  # most texts: no expression is compiled for them
        with suppress(ValueError):
            precision: Precision = "day" if len(text) == 10 else "month"
            return [_reading(datetime.fromisoformat(f"{text:-<8.8}{text[8:] or '01'}T00Z"), precision)]
    for match in _matches(text):
        with suppress(ValueError, OverflowError):
            found[_matched(match)] = None
    return list(found)


def parse_period(text: str, today: date | None = None) -> Period | None:
    """Return the period that ``text`` means: a date, two of them or one end, or a length of time; else None.

    >>> parse_period("last 6 months"), parse_period("6mo") == parse_period("last 6 months"), parse_period("01/02/2024")
    (Period(low=None, high=None, count=6, unit='month'), True, None)
    """
    text = _simple_text(text).lower()
    if text in ("ytd", "year to date"):
        return Period(unit="year")
    if (match := re.fullmatch(_SPAN, text)) and (unit := "month" if match[2] == "m" else UNITS.get(match[2], "")):
        return Period(count=int(match[1] or 1), unit=unit)
    ends = (text, text)
    if not parse_date(text, today):
        if match := re.fullmatch(_RANGE, text):
            ends = (match[1], match[2])
        elif match := re.fullmatch(_ONE_END, text):
            ends = (match[2], "") if match[1] in ("since", "from") else ("", match[2])
    low, high = (parse_date(end, today) if end else [None] for end in ends)
    if not any(ends) or len(low) != 1 or len(high) != 1:
        return None
    first, last = low[0], high[0]
    return None if first and last and first.low > last.high else Period(first, last)


def impossible_date(value: object) -> ImpossibleDate | None:
    """Return what is wrong with a value that has the form of a day or a time and is not in the calendar; else None.

    >>> impossible_date("2025-06-31")
    ImpossibleDate(problem='is not in the calendar: that month ends on 2025-06-30', nearest='2025-06-30')
    """
    text, found = _simple_text(value), None
    for match in () if parse_date(text) else _matches(text):
        year, month, day = _year(match["year"]), _month(match), match.groupdict().get("day")
        if not day:
            continue
        if not 1 <= month <= 12 or not year:
            found = ImpossibleDate("is not in the calendar: a month is from 01 to 12")
            continue
        last = monthrange(year, month)[1]
        if 1 <= int(day) <= last:
            return ImpossibleDate("is not a time of day: it is from 00:00 to 23:59")
        verb, nearest = ("ends", date(year, month, last)) if int(day) else ("begins", date(year, month, 1))
        written = f"{text[: match.start('day')]}{nearest.day:02}{text[match.end('day') :]}"
        return ImpossibleDate(f"is not in the calendar: that month {verb} on {nearest}", written)
    return found


def bounds(text: str) -> tuple[date, date]:
    """Return the first and the last day of a text in ISO 8601, of which parts may be missing: ``2024`` or ``2024-02``.

    A day that does not exist is the nearest one before it, and a part without digits the first one: an answer may be
    damaged, and this never fails.

    >>> [str(day) for day in (*bounds("2024-02"), *bounds("2023-02-31T10:00"))]
    ['2024-02-01', '2024-02-29', '2023-02-28', '2023-02-28']
    """
    with suppress(ValueError):
        return (exact := date.fromisoformat(text[:10])), exact
    year, *rest = (max(int(part), 1) if part.isdecimal() else 1 for part in text[:10].split("-"))
    year, month = min(year, date.max.year - 1), min(rest[0], 12) if rest else 0
    first, last = (date(year, month or end, monthrange(year, month or end)[1]) for end in (1, 12))
    day = rest[1] if len(rest) > 1 else 0
    return first.replace(day=min(day or 1, first.day)), last.replace(day=min(day or 31, last.day))


def moved(day: Day, count: float, unit: str) -> Day:
    """Return a day or a time so many units later; months keep the day, of a shorter month its last one.

    >>> str(moved(date(2024, 1, 31), 1, "month"))
    '2024-02-29'

    Raises:
        ValueError, OverflowError: it is out of the calendar.
        KeyError: there is no such unit.
    """
    if unit in SECONDS_IN:
        return day + timedelta(seconds=count * SECONDS_IN[unit])
    year, month = divmod(day.year * 12 + day.month - 1 + int(count) * MONTHS_IN[unit], 12)
    if not 1 <= year <= date.max.year:
        raise ValueError("out of the calendar")
    return day.replace(year=year, month=month + 1, day=min(day.day, monthrange(year, month + 1)[1]))


def first_day(day: Day, unit: str) -> Day:
    """Return the first day of the year, quarter, month or week that a day is in; the day itself for other units."""
    if unit == "week":
        return day - timedelta(days=day.weekday())
    months = MONTHS_IN.get(unit)
    return day if months is None else day.replace(month=(day.month - 1) // months * months + 1, day=1)


def spellings(reading: Reading, bound: Bound = "") -> Iterator[tuple[str, bool]]:
    """Yield the forms of ``reading`` that schemas ask for, the most precise fitting one first.

    Args:
        reading: what is meant.
        bound: which end of a period is wanted: a reading without a day becomes the first or the last one of it.

    Yields:
        The text, and whether it says less than the reading did.
    """
    precision, has_time = reading.precision, reading.has_time
    at = reading.high if bound == "end" and not has_time else reading.low
    day, quarter = str(at.date()), f"{at.year}Q{(at.month + 2) // 3}"
    compact, clock = day.replace("-", ""), at.strftime("%H:%M:%S")
    times = (f"{day}T{clock}Z", f"{day}T{clock}", f"{day} {clock}", f"{compact}T{at:%H%M}", f"{compact}T{at:%H%M%S}")
    is_day = has_time or precision == "day"
    if precision in ("quarter", "year"):
        yield (quarter if precision == "quarter" else day[:4]), False
    if has_time:
        yield from ((text, False) for text in times)
    if is_day or bound:
        yield from ((text, has_time and at.time() != time()) for text in (day, compact))
        if not has_time:
            yield from ((text, False) for text in times)
    if precision != "year" and (bound or precision not in ("quarter", "half")):
        yield from ((text, is_day) for text in (day[:7], compact[:6]))
    if precision not in ("year", "half"):
        yield quarter, True


def _simple_text(value: object) -> str:
    """Return a value as text without a day of the week and with single spaces; empty where it cannot be a date."""
    if isinstance(value, bool) or not isinstance(value, str | int) or len(text := str(value)) > _MAX_CHARS:
        return ""
    return re.sub(_WEEKDAY, "", " ".join(text.split()), count=1, flags=re.I)


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    pieces = re.compile(rf" ?({'|'.join(_PIECES)})")
    return tuple(re.compile(pieces.sub(lambda name: _PIECES[name[1]], form), re.I | re.A) for form in _FORMS)


def _matches(text: str) -> Iterator[re.Match[str]]:
    return (match for form in _forms() if (match := form.fullmatch(text)))


def _year(text: str) -> int:
    return int(text) + (2000 if len(text) == 2 else 0)  # a quarter is of this century: 1Q24


def _month(match: re.Match[str]) -> int:
    """Return the number of the month in ``match``, of a quarter or half the first one; 0: it has no month."""
    groups = match.groupdict()
    if name := groups.get("name"):
        return next(number for number, full in enumerate(MONTHS, 1) if full[:3] == name[:3].lower())
    parts = (("month", 1), ("quarter", 3), ("half", 6))
    return next(((int(groups[part]) - 1) * months + 1 for part, months in parts if groups.get(part)), 0)


def _matched(match: re.Match[str]) -> Reading:
    """Return the reading of a text that fits a form.

    Raises:
        ValueError: the calendar does not have it.
        OverflowError: it is out of the calendar by its offset.
    """
    groups = match.groupdict()
    parts: tuple[Precision, ...] = ("second", "minute", "day", "month", "quarter", "half")
    precision = next((part for part in parts if groups.get(part)), "month" if groups.get("name") else "year")
    hour, minute, second = (int(groups.get(name) or 0) for name in ("hour", "minute", "second"))
    if noon := groups.get("noon"):
        if not 1 <= hour <= 12:
            raise ValueError("no hour of half a day")
        hour = hour % 12 + (12 if noon in "pP" else 0)
    month, day = 1 if precision == "year" else _month(match), int(groups.get("day") or 1)
    low = datetime(_year(groups["year"]), month, day, hour, minute, second, tzinfo=UTC)
    zone = groups.get("zone") or ""
    if zone[:1] in ("+", "-"):
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:].lstrip(":") or 0))
        low += -offset if zone[0] == "+" else offset
    return _reading(low, precision)


def _reading(low: datetime, precision: Precision, is_relative: bool = False) -> Reading:
    last = low.month + MONTHS_IN.get(precision, 1) - 1
    high = low.replace(month=last, day=monthrange(low.year, last)[1]) if precision in MONTHS_IN else low
    seconds = SECONDS_IN.get(precision, SECONDS_IN["day"])
    return Reading(low, high + timedelta(seconds=seconds - 1), precision, is_relative)


def _relative(text: str, today: date) -> Reading | None:
    text, at = text.lower(), datetime(today.year, today.month, today.day, tzinfo=UTC)
    with suppress(ValueError, OverflowError):
        if text in _DAYS_FROM_TODAY:
            return _reading(at + timedelta(_DAYS_FROM_TODAY[text]), "day", True)
        if match := re.fullmatch(_UNIT_OF_TODAY, text):
            step, unit = match.groups()
            return _reading(moved(first_day(at, unit), _STEPS[step], unit), cast("Precision", unit), True)
        if match := re.fullmatch(_AGO, text):
            return _reading(moved(at, -int(match[1]), match[2]), "day", True)
    return None
