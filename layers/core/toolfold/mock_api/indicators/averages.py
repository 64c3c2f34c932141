"""Moving averages, and the helpers that other indicators share.

Bars as columns, the input of the indicators.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from toolfold.mock_api.price_series import Bar


@dataclass(frozen=True, slots=True)
class BarColumns:
    """Prices and volumes, oldest first; all columns have the same length."""

    label: list[str]
    open: list[float]
    high: list[float]
    low: list[float]
    close: list[float]
    volume: list[float]

    def series(self, name: str) -> list[float]:
        """Return the column that ``series_type`` names."""
        return {"open": self.open, "high": self.high, "low": self.low, "close": self.close}[name]

    @property
    def typical_price(self) -> list[float]:
        """The mean of high, low and close of each bar."""
        return [(h + low + c) / 3 for h, low, c in zip(self.high, self.low, self.close, strict=True)]

    @property
    def true_range(self) -> list[float]:
        """The true range from the second bar on: one shorter than the other columns."""
        before = self.close[:-1]
        rest = zip(self.high[1:], self.low[1:], before, strict=True)
        return [max(high, close) - min(low, close) for high, low, close in rest]

    @property
    def directional_movements(self) -> tuple[list[float], list[float]]:
        """Directional movement up and down, from the second bar on."""
        ups, downs = [], []
        for (old_high, old_low), (high, low) in pairwise(zip(self.high, self.low, strict=True)):
            up, down = high - old_high, old_low - low
            ups.append(up if up > down and up > 0 else 0.0)
            downs.append(down if down > up and down > 0 else 0.0)
        return ups, downs


def to_columns(bars: Sequence[Bar]) -> BarColumns:
    """Return bars as columns."""
    parts = [list(part) for part in zip(*bars, strict=True)] or [[] for _ in Bar._fields]
    return BarColumns(*parts)


Line = list[float | None]
Average = Callable[[Sequence[float], int], Line]


def skip_leading_none(average: Callable[[Sequence[float]], Line], line: Sequence[float | None]) -> Line:
    """Apply ``average`` to the values of a line that begins with Nones, and keep those Nones."""
    values = [value for value in line if value is not None]
    return [None] * (len(line) - len(values)) + average(values)


def map_points(function: Callable[..., float], *lines: Sequence[float | None]) -> Line:
    """Apply ``function`` point by point; None where any of the lines has None."""
    return [None if None in points else function(*points) for points in zip(*lines, strict=True)]


def sma(values: Sequence[float], period: int) -> Line:
    """Return the simple moving average."""
    line: Line = []
    total = 0.0
    for index, value in enumerate(values):
        total += value
        if index >= period:
            total -= values[index - period]
        line.append(total / period if index >= period - 1 else None)
    return line


def exponential_smoothing(values: Sequence[float], period: int, weight: float) -> Line:
    """Return the exponential smoothing that starts from the mean of the first ``period`` points."""
    if len(values) < period:
        return [None] * len(values)
    current = sum(values[:period]) / period
    line: Line = [None] * (period - 1) + [current]
    for value in values[period:]:
        current += weight * (value - current)
        line.append(current)
    return line


def ema(values: Sequence[float], period: int) -> Line:
    """Return the exponential moving average."""
    return exponential_smoothing(values, period, 2 / (period + 1))


def wilder_average(values: Sequence[float], period: int) -> Line:
    """Return Wilder's moving average."""
    return exponential_smoothing(values, period, 1 / period)


def wma(values: Sequence[float], period: int) -> Line:
    """Return the linearly weighted moving average."""
    line: Line = []
    total = weighted = 0.0
    for index, value in enumerate(values):
        if index >= period:
            weighted += period * value - total
            total += value - values[index - period]
        else:
            weighted += (index + 1) * value
            total += value
        line.append(weighted * 2 / (period * (period + 1)) if index >= period - 1 else None)
    return line


def _again(line: Line, period: int) -> Line:
    return skip_leading_none(lambda values: ema(values, period), line)


def dema(values: Sequence[float], period: int) -> Line:
    """Return the double exponential moving average."""
    once = ema(values, period)
    return map_points(lambda a, b: 2 * a - b, once, _again(once, period))


def tema(values: Sequence[float], period: int) -> Line:
    """Return the triple exponential moving average."""
    once = ema(values, period)
    twice = _again(once, period)
    return map_points(lambda a, b, c: 3 * a - 3 * b + c, once, twice, _again(twice, period))


def trima(values: Sequence[float], period: int) -> Line:
    """Return the triangular moving average."""
    half = period // 2 + 1
    return skip_leading_none(lambda line: sma(line, half), sma(values, period - half + 1))


def t3(values: Sequence[float], period: int, factor: float = 0.7) -> Line:
    """Return Tillson's T3 moving average."""
    lines = [ema(values, period)]
    for _ in range(5):
        lines.append(_again(lines[-1], period))
    square, cube = factor**2, factor**3
    weights = (-cube, 3 * square + 3 * cube, -6 * square - 3 * factor - 3 * cube, 1 + 3 * factor + cube + 3 * square)
    return map_points(lambda *points: sum(w * p for w, p in zip(weights, points, strict=True)), *reversed(lines[2:]))


def kama(values: Sequence[float], period: int) -> Line:
    """Return Kaufman's adaptive moving average."""
    if len(values) <= period:
        return [None] * len(values)
    steps = [0.0, *(abs(b - a) for a, b in pairwise(values))]
    noise = sum(steps[1 : period + 1])
    current = values[period - 1]
    line: Line = [None] * period
    for index in range(period, len(values)):
        if index > period:
            noise += steps[index] - steps[index - period]
        efficiency = abs(values[index] - values[index - period]) / noise if noise > 1e-12 else 1.0
        current += (efficiency * (2 / 3 - 2 / 31) + 2 / 31) ** 2 * (values[index] - current)
        line.append(current)
    return line


def mama(values: Sequence[float], fast: float, slow: float) -> tuple[Line, Line]:
    """Return an adaptive pair like MESA's: the weight grows with the efficiency of the last ten points."""
    low, high = min(fast, slow, 0.99), min(max(fast, slow), 0.99)
    mother: Line = []
    follower: Line = []
    first = second = values[0] if values else 0.0
    for index, value in enumerate(values):
        span = values[max(0, index - 10) : index + 1]
        travelled = sum(abs(b - a) for a, b in pairwise(span))
        weight = max(low, high * abs(span[-1] - span[0]) / travelled) if travelled else low
        first += weight * (value - first)
        second += weight / 2 * (first - second)
        mother.append(first if index >= 32 else None)
        follower.append(second if index >= 32 else None)
    return mother, follower


# The vendor's moving average codes, 0 to 8.
MOVING_AVERAGES: tuple[Average, ...] = (
    sma, ema, wma, dema, tema, trima, t3, kama, lambda values, _: mama(values, 0.5, 0.05)[0],
)  # fmt: skip


def moving_average(values: Sequence[float | None], period: int, code: int) -> Line:
    """Return the moving average with the vendor's code (0 to 8) of a line that may begin with Nones."""
    return skip_leading_none(lambda line: MOVING_AVERAGES[code](line, period), values)


def rolling_extreme_index(
    values: Sequence[float], period: int, better: Callable[[float, float], bool]
) -> list[int | None]:
    """Return the index of the best point of each window, the newest of equals; None before the first full window."""
    queue: deque[int] = deque()
    found: list[int | None] = []
    for index, value in enumerate(values):
        while queue and not better(values[queue[-1]], value):
            queue.pop()
        queue.append(index)
        if queue[0] <= index - period:
            queue.popleft()
        found.append(queue[0] if index >= period - 1 else None)
    return found


def rolling_max(values: Sequence[float], period: int) -> Line:
    """Return the maximum of each window."""
    return [None if n is None else values[n] for n in rolling_extreme_index(values, period, lambda a, b: a > b)]


def rolling_min(values: Sequence[float], period: int) -> Line:
    """Return the minimum of each window."""
    return [None if n is None else values[n] for n in rolling_extreme_index(values, period, lambda a, b: a < b)]


def standard_deviation(values: Sequence[float], period: int) -> Line:
    """Return the population standard deviation of each window."""
    means = sma(values, period)
    squares = sma([value * value for value in values], period)
    return map_points(lambda mean, square: max(square - mean * mean, 0.0) ** 0.5, means, squares)


def differences(values: Sequence[float]) -> list[float]:
    """Return the difference of each point to the one before; one shorter than ``values``."""
    return [b - a for a, b in pairwise(values)]


def safe_ratio(part: float, whole: float) -> float:
    """Return ``part / whole``, or 0 where ``whole`` is 0."""
    return part / whole if whole else 0.0
