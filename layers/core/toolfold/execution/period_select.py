"""Find the ``select`` that serves arguments which no tool has: a period, a number of rows, columns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from toolfold.dates import UNITS, Period, parse_date, parse_period
from toolfold.fuzzy import normalize

_WORDS = {
    "start": "start startdate starttime startdatetime startday from fromdate fromtime since datefrom timefrom begin "
    "begindate after mindate period1 rangestart startyear fromyear yearfrom",
    "end": "end enddate endtime enddatetime endday to todate totime until till dateto timeto before maxdate period2 "
    "rangeend endyear toyear yearto",
    "day": "date day on asof ondate tradingday month yearmonth quarter time datetime",
    "first": "limit count rows n num top maxrows maxresults results numrows nrows head pagesize perpage",
    "last": "last tail",
    "columns": "columns column fields field cols metrics",
    "days": "days ndays numdays lastdays daysback",
    "weeks": "weeks nweeks numweeks lastweeks",
    "months": "months nmonths nummonths lastmonths",
    "years": "years nyears numyears lastyears",
    "year": "year",
    "span": "period range lookback timespan timerange daterange duration history span window",
}
REQUESTED = {word: kind for kind, words in _WORDS.items() for word in words.split()}
"""Name of an argument, as ``fuzzy.normalize`` spells it → what is requested by it."""

_MAX_COLUMNS = 200


def period_select(arguments: Mapping[str, Any], today: date) -> str:
    """Return the ``select`` that serves ``arguments``, or an empty text where one of them is something else.

    >>> period_select({"start_date": "2025-01-01", "limit": 5}, date(2026, 1, 1))
    'since 2025-01-01; limit 5'
    """
    kinds = {REQUESTED.get(normalize(name), ""): value for name, value in arguments.items()}
    if not kinds or "" in kinds or len(kinds) != len(arguments):
        return ""
    dates = {kind: parse_date(kinds[kind], today) for kind in ("start", "end", "day", "year") if kind in kinds}
    if any(len(readings) != 1 for readings in dates.values()):
        return ""
    parts = []
    if "columns" in kinds:
        listed = kinds["columns"]
        columns = listed.split(",") if isinstance(listed, str) else listed if isinstance(listed, list) else []
        text = ", ".join(str(column).strip() for column in columns)
        is_plain = len(text) <= _MAX_COLUMNS and text.replace("_", "").replace(", ", "").isalnum()
        parts.append(text if is_plain else "")
    low, high = (dates[end][0] if end in dates else None for end in ("start", "end"))
    if low and high and low.low > high.high:
        return ""
    parts += [_written(Period(low, high))] if low or high else []
    parts += [_written(Period(dates[kind][0], dates[kind][0])) for kind in ("day", "year") if kind in dates]
    span = kinds.get("span", "")
    spans = ["..".join(map(str, span)) if isinstance(span, list) else span] if "span" in kinds else []
    if any(str(span).strip().lower() in UNITS for span in spans):
        return ""  # how often, not how long
    spans += [f"{kinds[unit]} {unit}" for unit in ("days", "weeks", "months", "years") if unit in kinds]
    parts += [_written(parse_period(span, today)) if isinstance(span, str) else "" for span in spans]
    for kind, step in (("first", "limit"), ("last", "last")):  # the first rows of a series are the newest
        if kind in kinds:
            count = str(kinds[kind]).strip()
            parts.append(f"{step} {count}" if count.isdecimal() and len(count) < 7 else "")
    return "; ".join(parts) if all(parts) else ""


def _written(period: Period | None) -> str:
    """Return a period as ``select`` takes it; nothing of one that it has no words for."""
    if period is None or period.unit in ("second", "minute", "hour", "quarter", "halfyear"):
        return ""
    ends = [end.low for end in (period.low, period.high) if end is not None and end.has_time]
    if len(ends) == 2 and ends[0].date() == ends[1].date() and ends[0] < ends[1] and ends[0].hour:
        return "..".join(f"{end:%Y-%m-%dT%H:%M:%S}" for end in ends)  # a part of one day, which has rows of minutes
    low, high = period.low and period.low.low.date(), period.high and period.high.high.date()
    if period.unit:
        counted = f"last {period.count} {period.unit}s" if period.count != 1 else f"past {period.unit}"
        return counted if period.count else "ytd"
    return f"{low}..{high}" if low and high else f"since {low}" if low else f"until {high}"
