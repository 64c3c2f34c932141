"""Read ticker symbols and currency pairs in the spellings of other services: ``$AAPL``, ``NASDAQ:AAPL``, ``EUR/USD``.

Which parameters hold tickers, how a source writes venues and which tool finds a ticker are data of the catalog
(``arguments`` of a source); a source without it keeps every value as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Ticker", "canonical_pattern", "parse_pair", "parse_ticker"]

_MAX_CHARS = 100
_NAME = re.compile(r"[A-Z][a-z]{4,}")
"""A capital and at least four small letters: the name of a company. ``Ibm`` and ``Tsla`` are tickers."""

_MAX_TICKER_LETTERS = 6
"""Letters of the longest ticker without a venue that is believed in small letters."""

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
"""Characters without width, which copied text contains: a ticker with one of them is another ticker."""

_IN_BRACKETS = re.compile(r"[^()]{2,60}\((?:[A-Za-z ]{2,10}: ?)?(?P<ticker>[A-Z][A-Z0-9.\-]{0,9})\)")
_NAMED_AFTER = re.compile(r"(?P<ticker>[A-Z][A-Z0-9.\-]{0,9}) \([^()]{2,60}\)")
_TERMINAL = re.compile(r"(?P<ticker>[A-Za-z0-9.\-/]{1,10}) (?P<venue>[A-Za-z]{2})(?: equity)?", re.IGNORECASE)
_PAIR = re.compile(
    r"(?:[A-Za-z_]{2,10}:)?(?P<base>[A-Za-z0-9]{2,8}) ?(?:[/\-_:|]| to | in | vs |\.)? ?(?P<quote>[A-Za-z]{3,5})(?:=X)?"
)
_CURRENCIES = frozenset({
    "USD", "EUR", "GBP", "JPY", "CHF", "AUD", "CAD", "NZD", "CNY", "CNH", "HKD", "SGD", "KRW", "INR",
    "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "BGN", "TRY", "ILS", "ZAR", "MXN", "BRL", "CLP",
    "COP", "ARS", "PEN", "THB", "IDR", "MYR", "PHP", "VND", "TWD", "AED", "SAR", "QAR", "KWD", "EGP",
    "NGN", "KES", "PKR", "BDT", "LKR", "UAH", "RUB", "ISK", "USDT", "USDC",
})  # fmt: skip
"""Codes of ISO 4217, and two coins that stand for the dollar, by which ``EURUSD`` is known to be a pair."""


class Ticker(NamedTuple):
    """A ticker as the source writes it, and whether a reader may doubt the reading."""

    text: str
    is_noted: bool


def canonical_pattern(rules: Mapping[str, Any], separator: str = "") -> re.Pattern[str]:
    """Return what a ticker, or a list of them, matches that is already as the source writes it.

    Args:
        rules: ``tickers`` of the source.
        separator: what separates the items of a list; empty: the value is one ticker.
    """
    end = f"(?:{re.escape(separator)}|$)" if separator else "$"
    foreign = "|".join(map(re.escape, rules.get("suffixes", {})))
    one = rf"(?![A-Z0-9_\-]*\.(?:{foreign}){end})" if foreign else ""
    one += r"[A-Z0-9][A-Z0-9._\-=]*"
    return re.compile(rf"{one}(?:{re.escape(separator)}{one})*" if separator else one)


def parse_ticker(text: str, rules: Mapping[str, Any]) -> Ticker | None:
    """Return ``text`` as the source writes a ticker, or None for what looks like the name of a company.

    Args:
        text: as the caller wrote it.
        rules: ``tickers`` of the source: ``prefixes`` and ``suffixes``, venue → suffix of the source.
    """
    given = " ".join(_INVISIBLE.sub("", text).split()).strip("\"'`")
    if not given or len(given) > _MAX_CHARS:
        return Ticker(text, False)
    prefixes, suffixes = rules.get("prefixes", {}), rules.get("suffixes", {})
    if match := _IN_BRACKETS.fullmatch(given) or _NAMED_AFTER.fullmatch(given):
        return Ticker(match["ticker"], True)
    given = given.removeprefix("$")
    before, colon, after = (part.strip() for part in given.partition(":"))
    if colon:
        if before.upper() in prefixes:
            return _at_venue(after, prefixes[before.upper()])
        if after.upper() in prefixes:
            return _at_venue(before, prefixes[after.upper()])
        return Ticker(given.upper(), False)
    if (match := _TERMINAL.fullmatch(given)) and match["venue"].upper() in suffixes:
        return _at_venue(match["ticker"], suffixes[match["venue"].upper()])
    name, dot, venue = given.rpartition(".")
    if dot and venue.upper() in suffixes:
        return _at_venue(name, suffixes[venue.upper()])
    base, slash, quote = given.partition("/")
    if slash and quote.upper() in _CURRENCIES:
        return Ticker(f"{base}{quote}".upper(), False)
    is_name = " " in given or "&" in given or "'" in given or bool(_NAME.fullmatch(given))
    is_long = given.isalpha() and not given.isupper() and len(given) > _MAX_TICKER_LETTERS
    return None if is_name or is_long else Ticker(given.upper(), False)


def _at_venue(ticker: str, suffix: str) -> Ticker:
    ticker = ticker.upper()
    if not suffix:
        return Ticker(ticker, False)
    return Ticker(ticker if ticker.endswith(f".{suffix}") else f"{ticker}.{suffix}", True)


def parse_pair(value: Any) -> tuple[str, str] | None:
    """Return the two currencies of ``EUR/USD``, ``eurusd`` and ``BTC-USD``; None where it is not a pair."""
    if not isinstance(value, str) or len(value) > _MAX_CHARS:
        return None
    text = " ".join(value.split())
    if len(text) == 6 and text.isalpha():
        base, quote = text[:3].upper(), text[3:].upper()
        return (base, quote) if quote in _CURRENCIES else None
    if text.isalnum() or not (match := _PAIR.fullmatch(text)):
        return None
    base, quote = match["base"].upper(), match["quote"].upper()
    return (base, quote) if quote in _CURRENCIES else None
