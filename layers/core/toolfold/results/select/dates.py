"""Parse dates in the spellings that models use: ``2025-01-13``, ``Jan 13, 2025``, ``Q3 2025``, ``13/01/2025``."""

from __future__ import annotations

import datetime
import re

from toolfold.results.select.selection import invalid_select

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_TIME = r"(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\b))"

_FORMS = {
    "iso": rf"\d{{4}}-\d\d(?:-\d\d{_TIME}?)?(?![\w-])",
    "quarter_last": rf"{_YEAR}[ -]?Q[1-4]",
    "quarter_first": rf"Q[1-4][ ,/-]*{_YEAR}",
    "slashes": rf"{_YEAR}[/.](?:0?[1-9]|1[0-2])(?:[/.](?:0?[1-9]|[12]\d|3[01]))?(?![\d/.])",
    "numbers": rf"\d{{1,2}}[/.-]\d{{1,2}}[/.-]{_YEAR}",
    "month_first": rf"{_MONTH}[ -]+{_DAY}(?:,\s*|[ -]+){_YEAR}",
    "day_first": rf"{_DAY}[ -]+(?:of )?{_MONTH},?[ -]*{_YEAR}",
    "month": rf"{_MONTH},?[ -]*{_YEAR}",
    "compact": rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])",
    "half": rf"(?:H[12][ -]?{_YEAR}|{_YEAR}[ -]?H[12])",
    "year": rf"(?:FY\s?)?{_YEAR}",
}

DATE = f"(?:{'|'.join(_FORMS.values())})(?!\\w)"
"""Regular expression of a date in any spelling, without groups; letter case is ignored."""

DATE_PATTERN = re.compile(DATE, re.I)
"""The same, compiled once: it is long."""

_PATTERNS = [(name, re.compile(form, re.I)) for name, form in _FORMS.items()]
_QUARTER_ENDS = {"1": ("01", "03"), "2": ("04", "06"), "3": ("07", "09"), "4": ("10", "12")}


def parse_date(text: str, offset: int = 0) -> tuple[str, str] | None:
    """Return the first and the last date that ``text`` means, as precise as written; None when it is not a date.

    Raises:
        InvalidArguments: it can be two dates, or the calendar does not have it.

    Example:
        >>> parse_date("Jan 13, 2025"), parse_date("2025Q3"), parse_date("2025")
        (('2025-01-13', '2025-01-13'), ('2025-07', '2025-09'), ('2025', '2025'))
    """
    text = text.strip().strip("\"'")
    for name, pattern in _PATTERNS:
        if pattern.fullmatch(text):
            return _bounds(name, text, offset)
    return None


def _bounds(form: str, text: str, offset: int) -> tuple[str, str]:
    digits = re.findall(r"\d+", text)
    year = next((number for number in digits if len(number) == 4), text[:4])
    if form == "iso":
        date = text.upper().replace(" ", "T").removesuffix("Z")
    elif form in ("quarter_first", "quarter_last"):
        quarter = re.findall(r"Q([1-4])", text, re.I)[0]
        return tuple(f"{year}-{month}" for month in _QUARTER_ENDS[quarter])  # type: ignore[return-value]
    elif form == "half":
        return (f"{year}-01", f"{year}-06") if re.search("H1", text, re.I) else (f"{year}-07", f"{year}-12")
    elif form == "slashes":
        date = "-".join(number.zfill(2) for number in digits)
    elif form == "numbers":
        date = _day_or_month_first(text, int(digits[0]), int(digits[1]), year, offset)
    elif form == "compact":
        date = f"{text[:4]}-{text[4:6]}-{text[6:]}"
    elif form == "year":
        date = year
    else:
        word = re.findall(_MONTH, text, re.I)[0][:3].lower()
        month = f"{_MONTHS.index(word) + 1:02}"
        days = [number for number in digits if len(number) < 4]
        date = f"{year}-{month}-{days[0].zfill(2)}" if days else f"{year}-{month}"
    _check(date, text, offset)
    return date, date


def _day_or_month_first(text: str, first: int, second: int, year: str, offset: int) -> str:
    """Return the date of ``13/01/2025``; ``05/06/2025`` is refused unless both readings are one date."""
    if first <= 12 and second <= 12 and first != second:
        day_first, month_first = f"{year}-{second:02}-{first:02}", f"{year}-{first:02}-{second:02}"
        raise invalid_select(f"{text} can be two dates", offset, f"Write {day_first} or {month_first}.")
    month, day = (second, first) if first > 12 else (first, second)
    return f"{year}-{month:02}-{day:02}"


def _check(date: str, text: str, offset: int) -> None:
    parts = [int(part) for part in date[:10].split("-")]
    try:
        datetime.date(*[*parts, 1, 1][:3])
    except ValueError:
        raise invalid_select(f"there is no date {text[:30]}", offset, "Write a date as 2025-01-31.") from None
