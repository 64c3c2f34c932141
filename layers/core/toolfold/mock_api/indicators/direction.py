"""Trend and range: directional movement, Aroon, true range, parabolic SAR, and the Hilbert transform family."""

from __future__ import annotations

import math
from collections.abc import Sequence

from toolfold.mock_api.indicators.averages import (
    Line,
    ema,
    map_points,
    rolling_extreme_index,
    safe_ratio,
    skip_leading_none,
    sma,
    wilder_average,
)
from toolfold.mock_api.indicators.bars import BarColumns

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
