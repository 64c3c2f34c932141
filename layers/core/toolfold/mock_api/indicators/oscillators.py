"""Momentum, oscillators, bands and volume."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from toolfold.mock_api.indicators.averages import (
    Line,
    differences,
    ema,
    map_points,
    moving_average,
    rolling_max,
    rolling_min,
    safe_ratio,
    skip_leading_none,
    sma,
    standard_deviation,
    wilder_average,
)
from toolfold.mock_api.indicators.bars import BarColumns


def lag(values: Sequence[float], period: int) -> Line:
    """Return the value of ``period`` points before."""
    return [values[n - period] if n >= period else None for n in range(len(values))]


def momentum(values: Sequence[float], period: int) -> Line:
    """Return the difference to the value of ``period`` points before (MOM)."""
    return map_points(lambda now, then: now - then, values, lag(values, period))


def rate_of_change(values: Sequence[float], period: int) -> Line:
    """Return the change over ``period`` points in percent (ROC)."""
    return map_points(lambda now, then: 100 * safe_ratio(now - then, then), values, lag(values, period))


def rate_of_change_ratio(values: Sequence[float], period: int) -> Line:
    """Return the price divided by the price of ``period`` points before (ROCR)."""
    return map_points(safe_ratio, values, lag(values, period))


def _gains_and_losses(values: Sequence[float], period: int) -> tuple[Line, Line]:
    steps = differences(values)
    gains = wilder_average([max(step, 0.0) for step in steps], period)
    losses = wilder_average([max(-step, 0.0) for step in steps], period)
    return [None, *gains][: len(values)], [None, *losses][: len(values)]


def rsi(values: Sequence[float], period: int) -> Line:
    """Return the relative strength index."""
    return map_points(lambda gain, loss: 100 * safe_ratio(gain, gain + loss), *_gains_and_losses(values, period))


def cmo(values: Sequence[float], period: int) -> Line:
    """Return the Chande momentum oscillator."""
    return map_points(lambda gain, loss: 100 * safe_ratio(gain - loss, gain + loss), *_gains_and_losses(values, period))


def absolute_price_oscillator(values: Sequence[float], fast: int, slow: int, codes: tuple[int, int]) -> Line:
    """Return the fast average minus the slow average (APO)."""
    return map_points(
        lambda a, b: a - b, moving_average(values, fast, codes[0]), moving_average(values, slow, codes[1])
    )


def percentage_price_oscillator(values: Sequence[float], fast: int, slow: int, code: int) -> Line:
    """Return the fast average minus the slow average in percent of the slow one (PPO)."""
    lines = moving_average(values, fast, code), moving_average(values, slow, code)
    return map_points(lambda a, b: 100 * safe_ratio(a - b, b), *lines)


def macd(values: Sequence[float], periods: Sequence[int], codes: Sequence[int]) -> tuple[Line, ...]:
    """Return MACD, its signal line and the histogram.

    Args:
        values: The prices.
        periods: Fast, slow and signal period.
        codes: The moving average codes of the three.
    """
    line = absolute_price_oscillator(values, periods[0], periods[1], (codes[0], codes[1]))
    signals = moving_average(line, periods[2], codes[2])
    return line, signals, map_points(lambda a, b: a - b, line, signals)


def fast_k(high: Sequence[float], low: Sequence[float], close: Sequence[float], period: int) -> Line:
    """Return the position of the close in the range of the last ``period`` bars, in percent."""
    lines = close, rolling_max(high, period), rolling_min(low, period)
    return map_points(lambda now, top, bottom: 100 * safe_ratio(now - bottom, top - bottom), *lines)


def stochastic(bars: BarColumns, fast: int, slow: tuple[int, int], d: tuple[int, int]) -> tuple[Line, Line]:
    """Return slow K and slow D; ``slow`` and ``d`` are (period, moving average code)."""
    k = moving_average(fast_k(bars.high, bars.low, bars.close, fast), *slow)
    return k, moving_average(k, *d)


def stochastic_fast(bars: BarColumns, fast: int, d: tuple[int, int]) -> tuple[Line, Line]:
    """Return fast K and fast D; ``d`` is (period, moving average code)."""
    k = fast_k(bars.high, bars.low, bars.close, fast)
    return k, moving_average(k, *d)


def stochastic_rsi(values: Sequence[float], period: int, fast: int, d: tuple[int, int]) -> tuple[Line, Line]:
    """Return fast K and fast D of the relative strength index."""
    k = skip_leading_none(lambda line: fast_k(line, line, line, fast), rsi(values, period))
    return k, moving_average(k, *d)


def williams_percent_r(bars: BarColumns, period: int) -> Line:
    """Return Williams' %R."""
    lines = bars.close, rolling_max(bars.high, period), rolling_min(bars.low, period)
    return map_points(lambda now, top, bottom: -100 * safe_ratio(top - now, top - bottom), *lines)


def bollinger_bands(values: Sequence[float], period: int, up: float, down: float, code: int) -> tuple[Line, Line, Line]:
    """Return upper, middle and lower band."""
    middle, width = moving_average(values, period, code), standard_deviation(values, period)
    upper = map_points(lambda mean, sigma: mean + up * sigma, middle, width)
    return upper, middle, map_points(lambda mean, sigma: mean - down * sigma, middle, width)


def midpoint(high: Sequence[float], low: Sequence[float], period: int) -> Line:
    """Return the middle between the highest high and the lowest low of each window."""
    return map_points(lambda top, bottom: (top + bottom) / 2, rolling_max(high, period), rolling_min(low, period))


def balance_of_power(bars: BarColumns) -> Line:
    """Return the balance of power (BOP)."""
    rows = zip(bars.open, bars.high, bars.low, bars.close, strict=True)
    return [safe_ratio(close - opening, high - low) for opening, high, low, close in rows]


def commodity_channel_index(bars: BarColumns, period: int) -> Line:
    """Return the commodity channel index (CCI)."""
    prices = bars.typical_price
    line: Line = []
    for index, mean in enumerate(sma(prices, period)):
        if mean is None:
            line.append(None)
            continue
        window = prices[index - period + 1 : index + 1]
        away = sum(abs(price - mean) for price in window) / period
        line.append(safe_ratio(prices[index] - mean, 0.015 * away) if away > 1e-9 else 0.0)
    return line


def money_flow_index(bars: BarColumns, period: int) -> Line:
    """Return the money flow index (MFI)."""
    prices = bars.typical_price
    flows = [price * volume for price, volume in zip(prices, bars.volume, strict=True)]
    steps = [0.0, *differences(prices)]
    gains = sma([flow if step > 0 else 0.0 for flow, step in zip(flows, steps, strict=True)], period)
    losses = sma([flow if step < 0 else 0.0 for flow, step in zip(flows, steps, strict=True)], period)
    line = map_points(lambda gain, loss: 100 * safe_ratio(max(gain, 0), max(gain, 0) + max(loss, 0)), gains, losses)
    return [None, *line[1:]] if line else []


def trix(values: Sequence[float], period: int) -> Line:
    """Return the one-period rate of change of a triple exponential average."""
    line: Line = list(values)
    for _ in range(3):
        line = skip_leading_none(lambda points: ema(points, period), line)
    return skip_leading_none(lambda points: rate_of_change(points, 1), line)


def ultimate_oscillator(bars: BarColumns, periods: tuple[int, int, int]) -> Line:
    """Return the ultimate oscillator (ULTOSC)."""
    pressure = [
        close - min(low, before)
        for close, low, before in zip(bars.close[1:], bars.low[1:], bars.close[:-1], strict=True)
    ]
    ranges = bars.true_range
    parts = [map_points(safe_ratio, sma(pressure, period), sma(ranges, period)) for period in sorted(periods)]
    return [None, *map_points(lambda a, b, c: 100 * (4 * a + 2 * b + c) / 7, *parts)][: len(bars.close)]


def accumulation_distribution(bars: BarColumns) -> list[float]:
    """Return the Chaikin accumulation/distribution line (AD)."""
    line, total = [], 0.0
    for high, low, close, volume in zip(bars.high, bars.low, bars.close, bars.volume, strict=True):
        total += safe_ratio(2 * close - high - low, high - low) * volume
        line.append(total)
    return line


def accumulation_distribution_oscillator(bars: BarColumns, fast: int, slow: int) -> Line:
    """Return the Chaikin oscillator (ADOSC)."""
    return absolute_price_oscillator(accumulation_distribution(bars), fast, slow, (1, 1))


def on_balance_volume(bars: BarColumns) -> Line:
    """Return the on-balance volume (OBV)."""
    line: Line = [bars.volume[0]] if bars.volume else []
    total = bars.volume[0] if bars.volume else 0.0
    for (before, close), volume in zip(pairwise(bars.close), bars.volume[1:], strict=True):
        total += math.copysign(volume, close - before) if close != before else 0.0
        line.append(total)
    return line


def vwap(bars: BarColumns) -> Line:
    """Return the volume-weighted average price since the beginning of each day."""
    line: Line = []
    day, money, shares = "", 0.0, 0.0
    for label, price, volume in zip(bars.label, bars.typical_price, bars.volume, strict=True):
        if label[:10] != day:
            day, money, shares = label[:10], 0.0, 0.0
        money, shares = money + price * volume, shares + volume
        line.append(money / shares if shares else price)
    return line
