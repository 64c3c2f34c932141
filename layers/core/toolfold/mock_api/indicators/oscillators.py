"""Momentum, oscillators, bands and volume: everything that is not an average or a direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from .averages import (
    Line,
    after_warm_up,
    average,
    changes,
    combine,
    deviation,
    ema,
    highest,
    lowest,
    ratio,
    sma,
    wilder,
)
from .bars import Columns


def lag(values: Sequence[float], period: int) -> Line:
    """Each point's predecessor by ``period``."""
    return [values[n - period] if n >= period else None for n in range(len(values))]


def momentum(values: Sequence[float], period: int) -> Line:
    return combine(lambda now, then: now - then, values, lag(values, period))


def rate_of_change(values: Sequence[float], period: int) -> Line:
    return combine(lambda now, then: 100 * ratio(now - then, then), values, lag(values, period))


def rate_ratio(values: Sequence[float], period: int) -> Line:
    return combine(ratio, values, lag(values, period))


def _gains_and_losses(values: Sequence[float], period: int) -> tuple[Line, Line]:
    steps = changes(values)
    gains = wilder([max(step, 0.0) for step in steps], period)
    losses = wilder([max(-step, 0.0) for step in steps], period)
    return [None, *gains][: len(values)], [None, *losses][: len(values)]


def rsi(values: Sequence[float], period: int) -> Line:
    return combine(lambda gain, loss: 100 * ratio(gain, gain + loss), *_gains_and_losses(values, period))


def cmo(values: Sequence[float], period: int) -> Line:
    return combine(lambda gain, loss: 100 * ratio(gain - loss, gain + loss), *_gains_and_losses(values, period))


def spread(values: Sequence[float], fast: int, slow: int, codes: tuple[int, int]) -> Line:
    """Fast average minus slow average."""
    return combine(lambda a, b: a - b, average(values, fast, codes[0]), average(values, slow, codes[1]))


def percent_spread(values: Sequence[float], fast: int, slow: int, code: int) -> Line:
    lines = average(values, fast, code), average(values, slow, code)
    return combine(lambda a, b: 100 * ratio(a - b, b), *lines)


def macd(values: Sequence[float], periods: Sequence[int], codes: Sequence[int]) -> tuple[Line, ...]:
    """MACD, its signal line and the histogram between the two; fast, slow and signal in both arguments."""
    line = spread(values, periods[0], periods[1], (codes[0], codes[1]))
    signals = average(line, periods[2], codes[2])
    return line, signals, combine(lambda a, b: a - b, line, signals)


def fast_k(high: Sequence[float], low: Sequence[float], close: Sequence[float], period: int) -> Line:
    lines = close, highest(high, period), lowest(low, period)
    return combine(lambda now, top, bottom: 100 * ratio(now - bottom, top - bottom), *lines)


def stochastic(bars: Columns, fast: int, slow: tuple[int, int], d: tuple[int, int]) -> tuple[Line, Line]:
    """Slow K and slow D; ``slow`` and ``d`` are (period, average code)."""
    k = average(fast_k(bars.high, bars.low, bars.close, fast), *slow)
    return k, average(k, *d)


def stochastic_fast(bars: Columns, fast: int, d: tuple[int, int]) -> tuple[Line, Line]:
    k = fast_k(bars.high, bars.low, bars.close, fast)
    return k, average(k, *d)


def stochastic_rsi(values: Sequence[float], period: int, fast: int, d: tuple[int, int]) -> tuple[Line, Line]:
    k = after_warm_up(lambda line: fast_k(line, line, line, fast), rsi(values, period))
    return k, average(k, *d)


def williams(bars: Columns, period: int) -> Line:
    lines = bars.close, highest(bars.high, period), lowest(bars.low, period)
    return combine(lambda now, top, bottom: -100 * ratio(top - now, top - bottom), *lines)


def bollinger(values: Sequence[float], period: int, up: float, down: float, code: int) -> tuple[Line, Line, Line]:
    """Upper, middle and lower band."""
    middle, width = average(values, period, code), deviation(values, period)
    upper = combine(lambda mean, sigma: mean + up * sigma, middle, width)
    return upper, middle, combine(lambda mean, sigma: mean - down * sigma, middle, width)


def midpoint(high: Sequence[float], low: Sequence[float], period: int) -> Line:
    return combine(lambda top, bottom: (top + bottom) / 2, highest(high, period), lowest(low, period))


def balance_of_power(bars: Columns) -> Line:
    rows = zip(bars.open, bars.high, bars.low, bars.close, strict=True)
    return [ratio(close - opening, high - low) for opening, high, low, close in rows]


def commodity_channel(bars: Columns, period: int) -> Line:
    prices = bars.typical
    line: Line = []
    for place, mean in enumerate(sma(prices, period)):
        if mean is None:
            line.append(None)
            continue
        window = prices[place - period + 1 : place + 1]
        away = sum(abs(price - mean) for price in window) / period
        line.append(ratio(prices[place] - mean, 0.015 * away) if away > 1e-9 else 0.0)
    return line


def money_flow(bars: Columns, period: int) -> Line:
    prices = bars.typical
    flows = [price * volume for price, volume in zip(prices, bars.volume, strict=True)]
    steps = [0.0, *changes(prices)]
    gains = sma([flow if step > 0 else 0.0 for flow, step in zip(flows, steps, strict=True)], period)
    losses = sma([flow if step < 0 else 0.0 for flow, step in zip(flows, steps, strict=True)], period)
    line = combine(lambda gain, loss: 100 * ratio(max(gain, 0), max(gain, 0) + max(loss, 0)), gains, losses)
    return [None, *line[1:]] if line else []


def trix(values: Sequence[float], period: int) -> Line:
    line: Line = list(values)
    for _ in range(3):
        line = after_warm_up(lambda points: ema(points, period), line)
    return after_warm_up(lambda points: rate_of_change(points, 1), line)


def ultimate(bars: Columns, periods: tuple[int, int, int]) -> Line:
    pressure = [
        close - min(low, before)
        for close, low, before in zip(bars.close[1:], bars.low[1:], bars.close[:-1], strict=True)
    ]
    ranges = bars.true_range
    parts = [combine(ratio, sma(pressure, period), sma(ranges, period)) for period in sorted(periods)]
    return [None, *combine(lambda a, b, c: 100 * (4 * a + 2 * b + c) / 7, *parts)][: len(bars.close)]


def accumulation(bars: Columns) -> list[float]:
    line, total = [], 0.0
    for high, low, close, volume in zip(bars.high, bars.low, bars.close, bars.volume, strict=True):
        total += ratio(2 * close - high - low, high - low) * volume
        line.append(total)
    return line


def accumulation_oscillator(bars: Columns, fast: int, slow: int) -> Line:
    return spread(accumulation(bars), fast, slow, (1, 1))


def on_balance(bars: Columns) -> Line:
    line: Line = [bars.volume[0]] if bars.volume else []
    total = bars.volume[0] if bars.volume else 0.0
    for (before, close), volume in zip(pairwise(bars.close), bars.volume[1:], strict=True):
        total += math.copysign(volume, close - before) if close != before else 0.0
        line.append(total)
    return line


def vwap(bars: Columns) -> Line:
    """Volume-weighted price since the beginning of each day."""
    line: Line = []
    day, money, shares = "", 0.0, 0.0
    for label, price, volume in zip(bars.label, bars.typical, bars.volume, strict=True):
        if label[:10] != day:
            day, money, shares = label[:10], 0.0, 0.0
        money, shares = money + price * volume, shares + volume
        line.append(money / shares if shares else price)
    return line
