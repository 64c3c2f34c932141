"""What has a price: its facts from ``instruments.csv``, and one random series each, of which all else is computed.

Tickers and names are facts, levels are invented. A series is computed forward from the first year of an instrument, so
a day has the same prices on every later day.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple


def seeded(*names: object) -> Random:
    """Return random numbers that are the same for these names in every process and on every day."""
    return Random("\x1f".join(map(str, names)))  # noqa: S311 - repeatable on purpose


def read_table(name: str) -> list[dict[str, str]]:
    """Return the lines of a CSV file of this package."""
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class UnknownSymbol(LookupError):
    """No market has the symbol, or there is no data of this kind for it."""


@dataclass(frozen=True, slots=True)
class Instrument:
    """Something with a price or value of each day.

    Attributes:
        kind: ``Equity``, ``ETF``, ``index``, ``currency``, ``coin``, ``metal`` or ``series`` (of the economy).
        symbol: Ticker or code, or the function of a series; the seed of the prices.
        level: About the price at the beginning of 2026; in dollars for currencies, coins and metals.
        dividend: What a share pays per year, or 0.
        splits: Its splits, ``DAY=FACTOR``, oldest first.
        growth, volatility: The trend per year, and the typical move per day, as fractions.
        calendar: ``trading`` (weekdays, with the sessions of New York), ``weekdays`` or ``every``.
    """

    kind: str
    symbol: str
    name: str
    level: float
    dividend: float = 0.0
    splits: str = ""
    exchange: str = "NYSE"
    region: str = "United States"
    currency: str = "USD"
    unit: str = ""
    growth: float = 0.06
    volatility: float = 0.013
    decimals: int = 2
    volume: float = 0.0
    calendar: str = "trading"
    first_year: int = 2000

    @property
    def shown_decimals(self) -> int:
        """The decimals in answers: shares have four, although they trade in cents."""
        return 4 if self.kind in ("Equity", "ETF") else self.decimals

    @property
    def is_company(self) -> bool:
        """Whether it has company data; funds have none."""
        return self.kind == "Equity"

    def splits_after(self, label: str) -> list[tuple[str, float]]:
        """Return day and factor of the splits after a day."""
        known = (split.split("=") for split in self.splits.split())
        return [(day, float(factor)) for day, factor in known if day > label]


_GROUPS = {"Equity": "stock", "ETF": "stock", "currency": "money", "coin": "money"}
METALS = {"GOLD": "XAU", "SILVER": "XAG"}
_CLOSED = {(1, 1), (7, 4), (12, 25)}  # month and day
_PERSISTENCE = 0.99  # of the distance from the trend: it keeps decades of prices in a plausible range
_REGULAR, _EXTENDED, _ALL_DAY = (570, 960), (240, 1200), (0, 1440)  # minutes of sessions of New York, and of a day
_PARSERS: Mapping[str, Callable[[str], Any]] = {"str": str, "float": float, "int": int}


INSTRUMENTS: Mapping[tuple[str, str], Instrument] = {
    (_GROUPS.get(line["kind"], line["kind"]), line["symbol"]): Instrument(
        **{one.name: _PARSERS[str(one.type)](line[one.name]) for one in fields(Instrument) if line[one.name]}
    )
    for line in read_table("instruments.csv")
}
"""By kind, or what several kinds are together, and symbol."""


def of_kind(kind: str) -> list[Instrument]:
    """Return all instruments of one kind, in the order of the table."""
    return [one for (of, _), one in INSTRUMENTS.items() if of == kind]


def find(kind: str, symbol: str) -> Instrument:
    """Return an instrument of one kind; like the functions below it raises :class:`UnknownSymbol`."""
    if (kind, symbol.upper()) not in INSTRUMENTS:
        raise UnknownSymbol(symbol)
    return INSTRUMENTS[kind, symbol.upper()]


def find_pair(code: str, market: str, *, is_coin: bool = False) -> Instrument:
    """Return one currency or coin in units of another. A pair with a coin trades every day, any other on weekdays."""
    base, quote = find("money", code), find("money", market)
    if is_coin and base.kind != "coin":
        raise UnknownSymbol(code)
    level, symbol = base.level / quote.level, f"{base.symbol}/{quote.symbol}"
    pair = Instrument("pair", symbol, base.name, level, growth=0, volatility=0.004, decimals=5, calendar="weekdays")
    if "coin" not in (base.kind, quote.kind):
        return pair
    return replace(pair, growth=0.12, volatility=0.026, decimals=8, volume=5e7 / base.level, calendar="every")


def find_charted(symbol: str) -> Instrument:
    """Return what indicators are computed of: a share, a fund, or a pair written as one word (EURUSD)."""
    for one in of_kind("money"):
        market = symbol.upper().removeprefix(one.symbol)
        if len(market) < len(symbol) and ("money", market) in INSTRUMENTS:
            return find_pair(one.symbol, market)
    return find("stock", symbol)


class Bar(NamedTuple):
    """Prices and volume of one day or span of minutes; ``label`` is ``YYYY-MM-DD[ HH:MM:SS]``."""

    label: str
    open: float
    high: float
    low: float
    close: float
    volume: float


def is_trading_day(day: date, calendar: str = "trading") -> bool:
    """Return whether there are prices on this day. Of the holidays of New York those that move are left out."""
    is_holiday = day.weekday() >= 5 or (calendar == "trading" and (day.month, day.day) in _CLOSED)
    return calendar == "every" or not is_holiday


def trading_day(day: date, step: int = 1) -> date:
    """Return the first trading day from ``day`` on; with ``step`` -1 the last until then."""
    while not is_trading_day(day):
        day += timedelta(days=step)
    return day


def add_months(day: date, months: int) -> date:
    """Return ``day`` moved by whole months. Only valid for days up to the 28th."""
    index = day.year * 12 + day.month - 1 + months
    return date(index // 12, index % 12 + 1, day.day)


@lru_cache(maxsize=64)
def daily_bars(instrument: Instrument, today: date) -> tuple[Bar, ...]:
    """Return the bars of every day up to ``today``, oldest first; those of a share are adjusted for splits."""
    swing, decimals, first = instrument.volatility, instrument.decimals, date(instrument.first_year, 1, 1)
    random, distance, previous, bars = seeded("bars", instrument.symbol).random, 0.0, 0.0, list[Bar]()
    for number in range((today - first).days + 1):
        day = first + timedelta(days=number)
        if not is_trading_day(day, instrument.calendar):
            continue
        # Each step is the sum of three random numbers, which is roughly normal.
        distance = distance * _PERSISTENCE + swing * (random() + random() + random() - 1.5) * 2
        trend = instrument.growth * (day - date(2026, 1, 1)).days / 365.25
        close = max(round(instrument.level * math.exp(trend + distance), decimals), 10.0**-decimals)
        opening = round((previous or close) * (1 + swing * (random() - 0.5) * 0.6), decimals)
        high = round(max(opening, close) * (1 + swing * random() * 0.7), decimals)
        low = round(min(opening, close) * (1 - swing * random() * 0.7), decimals)
        bars.append(Bar(day.isoformat(), opening, high, low, close, instrument.volume * (0.6 + 0.9 * random())))
        previous = close
    return tuple(bars)


PERIODS: dict[str, Callable[[str], object]] = {
    "daily": lambda label: label,
    "weekly": lambda label: (date.fromisoformat(label).toordinal() - 1) // 7,
    "monthly": lambda label: label[:7],
    "quarterly": lambda label: (label[:4], (int(label[5:7]) - 1) // 3),
    "semiannual": lambda label: (label[:4], label[5:7] > "06"),
    "annual": lambda label: label[:4],
}
"""Interval → what the labels of its days have in common."""


def group(bars: Iterable[Bar], interval: str, *, is_finished: bool = False) -> list[Bar]:
    """Return one bar for each period, labelled with its last day, oldest first.

    Args:
        bars: Those of days.
        interval: A key of :data:`PERIODS`.
        is_finished: Without the newest period, and labelled with the first of its months, as indicators of the economy.
    """
    parts = [list(part) for _, part in groupby(bars, lambda bar: PERIODS[interval](bar.label))]
    is_month = is_finished and interval not in ("daily", "weekly")
    return [
        part[0]
        if len(part) == 1
        else part[-1]._replace(
            label=f"{part[0].label[:7]}-01" if is_month else part[-1].label,
            open=part[0].open,
            high=max(bar.high for bar in part),
            low=min(bar.low for bar in part),
            volume=sum(bar.volume for bar in part),
        )
        for part in (parts[:-1] if is_finished else parts)
    ]


def minute_bars(instrument: Instrument, days: Sequence[Bar], step: int, *, regular: bool = False) -> list[Bar]:
    """Return bars of ``step`` minutes aligned to the clock and labelled with their start, oldest first.

    They begin and end as the day, and stay between its high and its low.

    Args:
        instrument: What is traded.
        days: Its daily bars.
        step: Minutes of a bar.
        regular: Only the regular session.
    """
    first, last = _ALL_DAY if instrument.calendar != "trading" else _REGULAR if regular else _EXTENDED
    starts = range(first - first % step, last, step)
    found = []
    for day in days:
        rng = seeded("minutes", instrument.symbol, day.label)
        inner = [round(rng.uniform(day.low, day.high), instrument.decimals + 2) for _ in starts[1:]]
        for start, (opening, close) in zip(starts, pairwise([day.open, *inner, day.close]), strict=True):
            label = f"{day.label} {start // 60:02d}:{start % 60:02d}:00"
            high, low = max(opening, close), min(opening, close)
            found.append(Bar(label, opening, high, low, close, day.volume / len(starts)))
    return found
