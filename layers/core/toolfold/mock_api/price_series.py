"""Price series: daily bars from a seeded random walk, minutes inside a day, and coarser bars made from finer ones.

Everything is computed forward from :data:`ORIGIN`, so a day has the same prices on every later day.

Trading days: weekdays, and the sessions of the New York exchanges without their full-day holidays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from toolfold.mock_api.seeded_random import SeededRandom

MONDAY, THURSDAY, SATURDAY, SUNDAY = 0, 3, 5, 6

# The first day with prices. The vendor's history starts around this day too.
ORIGIN = date(2000, 1, 3)


def all_days(first: date, last: date) -> list[date]:
    """Return every day from ``first`` to ``last``, both included."""
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def weekdays(first: date, last: date) -> list[date]:
    """Return every Monday to Friday from ``first`` to ``last``."""
    return [day for day in all_days(first, last) if day.weekday() < SATURDAY]


@lru_cache(maxsize=8)
def trading_days(first: date, last: date) -> tuple[date, ...]:
    """Return the days from ``first`` to ``last`` on which New York traded."""
    return tuple(day for day in weekdays(first, last) if day not in holidays(day.year))


def is_trading_day(day: date) -> bool:
    """Return whether New York trades on this day."""
    return day.weekday() < SATURDAY and day not in holidays(day.year)


def trading_day_on_or_after(day: date) -> date:
    """Return the first trading day that is not before ``day``."""
    while not is_trading_day(day):
        day += timedelta(days=1)
    return day


def trading_day_on_or_before(day: date) -> date:
    """Return the last trading day that is not after ``day``."""
    while not is_trading_day(day):
        day -= timedelta(days=1)
    return day


def month_end(day: date) -> date:
    """Return the last calendar day of the month of ``day``."""
    return add_months(day.replace(day=1), 1) - timedelta(days=1)


def add_months(day: date, months: int) -> date:
    """Return ``day`` moved by whole months. Only valid for days up to the 28th."""
    index = day.year * 12 + day.month - 1 + months
    return date(index // 12, index % 12 + 1, day.day)


@lru_cache(maxsize=64)
def holidays(year: int) -> frozenset[date]:
    """Return the full-day holidays of the New York exchanges by rule, without one-off closings (storms, mourning)."""
    days = {
        _nth(year, 1, MONDAY, 3),  # Martin Luther King
        _nth(year, 2, MONDAY, 3),  # Presidents
        _easter(year) - timedelta(days=2),  # Good Friday
        _nth(year, 6, MONDAY, 1) - timedelta(days=7),  # Memorial: the last Monday of May
        _observed(date(year, 7, 4)),
        _nth(year, 9, MONDAY, 1),  # Labor
        _nth(year, 11, THURSDAY, 4),  # Thanksgiving
        _observed(date(year, 12, 25)),
    }
    if date(year, 1, 1).weekday() != SATURDAY:  # the exchanges do not move a Saturday New Year into the old year
        days.add(_observed(date(year, 1, 1)))
    if year >= 2022:  # Juneteenth is a holiday of the exchanges since then
        days.add(_observed(date(year, 6, 19)))
    return frozenset(days)


def _nth(year: int, month: int, weekday: int, count: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (count - 1))


def _observed(day: date) -> date:
    return day + timedelta(days={SATURDAY: -1, SUNDAY: 1}.get(day.weekday(), 0))


def _easter(year: int) -> date:
    """Return Easter Sunday, by the anonymous Gregorian algorithm."""
    golden, century, short = year % 19, year // 100, year % 100
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - century // 4 - correction + 15) % 30
    offset = (32 + 2 * (century % 4) + 2 * (short // 4) - epact - short % 4) % 7
    shift = (golden + 11 * epact + 22 * offset) // 451
    total = epact + offset - 7 * shift + 114
    return date(year, total // 31, total % 31 + 1)


# Factor of yesterday's distance from the trend: it keeps a random walk of 25 years in a plausible range.
PERSISTENCE = 0.998
# The day on which the trend equals the level of a series.
ANCHOR_DATE = date(2026, 1, 1)

CALENDARS: dict[str, Callable[[date, date], Sequence[date]]] = {
    "trading": trading_days,
    "weekdays": weekdays,
    "every": all_days,
}


class Bar(NamedTuple):
    """Open, high, low, close and volume of one day or span of minutes; ``label`` is ``YYYY-MM-DD[ HH:MM:SS]``."""

    label: str
    open: float
    high: float
    low: float
    close: float
    volume: float


@dataclass(frozen=True, slots=True)
class PriceSeries:
    """Parameters of a price series.

    Attributes:
        name: Seed of the random walk.
        level: The price that the trend has on ``ANCHOR_DATE``.
        growth: The trend per year, as a fraction.
        volatility: The typical move per day, as a fraction.
        decimals: Decimals of the prices.
        volume: The typical volume per day.
        calendar: A key of ``CALENDARS``.
    """

    name: str
    level: float
    growth: float = 0.06
    volatility: float = 0.013
    decimals: int = 2
    volume: float = 0.0
    calendar: str = "trading"


@dataclass(frozen=True, slots=True)
class Session:
    """Regular and extended trading hours, in minutes since midnight."""

    open_minute: int
    close_minute: int
    extended_open_minute: int
    extended_close_minute: int


NEW_YORK_SESSION = Session(570, 960, 240, 1200)
ALL_DAY_SESSION = Session(0, 1440, 0, 1440)


@lru_cache(maxsize=48)
def daily_bars(series: PriceSeries, today: date) -> tuple[Bar, ...]:
    """Return the bars of every day from ORIGIN to ``today``, oldest first."""
    rng = SeededRandom("walk", series.name)
    round_to = series.decimals
    distance = 0.0
    previous = 0.0
    bars: list[Bar] = []
    for day in CALENDARS[series.calendar](ORIGIN, today):
        distance = distance * PERSISTENCE + series.volatility * rng.normal()
        trend = series.growth * (day - ANCHOR_DATE).days / 365.25
        close = max(round(series.level * math.exp(trend + distance), round_to), 10.0**-round_to)
        gap = 1 + series.volatility * (rng.random() - 0.5) * 0.6
        opening = round((previous or close) * gap, round_to)
        high = round(max(opening, close) * (1 + series.volatility * rng.random() * 0.7), round_to)
        low = round(min(opening, close) * (1 - series.volatility * rng.random() * 0.7), round_to)
        busy = abs(close / (previous or close) - 1) / series.volatility if series.volatility else 0.0
        volume = series.volume * rng.uniform(0.6, 1.3) * (1 + 0.5 * busy)
        bars.append(Bar(day.isoformat(), opening, high, low, close, volume))
        previous = close
    return tuple(bars)


def weekly_bars(bars: Iterable[Bar]) -> list[Bar]:
    """Return one bar per calendar week, dated on its last day. The newest week may be unfinished."""
    return _group_bars(bars, lambda bar: date.fromisoformat(bar.label[:10]).isocalendar()[:2])


def monthly_bars(bars: Iterable[Bar]) -> list[Bar]:
    """Return one bar per calendar month, dated on its last day."""
    return _group_bars(bars, lambda bar: bar.label[:7])


def _group_bars(bars: Iterable[Bar], key: Callable[[Bar], object]) -> list[Bar]:
    return [merge_bars(list(group)) for _, group in groupby(bars, key)]


def merge_bars(bars: Sequence[Bar]) -> Bar:
    """Return one bar for several consecutive ones."""
    return Bar(
        bars[-1].label,
        bars[0].open,
        max(bar.high for bar in bars),
        min(bar.low for bar in bars),
        bars[-1].close,
        sum(bar.volume for bar in bars),
    )


@lru_cache(maxsize=256)
def _minute_prices(series: PriceSeries, bar: Bar, session: Session) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the price at each minute boundary and the volume weight of each minute of the extended session of one day.

    Inside the regular session the path runs from open to close and reaches high and low exactly once.
    """
    rng = SeededRandom("minutes", series.name, bar.label)
    waves = [(rng.uniform(2, 9), rng.uniform(-1, 1), rng.uniform(0, 6.28)) for _ in range(5)]
    length = session.close_minute - session.open_minute
    reach = (bar.high - bar.low) * 0.4
    core: list[float] = []
    for minute in range(length + 1):
        position = minute / length
        wiggle = sum(size * math.sin(pace * 6.2832 * position + phase) for pace, size, phase in waves)
        price = bar.open + (bar.close - bar.open) * position + reach * wiggle * position * (1 - position) * 2
        core.append(round(min(max(price, bar.low), bar.high), series.decimals + 2))
    inside = range(1, length)
    core[0], core[-1] = bar.open, bar.close
    core[max(inside, key=core.__getitem__)] = bar.high
    core[min(inside, key=core.__getitem__)] = bar.low
    before = _extended_hours_prices(rng, bar.open, session.open_minute - session.extended_open_minute)
    after = _extended_hours_prices(rng, bar.close, session.extended_close_minute - session.close_minute)
    prices = [*reversed(before), *core, *after]
    weights = [0.02] * len(before) + [1 + 4 * (2 * m / length - 1) ** 4 for m in range(length)] + [0.02] * len(after)
    total = sum(weights)
    return tuple(prices), tuple(weight / total for weight in weights)


def _extended_hours_prices(rng: SeededRandom, start: float, length: int) -> list[float]:
    """Return prices of quiet trading that move away from ``start`` by at most a quarter of a percent."""
    lean, phase = rng.uniform(-0.002, 0.002), rng.uniform(0, 6.28)
    span = max(length, 1)
    return [
        round(start * (1 + lean * n / span + 0.0005 * (math.sin(n / 17 + phase) - math.sin(phase))), 4)
        for n in range(1, length + 1)
    ]


def intraday_bars(
    series: PriceSeries, days: Iterable[Bar], minutes: int, session: Session, *, extended_hours: bool = True
) -> list[Bar]:
    """Return bars of ``minutes`` aligned to the clock and labelled with their start, oldest first."""
    span = (
        (session.extended_open_minute, session.extended_close_minute)
        if extended_hours
        else (session.open_minute, session.close_minute)
    )
    return [bar for day in days for bar in _bars_of_day(series, day, minutes, session, span)]


def _bars_of_day(series: PriceSeries, day: Bar, minutes: int, session: Session, span: tuple[int, int]) -> Iterable[Bar]:
    first, last = span
    prices, weights = _minute_prices(series, day, session)
    zero = session.extended_open_minute
    for start in range(first - first % minutes, last, minutes):
        begin, end = max(start, first), min(start + minutes, last)
        inside = prices[begin - zero : end - zero + 1]
        volume = day.volume * sum(weights[begin - zero : end - zero])
        label = f"{day.label} {start // 60:02d}:{start % 60:02d}:00"
        yield Bar(label, inside[0], max(inside), min(inside), inside[-1], volume)
