"""Parse the periods of a ``select``: ``2024-01..2024-03``, ``since Jan 2025``, ``last 5 days``, ``ytd``."""

from __future__ import annotations

import re

from toolfold.results.select.dates import DATE, parse_date
from toolfold.results.select.selection import Period, invalid_select

WRITTEN_NUMBERS = dict(
    zip(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "a", "an"),
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 1, 1), strict=True)
)  # fmt: skip
MAX_COUNT = 10**9
"""A number of rows or of units above which there are no more of them."""

COUNT = rf"(?:\d{{1,30}}(?!\d)|{'|'.join(WRITTEN_NUMBERS)})"
"""Regular expression of a number of rows or of units of time, without groups."""

_UNIT = r"(?:hours?|hrs?|days?|sessions?|weeks?|wks?|fortnights?|months?|mos?|quarters?|qtrs?|years?|yrs?|decades?)"
_SHORT_UNIT = r"(?:d|w|wk|mo|m|q|y|yr|h)"
_UNITS = {"h": "hour", "d": "day", "s": "day", "w": "week", "m": "month", "q": "quarter", "y": "year"}
_MULTIPLES = {"fortnight": ("week", 2), "decade": ("year", 10)}
_TO_DATE = r"(?P<to_date>[ymqw]td)\b|(?P<unit_to_date>year|month|quarter|week)[ -]to[ -]date\b"
_NOT_CALCULATED = r"(?!\s*+[*/+<>=]|\.\d|\s*+-\s*+[\d\"'A-Za-z(])"

_FORMS = [
    (name, re.compile(pattern, re.I))
    for name, pattern in (
        ("span", rf"(?:(?:from|between)\s++)?(?P<low>{DATE})?\s*+\.\.\.?\s*+(?P<high>{DATE})?"),
        (
            "span",
            rf"(?:(?:between|from|in|for|of)\s++)?(?P<low>{DATE})\s++(?:and|to|until|till|through|thru)\s++(?P<high>{DATE})",
        ),
        ("span", rf"(?P<low>{DATE})(?:\s*+[:–—]\s*+|\s++-\s*+)(?P<high>{DATE})"),
        ("ago", rf"(?:since|from|after)\s++(?P<count>{COUNT})\s*+(?P<unit>{_UNIT})\s++ago\b"),
        (
            "start",
            r"(?:since|from)\s++(?:the\s++)?(?:start|beginning)\s++of\s++(?:the\s++|this\s++)?(?P<unit>year|month|quarter|week)\b",
        ),
        ("since_unit", rf"(?:since|from|after)\s++(?P<which>last|this|yesterday|today)(?:\s++(?P<unit>{_UNIT}))?\b"),
        (
            "since",
            rf"(?:since|from|starting(?:\s++(?:from|on|in))?|>=)\s*+(?P<low>{DATE})(?:\s++onwards?\b|\s++on\b(?!\s))?",
        ),
        ("after", rf"(?:after|later\s++than|newer\s++than|>)\s*+(?P<low>{DATE})"),
        ("until", rf"(?:until|till|through|thru|up\s++to|to|ending|<=)\s*+(?P<high>{DATE})"),
        ("before", rf"(?:before|earlier\s++than|older\s++than|prior\s++to|<)\s*+(?P<high>{DATE})"),
        (
            "on",
            rf"(?:(?:on|in|during|for|of|within|at|as\s++of)\s++)?(?:the\s++year\s++)?(?P<low>{DATE}){_NOT_CALCULATED}",
        ),
        ("to_date", _TO_DATE),
        ("day", r"(?:(?:for|on|of)\s++)?(?P<which>today|yesterday|tomorrow)\b(?!\s*+[(<>=])"),
        (
            "relative",
            rf"(?:(?:in|over|for|from|during|within|of)\s++)?(?:the\s++)?(?P<which>last|past|previous|prior|trailing|recent"
            rf"|next|coming|upcoming|this|current)[\s_-]++(?:(?P<count>{COUNT})[\s-]*+)?(?:full\s++|calendar\s++)?"
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
    for form, pattern in _FORMS:
        match = pattern.match(text, offset)
        if match is None:
            continue
        groups = {name: found or "" for name, found in match.groupdict().items()}
        if form in ("span", "since", "after", "until", "before", "on"):
            if period := _absolute(form, match, groups):
                return period, match.end()
            continue
        return _relative(form, match[0].strip(), offset, groups), match.end()
    return None


def _absolute(form: str, match: re.Match[str], groups: dict[str, str]) -> Period | None:
    offset, text = match.start(), match[0].strip()
    low = high = ""
    if groups.get("low"):
        low, high = parse_date(groups["low"], match.start("low")) or ("", "")
    if form == "on":
        return Period(text, offset, low, high)
    if form == "after":
        return Period(text, offset, low=high, after=True)
    if groups.get("high"):
        first, high = parse_date(groups["high"], match.start("high")) or ("", "")
        if form == "before":
            return Period(text, offset, high=first, before=True)
    elif form in ("span", "since"):
        high = ""
    if not low and not high:
        raise invalid_select("a range of dates needs at least one end", offset, "Write e.g. 2024-01..2024-03.")
    if low and high and low > high and not low.startswith(high):
        raise invalid_select(f"the dates {low}..{high} end before they begin", offset, f"Write {high}..{low}.")
    return Period(text, offset, low, high)


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
    if form == "since_unit":
        return Period(text, offset, relative="since", count=0 if which == "this" else -1, unit=unit)
    if which in ("this", "current"):
        return Period(text, offset, relative="this", unit=unit)
    if which in ("next", "coming", "upcoming"):
        relative = "next" if groups["count"] or unit in ("day", "hour") else "following"
        return Period(text, offset, relative=relative, count=count * multiple, unit=unit)
    is_calendar_unit = which in ("last", "previous", "prior") and not groups["count"] and unit not in ("day", "hour")
    if is_calendar_unit and multiple == 1:
        return Period(text, offset, relative="previous", unit=unit)
    kind = "last rows" if groups.get("trading") else "last"
    return Period(text, offset, relative=kind, count=count * multiple, unit=unit)


def _count(text: str) -> int:
    return min(int(text), MAX_COUNT) if text.isdigit() else WRITTEN_NUMBERS.get(text.lower(), 1)


def _unit(text: str) -> tuple[str, int]:
    lowered = text.lower()
    for word, multiple in _MULTIPLES.items():
        if lowered.startswith(word):
            return multiple
    return _UNITS.get(lowered[:1], ""), 1
