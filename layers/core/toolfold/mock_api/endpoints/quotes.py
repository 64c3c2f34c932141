"""Quotes, symbol search and market status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolfold.mock_api.endpoint import (
    DATATYPE,
    ENTITLEMENT,
    ApiRequest,
    Document,
    Endpoint,
    Parameter,
    Table,
    document_without_rows,
    is_unknown_symbol,
    list_table,
    number_keys,
)
from toolfold.mock_api.endpoints.core_stocks import SYMBOL
from toolfold.mock_api.price_series import is_trading_day
from toolfold.mock_api.seeded_random import SeededRandom
from toolfold.mock_api.stocks import COMPANIES, Company, unadjusted_bars

QUOTE_KEYS = number_keys(
    "symbol", "open", "high", "low", "price", "volume", "latest trading day", "previous close", "change",
    "change percent", width=2,
)  # fmt: skip
QUOTE_HEADER = ("symbol", "open", "high", "low", "price", "volume", "latestDay", "previousClose", "change",
                "changePercent")  # fmt: skip
# With entitlement=delayed the only key of a quote has another name.
QUOTE_TITLES = {"delayed": "Global Quote - DATA DELAYED BY 15 MINUTES"}


class _QuoteTable(Table):
    """Table of the single row of a quote, under every name that the entitlement gives it."""

    __slots__ = ()

    def rows(self, document: Document, request: ApiRequest) -> Iterable[Sequence[str]]:
        return [list(quote.values()) for quote in document.values() if quote]


def _quote(request: ApiRequest) -> Document:
    before, bar = unadjusted_bars(request.text("symbol"), request.today)[-2:]
    change = bar.close - before.close
    values = [
        request.text("symbol").upper(),
        *(f"{price:.4f}" for price in bar[1:5]),
        f"{bar.volume:.0f}",
        bar.label,
        f"{before.close:.4f}",
        f"{change:.4f}",
        f"{100 * change / before.close:.4f}%",
    ]
    title = QUOTE_TITLES.get(request.text("entitlement"), "Global Quote")
    return {title: dict(zip(QUOTE_KEYS, values, strict=True))}


def _empty_quote(_: ApiRequest) -> Document:
    return {"Global Quote": {}}


BULK_KEYS = (
    "symbol", "timestamp", "open", "high", "low", "close", "volume", "previous_close", "change", "change_percent",
    "extended_hours_quote", "extended_hours_change", "extended_hours_change_percent",
)  # fmt: skip
BID_ASK_KEYS = ("symbol", "timestamp", "bid_price", "ask_price", "bid_size", "ask_size")
BULK_SYMBOLS = Parameter("symbol", required=True, comma_list=True)
BULK_LIMIT = 100  # the vendor reads the first hundred symbols and drops the rest


def _bulk_symbols(request: ApiRequest) -> list[str]:
    return [symbol.upper() for symbol in request.comma_list("symbol")[:BULK_LIMIT] if not is_unknown_symbol(symbol)]


def _bulk_quotes(request: ApiRequest) -> Document:
    rows = []
    for symbol in _bulk_symbols(request):
        rng = SeededRandom("bulk", symbol, request.today)
        before, bar = unadjusted_bars(symbol, request.today)[-2:]
        change, late = bar.close - before.close, round(bar.close * rng.uniform(0.998, 1.002), 2)
        clock = f"{bar.label} 19:59:{rng.randint(0, 59):02d}.{rng.randint(0, 999):03d}"
        percent, late_percent = 100 * change / before.close, 100 * (late - bar.close) / bar.close
        values = [
            symbol, clock, *(str(price) for price in bar[1:5]), f"{bar.volume:.0f}", str(before.close),
            f"{change:.2f}", f"{percent:.4f}", str(late), f"{late - bar.close:.2f}", f"{late_percent:.5f}",
        ]  # fmt: skip
        rows.append(dict(zip(BULK_KEYS, values, strict=True)))
    return {"endpoint": "Realtime Bulk Quotes", "message": "success", "data": rows}


def _bid_ask(request: ApiRequest) -> Document:
    rows = []
    for symbol in _bulk_symbols(request):
        rng = SeededRandom("bid ask", symbol, request.today)
        bar = unadjusted_bars(symbol, request.today)[-1]
        half = max(0.01, round(bar.close * 0.0001, 2))
        values = [
            symbol, f"{bar.label} 15:59:{rng.randint(0, 59):02d}", f"{bar.close - half:.2f}",
            f"{bar.close + half:.2f}", str(100 * rng.randint(1, 20)), str(100 * rng.randint(1, 20)),
        ]  # fmt: skip
        rows.append(dict(zip(BID_ASK_KEYS, values, strict=True)))
    return {"endpoint": "Realtime Bulk Bid and Ask Prices", "message": "success", "data": rows}


MATCH_KEYS = number_keys(
    "symbol", "name", "type", "region", "marketOpen", "marketClose", "timezone", "currency", "matchScore"
)
# region -> market hours and the winter time zone
HOURS = {
    "United States": ("09:30", "16:00", "UTC-05"),
    "United Kingdom": ("08:00", "16:30", "UTC+00"),
    "Toronto": ("09:30", "16:00", "UTC-05"),
    "Toronto Venture": ("09:30", "16:00", "UTC-05"),
    "XETRA": ("08:00", "20:00", "UTC+01"),
    "India/Bombay": ("09:15", "15:30", "UTC+5.5"),
    "Shanghai": ("09:30", "15:00", "UTC+08"),
    "Shenzhen": ("09:30", "15:00", "UTC+08"),
}
MATCH_LIMIT = 10


def _score(wanted: str, issuer: Company) -> float:
    """Return 1 for the ticker itself, less for a ticker or a word of the name that begins with ``wanted``."""
    symbol, name = issuer.symbol.lower(), issuer.name.lower()
    if wanted in (symbol, name):
        return 1.0
    if symbol.startswith(wanted) or wanted.startswith(f"{symbol} "):
        return 0.5 + 0.4 * len(wanted) / max(len(symbol), len(wanted))
    if any(word.startswith(wanted) for word in name.split()) or name.startswith(wanted):
        return 0.4 + 0.5 * len(wanted) / len(name)
    return 0.0


def _search(request: ApiRequest) -> Document:
    wanted = request.text("keywords").strip().lower()
    scored = [(_score(wanted, issuer), issuer) for issuer in COMPANIES.values()]
    best = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1].symbol))[:MATCH_LIMIT]
    rows = []
    for score, issuer in best:
        identity = (issuer.symbol, issuer.name, issuer.kind, issuer.region)
        values = [*identity, *HOURS[issuer.region], issuer.currency, f"{score:.4f}"]
        rows.append(dict(zip(MATCH_KEYS, values, strict=True)))
    return {"bestMatches": rows}


# market type | region | exchanges | opens | closes | notes
_MARKETS = """
Equity|United States|NASDAQ, NYSE, AMEX, BATS|09:30|16:15|
Equity|Canada|Toronto, Toronto Ventures|09:30|16:00|
Equity|United Kingdom|London|08:00|16:30|
Equity|Germany|XETRA, Berlin, Frankfurt, Munich, Stuttgart|08:00|20:00|
Equity|France|Paris|09:00|17:30|
Equity|Spain|Barcelona, Madrid|09:00|17:30|
Equity|Portugal|Lisbon|08:00|16:30|
Equity|Japan|Tokyo|09:00|15:00|Lunch break 11:30-12:30 local time
Equity|India|NSE, BSE|09:15|15:30|
Equity|Mainland China|Shanghai, Shenzhen|09:30|15:00|Lunch break 11:30-13:00 local time
Equity|Hong Kong|Hong Kong|09:30|16:00|Lunch break 12:00-13:00 local time
Equity|Brazil|Sao Paolo|10:00|17:30|
Equity|Mexico|Mexico|08:30|15:00|
Equity|South Africa|Johannesburg|09:00|17:00|
Forex|Global|Global|00:00|23:59|Open around the clock on weekdays
Cryptocurrency|Global|Global|00:00|23:59|Open around the clock
"""
MARKET_KEYS = ("market_type", "region", "primary_exchanges", "local_open", "local_close", "current_status", "notes")


def _market_status(request: ApiRequest) -> Document:
    """Return the status at the end of the day: stock markets have closed, the others follow the calendar."""
    status = {
        "Equity": "closed",
        "Forex": "open" if is_trading_day(request.today) else "closed",
        "Cryptocurrency": "open",
    }
    rows = []
    for line in _MARKETS.split("\n")[1:-1]:
        kind, region, exchanges, opens, closes, notes = line.split("|")
        values = (kind, region, exchanges, opens, closes, status[kind], notes)
        rows.append(dict(zip(MARKET_KEYS, values, strict=True)))
    return {"endpoint": "Global Market Open & Close Status", "markets": rows}


ENDPOINTS = (
    Endpoint(
        "GLOBAL_QUOTE",
        (SYMBOL, DATATYPE, ENTITLEMENT),
        _quote,
        _QuoteTable("", "object", QUOTE_HEADER),
        unknown_symbol=_empty_quote,
    ),
    Endpoint(
        "REALTIME_BULK_QUOTES",
        (BULK_SYMBOLS, DATATYPE, ENTITLEMENT),
        _bulk_quotes,
        list_table("data", *BULK_KEYS),
        access="placeholder",
        symbol="",
    ),
    Endpoint(
        "REALTIME_BULK_BID_ASK_PRICES",
        (BULK_SYMBOLS, DATATYPE, ENTITLEMENT),
        _bid_ask,
        list_table("data", *BID_ASK_KEYS),
        access="placeholder",
        symbol="",
    ),
    Endpoint(
        "SYMBOL_SEARCH",
        (Parameter("keywords", required=True), DATATYPE),
        _search,
        list_table("bestMatches", *MATCH_KEYS),
        symbol="keywords",
        unknown_symbol=document_without_rows(rows="bestMatches"),
    ),
    Endpoint("MARKET_STATUS", (), _market_status, symbol=""),
)
