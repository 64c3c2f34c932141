"""Prices: one seeded random series per instrument, from which bars of every length, events and quotes are computed.

Everything is computed forward from the first year of an instrument, so a day has the same prices on every later day.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from toolfold.mock_api.instruments import Instrument, Seeded

SATURDAY = 5
PERSISTENCE = 0.998  # of the distance from the trend: it keeps decades of prices in a plausible range
ANCHOR_DATE = date(2026, 1, 1)  # on this day the price is the level of an instrument
FIRST_DIVIDEND_YEAR = 2000
REGULAR, EXTENDED, ALL_DAY = (570, 960), (240, 1200), (0, 1440)  # minutes of the sessions of New York, and of a day


class Bar(NamedTuple):
    """Prices and volume of one day or span of minutes, and what a holder of a share received.

    ``label`` is ``YYYY-MM-DD[ HH:MM:SS]``.
    """

    label: str
    open: float
    high: float
    low: float
    close: float
    volume: float
    adjusted_close: float = 0.0
    dividend: float = 0.0
    split: float = 1.0


_MOVING = ((1, 0, 15), (2, 0, 15), (5, 0, 25), (9, 0, 1), (11, 3, 22))
"""Month, weekday and first possible day of holidays: King, Presidents, Memorial, Labor, Thanksgiving."""


@lru_cache(maxsize=64)
def _holidays(year: int) -> frozenset[date]:
    """Return the holidays of New York's exchanges that a simple rule gives: not Good Friday, Juneteenth, mourning."""
    first = ((date(year, month, day), weekday) for month, weekday, day in _MOVING)
    moving = (day + timedelta((weekday - day.weekday()) % 7) for day, weekday in first)
    fixed = (date(year, month, day) for month, day in ((1, 1), (7, 4), (12, 25)))
    # A New Year on Saturday is not moved into the old year.
    observed = (day + timedelta({5: -1, 6: 1}.get(day.weekday(), 0)) for day in fixed)
    return frozenset(day for day in (*moving, *observed) if day.year == year)


def is_trading_day(day: date) -> bool:
    """Return whether New York trades on this day."""
    return day.weekday() < SATURDAY and day not in _holidays(day.year)


def trading_day(day: date, step: int = 1) -> date:
    """Return the first trading day from ``day`` on; with ``step`` -1 the last until then."""
    while not is_trading_day(day):
        day += timedelta(days=step)
    return day


def add_months(day: date, months: int) -> date:
    """Return ``day`` moved by whole months. Only valid for days up to the 28th."""
    index = day.year * 12 + day.month - 1 + months
    return date(index // 12, index % 12 + 1, day.day)


_CALENDARS: dict[str, Callable[[date], bool]] = {
    "trading": is_trading_day,
    "weekdays": lambda day: day.weekday() < SATURDAY,
    "every": lambda day: True,
}


@lru_cache(maxsize=24)
def _days(calendar: str, first_year: int, today: date) -> tuple[date, ...]:
    first, is_open = date(first_year, 1, 1), _CALENDARS[calendar]
    days = (first + timedelta(days=n) for n in range((today - first).days + 1))
    return tuple(day for day in days if is_open(day))


@lru_cache(maxsize=64)
def daily_bars(instrument: Instrument, today: date) -> tuple[Bar, ...]:
    """Return the bars of every day up to ``today``, oldest first; those of a share are adjusted for splits."""
    swing, decimals = instrument.volatility, instrument.decimals
    days = _days(instrument.calendar, instrument.first_year, max(today, ANCHOR_DATE))
    distances = _distances(instrument.symbol, swing, len(days))
    anchor = distances[bisect_right(days, ANCHOR_DATE) - 1]
    random, previous, bars = Seeded("bars", instrument.symbol).random, 0.0, []
    for day, distance in zip(days[: bisect_right(days, today)], distances, strict=False):
        trend = instrument.growth * (day - ANCHOR_DATE).days / 365.25
        close = max(round(instrument.level * math.exp(trend + distance - anchor), decimals), 10.0**-decimals)
        opening = round((previous or close) * (1 + swing * (random() - 0.5) * 0.6), decimals)
        high = round(max(opening, close) * (1 + swing * random() * 0.7), decimals)
        low = round(min(opening, close) * (1 - swing * random() * 0.7), decimals)
        busy = abs(close / (previous or close) - 1) / swing
        volume = instrument.volume * (0.6 + 0.7 * random()) * (1 + 0.5 * busy)
        bars.append(Bar(day.isoformat(), opening, high, low, close, volume))
        previous = close
    return tuple(bars)


def _distances(symbol: str, swing: float, count: int) -> list[float]:
    """Return the logarithmic distance from the trend of each day: steps are the sum of three, so roughly normal."""
    random, distance, found = Seeded("walk", symbol).random, 0.0, []
    for _ in range(count):
        distance = distance * PERSISTENCE + swing * (random() + random() + random() - 1.5) * 2
        found.append(distance)
    return found


PERIODS: dict[str, Callable[[str], object]] = {
    "daily": lambda label: label,
    "weekly": lambda label: (date.fromisoformat(label).toordinal() - 1) // 7,
    "monthly": lambda label: label[:7],
    "quarterly": lambda label: (label[:4], (int(label[5:7]) - 1) // 3),
    "semiannual": lambda label: (label[:4], label[5:7] > "06"),
    "annual": lambda label: label[:4],
}
"""Interval → what the labels of its days have in common."""


def group(bars: Iterable[Bar], interval: str) -> list[Bar]:
    """Return one bar per day, week or month, labelled with its last day, oldest first."""
    if interval == "daily":
        return list(bars)
    periods = (list(part) for _, part in groupby(bars, lambda bar: PERIODS[interval](bar.label)))
    return [
        part[-1]._replace(
            open=part[0].open,
            high=max(bar.high for bar in part),
            low=min(bar.low for bar in part),
            volume=sum(bar.volume for bar in part),
            dividend=sum(bar.dividend for bar in part),
        )
        for part in periods
    ]


@lru_cache(maxsize=256)
def splits(symbol: str) -> tuple[tuple[date, float], ...]:
    """Return day and factor of up to two stock splits, oldest first."""
    rng = Seeded("splits", symbol)
    years = sorted(rng.sample(range(2002, 2025), rng.integer(0, 2)))
    days = (trading_day(date(year, rng.integer(2, 11), rng.integer(1, 28))) for year in years)
    return tuple((day, rng.choice((2.0, 2.0, 3.0, 1.5))) for day in days)


@lru_cache(maxsize=256)
def dividends(stock: Instrument, today: date) -> tuple[tuple[date, float], ...]:
    """Return ex-date and amount of the quarterly dividends up to ``today``, oldest first; empty where none is paid."""
    years = range(FIRST_DIVIDEND_YEAR, today.year + 1) if stock.dividend else ()
    found = []
    for day in (trading_day(date(year, month, 9)) for year in years for month in (2, 5, 8, 11)):
        shares = math.prod(factor for on, factor in splits(stock.symbol) if on > day)
        found.append((day, round(stock.dividend / 4 / 1.05 ** (2025 - day.year) * shares, 2)))
    return tuple((day, amount) for day, amount in found if day <= today and amount > 0)


@lru_cache(maxsize=32)
def traded_bars(stock: Instrument, today: date) -> tuple[Bar, ...]:
    """Return daily bars as they were traded, oldest first: prices jump at a split."""
    paid = {day.isoformat(): amount for day, amount in dividends(stock, today)}
    divided = {day.isoformat(): factor for day, factor in splits(stock.symbol) if day <= today}
    shares = adjustment = split = 1.0
    dividend, found = 0.0, list[Bar]()
    for day in reversed(daily_bars(stock, today)):
        if split != 1.0 or dividend:  # those of the next day
            adjustment *= (1 - dividend / split / (day.close * shares * split)) / split
            shares *= split
        opening, high, low, close = day[1:5] if shares == 1.0 else (round(price * shares, 2) for price in day[1:5])
        dividend, split = paid.get(day.label, 0.0), divided.get(day.label, 1.0)
        received = round(close * adjustment, 4), dividend, split
        found.append(Bar(day.label, opening, high, low, close, day.volume / shares, *received))
    return tuple(reversed(found))


@lru_cache(maxsize=256)
def _minutes(symbol: str, bar: Bar, decimals: int, begin: int, end: int) -> list[float]:
    """Return the price at each minute of a day: between ``begin`` and ``end`` from open to close over high and low."""
    rng = Seeded("minutes", symbol, bar.label)
    waves = [(rng.uniform(2, 9) * 6.2832, rng.uniform(-1, 1), rng.uniform(0, 6.28)) for _ in range(4)]
    path = []
    for minute in range(ALL_DAY[1] + 1):
        at = min(max((minute - begin) / (end - begin), 0.0), 1.0)
        wiggle = sum(size * math.sin(pace * at + phase) for pace, size, phase in waves) * at * (1 - at)
        price = bar.open + (bar.close - bar.open) * at + (bar.high - bar.low) * wiggle
        path.append(round(min(max(price, bar.low), bar.high), decimals + 2))
    inside = range(begin + 1, end)
    path[max(inside, key=path.__getitem__)], path[min(inside, key=path.__getitem__)] = bar.high, bar.low
    return path


def minute_bars(instrument: Instrument, days: Sequence[Bar], step: int, *, regular: bool = False) -> list[Bar]:
    """Return bars of ``step`` minutes aligned to the clock and labelled with their start, oldest first.

    Args:
        instrument: What is traded.
        days: Its daily bars.
        step: Minutes of a bar.
        regular: Only the regular session.
    """
    session = REGULAR if instrument.calendar == "trading" else ALL_DAY
    first, last = session if regular or session == ALL_DAY else EXTENDED
    found = []
    for day in days:
        path = _minutes(instrument.symbol, day, instrument.decimals, *session)
        for start in range(first - first % step, last, step):
            prices = path[max(start, first) : min(start + step, last) + 1]
            label = f"{day.label} {start // 60:02d}:{start % 60:02d}:00"
            volume = day.volume * (len(prices) - 1) / (last - first)
            found.append(Bar(label, prices[0], max(prices), min(prices), prices[-1], volume))
    return found
