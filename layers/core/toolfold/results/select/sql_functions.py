"""Functions that SQL over an answer has beyond those of SQLite."""

from __future__ import annotations

import math
import re
import sqlite3
from array import array
from collections.abc import Callable
from typing import Any, ClassVar

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, InvalidArguments
from toolfold.results.select.sql_dates import DATE_FUNCTIONS

_STATE_BYTES = 600
"""An aggregate of one group, as an object of Python."""

_VALUES_AT_ONCE = 4096

_MAX_CHARS = 1 << 20
"""Length of a text that a function makes."""

_MAX_PATTERN_CHARS = 200
_FORMAT = re.compile(r"(?:[^%]|%%|%[-+ 0]?\d{0,2}(?:\.\d{1,2})?[dfegsx])*+")
"""What ``printf`` takes: widths of two digits. That of SQLite spends seconds on ``%1000000000d``."""


class FunctionBudget:
    """What the functions of one connection may take, and the error with which one of them ended a statement.

    Args:
        budget: that of the call.
    """

    def __init__(self, budget: WorkBudget) -> None:
        self._budget, self._reserved = budget, 0
        self.error: CallError | None = None

    def reserve(self, size: int) -> None:
        """Reserve memory until the statement has ended."""
        try:
            self._budget.reserve(size)
        except CallError as error:
            self.error = error
            raise
        self._reserved += size

    def fail(self, message: str, suggestion: str) -> None:
        """End the statement with an error."""
        self.error = InvalidArguments(message, suggestion)
        raise self.error

    def release(self) -> None:
        """Give back what was reserved."""
        self._budget.release(self._reserved)
        self._reserved, self.error = 0, None


class _Aggregate:
    """An aggregate that ignores null, and everything that is not a number."""

    functions: ClassVar[FunctionBudget]

    def __init__(self) -> None:
        self.functions.reserve(_STATE_BYTES)


class _Moments(_Aggregate):
    """Number, mean and squared deviations, as Welford adds them up."""

    def __init__(self) -> None:
        super().__init__()
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    def step(self, value: Any) -> None:
        if isinstance(value, int | float):
            self.count += 1
            difference = value - self.mean
            self.mean += difference / self.count
            self.squares += difference * (value - self.mean)

    def variance(self, degrees: int) -> float | None:
        return self.squares / (self.count - degrees) if self.count > degrees else None


class _Variance(_Moments):
    def finalize(self) -> float | None:
        return self.variance(1)


class _PopulationVariance(_Moments):
    def finalize(self) -> float | None:
        return self.variance(0)


class _Deviation(_Moments):
    def finalize(self) -> float | None:
        variance = self.variance(1)
        return None if variance is None else math.sqrt(variance)


class _PopulationDeviation(_Moments):
    def finalize(self) -> float | None:
        variance = self.variance(0)
        return None if variance is None else math.sqrt(variance)


class _Percentile(_Aggregate):
    """A percentile from 0 to 100 (or from 0 to 1), between two values in proportion."""

    def __init__(self) -> None:
        super().__init__()
        self.values, self.share = array("d"), 0.5

    def step(self, value: Any, percent: Any = 50) -> None:
        if isinstance(percent, int | float) and 0 <= percent <= 100:
            self.share = percent / 100 if percent > 1 else percent
        if isinstance(value, int | float):
            if not len(self.values) % _VALUES_AT_ONCE:
                self.functions.reserve(8 * _VALUES_AT_ONCE if self.values else 8)
            self.values.append(value)

    def finalize(self) -> float | None:
        if not self.values:
            return None
        self.functions.reserve(40 * len(self.values))
        ordered = sorted(self.values)
        position = self.share * (len(ordered) - 1)
        low = ordered[math.floor(position)]
        return low + (ordered[math.ceil(position)] - low) * (position % 1)


class _Correlation(_Aggregate):
    def __init__(self) -> None:
        super().__init__()
        self.count, self.x, self.y, self.xx, self.yy, self.xy = 0, 0.0, 0.0, 0.0, 0.0, 0.0

    def step(self, x: Any, y: Any) -> None:
        if isinstance(x, int | float) and isinstance(y, int | float):
            self.count += 1
            dx, dy = x - self.x, y - self.y
            self.x += dx / self.count
            self.y += dy / self.count
            self.xx += dx * (x - self.x)
            self.yy += dy * (y - self.y)
            self.xy += dx * (y - self.y)

    def finalize(self) -> float | None:
        size = math.sqrt(self.xx * self.yy)
        return self.xy / size if self.count > 1 and size else None


class _Ends(_Aggregate):
    """The values of the smallest and the largest key, which is a date."""

    def __init__(self) -> None:
        super().__init__()
        self.first: tuple[Any, Any] | None = None
        self.last: tuple[Any, Any] | None = None

    def step(self, value: Any, key: Any) -> None:
        if value is None or key is None:
            return
        if self.first is None or self.last is None:
            self.first = self.last = (key, value)
            return
        if str(key) < str(self.first[0]):
            self.first = (key, value)
        if str(key) > str(self.last[0]):
            self.last = (key, value)

    def numbers(self) -> tuple[float, float] | None:
        values = [end[1] for end in (self.first, self.last) if end is not None and isinstance(end[1], int | float)]
        return (values[0], values[1]) if len(values) == 2 else None


class _First(_Ends):
    def finalize(self) -> Any:
        return None if self.first is None else self.first[1]


class _Last(_Ends):
    def finalize(self) -> Any:
        return None if self.last is None else self.last[1]


class _Change(_Ends):
    def finalize(self) -> Any:
        ends = self.numbers()
        return None if ends is None else ends[1] - ends[0]


class _PercentChange(_Ends):
    def finalize(self) -> Any:
        ends = self.numbers()
        return None if ends is None or not ends[0] else (ends[1] - ends[0]) / abs(ends[0]) * 100


_AGGREGATES: tuple[tuple[str, int, type[_Aggregate]], ...] = (
    ("median", 1, _Percentile),
    ("percentile", 2, _Percentile),
    ("stddev", 1, _Deviation),
    ("stddev_samp", 1, _Deviation),
    ("stddev_pop", 1, _PopulationDeviation),
    ("variance", 1, _Variance),
    ("var_samp", 1, _Variance),
    ("var_pop", 1, _PopulationVariance),
    ("corr", 2, _Correlation),
    ("first", 2, _First),
    ("last", 2, _Last),
    ("change", 2, _Change),
    ("pct_change", 2, _PercentChange),
)


def _of_number(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """Return a function of a number that is null where it has no value."""

    def apply(value: Any) -> Any:
        if not isinstance(value, int | float):
            return None
        try:
            return function(value)
        except (ValueError, OverflowError):
            return None

    return apply


def _power(base: Any, exponent: Any) -> Any:
    try:
        return math.pow(base, exponent)
    except (TypeError, ValueError, OverflowError):
        return None


def _find(text: Any, part: Any) -> int | None:
    return None if text is None or part is None else str(text).find(str(part)) + 1


def _replace(text: Any, old: Any, new: Any) -> Any:
    if text is None or old is None or new is None:
        return None
    text, old, new = str(text), str(old), str(new)
    if not old:
        return text
    if len(text) + text.count(old) * (len(new) - len(old)) > _MAX_CHARS:
        raise ValueError
    return text.replace(old, new)


def _format(pattern: Any, *arguments: Any) -> Any:
    if not isinstance(pattern, str) or len(pattern) > _MAX_PATTERN_CHARS or not _FORMAT.fullmatch(pattern):
        raise ValueError
    return pattern % arguments


def _joined(sign: str, parts: tuple[Any, ...]) -> str:
    texts = [str(part) for part in parts if part is not None]
    if sum(map(len, texts)) + len(sign) * len(texts) > _MAX_CHARS:
        raise ValueError
    return sign.join(texts)


def _part_of(text: Any, part: slice) -> Any:
    return None if text is None else str(text)[part]


_SCALARS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("sqrt", 1, _of_number(math.sqrt)),
    ("ln", 1, _of_number(math.log)),
    ("log", 1, _of_number(math.log10)),
    ("log10", 1, _of_number(math.log10)),
    ("log2", 1, _of_number(math.log2)),
    ("exp", 1, _of_number(math.exp)),
    ("pow", 2, _power),
    ("power", 2, _power),
    ("floor", 1, _of_number(math.floor)),
    ("ceil", 1, _of_number(math.ceil)),
    ("ceiling", 1, _of_number(math.ceil)),
    ("instr", 2, _find),
    ("replace", 3, _replace),
    ("lower", 1, lambda text: None if text is None else str(text).lower()),
    ("upper", 1, lambda text: None if text is None else str(text).upper()),
    ("printf", -1, _format),
    ("concat", -1, lambda *parts: _joined("", parts)),
    ("concat_ws", -1, lambda sign, *parts: _joined(str(sign), parts)),
    ("trunc", 1, _of_number(math.trunc)),
    ("mod", 2, lambda number, divisor: _of_number(lambda value: math.fmod(value, divisor))(number)),
    ("left_part", 2, lambda text, count: _part_of(text, slice(0, count))),
    ("right_part", 2, lambda text, count: _part_of(text, slice(-count, None)) if count else ""),
)
"""Mathematics, which not every build of SQLite has, what takes quadratic time in SQLite, and letters beyond ASCII."""

FUNCTION_NAMES = frozenset(name for name, _, _ in (*_SCALARS, *DATE_FUNCTIONS, *_AGGREGATES))


def add_functions(connection: sqlite3.Connection, functions: FunctionBudget) -> None:
    """Add the functions to a connection."""
    for name, count, function in (*_SCALARS, *DATE_FUNCTIONS):
        connection.create_function(name, count, function, deterministic=True)
    for name, count, aggregate in _AGGREGATES:
        connection.create_aggregate(name, count, type(name, (aggregate,), {"functions": functions}))
