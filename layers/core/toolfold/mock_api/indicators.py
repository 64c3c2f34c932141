"""Technical indicators of the synthetic bars: the best known are computed, all others are cycles in a plausible range.

A line is a list as long as the bars, oldest first, with None where an indicator has too few points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from toolfold.mock_api.instruments import Seeded
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


Formula = Callable[[Sequence[Bar], Sequence[float], Numbers], Sequence[Line]]
"""Bars, the prices that ``series_type`` names, and the numeric parameters → a line for each column in JSON."""

FORMULAS: Mapping[str, Formula] = {
    "SMA": lambda bars, series, given: (average(series, given["time_period"]),),
    "EMA": lambda bars, series, given: (average(series, given["time_period"], 1),),
    "RSI": _rsi,
    "MACD": _macd,
    "MACDEXT": _macd,
    "BBANDS": _bands,
    "ATR": _atr,
}

RANGES: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(
        ("STOCH", "STOCHF", "STOCHRSI", "ADX", "ADXR", "AROON", "MFI", "ULTOSC", "DX", "MINUS_DI", "PLUS_DI"), (5, 95)
    ),
    **dict.fromkeys(("CMO", "AROONOSC", "CCI"), (-90, 90)),
    **dict.fromkeys(("BOP", "HT_SINE"), (-0.98, 0.98)),
    **dict.fromkeys(("APO", "PPO", "TRIX", "MOM", "ROC", "HT_PHASOR"), (-4, 4)),
    **dict.fromkeys(("MINUS_DM", "PLUS_DM", "TRANGE"), (0.1, 9)),
    **dict.fromkeys(("AD", "ADOSC", "OBV"), (-5e6, 5e6)),
    "WILLR": (-98, -2),
    "ROCR": (0.9, 1.1),
    "NATR": (0.5, 4),
    "HT_DCPERIOD": (8, 48),
    "HT_DCPHASE": (-40, 310),
    "HT_TRENDMODE": (0, 1),
}
"""Indicators that are not computed and that do not follow the price, and their usual range."""


def compute(
    function: str, symbol: str, columns: int, bars: Sequence[Bar], series: Sequence[float], numbers: Numbers
) -> Sequence[Line]:
    """Return a line for each column of the indicator, of bars that are not empty."""
    if function in FORMULAS:
        return FORMULAS[function](bars, series, numbers)
    if function not in RANGES:  # a line near the price
        return [ema(series, int(numbers.get("time_period", 10 * (at + 1)))) for at in range(columns)]
    low, high = RANGES[function]
    lines = []
    for at in range(columns):
        rng = Seeded("indicator", function, symbol, at)
        pace, phase = rng.uniform(0.05, 0.3), rng.uniform(0, 6.28)
        start = int(numbers.get("time_period", 0))
        waves = [(math.sin(pace * n + phase) + math.sin(1.7 * pace * n)) / 4 + 0.5 for n in range(len(bars))]
        lines.append([None if n < start else low + (high - low) * wave for n, wave in enumerate(waves)])
    return lines
