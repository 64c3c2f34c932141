"""Parse dates in the spellings that models use: ``2025-01-13``, ``Jan 13, 2025``, ``Q3 2025``, ``13/01/2025``."""

from __future__ import annotations

import re

from toolfold import dates
from toolfold.results.select.selection import invalid_select

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_LENGTHS = {"year": len("2025"), "day": len("2025-07-31")}
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_TIME = r"(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\b))"

_FORMS = (
    rf"\d{{4}}-\d\d(?:-\d\d{_TIME}?)?(?![\w-])",
    rf"{_YEAR}[ -]?Q[1-4]",
    rf"Q[1-4][ ,/-]*{_YEAR}",
    rf"{_YEAR}[/.](?:0?[1-9]|1[0-2])(?:[/.](?:0?[1-9]|[12]\d|3[01]))?(?![\d/.])",
    rf"\d{{1,2}}[/.-]\d{{1,2}}[/.-]{_YEAR}",
    rf"{_MONTH}[ -]+{_DAY}(?:,\s*|[ -]+){_YEAR}",
    rf"{_DAY}[ -]+(?:of )?{_MONTH},?[ -]*{_YEAR}",
    rf"{_MONTH},?[ -]*{_YEAR}",
    rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])",
    rf"(?:H[12][ -]?{_YEAR}|{_YEAR}[ -]?H[12])",
    rf"(?:FY\s?)?{_YEAR}",
)

DATE = f"(?:{'|'.join(_FORMS)})(?!\\w)"
"""Regular expression of a date in any spelling, without groups; letter case is ignored."""

DATE_PATTERN = re.compile(DATE, re.I)
"""The same, compiled once: it is long."""


def parse_date(text: str, offset: int = 0) -> tuple[str, str] | None:
    """Return the first and the last date that ``text`` means, as precise as written; None when it is not a date.

    Raises:
        InvalidArguments: it can be two dates, or the calendar does not have it.

    Example:
        >>> parse_date("Jan 13, 2025"), parse_date("2025Q3"), parse_date("2025")
        (('2025-01-13', '2025-01-13'), ('2025-07', '2025-09'), ('2025', '2025'))
    """
    text = text.strip().strip("\"'")
    if DATE_PATTERN.fullmatch(text) is None:
        return None
    readings = dates.parse_date(text if text[:2].upper() != "FY" else text[2:])
    if not readings:
        raise invalid_select(f"there is no date {text[:30]}", offset, "Write a date as 2025-01-31.")
    if len(readings) > 1:
        month_first, day_first = (one.low.date() for one in readings)
        raise invalid_select(f"{text} can be two dates", offset, f"Write {day_first} or {month_first}.")
    reading = readings[0]
    if reading.has_time:
        moment = text.upper().replace(" ", "T").removesuffix("Z")
        return moment, moment
    length = _LENGTHS.get(reading.precision, len("2025-07"))
    return str(reading.low)[:length], str(reading.high)[:length]
