"""Probes of the envelope and the arguments of TOOL_CALL, written down before it was tried which of them work.

They ask for another symbol than the examples of the catalog: an error that proposes an example leads nowhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.agent.probes.model import Probe
from benchmarks.agent.raw_data import RawData

_MSFT = {"symbol": "MSFT"}
_RSI = {"symbol": "MSFT", "interval": "daily", "time_period": 14, "series_type": "close"}


def _price(data: RawData) -> list[Any]:
    return [data.record("GLOBAL_QUOTE", symbol="MSFT")["price"]]


def _close(data: RawData) -> list[Any]:
    return [data.rows("TIME_SERIES_DAILY", symbol="MSFT")[0]["close"]]


def _rsi(data: RawData) -> list[Any]:
    return [data.rows("RSI", **{name: str(value) for name, value in _RSI.items()})[0]["RSI"]]


def _ratio(data: RawData) -> list[Any]:
    found = data.record("HISTORICAL_PUT_CALL_RATIO", symbol="MSFT", date="2025-06-16")
    return [float(found["put_call_ratio_full_chain"])]


_ENVELOPES: tuple[dict[str, Any], ...] = (
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT},
    {"tool_name": "GLOBAL_QUOTE", "arguments": '{"symbol": "MSFT"}'},
    {"tool_name": "GLOBAL_QUOTE", "arguments": "{'symbol': 'MSFT'}"},
    {"tool_name": "GLOBAL_QUOTE", "arguments": "symbol=MSFT"},
    {"tool_name": "GLOBAL_QUOTE", "arguments": "MSFT"},
    {"tool_name": "GLOBAL_QUOTE", "arguments": [_MSFT]},
    {"tool_name": "GLOBAL_QUOTE", "arguments": ["MSFT"]},
    {"tool_name": "GLOBAL_QUOTE", "arguments": {"arguments": _MSFT}},
    {"tool_name": "GLOBAL_QUOTE", "arguments": {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT}},
    {"tool_name": "GLOBAL_QUOTE", "symbol": "MSFT"},
    {"tool_name": "GLOBAL_QUOTE", "args": _MSFT},
    {"tool_name": "GLOBAL_QUOTE", "params": _MSFT},
    {"tool_name": "GLOBAL_QUOTE", "parameters": _MSFT},
    {"tool_name": "GLOBAL_QUOTE", "input": _MSFT},
    {"tool_name": "GLOBAL_QUOTE", "inputs": _MSFT},
    {"tool_name": "GLOBAL_QUOTE", "kwargs": _MSFT},
    {"tool_name": "GLOBAL_QUOTE", "tool_input": _MSFT},
    {"name": "GLOBAL_QUOTE", "arguments": _MSFT},
    {"tool": "GLOBAL_QUOTE", "arguments": _MSFT},
    {"function": "GLOBAL_QUOTE", "arguments": _MSFT},
    {"command": "GLOBAL_QUOTE", "arguments": _MSFT},
    {"toolName": "GLOBAL_QUOTE", "arguments": _MSFT},
    {"tool_name": ["GLOBAL_QUOTE"], "arguments": _MSFT},
    {"tool_name": "global_quote", "arguments": _MSFT},
    {"tool_name": "GlobalQuote", "arguments": _MSFT},
    {"tool_name": "Global Quote", "arguments": _MSFT},
    {"tool_name": "TOOL_CALL", "arguments": {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT}},
    {"tool_name": "GLOBAL_QUOTE", "arguments": {**_MSFT, "select": "price"}},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "selct": "price"},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "Select": "price"},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "fields": ["price"]},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "columns": "price"},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "select": ["symbol", "price"]},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "max_tokens": "900"},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "max_tokens": 5},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "max_tokens": 10**9},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "max_tokens": "lots"},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "fresh": "yes"},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "fresh": "maybe"},
    {"tool_name": "GLOBAL_QUOTE", "arguments": _MSFT, "timeout": 5},
    {"tool_name": "GLOBAL_QUOTES", "arguments": _MSFT},
    {"tool_name": "get_quote", "arguments": _MSFT},
    {"tool_name": "alpha_vantage:GLOBAL_QUOTE", "arguments": _MSFT},
)

_QUOTES: tuple[dict[str, Any], ...] = (
    {"symbol": "msft"},
    {"symbol": " MSFT "},
    {"symbol": "$MSFT"},
    {"symbol": "NASDAQ:MSFT"},
    {"symbol": ["MSFT"]},
    {"symbol": '["MSFT"]'},
    {"ticker": "MSFT"},
    {"tickers": "MSFT"},
    {"tickers": ["MSFT"]},
    {"symbols": "MSFT"},
    {"symbols": ["MSFT"]},
    {"SYMBOL": "MSFT"},
    {"Symbol": "MSFT"},
    {"SYMBOLS": "MSFT"},
    {"stock": "MSFT"},
    {"stock_symbol": "MSFT"},
    {"code": "MSFT"},
    {"symbl": "MSFT"},
    {"symbol": "MSFT", "foo": 1},
    {"symbol": "MSFT", "apikey": "demo"},
    {"symbol": "MSFT", "function": "GLOBAL_QUOTE"},
    {"symbol": "MSFT", "datatype": "JSON"},
    {"symbol": "MSFT", "datatype": "table"},
    {"symbol": "MSFT", "format": "csv"},
    {"symbol": "MSFT", "datatype": None},
)

_SERIES: tuple[dict[str, Any], ...] = (
    {"symbol": "MSFT", "interval": "daily"},
    {"symbol": "MSFT", "outputsize": "FULL"},
    {"symbol": "MSFT", "outputsize": "all"},
    {"symbol": "MSFT", "outputsize": 100},
    {"symbol": "MSFT", "output_size": "compact"},
    {"symbol": "MSFT", "start_date": "2026-01-01", "end_date": "2026-01-13"},
    {"symbol": "MSFT", "from": "2026-01-01"},
    {"symbol": "MSFT", "date": "2026-01-13"},
    {"symbol": "MSFT", "period": "1mo"},
    {"symbol": "MSFT", "limit": 5},
    {"symbol": "MSFT", "adjusted": True},
)

_INDICATORS: tuple[dict[str, Any], ...] = (
    {**_RSI, "time_period": "14"},
    {**_RSI, "time_period": 14.0},
    {**_RSI, "time_period": "14 days"},
    {**_RSI, "time_period": "fourteen"},
    {**_RSI, "interval": "Daily"},
    {**_RSI, "interval": "1d"},
    {**_RSI, "interval": "day"},
    {**_RSI, "interval": "D"},
    {**_RSI, "series_type": "Close"},
    {**_RSI, "series_type": "closing price"},
    {**_RSI, "seriesType": "close"},
    {"symbol": "MSFT", "interval": "daily", "period": 14, "series_type": "close"},
    {"symbol": "MSFT", "interval": "daily", "length": 14, "series_type": "close"},
    {"symbol": "MSFT", "interval": "daily", "timePeriod": 14, "series_type": "close"},
    {"symbol": "MSFT", "interval": "daily", "window": 14, "series_type": "close"},
    {"symbol": "MSFT", "timeframe": "daily", "time_period": 14, "series_type": "close"},
    {"symbol": "MSFT", "interval": "daily", "time_period": 14},
    {"symbol": "MSFT", "time_period": 14, "series_type": "close"},
    {"symbol": "MSFT"},
)

_OTHERS: tuple[tuple[str, dict[str, Any], Callable[[RawData], list[Any]] | None], ...] = (
    *(
        ("HISTORICAL_PUT_CALL_RATIO", {"symbol": "MSFT", "date": date}, _ratio)
        for date in (
            "2025/06/16",
            "June 16, 2025",
            "16 Jun 2025",
            "20250616",
            "2025-6-16",
            "2025-06-16T00:00:00",
            "06/16/2025",
        )
    ),
    ("HISTORICAL_PUT_CALL_RATIO", {"symbol": "MSFT", "date": "2025-06-31"}, None),
    ("HISTORICAL_PUT_CALL_RATIO", {"symbol": "MSFT", "date": "yesterday"}, None),
    *(
        ("NEWS_SENTIMENT", {"tickers": "AAPL", "time_from": date}, None)
        for date in ("2026-01-01", "2026-01-01T00:00:00Z", "20260101", "2026-01-01 09:30", "January 1 2026")
    ),
    ("NEWS_SENTIMENT", {"symbol": "AAPL"}, None),
    ("NEWS_SENTIMENT", {"tickers": ["AAPL"]}, None),
    ("NEWS_SENTIMENT", {"topics": "tech"}, None),
    *(
        ("EARNINGS_CALL_TRANSCRIPT", {"symbol": "MSFT", "quarter": quarter}, None)
        for quarter in ("Q1 2024", "2024-Q1", "2024 Q1", "1Q24", "2024q1", "Q1")
    ),
    ("EARNINGS_CALL_TRANSCRIPT", {"symbol": "MSFT", "year": 2024, "quarter": 1}, None),
    *(
        (
            "TREASURY_YIELD",
            {"interval": "monthly", "maturity": maturity},
            lambda data: [data.rows("TREASURY_YIELD", interval="monthly", maturity="10year")[0]["value"]],
        )
        for maturity in ("10 year", "10y", "10-year", "10Y", "10", "10 years", "ten years")
    ),
    ("TREASURY_YIELD", {"interval": "monthly", "term": "10year"}, None),
    ("FX_DAILY", {"from": "EUR", "to": "USD"}, None),
    ("FX_DAILY", {"from_currency": "EUR", "to_currency": "USD"}, None),
    ("FX_DAILY", {"pair": "EUR/USD"}, None),
    ("FX_DAILY", {"symbol": "EURUSD"}, None),
    ("CURRENCY_EXCHANGE_RATE", {"from_symbol": "EUR", "to_symbol": "USD"}, None),
    ("CURRENCY_EXCHANGE_RATE", {"base": "EUR", "quote": "USD"}, None),
    ("DIGITAL_CURRENCY_DAILY", {"symbol": "BTC"}, None),
    ("DIGITAL_CURRENCY_DAILY", {"symbol": "BTC", "currency": "USD"}, None),
    ("ANALYTICS_FIXED_WINDOW", {"symbols": ["AAPL", "MSFT"], "range": "1month", "interval": "daily",
                                "calculations": ["mean", "stddev"]}, None),
    ("ANALYTICS_FIXED_WINDOW", {"SYMBOLS": "AAPL,MSFT", "RANGE": ["2025-01-01", "2025-06-30"], "INTERVAL": "DAILY",
                                "CALCULATIONS": "MEAN"}, None),
    ("ANALYTICS_FIXED_WINDOW", {"SYMBOLS": "AAPL,MSFT", "start_date": "2025-01-01", "end_date": "2025-06-30",
                                "INTERVAL": "DAILY", "CALCULATIONS": "MEAN"}, None),
    ("TIME_SERIES_INTRADAY", {"symbol": "MSFT", "interval": "5 min"}, None),
    ("TIME_SERIES_INTRADAY", {"symbol": "MSFT", "interval": "5m"}, None),
    ("TIME_SERIES_INTRADAY", {"symbol": "MSFT", "interval": 5}, None),
    ("TIME_SERIES_INTRADAY", {"symbol": "MSFT", "interval": "hourly"}, None),
    ("TIME_SERIES_INTRADAY", {"symbol": "MSFT", "interval": "2min"}, None),
    ("TIME_SERIES_INTRADAY", {"symbol": "MSFT", "interval": "5min", "month": "2024-1"}, None),
    ("TIME_SERIES_INTRADAY", {"symbol": "MSFT", "interval": "5min", "month": "January 2024"}, None),
    ("SYMBOL_SEARCH", {"query": "tesco"}, None),
    ("SYMBOL_SEARCH", {"keyword": "tesco"}, None),
    ("SYMBOL_SEARCH", {"keywords": ["tesco"]}, None),
    ("SYMBOL_SEARCH", {"keywords": "NOSUCHFIRM"}, None),
    ("GOLD_SILVER_SPOT", {"symbol": "gold"}, None),
    ("GOLD_SILVER_SPOT", {"metal": "gold"}, None),
    ("GOLD_SILVER_SPOT", {}, None),
    ("EARNINGS_CALENDAR", {"horizon": "3 months"}, None),
    ("EARNINGS_CALENDAR", {"horizon": "next quarter"}, None),
    ("EARNINGS_CALENDAR", {"symbol": "MSFT", "horizon": "1year"}, None),
    ("WTI", {"interval": "yearly"}, None),
    ("CPI", {"interval": "annual"}, None),
    ("GLOBAL_QUOTE", {"symbol": "NOSUCH"}, None),
    ("GLOBAL_QUOTE", {"symbol": ""}, None),
    ("GLOBAL_QUOTE", {"symbol": None}, None),
    ("GLOBAL_QUOTE", {}, None),
    ("TIME_SERIES_DAILY", {"symbol": "NOSUCH"}, None),
    ("COMPANY_OVERVIEW", {"symbol": "QQQ"}, None),
    ("ETF_PROFILE", {"symbol": "NOSUCH"}, None),
    ("OVERVIEW", {"symbol": "MSFT"}, None),
    ("STOCK_PRICE", {"symbol": "MSFT"}, None),
    ("TIME_SERIES_DAILLY", {"symbol": "MSFT"}, None),
    ("DAILY", {"symbol": "MSFT"}, None),
    ("TOOL_LIST", {"query": "gold"}, None),
    ("TOOL_GET", {"tool_name": "RSI"}, None),
    ("REALTIME_BULK_QUOTES", {"symbol": ["MSFT", "AAPL"]}, None),
    ("REALTIME_BULK_QUOTES", {"symbols": "MSFT,AAPL"}, None),
)  # fmt: skip

PROBES = (
    *(Probe("TOOL_CALL", "TOOL_CALL", arguments, _price) for arguments in _ENVELOPES),
    *(Probe("TOOL_CALL", "TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": given}, _price) for given in _QUOTES),
    *(Probe("TOOL_CALL", "TOOL_CALL", {"tool_name": "TIME_SERIES_DAILY", "arguments": given}, _close)
      for given in _SERIES),
    *(Probe("TOOL_CALL", "TOOL_CALL", {"tool_name": "RSI", "arguments": given, "select": "last 3"}, _rsi)
      for given in _INDICATORS),
    *(Probe("TOOL_CALL", "TOOL_CALL", {"tool_name": name, "arguments": given}, expected)
      for name, given, expected in _OTHERS),
    Probe("TOOL_CALL", "TOOL_CALL", {}),
    Probe("TOOL_CALL", "TOOL_CALL", {"arguments": _MSFT}),
    Probe("TOOL_CALL", "TOOL_CALL", {"tool_name": "NEWS"}),
    Probe("TOOL_CALL", "GLOBAL_QUOTE", _MSFT, _price),
    Probe("TOOL_CALL", "global_quote", _MSFT, _price),
    Probe("TOOL_CALL", "GLOBAL_QUOTE", {"arguments": _MSFT}, _price),
)  # fmt: skip
