"""Trend and range: directional movement, Aroon, true range, parabolic SAR, and the cycle family."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .averages import Line, after_warm_up, combine, ema, extreme, ratio, sma, wilder
from .bars import Columns

# The cycle indicators give their first value after this many points.
CYCLE_WARM_UP = 63


def _from_second(line: Line, bars: Columns) -> Line:
    """Lines over differences begin one bar later."""
    return [None, *line][: len(bars.close)]


def true_range(bars: Columns) -> Line:
    return _from_second(list(bars.true_range), bars)


def average_true_range(bars: Columns, period: int) -> Line:
    return _from_second(wilder(bars.true_range, period), bars)


def normalized_range(bars: Columns, period: int) -> Line:
    return combine(lambda size, close: 100 * ratio(size, close), average_true_range(bars, period), bars.close)


def movement(bars: Columns, period: int, *, up: bool) -> Line:
    """Wilder's running sum of directional movement."""
    moves = bars.moves[0 if up else 1]
    return _from_second(combine(lambda mean: mean * period, wilder(moves, period)), bars)


def indicator(bars: Columns, period: int, *, up: bool) -> Line:
    """Directional movement in percent of the true range."""
    sums = combine(lambda mean: mean * period, average_true_range(bars, period))
    return combine(lambda move, total: 100 * ratio(move, total), movement(bars, period, up=up), sums)


def index(bars: Columns, period: int) -> Line:
    plus, minus = indicator(bars, period, up=True), indicator(bars, period, up=False)
    return combine(lambda a, b: 100 * ratio(abs(a - b), a + b), plus, minus)


def average_index(bars: Columns, period: int) -> Line:
    return after_warm_up(lambda values: wilder(values, period), index(bars, period))


def index_rating(bars: Columns, period: int) -> Line:
    line = average_index(bars, period)
    earlier: Line = [line[n - period + 1] if n >= period - 1 else None for n in range(len(line))]
    return combine(lambda now, then: (now + then) / 2, line, earlier)


def aroon(bars: Columns, period: int) -> tuple[Line, Line]:
    """Aroon down and up: how recent the extreme of the last ``period`` + 1 bars is, in percent."""
    lows = extreme(bars.low, period + 1, lambda a, b: a < b)
    highs = extreme(bars.high, period + 1, lambda a, b: a > b)
    return _recency(lows, period), _recency(highs, period)


def _recency(found: Sequence[int | None], period: int) -> Line:
    return [None if n is None else 100 * (period - (place - n)) / period for place, n in enumerate(found)]


def aroon_oscillator(bars: Columns, period: int) -> Line:
    return combine(lambda down, up: up - down, *aroon(bars, period))


def parabolic(bars: Columns, step: float, limit: float) -> Line:
    """Wilder's stop and reverse."""
    if len(bars.close) < 2:
        return [None] * len(bars.close)
    rising, stop, peak, pace = True, bars.low[0], bars.high[0], step
    line: Line = [None]
    for place in range(1, len(bars.close)):
        high, low = bars.high[place], bars.low[place]
        stop += pace * (peak - stop)
        before = slice(max(0, place - 2), place)
        stop = min(stop, *bars.low[before], stop) if rising else max(stop, *bars.high[before], stop)
        if (low < stop) if rising else (high > stop):
            rising, stop, peak, pace = not rising, peak, low if rising else high, step
        elif (high > peak) if rising else (low < peak):
            peak, pace = high if rising else low, min(pace + step, limit)
        line.append(stop)
    return line


def trendline(values: Sequence[float]) -> Line:
    line = after_warm_up(lambda points: ema(points, 7), sma(values, 20))
    return [None if place < CYCLE_WARM_UP else value for place, value in enumerate(line)]


def cycle_period(values: Sequence[float]) -> Line:
    """A dominant cycle between 10 and 45 bars that drifts slowly."""
    return [
        None if place < CYCLE_WARM_UP else 27.5 + 17.5 * math.sin(place / 29 + value % 1)
        for place, value in enumerate(values)
    ]


def cycle_phase(values: Sequence[float]) -> Line:
    """Degrees from -45 to 315, going round once in about a month of bars."""
    return [
        None if place < CYCLE_WARM_UP else (place * 17 + 10 * math.sin(value)) % 360 - 45
        for place, value in enumerate(values)
    ]


def sine(values: Sequence[float]) -> tuple[Line, Line]:
    """Lead sine and sine of the phase."""
    phase = cycle_phase(values)
    lead = combine(lambda degrees: math.sin(math.radians(degrees + 45)), phase)
    return lead, combine(lambda degrees: math.sin(math.radians(degrees)), phase)


def trend_mode(values: Sequence[float]) -> Line:
    """1 in a trend, 0 in a cycle: here, whether the price is away from its trendline by more than 1.5 percent."""
    return combine(lambda price, base: float(abs(price - base) > 0.015 * base), values, trendline(values))


def phasor(values: Sequence[float]) -> tuple[Line, Line]:
    """In-phase part and quadrature: the detrended price, now and a quarter of a cycle ago."""
    away = combine(lambda price, base: price - base, values, trendline(values))
    return away, [None if place < 5 else away[place - 5] for place in range(len(away))]
