"""Functions that SQL over an answer has beyond those of SQLite: statistics, values by date, mathematics, dates.

Every aggregate also works as a window. Texts and lists that functions make are bounded.
"""

from __future__ import annotations

import datetime
import json
import math
import operator
import re
import sqlite3
import statistics
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolfold.dates import MONTHS, MONTHS_IN, SECONDS_IN, WEEKDAYS, first_day, moved
from toolfold.results.types import number_of
from toolfold.results.values import MISSING
from toolfold.sqlite_sandbox import SLOW_FUNCTIONS, bound_slow_functions
from toolfold.text_safety import encodable

_STATE_BYTES = 600
"""An aggregate of one group, as an object of Python."""

_VALUES_AT_ONCE = 4096
_VALUE_BYTES = 100
"""A tuple of numbers in a list."""

_MAX_CHARS = 1 << 20
"""Length of a text that a function makes."""

_MAX_FORMAT_CHARS = 100

_Rows = Sequence[tuple[Any, ...]]


def _of_number(function: Callable[..., float]) -> Callable[..., Any]:
    """Return a function of numbers that is null where it has no value."""

    def apply(*arguments: Any) -> Any:
        if not all(isinstance(argument, int | float) for argument in arguments):
            return None
        try:
            return function(*arguments)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None

    return apply


def _numbers(rows: _Rows) -> list[float]:
    return [row[0] for row in rows if isinstance(row[0], int | float)]


def _variance(rows: _Rows, degrees: int) -> float | None:
    numbers = _numbers(rows)
    if len(numbers) <= degrees:
        return None
    mean = math.fsum(numbers) / len(numbers)
    return math.fsum((number - mean) ** 2 for number in numbers) / (len(numbers) - degrees)


def _percentile(rows: _Rows) -> float | None:
    """Return a percentile from 0 to 100 (below 1: a share), between two values in proportion; without one the median.

    An aggregate gets the percentage with each value.
    """
    ordered = sorted(_numbers(rows))
    percent = next((row[1] for row in rows if len(row) > 1), 50)
    if not ordered or not isinstance(percent, int | float) or not 0 <= percent <= 100:
        return None
    position = (percent if 0 < percent < 1 else percent / 100) * (len(ordered) - 1)
    low = ordered[math.floor(position)]
    return low + (ordered[math.ceil(position)] - low) * (position % 1)


def _correlation(rows: _Rows) -> float | None:
    pairs = [row for row in rows if all(isinstance(value, int | float) for value in row)]
    try:
        return statistics.correlation(*zip(*pairs, strict=True)) if pairs else None
    except statistics.StatisticsError:  # of fewer than two, or of equal values
        return None


def _end(rows: _Rows, which: Callable[..., Any]) -> Any:
    """Return the value of the first or last row by its date and, of equal dates, by its place: the other arguments."""
    given = [row for row in rows if row[0] is not None and row[1] is not None]
    return which(given, key=lambda row: row[1:])[0] if given else None


_square_root = _of_number(math.sqrt)
_AGGREGATES: Mapping[str, tuple[int, Callable[[_Rows], Any]]] = {
    "median": (1, _percentile),
    "percentile": (2, _percentile),
    "stddev": (1, lambda rows: _square_root(_variance(rows, 1))),
    "stddev_pop": (1, lambda rows: _square_root(_variance(rows, 0))),
    "variance": (1, lambda rows: _variance(rows, 1)),
    "var_pop": (1, lambda rows: _variance(rows, 0)),
    "corr": (2, _correlation),
    "first": (3, lambda rows: _end(rows, min)),
    "last": (3, lambda rows: _end(rows, max)),
}
"""Name → number of arguments, and the function of all that were collected."""

AGGREGATES = frozenset(_AGGREGATES)
"""Names of aggregates that SQLite does not have."""


class _Aggregate:
    """An aggregate and a window: collects its arguments, of a moving window the last ones."""

    compute: Callable[[_Rows], Any]
    reserve: Callable[[int], None]

    def __init__(self) -> None:
        self.reserve(_STATE_BYTES)
        self.rows: deque[tuple[Any, ...]] = deque()

    def step(self, *arguments: Any) -> None:
        self.rows.append(arguments)
        if not len(self.rows) % _VALUES_AT_ONCE:
            self.reserve(_VALUE_BYTES * _VALUES_AT_ONCE)

    def inverse(self, *_arguments: Any) -> None:
        self.rows.popleft()

    def value(self) -> Any:
        return self.compute(self.rows)

    finalize = value


# Functions of dates: texts in ISO 8601

_PARTS: Mapping[str, Callable[[datetime.datetime], int]] = {
    **{name: operator.attrgetter(name) for name in ("year", "month", "day", "hour", "minute", "second")},
    "quarter": lambda time: (time.month + 2) // 3,
    "week": lambda time: time.isocalendar().week,
    "dow": lambda time: time.isoweekday() % 7,
    "isodow": lambda time: time.isoweekday(),
    "doy": lambda time: time.timetuple().tm_yday,
    "epoch": lambda time: int(time.replace(tzinfo=datetime.UTC).timestamp()),
}
"""Part of a date → how to get it. Sunday is 0, as in ``strftime('%w', date)``."""

DATE_PARTS = frozenset(_PARTS)
_NAMES = {name: place for names in (WEEKDAYS, MONTHS) for place, name in enumerate(names)}
_FORMATS = (("YYYY", "%Y"), ("yyyy", "%Y"), ("Month", "%B"), ("Mon", "%b"), ("MM", "%m"), ("Day", "%A"), ("Dy", "%a"),
            ("DD", "%d"), ("dd", "%d"), ("HH24", "%H"), ("HH", "%H"), ("MI", "%M"), ("SS", "%S"))  # fmt: skip
_CODES = frozenset("YmdHMSbBaAjwyIpGVu")


def _time(value: Any) -> datetime.datetime | None:
    if isinstance(value, int) and 1000 <= value <= 9999:
        value = str(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    try:
        return datetime.datetime.fromisoformat(text + {4: "-01-01", 7: "-01"}.get(len(text), "")).replace(tzinfo=None)
    except ValueError:
        return None


def _unit(name: Any) -> str:
    return str(name).lower().removesuffix("s")


def _date_part(unit: Any, value: Any) -> int | None:
    part, time = _PARTS.get(_unit(unit)), _time(value)
    return None if part is None or time is None else part(time)


def _date_trunc(unit: Any, value: Any) -> str | None:
    """Return the first day of the year, quarter, month or week of a date; of a time the hour or minute as well."""
    time, name = _time(value), _unit(unit)
    if time is None:
        return None
    if name in ("hour", "minute"):
        return time.replace(minute=0 if name == "hour" else time.minute, second=0, microsecond=0).isoformat()
    return first_day(time, name).date().isoformat() if name in (*MONTHS_IN, "week", "day") else None


def _date_add(unit: Any, count: Any, value: Any) -> str | None:
    time, name = _time(value), _unit(unit)
    if time is None or not isinstance(count, int | float):
        return None
    try:
        time = moved(time, count, name)
    except (ValueError, OverflowError, KeyError):
        return None
    has_time = isinstance(value, str) and len(value) > len("2026-01-05")
    return time.isoformat() if has_time else time.date().isoformat()


def _date_diff(unit: Any, start: Any, end: Any) -> int | None:
    """Return how many units are between two dates; months and years by the calendar."""
    first, last, name = _time(start), _time(end), _unit(unit)
    if first is None or last is None:
        return None
    if name in SECONDS_IN:
        return int((last - first).total_seconds() // SECONDS_IN[name])
    if name == "year":
        return last.year - first.year
    months = (last.year - first.year) * 12 + last.month - first.month
    return months // MONTHS_IN[name] if name in MONTHS_IN else None


def _date_minus(value: Any, other: Any) -> str | float | None:
    """Return the date some days before, or the days between two dates: a part of a day counts, as in times it does."""
    if isinstance(other, int | float):
        return _date_add("day", -other, value)
    seconds = _date_diff("second", other, value)
    return None if seconds is None else seconds / SECONDS_IN["day"]


def _date_format(value: Any, pattern: Any) -> str | None:
    """Return a date in a format of ``strftime`` (``%Y-%m``) or of TO_CHAR (``YYYY-MM``)."""
    time = _time(value)
    if time is None or not isinstance(pattern, str) or len(pattern) > _MAX_FORMAT_CHARS:
        return None
    if "%" not in pattern:
        for written, code in _FORMATS:
            pattern = pattern.replace(written, code)
    if any(code[:1] not in _CODES for code in pattern.replace("%%", "").split("%")[1:]):
        return None  # such as a width, for which the C library makes texts of any length
    return time.strftime(encodable(pattern))


# Functions of values


def _as_number(value: Any) -> Any:
    return number_of(value) if isinstance(value, str) else value


def _cast_number(value: Any) -> Any:
    """Return the number that a text spells, all of it: of ``5 kg`` SQLite's own CAST returns the beginning.

    In a text a percent sign or a currency is a unit, as the others may have another one.
    """
    number = int(value) if isinstance(value, str) and re.fullmatch(r"\d{1,19}", value) else _as_number(value)
    has_unit = isinstance(value, str) and not frozenset("%$€£¥").isdisjoint(value)
    if (number is None or has_unit) and value is not None and value.strip() not in MISSING:
        raise ValueError
    return number


def _of_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a text and other arguments that is null where one of them is."""

    def apply(*arguments: Any) -> Any:
        return None if None in arguments else function(str(arguments[0]), *arguments[1:])

    return apply


def _joined(sign: Any, *parts: Any) -> str:
    texts = [f"{part:.12g}" if isinstance(part, float) else str(part) for part in parts if part is not None]
    if sum(map(len, texts)) + len(str(sign)) * len(texts) > _MAX_CHARS:
        raise ValueError
    return str(sign).join(texts)


_SCALARS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    *((name, 1, _of_number(getattr(math, name))) for name in ("sqrt", "exp", "floor", "ceil", "trunc", "log10")),
    ("ln", 1, _of_number(math.log)),
    ("log", 1, _of_number(math.log10)),
    ("power", 2, _of_number(math.pow)),
    ("mod", 2, _of_number(math.fmod)),
    ("shown", 1, lambda value: float(f"{value:.12g}") if isinstance(value, float) else value),
    ("as_number", 1, _as_number),
    ("cast_number", 1, _cast_number),
    ("item_count", 1, _of_text(lambda text: len(json.loads(text)))),
    ("lower", 1, _of_text(str.lower)),
    ("upper", 1, _of_text(str.upper)),
    ("fold", 1, _of_text(str.casefold)),
    ("concat", -1, lambda *parts: _joined("", *parts)),
    ("concat_ws", -1, _joined),
    ("left_part", 2, _of_text(lambda text, count: text[: int(count)])),
    ("right_part", 2, _of_text(lambda text, count: text[-int(count) :] if count else "")),
    ("date_part", 2, _date_part),
    ("date_trunc", 2, _date_trunc),
    ("date_add", 3, _date_add),
    ("date_diff", 3, _date_diff),
    ("date_minus", 2, _date_minus),
    ("date_format", 2, _date_format),
    ("calendar_place", 1, lambda name: _NAMES.get(str(name).lower())),
    ("dayname", 1, lambda value: _date_format(value, "%A")),
    ("monthname", 1, lambda value: _date_format(value, "%B")),
)
"""Mathematics, which not every build of SQLite has, and letters beyond ASCII."""

FUNCTION_NAMES = frozenset(name for name, _, _ in _SCALARS) | AGGREGATES | SLOW_FUNCTIONS.keys()


def add_functions(connection: sqlite3.Connection, reserve: Callable[[int], None]) -> None:
    """Add the functions to a connection; ``reserve`` gets the bytes of an aggregate before it takes memory."""
    bound_slow_functions(connection, _MAX_CHARS)
    for name, count, function in _SCALARS:
        connection.create_function(name, count, function, deterministic=True)
    for name, (count, compute) in _AGGREGATES.items():
        members = {"reserve": staticmethod(reserve), "compute": staticmethod(compute)}
        connection.create_window_function(name, count, type(name, (_Aggregate,), members))
