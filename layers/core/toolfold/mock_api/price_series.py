"""Price walks: daily bars from a seeded walk, minutes inside a day, and coarser bars made from finer ones.

Everything is computed forward from :data:`ORIGIN`, so a day has the same prices whatever day is today.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from .seeded_random import Draws
from .trading_days import ORIGIN, every_day, trading_days, weekdays

# How strongly yesterday's distance from the trend is kept: keeps a walk of 25 years within a believable range.
PERSISTENCE = 0.998
# The day on which the trend passes through the level of a walk.
ANCHOR = date(2026, 1, 1)

CALENDARS: dict[str, Callable[[date, date], Sequence[date]]] = {
    "trading": trading_days,
    "weekdays": weekdays,
    "every": every_day,
}


class Bar(NamedTuple):
    """Open, high, low, close and volume of one day or minute span; ``label`` is ``YYYY-MM-DD[ HH:MM:SS]``."""

    label: str
    open: float
    high: float
    low: float
    close: float
    volume: float


@dataclass(frozen=True, slots=True)
class Walk:
    """``growth`` is the trend per year, ``swing`` the typical move per day, both as fractions."""

    name: str
    level: float
    growth: float = 0.06
    swing: float = 0.013
    decimals: int = 2
    volume: float = 0.0
    calendar: str = "trading"


@dataclass(frozen=True, slots=True)
class Session:
    """Minutes since midnight: the core session, and the wider one around it."""

    opens: int
    closes: int
    wide_opens: int
    wide_closes: int


NEW_YORK = Session(570, 960, 240, 1200)
ROUND_THE_CLOCK = Session(0, 1440, 0, 1440)


@lru_cache(maxsize=48)
def daily(walk: Walk, today: date) -> tuple[Bar, ...]:
    """Every day from ORIGIN to ``today``, oldest first."""
    draws = Draws("walk", walk.name)
    round_to = walk.decimals
    distance = 0.0
    previous = 0.0
    bars: list[Bar] = []
    for day in CALENDARS[walk.calendar](ORIGIN, today):
        distance = distance * PERSISTENCE + walk.swing * draws.bell()
        trend = walk.growth * (day - ANCHOR).days / 365.25
        close = max(round(walk.level * math.exp(trend + distance), round_to), 10.0**-round_to)
        gap = 1 + walk.swing * (draws.unit() - 0.5) * 0.6
        opening = round((previous or close) * gap, round_to)
        high = round(max(opening, close) * (1 + walk.swing * draws.unit() * 0.7), round_to)
        low = round(min(opening, close) * (1 - walk.swing * draws.unit() * 0.7), round_to)
        busy = abs(close / (previous or close) - 1) / walk.swing if walk.swing else 0.0
        volume = walk.volume * draws.between(0.6, 1.3) * (1 + 0.5 * busy)
        bars.append(Bar(day.isoformat(), opening, high, low, close, volume))
        previous = close
    return tuple(bars)


def weekly(bars: Iterable[Bar]) -> list[Bar]:
    """One bar per calendar week, dated on its last day; the newest may be an unfinished week."""
    return _grouped(bars, lambda bar: date.fromisoformat(bar.label[:10]).isocalendar()[:2])


def monthly(bars: Iterable[Bar]) -> list[Bar]:
    """One bar per calendar month, dated on its last day."""
    return _grouped(bars, lambda bar: bar.label[:7])


def _grouped(bars: Iterable[Bar], key: Callable[[Bar], object]) -> list[Bar]:
    return [merged(list(group)) for _, group in groupby(bars, key)]


def merged(bars: Sequence[Bar]) -> Bar:
    return Bar(
        bars[-1].label,
        bars[0].open,
        max(bar.high for bar in bars),
        min(bar.low for bar in bars),
        bars[-1].close,
        sum(bar.volume for bar in bars),
    )


@lru_cache(maxsize=256)
def _minutes(walk: Walk, bar: Bar, session: Session) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Price at each minute edge and volume weight of each minute of the wide session of one day.

    Inside the core session the path runs from open to close and touches high and low exactly once.
    """
    draws = Draws("minutes", walk.name, bar.label)
    waves = [(draws.between(2, 9), draws.between(-1, 1), draws.between(0, 6.28)) for _ in range(5)]
    length = session.closes - session.opens
    reach = (bar.high - bar.low) * 0.4
    core: list[float] = []
    for minute in range(length + 1):
        place = minute / length
        wiggle = sum(size * math.sin(pace * 6.2832 * place + phase) for pace, size, phase in waves)
        price = bar.open + (bar.close - bar.open) * place + reach * wiggle * place * (1 - place) * 2
        core.append(round(min(max(price, bar.low), bar.high), walk.decimals + 2))
    inside = range(1, length)
    core[0], core[-1] = bar.open, bar.close
    core[max(inside, key=core.__getitem__)] = bar.high
    core[min(inside, key=core.__getitem__)] = bar.low
    before = _drift(draws, bar.open, session.opens - session.wide_opens)
    after = _drift(draws, bar.close, session.wide_closes - session.closes)
    prices = [*reversed(before), *core, *after]
    weights = [0.02] * len(before) + [1 + 4 * (2 * m / length - 1) ** 4 for m in range(length)] + [0.02] * len(after)
    total = sum(weights)
    return tuple(prices), tuple(weight / total for weight in weights)


def _drift(draws: Draws, start: float, length: int) -> list[float]:
    """Prices of quiet trading, moving away from ``start`` by at most a quarter of a percent."""
    lean, phase = draws.between(-0.002, 0.002), draws.between(0, 6.28)
    span = max(length, 1)
    return [
        round(start * (1 + lean * n / span + 0.0005 * (math.sin(n / 17 + phase) - math.sin(phase))), 4)
        for n in range(1, length + 1)
    ]


def intraday(walk: Walk, days: Iterable[Bar], minutes: int, session: Session, *, wide: bool = True) -> list[Bar]:
    """Bars of ``minutes`` aligned to the clock and labelled with their start, oldest first."""
    span = (session.wide_opens, session.wide_closes) if wide else (session.opens, session.closes)
    return [bar for day in days for bar in _bars_of_day(walk, day, minutes, session, span)]


def _bars_of_day(walk: Walk, day: Bar, minutes: int, session: Session, span: tuple[int, int]) -> Iterable[Bar]:
    first, last = span
    prices, weights = _minutes(walk, day, session)
    zero = session.wide_opens
    for start in range(first - first % minutes, last, minutes):
        begin, end = max(start, first), min(start + minutes, last)
        inside = prices[begin - zero : end - zero + 1]
        volume = day.volume * sum(weights[begin - zero : end - zero])
        label = f"{day.label} {start // 60:02d}:{start % 60:02d}:00"
        yield Bar(label, inside[0], max(inside), min(inside), inside[-1], volume)
