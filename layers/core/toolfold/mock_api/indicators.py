"""Technical indicators of the synthetic bars: the best known are computed, and those near the price follow it.

A line is a list as long as the bars, oldest first, with None where an indicator has too few points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from toolfold.mock_api.prices import Bar

Line = Sequence[float | None]
Numbers = Mapping[str, float]
"""The numeric parameters of a request."""


def sma(values: Sequence[float], period: int) -> Line:
    """Return the simple moving average."""
    line: list[float | None] = []
    total = 0.0
    for index, value in enumerate(values):
        total += value - (values[index - period] if index >= period else 0.0)
        line.append(total / period if index >= period - 1 else None)
    return line


def ema(values: Sequence[float], period: int, weight: float = 0.0) -> Line:
    """Return the exponential moving average, which starts from the mean of the first ``period`` points.

    The weight of a new point is 1 / ``period`` for Wilder's average, by default 2 / (``period`` + 1).
    """
    if len(values) < period:
        return [None] * len(values)
    weight = weight or 2 / (period + 1)
    current = sum(values[:period]) / period
    line: list[float | None] = [None] * (period - 1) + [current]
    for value in values[period:]:
        current += weight * (value - current)
        line.append(current)
    return line


def average(values: Line, period: float, code: float = 0) -> Line:
    """Return the moving average of a line that may begin with Nones: for code 0 the simple one, else exponential."""
    known = [value for value in values if value is not None]
    return [None] * (len(values) - len(known)) + list((ema if code else sma)(known, int(period)))


def points(function: Callable[..., float], *lines: Line) -> Line:
    """Apply ``function`` point by point; None where one of the lines has None."""
    return [None if None in values else function(*values) for values in zip(*lines, strict=True)]


def _rsi(bars: Sequence[Bar], series: Sequence[float], numbers: Numbers) -> Sequence[Line]:
    period = int(numbers["time_period"])
    steps = [b - a for a, b in pairwise(series)]
    gains = ema([max(step, 0.0) for step in steps], period, 1 / period)
    losses = ema([max(-step, 0.0) for step in steps], period, 1 / period)
    return ([None, *points(lambda up, down: 100 * up / (up + down) if up + down else 50.0, gains, losses)],)


def _macd(bars: Sequence[Bar], series: Sequence[float], numbers: Numbers) -> Sequence[Line]:
    fast, slow, signal = (
        (numbers[f"{name}period"], numbers.get(f"{name}matype", 1)) for name in ("fast", "slow", "signal")
    )
    line = points(lambda a, b: a - b, average(series, *fast), average(series, *slow))
    smooth = average(line, *signal)
    return line, smooth, points(lambda a, b: a - b, line, smooth)


def _bands(bars: Sequence[Bar], series: Sequence[float], numbers: Numbers) -> Sequence[Line]:
    period = numbers["time_period"]
    middle = average(series, period, numbers["matype"])
    mean, squares = average(series, period), average([value * value for value in series], period)
    deviation = points(lambda a, b: math.sqrt(max(b - a * a, 0.0)), mean, squares)
    upper = points(lambda m, d: m + numbers["nbdevup"] * d, middle, deviation)
    return upper, middle, points(lambda m, d: m - numbers["nbdevdn"] * d, middle, deviation)


def _atr(bars: Sequence[Bar], series: Sequence[float], numbers: Numbers) -> Sequence[Line]:
    period, pairs = int(numbers["time_period"]), zip(bars, [bars[0], *bars], strict=False)
    ranges = [max(bar.high, last.close) - min(bar.low, last.close) for bar, last in pairs]
    return (ema(ranges, period, 1 / period),)


def _near_price(bars: Sequence[Bar], series: Sequence[float], numbers: Numbers) -> Sequence[Line]:
    return [ema(series, int(numbers.get("time_period", period))) for period in (10, 20)]


Formula = Callable[[Sequence[Bar], Sequence[float], Numbers], Sequence[Line]]
"""Bars, the prices that ``series_type`` names, and the numeric parameters → a line for each column in JSON, or more."""

FORMULAS: Mapping[str, Formula] = {
    "SMA": lambda bars, series, given: (average(series, given["time_period"]),),
    "EMA": lambda bars, series, given: (average(series, given["time_period"], 1),),
    "RSI": _rsi,
    "MACD": _macd,
    "MACDEXT": _macd,
    "BBANDS": _bands,
    "ATR": _atr,
    **dict.fromkeys(
        ("WMA", "DEMA", "TEMA", "TRIMA", "KAMA", "MAMA", "VWAP", "T3", "MIDPOINT", "MIDPRICE", "SAR", "HT_TRENDLINE"),
        _near_price,
    ),
}
"""Function → what computes it; ``fields.csv`` has the range of all others."""
