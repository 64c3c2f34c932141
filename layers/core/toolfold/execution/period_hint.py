"""Express arguments that a tool does not have, but ``select`` does: a period, a number of rows, columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from toolfold.execution.argument_dates import Bound, parse_date, spellings
from toolfold.execution.argument_values import spans
from toolfold.fuzzy import normalize

__all__ = ["period_select"]

_WORDS = {
    "start": "start startdate starttime startdatetime startday from fromdate fromtime since datefrom timefrom begin "
    "begindate after mindate period1 rangestart",
    "end": "end enddate endtime enddatetime endday to todate totime until till dateto timeto before maxdate period2 "
    "rangeend",
    "day": "date day on asof ondate tradingday",
    "count": "limit count rows n num top last maxrows maxresults results numrows nrows head tail pagesize",
    "columns": "columns column fields field cols metrics",
    "days": "days ndays numdays lastdays daysback",
    "weeks": "weeks nweeks numweeks lastweeks",
    "months": "months nmonths nummonths lastmonths",
    "years": "years nyears numyears lastyears",
    "year": "year",
    "span": "period range lookback timespan timerange daterange duration history span window",
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_MAX_COLUMNS = 200


def period_select(arguments: Mapping[str, Any], today: date) -> str:
    """Return the ``select`` that serves ``arguments``, or an empty text where one of them is something else.

    >>> period_select({"start_date": "2025-01-01", "limit": 5}, date(2026, 1, 1))
    'since 2025-01-01; last 5'
    """
    kinds = {_KINDS.get(normalize(name), ""): value for name, value in arguments.items()}
    if not kinds or "" in kinds or len(kinds) != len(arguments):
        return ""
    days = {kind: _day(kinds[kind], "end" if kind == "end" else "start", today) for kind in kinds if kind in _BOUNDS}
    if None in days.values():
        return ""
    parts = [_columns(kinds["columns"])] if "columns" in kinds else []
    if "start" in days and "end" in days:
        parts.append(f"{days['start']}..{days['end']}")
    elif "start" in days:
        parts.append(f"since {days['start']}")
    elif "end" in days:
        parts.append(f"until {days['end']}")
    elif "day" in days:
        parts.append(f"{days['day']}..{days['day']}")
    if "span" in kinds:
        parts.append(_span(kinds["span"]))
    parts += [_span(f"{kinds[unit]} {unit}") for unit in ("days", "weeks", "months", "years") if unit in kinds]
    if "year" in kinds:
        year = str(kinds["year"])
        parts.append(f"{year}-01-01..{year}-12-31" if year.isdecimal() and len(year) == 4 else "")
    if "count" in kinds:
        count = str(kinds["count"]).strip()
        parts.append(f"last {count}" if count.isdecimal() and len(count) < 7 else "")
    return "; ".join(parts) if all(parts) else ""


_BOUNDS = ("start", "end", "day")


def _day(value: Any, bound: Bound, today: date) -> str | None:
    readings = parse_date(value, today)
    if len(readings) != 1:
        return None
    reading = readings[0]._replace(precision="day") if readings[0].precision == "time" else readings[0]
    return next(text for text, _ in spellings(reading, bound) if len(text) == 10)


def _span(value: Any) -> str:
    """Return the rows of ``6mo``; of ``ytd``; and of all there are, for ``max``, nothing."""
    if isinstance(value, str) and value.strip().lower() == "ytd":
        return "ytd"
    found = next(spans(value), None)
    match = re.fullmatch(r"(\d+)([a-z]+)", str(found.value)) if found else None
    if match is None or match[2] in ("minute", "hour", "quarter"):
        return ""
    return f"last {match[1]} {match[2]}s" if match[1] != "1" else f"last {match[2]}"


def _columns(value: Any) -> str:
    columns = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    names = [str(column).strip() for column in columns]
    text = ", ".join(names)
    return text if names and len(text) <= _MAX_COLUMNS and text.replace("_", "").replace(", ", "").isalnum() else ""
