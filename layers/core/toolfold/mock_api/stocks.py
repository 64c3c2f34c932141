"""Stock prices of a symbol: unadjusted and adjusted, by day, week, month and minute; dividends and splits."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from toolfold.mock_api.companies import get_company
from toolfold.mock_api.price_series import NEW_YORK_SESSION, Bar, PriceSeries, daily_bars, intraday_bars
from toolfold.mock_api.seeded_random import SeededRandom
from toolfold.mock_api.trading_days import trading_day_on_or_after

SPLIT_FACTORS = (2.0, 2.0, 3.0, 1.5)
FIRST_DIVIDEND_YEAR = 2000


class Dividend(NamedTuple):
    """One cash dividend."""

    ex_date: date
    declared: date
    paid: date
    amount: float


class Split(NamedTuple):
    """One stock split: ``factor`` new shares for an old one."""

    day: date
    factor: float


class AdjustedBar(NamedTuple):
    """A day as it was traded, with adjusted close, dividend and split coefficient."""

    bar: Bar
    adjusted_close: float
    dividend: float
    split: float


@lru_cache(maxsize=256)
def price_series_for(symbol: str) -> PriceSeries:
    """Return the parameters of the price series of a stock."""
    issuer = get_company(symbol)
    rng = SeededRandom("stock", issuer.symbol)
    shares = rng.uniform(2e6, 6e7) * min(1.0, 200 / issuer.level)
    return PriceSeries(
        issuer.symbol,
        issuer.level,
        growth=rng.uniform(0.05, 0.12),
        volatility=rng.uniform(0.009, 0.02),
        volume=shares,
    )


@lru_cache(maxsize=256)
def splits(symbol: str) -> tuple[Split, ...]:
    """Return the splits, between none and two, oldest first."""
    rng = SeededRandom("splits", symbol.upper())
    years = sorted(rng.sample(range(2002, 2025), rng.randint(0, 2)))
    return tuple(
        Split(trading_day_on_or_after(date(year, rng.randint(2, 11), rng.randint(1, 28))), rng.choice(SPLIT_FACTORS))
        for year in years
    )


def split_factor_after(symbol: str, day: date) -> float:
    """Return the factor by which a share of ``day`` has been multiplied since."""
    factor = 1.0
    for split in splits(symbol):
        if split.day > day:
            factor *= split.factor
    return factor


@lru_cache(maxsize=256)
def dividends(symbol: str, today: date) -> tuple[Dividend, ...]:
    """Return the quarterly payments up to ``today``, oldest first, unadjusted; empty where none is paid."""
    issuer = get_company(symbol)
    if not issuer.dividend:
        return ()
    found: list[Dividend] = []
    for year in range(FIRST_DIVIDEND_YEAR, today.year + 1):
        for month in (2, 5, 8, 11):
            ex_date = trading_day_on_or_after(date(year, month, 9))
            growth = 1.05 ** (2025 - year)
            amount = round(issuer.dividend / 4 / growth * split_factor_after(symbol, ex_date), 2)
            if ex_date <= today and amount > 0:
                found.append(
                    Dividend(
                        ex_date,
                        ex_date - timedelta(days=16),
                        trading_day_on_or_after(ex_date + timedelta(days=30)),
                        amount,
                    )
                )
    return tuple(found)


@lru_cache(maxsize=32)
def unadjusted_bars(symbol: str, today: date) -> tuple[Bar, ...]:
    """Return daily bars at the prices of their day, oldest first. They jump at a stock split."""
    bars = daily_bars(price_series_for(symbol), today)
    past = [split for split in splits(symbol) if split.day <= today]
    if not past:
        return bars
    return tuple(_scale_bar(bar, split_factor_after(symbol, date.fromisoformat(bar.label))) for bar in bars)


def _scale_bar(bar: Bar, factor: float) -> Bar:
    if factor == 1.0:
        return bar
    opening, high, low, close = (round(price * factor, 2) for price in bar[1:5])
    return Bar(bar.label, opening, high, low, close, bar.volume / factor)


@lru_cache(maxsize=16)
def adjusted_bars(symbol: str, today: date) -> tuple[AdjustedBar, ...]:
    """Return unadjusted daily bars with adjusted close, dividend and split coefficient, oldest first."""
    paid = {dividend.ex_date.isoformat(): dividend.amount for dividend in dividends(symbol, today)}
    split = {event.day.isoformat(): event.factor for event in splits(symbol) if event.day <= today}
    found: list[AdjustedBar] = []
    factor = 1.0
    bars = unadjusted_bars(symbol, today)
    for index in range(len(bars) - 1, -1, -1):
        bar = bars[index]
        amount, coefficient = paid.get(bar.label, 0.0), split.get(bar.label, 1.0)
        found.append(AdjustedBar(bar, round(bar.close * factor, 4), amount, coefficient))
        if index:
            factor *= (1 - amount / coefficient / bars[index - 1].close) / coefficient
    return tuple(reversed(found))


def last_close(symbol: str, today: date) -> float:
    """Return the newest unadjusted close."""
    return unadjusted_bars(symbol, today)[-1].close


def minute_bars(
    symbol: str, today: date, minutes: int, *, month: str = "", extended_hours: bool = True, split_adjusted: bool = True
) -> list[Bar]:
    """Return intraday bars, oldest first: of the last 30 days, or of ``month`` (YYYY-MM)."""
    days = daily_bars(price_series_for(symbol), today) if split_adjusted else unadjusted_bars(symbol, today)
    since = (today - timedelta(days=30)).isoformat()
    chosen = [bar for bar in days if (bar.label.startswith(month) if month else bar.label > since)]
    return intraday_bars(price_series_for(symbol), chosen, minutes, NEW_YORK_SESSION, extended_hours=extended_hours)
