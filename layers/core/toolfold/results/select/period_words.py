"""Parse the periods of a ``select``: ``2024-01..2024-03``, ``since Jan 2025``, ``last 5 days``, ``ytd``."""

from __future__ import annotations

import re

from toolfold.results.select.dates import DATE_PATTERN, parse_date
from toolfold.results.select.selection import Period, invalid_select

WRITTEN_NUMBERS = dict(
    zip(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "a", "an"),
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 1, 1), strict=True)
)  # fmt: skip
MAX_COUNT = 10**9
"""A number of rows or of units above which there are no more of them."""

COUNT = rf"(?:\d{{1,30}}(?!\d)|{'|'.join(WRITTEN_NUMBERS)})"
"""Regular expression of a number of rows or of units of time, without groups."""

_UNIT = (
    r"(?:minutes?|mins?|hours?|hrs?|days?|sessions?|weeks?|wks?|fortnights?|months?|mos?|quarters?|qtrs?|years?|yrs?"
    r"|decades?)"
)
_SHORT_UNIT = r"(?:d|w|wk|mo|m|q|y|yr|h)"
_UNITS = {"h": "hour", "d": "day", "s": "day", "w": "week", "m": "month", "q": "quarter", "y": "year"}
_YEARS_OF_DECADE = 10
_MULTIPLES = {"fortnight": ("week", 2), "decade": ("year", _YEARS_OF_DECADE)}
_SHORT_UNITS = ("day", "hour", "minute")
"""Units of which "last" means the newest one, not the one before that of the calendar."""

_TO_DATE = r"(?P<to_date>[ymqw]td)\b|(?P<unit_to_date>year|month|quarter|week)[ -]to[ -]date\b"
_BEFORE_SPAN = re.compile(r"(?:(?:from|between|in|for|of)\s++)?", re.I)
_DOTS = re.compile(r"\s*+\.\.\.?\s*+")
_BETWEEN = re.compile(r"\s++(?:and|to|until|till|through|thru)\s++|\s*+[:–—]\s*+|\s++-\s*+", re.I)
_NOT_CALCULATED = re.compile(r"(?!\s*+[*/+<>=]|\.\d|\s*+-\s*+[\d\"'A-Za-z(])")

_BEFORE_DATE = [
    (form, re.compile(pattern, re.I))
    for form, pattern in (
        ("since", r"(?:since|from|starting(?:\s++(?:from|on|in))?|>=)\s*+"),
        ("after", r"(?:after|later\s++than|newer\s++than|>)\s*+"),
        ("until", r"(?:until|till|through|thru|up\s++to|to|ending|<=)\s*+"),
        ("before", r"(?:before|earlier\s++than|older\s++than|prior\s++to|<)\s*+"),
        ("on", r"(?:(?:on|in|during|for|of|within|at|as\s++of)\s++)?(?:the\s++year\s++)?"),
    )
]
"""What may stand before a single date, and what the period is."""

_CLOCK = re.compile(
    r"(?:(?:since|after|before|until|till|from|between|at)\s++)?(?P<time>[0-2]?\d:[0-5]\d)(?::[0-5]\d)?(?![\d\]:])"
    r"(?<!\[)",
    re.I,
)
_SAME_DAY = re.compile(r"(?P<time>[0-2]?\d:[0-5]\d(?::[0-5]\d)?)(?![\d:])")
"""A time behind one with its day: ``2026-01-13 15:40..16:00``."""

_ONWARDS = re.compile(r"\s++onwards?\b", re.I)

_RELATIVE = [
    (name, re.compile(pattern, re.I))
    for name, pattern in (
        ("ago", rf"(?:since|from|after)\s++(?P<count>{COUNT})\s*+(?P<unit>{_UNIT})\s++ago\b"),
        (
            "start",
            r"(?:since|from)\s++(?:the\s++)?(?:start|beginning)\s++of\s++(?:the\s++|this\s++)?"
            r"(?P<unit>year|month|quarter|week)\b",
        ),
        ("since_unit", rf"(?:since|from|after)\s++(?P<which>last|this|yesterday|today)(?:\s++(?P<unit>{_UNIT}))?\b"),
        ("to_date", _TO_DATE),
        ("day", r"(?:(?:for|on|of)\s++)?(?P<which>today|yesterday|tomorrow)\b(?!\s*+[(<>=])"),
        (
            "relative",
            rf"(?:(?:in|over|for|from|during|within|of)\s++)?(?:the\s++)?(?P<which>last|past|previous|prior|trailing"
            rf"|(?:most\s++)?recent|newest|latest|first|oldest|earliest|next|coming|upcoming|this|current)[\s_-]++(?:(?P<count>{COUNT})[\s-]*+)?(?:full\s++|calendar\s++)?"
            rf"(?P<trading>trading\s++|business\s++)?(?P<unit>{_UNIT}|(?<=\d){_SHORT_UNIT}|(?<=\d\s){_SHORT_UNIT})"
            r"\b(?!\s*+[(<>=])",
        ),
        (
            "relative",
            rf"(?P<which>)(?P<trading>)(?P<count>\d{{1,4}})\s?(?P<unit>{_UNIT}|{_SHORT_UNIT})\b(?!\s*+[(<>=.])",
        ),
    )
]


def parse_period(text: str, offset: int) -> tuple[Period, int] | None:
    """Return the period that begins at ``offset``, and where it ends; None when there is no such text.

    Raises:
        InvalidArguments: a date is not in the calendar or can be two dates, or the period ends before it begins.
    """
    found = _span(text, offset)
    if found is not None:
        return found
    if clock := _CLOCK.match(text, offset):
        problem = f"{clock['time']} is a time without a day"
        raise invalid_select(problem, offset, "Write e.g. 2026-01-13 15:40..16:00, last 20 minutes or hour >= 15.")
    for form, pattern in _BEFORE_DATE:
        prefix = pattern.match(text, offset)
        date = None if prefix is None else DATE_PATTERN.match(text, prefix.end())
        if date is None or (form == "on" and _NOT_CALCULATED.match(text, date.end()) is None):
            continue
        onwards = _ONWARDS.match(text, date.end()) if form == "since" else None
        end = onwards.end() if onwards else date.end()
        return _single(form, text[offset:end].strip(), offset, date), end
    for form, pattern in _RELATIVE:
        if match := pattern.match(text, offset):
            groups = {name: found or "" for name, found in match.groupdict().items()}
            return _relative(form, match[0].strip(), offset, groups), match.end()
    return None


def _span(text: str, offset: int) -> tuple[Period, int] | None:
    """Return a period with both ends, or with two dots and one of them."""
    prefix = _BEFORE_SPAN.match(text, offset)
    start = prefix.end() if prefix else offset
    low = DATE_PATTERN.match(text, start)
    dots = _DOTS.match(text, low.end() if low else start)
    joint = dots or (_BETWEEN.match(text, low.end()) if low else None)
    if joint is None:
        return None
    high = DATE_PATTERN.match(text, joint.end())
    same_day = _SAME_DAY.match(text, joint.end()) if low and ":" in low[0] and high is None else None
    if low and same_day:
        day, time = _bounds(low)[0], same_day["time"]
        last = f"{day[:11]}{time.zfill(5) if len(time) < 6 else time.zfill(8)}"
        return Period(text[offset : same_day.end()].strip(), offset, day, last), same_day.end()
    if high is None and not dots:
        return None
    if low is None and high is None:
        raise invalid_select("a range of dates needs at least one end", offset, "Write e.g. 2024-01..2024-03.")
    end = high.end() if high else joint.end()
    first = _bounds(low)[0] if low else ""
    last = _bounds(high)[1] if high else ""
    if first and last and first > last and not first.startswith(last):
        problem = f"the dates {first}..{last} end before they begin"
        raise invalid_select(problem, offset, f"Write {last}..{first}.")
    return Period(text[offset:end].strip(), offset, first, last), end


def _single(form: str, text: str, offset: int, date: re.Match[str]) -> Period:
    first, last = _bounds(date)
    if form == "on":
        return Period(text, offset, first, last)
    if form == "since":
        return Period(text, offset, low=first)
    if form == "after":
        return Period(text, offset, low=last, after=True)
    return Period(text, offset, high=first, before=True) if form == "before" else Period(text, offset, high=last)


def _bounds(date: re.Match[str]) -> tuple[str, str]:
    return parse_date(date[0], date.start()) or ("", "")


def _relative(form: str, text: str, offset: int, groups: dict[str, str]) -> Period:
    count = _count(groups.get("count", ""))
    unit, multiple = _unit(groups.get("unit", ""))
    if form == "to_date":
        letter = (groups["to_date"] or groups["unit_to_date"])[0].lower()
        return Period(text, offset, relative="this", unit=_UNITS[letter])
    if form == "start":
        return Period(text, offset, relative="this", unit=unit)
    if form == "ago":
        return Period(text, offset, relative="last", count=count * multiple, unit=unit)
    which = groups["which"].lower()
    if form == "day" or which in ("today", "yesterday"):
        relative = "since" if form == "since_unit" else "day"
        return Period(
            text, offset, relative=relative, count={"today": 0, "yesterday": -1, "tomorrow": 1}[which], unit="day"
        )
    if multiple == _YEARS_OF_DECADE and (form == "since_unit" or which in ("this", "current")):
        unit = "decade"
    if form == "since_unit":
        return Period(text, offset, relative="since", count=0 if which == "this" else -1, unit=unit)
    if which in ("this", "current"):
        return Period(text, offset, relative="this", unit=unit)
    if which in ("next", "coming", "upcoming"):
        relative = "next" if groups["count"] or multiple > 1 or unit in _SHORT_UNITS else "following"
        return Period(text, offset, relative=relative, count=count * multiple, unit=unit)
    if which in ("first", "oldest", "earliest"):
        return Period(text, offset, relative="first", count=count * multiple, unit=unit)
    is_calendar_unit = which in ("last", "previous", "prior") and not groups["count"] and unit not in _SHORT_UNITS
    if is_calendar_unit and multiple == 1:
        return Period(text, offset, relative="previous", unit=unit)
    kind = "last rows" if groups.get("trading") else "last"
    return Period(text, offset, relative=kind, count=count * multiple, unit=unit)


def _count(text: str) -> int:
    return min(int(text), MAX_COUNT) if text.isdigit() else WRITTEN_NUMBERS.get(text.lower(), 1)


def _unit(text: str) -> tuple[str, int]:
    lowered = text.lower()
    if lowered.startswith("min"):
        return "minute", 1
    for word, multiple in _MULTIPLES.items():
        if lowered.startswith(word):
            return multiple
    return _UNITS.get(lowered[:1], ""), 1
