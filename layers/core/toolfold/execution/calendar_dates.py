"""Find dates and times that have the form of one and are not in the calendar: ``2025-06-31``."""

from __future__ import annotations

import calendar
import re
from datetime import datetime
from typing import NamedTuple

_DATE = re.compile(
    r"(?P<year>\d{4})(?P<separator>-?)(?P<month>\d\d)(?P=separator)(?P<day>\d\d)"
    r"(?:[T ](?P<hour>\d\d):?(?P<minute>\d\d)(?::?(?P<second>\d\d))?)?"
)


class ImpossibleDate(NamedTuple):
    """What is wrong with a date, and the nearest one before it; empty: none is."""

    problem: str
    nearest: str = ""


def impossible_date(text: str) -> ImpossibleDate | None:
    """Return what is wrong with a text in the form of a date, or None.

    Eight digits alone may be another number.

    Example:
        >>> impossible_date("2025-06-31")
        ImpossibleDate(problem='is not in the calendar: that month ends on 2025-06-30', nearest='2025-06-30')
    """
    match = _DATE.fullmatch(text)
    if match is None or not (match["separator"] or match["hour"]):
        return None
    year, month, day, hour, minute, second = (int(match[name] or 0) for name in _DATE.groupindex if name != "separator")
    try:
        datetime(year, month, day, hour, minute, second)
    except ValueError:
        pass
    else:
        return None
    if not 1 <= month <= 12 or not year:
        return ImpossibleDate("is not in the calendar: a month is from 01 to 12")
    last = calendar.monthrange(year, month)[1]
    if 1 <= day <= last:
        return ImpossibleDate("is not a time of day: it is from 00:00 to 23:59")
    before, after = text[: match.start("day")], text[match.end("day") :]
    if not day:
        return ImpossibleDate(f"is not in the calendar: that month begins on {before}01", f"{before}01{after}")
    return ImpossibleDate(f"is not in the calendar: that month ends on {before}{last}", f"{before}{last}{after}")
