"""What has prices or values. Tickers and names in ``instruments.csv`` are facts, levels are invented.

Random numbers are those of a seed: the same in every process, in every version of Python and on every day.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, TypeVar

T = TypeVar("T")


class Seeded:
    """Random numbers whose seed is a sequence of names, by the one method that Python promises not to change."""

    __slots__ = ("random",)

    def __init__(self, *names: object) -> None:
        digest = sha256("\x1f".join(map(str, names)).encode()).digest()
        self.random = Random(int.from_bytes(digest[:8], "big")).random  # noqa: S311 - repeatable on purpose

    def uniform(self, low: float, high: float) -> float:
        """Return a number between ``low`` and ``high``."""
        return low + (high - low) * self.random()

    def integer(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return low + int((high - low + 1) * self.random())

    def choice(self, choices: Sequence[T]) -> T:
        """Return one of the choices."""
        return choices[int(len(choices) * self.random())]

    def sample(self, choices: Sequence[T], count: int) -> list[T]:
        """Return ``count`` different choices, in random order."""
        pool = list(choices)
        return [pool.pop(int(len(pool) * self.random())) for _ in range(min(count, len(pool)))]


class UnknownSymbol(LookupError):
    """No market has the symbol, or there is no data of this kind for it."""


@dataclass(frozen=True, slots=True)
class Instrument:
    """Something with a price or value of each day.

    Attributes:
        kind: ``Equity``, ``ETF``, ``index``, ``currency``, ``coin``, ``metal`` or ``series`` (of the economy).
        symbol: Ticker or code, or the function of a series; the seed of the prices.
        level: The price at the beginning of 2026; in dollars for currencies, coins and metals.
        dividend: What a share pays per year.
        growth, volatility: The trend per year, and the typical move per day, as fractions.
        calendar: ``trading`` (New York), ``weekdays`` or ``every``.
    """

    kind: str
    symbol: str
    name: str
    level: float
    dividend: float = 0.0
    exchange: str = "NYSE"
    sector: str = "INDUSTRIALS"
    region: str = "United States"
    currency: str = "USD"
    unit: str = ""
    growth: float = 0.06
    volatility: float = 0.013
    decimals: int = 2
    volume: float = 0.0
    calendar: str = "trading"
    first_year: int = 2000


_NUMBERS = {"level": float, "dividend": float, "growth": float, "volatility": float, "decimals": int, "first_year": int}


def _share(instrument: Instrument) -> Instrument:
    rng = Seeded("stock", instrument.symbol)
    volume = rng.uniform(2e6, 6e7) * min(1.0, 200 / instrument.level)
    return replace(instrument, growth=rng.uniform(0.05, 0.12), volatility=rng.uniform(0.009, 0.02), volume=volume)


def _read() -> Mapping[tuple[str, str], Instrument]:
    found = {}
    with Path(__file__).with_name("instruments.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            given: dict[str, Any] = {name: _NUMBERS.get(name, str)(text) for name, text in line.items() if text}
            one = Instrument(**given)
            is_share = one.kind in ("Equity", "ETF")
            found["stock" if is_share else one.kind, one.symbol] = _share(one) if is_share else one
    return found


INSTRUMENTS = _read()
"""By kind and symbol; shares and funds have the kind ``stock`` here."""

METALS = {"GOLD": "XAU", "SILVER": "XAG"}


def of_kind(kind: str) -> list[Instrument]:
    """Return all instruments of one kind, in the order of the table."""
    return [one for (of, _), one in INSTRUMENTS.items() if of == kind]


def find(kind: str, symbol: str) -> Instrument:
    """Return an instrument of one kind; like the functions below it raises :class:`UnknownSymbol`."""
    found = INSTRUMENTS.get((kind, symbol.upper()))
    if found is None:
        raise UnknownSymbol(symbol)
    return found


def find_stock(symbol: str) -> Instrument:
    """Return the share or fund with this ticker. A pair such as BTCUSD is not a share."""
    return find("stock", symbol.upper().replace("BRK.", "BRK-"))


def find_company(symbol: str) -> Instrument:
    """Return a company. Funds have no company data."""
    found = find_stock(symbol)
    if found.kind == "ETF":
        raise UnknownSymbol(symbol)
    return found


def find_money(code: str) -> Instrument:
    """Return a currency or coin."""
    return find("coin" if ("coin", code.upper()) in INSTRUMENTS else "currency", code)


def find_pair(code: str, market: str) -> Instrument:
    """Return one currency or coin in units of another. A pair with a coin trades every day, any other on weekdays."""
    base, quote = find_money(code), find_money(market)
    level, symbol = base.level / quote.level, f"{base.symbol}/{quote.symbol}"
    pair = Instrument("pair", symbol, base.name, level, growth=0, volatility=0.004, decimals=5, calendar="weekdays")
    if "coin" not in (base.kind, quote.kind):
        return pair
    volume = Seeded("coin", symbol).uniform(0.3, 0.8) * 1e8 / base.level
    return replace(pair, growth=0.12, volatility=0.026, decimals=8, volume=volume, calendar="every")


def find_charted(symbol: str) -> Instrument:
    """Return what indicators are computed of: a share, a fund, or a pair written as one word (EURUSD)."""
    for code in (one.symbol for kind in ("currency", "coin") for one in of_kind(kind)):
        market = symbol.upper().removeprefix(code)
        if len(market) < len(symbol) and (("currency", market) in INSTRUMENTS or ("coin", market) in INSTRUMENTS):
            return find_pair(code, market)
    return find_stock(symbol)
