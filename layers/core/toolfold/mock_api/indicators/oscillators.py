"""Momentum, oscillators, bands and volume.

Trend and range: directional movement, Aroon, true range, parabolic SAR, and the Hilbert transform family.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from toolfold.mock_api.indicators.averages import (
    BarColumns,
    Line,
    differences,
    ema,
    map_points,
    moving_average,
    rolling_extreme_index,
    rolling_max,
    rolling_min,
    safe_ratio,
    skip_leading_none,
    sma,
    standard_deviation,
    wilder_average,
)

# The cycle indicators give their first value after this many points.
CYCLE_WARM_UP = 63


def _from_second(line: Line, bars: BarColumns) -> Line:
    """Prepend None: lines over differences begin one bar later."""
    return [None, *line][: len(bars.close)]


def true_range(bars: BarColumns) -> Line:
    """Return the true range."""
    return _from_second(list(bars.true_range), bars)


def average_true_range(bars: BarColumns, period: int) -> Line:
    """Return the average true range (ATR)."""
    return _from_second(wilder_average(bars.true_range, period), bars)


def normalized_average_true_range(bars: BarColumns, period: int) -> Line:
    """Return the average true range in percent of the close (NATR)."""
    return map_points(lambda size, close: 100 * safe_ratio(size, close), average_true_range(bars, period), bars.close)


def directional_movement(bars: BarColumns, period: int, *, up: bool) -> Line:
    """Return Wilder's running sum of directional movement (PLUS_DM, MINUS_DM)."""
    moves = bars.directional_movements[0 if up else 1]
    return _from_second(map_points(lambda mean: mean * period, wilder_average(moves, period)), bars)


def directional_indicator(bars: BarColumns, period: int, *, up: bool) -> Line:
    """Return directional movement in percent of the true range (PLUS_DI, MINUS_DI)."""
    sums = map_points(lambda mean: mean * period, average_true_range(bars, period))
    return map_points(
        lambda move, total: 100 * safe_ratio(move, total), directional_movement(bars, period, up=up), sums
    )


def directional_index(bars: BarColumns, period: int) -> Line:
    """Return the directional movement index (DX)."""
    plus, minus = directional_indicator(bars, period, up=True), directional_indicator(bars, period, up=False)
    return map_points(lambda a, b: 100 * safe_ratio(abs(a - b), a + b), plus, minus)


def average_directional_index(bars: BarColumns, period: int) -> Line:
    """Return the average directional movement index (ADX)."""
    return skip_leading_none(lambda values: wilder_average(values, period), directional_index(bars, period))


def average_directional_index_rating(bars: BarColumns, period: int) -> Line:
    """Return the average directional movement index rating (ADXR)."""
    line = average_directional_index(bars, period)
    earlier: Line = [line[n - period + 1] if n >= period - 1 else None for n in range(len(line))]
    return map_points(lambda now, then: (now + then) / 2, line, earlier)


def aroon(bars: BarColumns, period: int) -> tuple[Line, Line]:
    """Return Aroon down and up: how recent the extreme of the last ``period`` + 1 bars is, in percent."""
    lows = rolling_extreme_index(bars.low, period + 1, lambda a, b: a < b)
    highs = rolling_extreme_index(bars.high, period + 1, lambda a, b: a > b)
    return _recency(lows, period), _recency(highs, period)


def _recency(found: Sequence[int | None], period: int) -> Line:
    return [None if n is None else 100 * (period - (index - n)) / period for index, n in enumerate(found)]


def aroon_oscillator(bars: BarColumns, period: int) -> Line:
    """Return Aroon up minus Aroon down."""
    return map_points(lambda down, up: up - down, *aroon(bars, period))


def parabolic_sar(bars: BarColumns, step: float, limit: float) -> Line:
    """Return Wilder's stop and reverse."""
    if len(bars.close) < 2:
        return [None] * len(bars.close)
    rising, stop, peak, pace = True, bars.low[0], bars.high[0], step
    line: Line = [None]
    for index in range(1, len(bars.close)):
        high, low = bars.high[index], bars.low[index]
        stop += pace * (peak - stop)
        before = slice(max(0, index - 2), index)
        stop = min(stop, *bars.low[before], stop) if rising else max(stop, *bars.high[before], stop)
        if (low < stop) if rising else (high > stop):
            rising, stop, peak, pace = not rising, peak, low if rising else high, step
        elif (high > peak) if rising else (low < peak):
            peak, pace = high if rising else low, min(pace + step, limit)
        line.append(stop)
    return line


def hilbert_trendline(values: Sequence[float]) -> Line:
    """Return a smoothed trendline."""
    line = skip_leading_none(lambda points: ema(points, 7), sma(values, 20))
    return [None if index < CYCLE_WARM_UP else value for index, value in enumerate(line)]


def dominant_cycle_period(values: Sequence[float]) -> Line:
    """Return a dominant cycle between 10 and 45 bars that drifts slowly."""
    return [
        None if index < CYCLE_WARM_UP else 27.5 + 17.5 * math.sin(index / 29 + value % 1)
        for index, value in enumerate(values)
    ]


def dominant_cycle_phase(values: Sequence[float]) -> Line:
    """Return degrees from -45 to 315, with one turn in about a month of bars."""
    return [
        None if index < CYCLE_WARM_UP else (index * 17 + 10 * math.sin(value)) % 360 - 45
        for index, value in enumerate(values)
    ]


def hilbert_sine(values: Sequence[float]) -> tuple[Line, Line]:
    """Return lead sine and sine of the phase."""
    phase = dominant_cycle_phase(values)
    lead = map_points(lambda degrees: math.sin(math.radians(degrees + 45)), phase)
    return lead, map_points(lambda degrees: math.sin(math.radians(degrees)), phase)


def hilbert_trend_mode(values: Sequence[float]) -> Line:
    """Return 1 in a trend, 0 in a cycle: whether the price is more than 1.5 percent away from its trendline."""
    return map_points(lambda price, base: float(abs(price - base) > 0.015 * base), values, hilbert_trendline(values))


def hilbert_phasor(values: Sequence[float]) -> tuple[Line, Line]:
    """Return in-phase part and quadrature: the detrended price, now and a quarter of a cycle ago."""
    away = map_points(lambda price, base: price - base, values, hilbert_trendline(values))
    return away, [None if index < 5 else away[index - 5] for index in range(len(away))]


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
