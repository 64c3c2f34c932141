"""Guesses of ``select``, written down before it was tried which of them work, with the values that are meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.agent.probes.model import Probe
from benchmarks.agent.raw_data import RawData, Row, mean, within

Rows = list[Row]
Values = Callable[[Rows], list[Any]]


def _column(name: str, count: int | None = None) -> Values:
    return lambda rows: [row[name] for row in rows[:count]]


def _since(date: str, name: str = "close") -> Values:
    return lambda rows: [row[name] for row in within(rows, date)]


def _in(prefix: str, name: str = "close") -> Values:
    return lambda rows: [row[name] for row in rows if str(row["date"]).startswith(prefix)]


def _top(count: int, by: str, name: str = "date") -> Values:
    return lambda rows: [row[name] for row in sorted(rows, key=lambda row: -row[by])[:count]]


def _least(count: int, by: str, name: str = "date") -> Values:
    return lambda rows: [row[name] for row in sorted(rows, key=lambda row: row[by])[:count]]


_last_5, _last_30 = _column("close", 5), _column("close", 30)

# Rows of the last 100 days of IBM, newest first.
_DAILY: tuple[tuple[str, Values | None], ...] = (
    ("last 5 days", _last_5),
    ("last 5 rows", _last_5),
    ("Last 5", _last_5),
    ("last five days", _last_5),
    ("latest 5", _last_5),
    ("newest 5", _last_5),
    ("recent 5", _last_5),
    ("the last 5 trading days", _last_5),
    ("past 5 days", _last_5),
    ("tail 5", None),
    ("head 5", None),
    ("first 5 rows", lambda rows: [row["close"] for row in rows[-5:]]),
    ("close last 5", _last_5),
    ("close, last 5", _last_5),
    ("close; last 30", lambda rows: [row[name] for row in rows[:30] for name in ("date", "close")]),
    ("date, close; last 30", _last_30),
    ("close for the last 5 days", _last_5),
    ("latest", _column("close", 1)),
    ("latest close", _column("close", 1)),
    ("last", _column("close", 1)),
    ("newest row", _column("close", 1)),
    ("most recent", _column("close", 1)),
    ("last week", None),
    ("last month", None),
    ("last 3 months", None),
    ("ytd", _since("2026-01-01")),
    ("YTD; close", _since("2026-01-01")),
    ("year to date", _since("2026-01-01")),
    ("mtd", _since("2026-01-01")),
    ("this month", _since("2026-01-01")),
    ("this year", _since("2026-01-01")),
    ("after 2025-12-31", _since("2026-01-01")),
    ("before 2025-09-01", lambda rows: [row["close"] for row in rows if row["date"] < "2025-09-01"]),
    ("since 2026-01-05", _since("2026-01-05")),
    ("from 2026-01-05", _since("2026-01-05")),
    ("from 2025-12-01 to 2025-12-31", _in("2025-12")),
    ("between 2025-12-01 and 2025-12-31", _in("2025-12")),
    ("2025-12-01 to 2025-12-31", _in("2025-12")),
    ("2025-12-01..2025-12-31", _in("2025-12")),
    ("2025-12-01:2025-12-31", _in("2025-12")),
    ("2025-12", _in("2025-12")),
    ("December 2025", _in("2025-12")),
    ("Dec 2025; close", _in("2025-12")),
    ("date=2026-01-09", _in("2026-01-09")),
    ("date == '2026-01-09'", _in("2026-01-09")),
    ("date = 2026-01-09; close", _in("2026-01-09")),
    ("on 2026-01-09", _in("2026-01-09")),
    ("date >= 2026-01-05", _since("2026-01-05")),
    ("date>=2026-01-05 and close>300",
     lambda rows: [r["close"] for r in rows if r["close"] > 300 and r["date"] > "2026-01-04"]),
    ("where close > 330", lambda rows: [row["close"] for row in rows if row["close"] > 330]),
    ("close > 330", lambda rows: [row["close"] for row in rows if row["close"] > 330]),
    ("close>330 or volume>40000000",
     lambda rows: [row["close"] for row in rows if row["close"] > 330 or row["volume"] > 40000000]),
    ("close > 330 && volume > 20000000",
     lambda rows: [row["close"] for row in rows if row["close"] > 330 and row["volume"] > 20000000]),
    ("close > open; count(*)", lambda rows: [sum(row["close"] > row["open"] for row in rows)]),
    ("count", lambda rows: [len(rows)]),
    ("count()", lambda rows: [len(rows)]),
    ("count rows where close > open", lambda rows: [sum(row["close"] > row["open"] for row in rows)]),
    ("max close", lambda rows: [max(row["close"] for row in rows)]),
    ("max(close)", lambda rows: [max(row["close"] for row in rows)]),
    ("highest close", lambda rows: [max(row["close"] for row in rows)]),
    ("maximum(close)", lambda rows: [max(row["close"] for row in rows)]),
    ("min(low), max(high)", lambda rows: [min(row["low"] for row in rows), max(row["high"] for row in rows)]),
    ("avg(close)", lambda rows: [mean([row["close"] for row in rows])]),
    ("mean(close)", lambda rows: [mean([row["close"] for row in rows])]),
    ("average(close)", lambda rows: [mean([row["close"] for row in rows])]),
    ("AVG(close) last 20", lambda rows: [mean([row["close"] for row in rows[:20]])]),
    ("avg(close) as mean_close", lambda rows: [mean([row["close"] for row in rows])]),
    ("median(close)", lambda rows: [sum(sorted(row["close"] for row in rows)[49:51]) / 2]),
    ("std(close)", None),
    ("change(close)", lambda rows: [100 * (rows[0]["close"] / rows[-1]["close"] - 1)]),
    ("pct_change(close)", lambda rows: [100 * (rows[0]["close"] / rows[-1]["close"] - 1)]),
    ("top 5 by volume", _top(5, "volume")),
    ("top 5 volume", _top(5, "volume")),
    ("5 highest volume", _top(5, "volume")),
    ("bottom 3 by close", _least(3, "close")),
    ("lowest 3 by close", _least(3, "close")),
    ("order by volume desc limit 5", _top(5, "volume")),
    ("order by volume desc; limit 5", _top(5, "volume")),
    ("sort by volume desc; first 5", _top(5, "volume")),
    ("sort=-volume; limit 5", _top(5, "volume")),
    ("order by close; limit 3", _least(3, "close")),
    ("date,close order by close asc limit 3", _least(3, "close")),
    ("date,close where volume > 40000000", lambda rows: [row["close"] for row in rows if row["volume"] > 40000000]),
    ("[0:5].close", _last_5),
    ("[0:5]", _last_5),
    ("rows[0:5]", _last_5),
    ("rows[:5]", _last_5),
    ("[:5]", _last_5),
    ("[0]", _column("close", 1)),
    ("rows[0].close", _column("close", 1)),
    ("data[0].close", _column("close", 1)),
    ("$.rows[0].close", _column("close", 1)),
    ("high - low as spread; last 5", lambda rows: [row["high"] - row["low"] for row in rows[:5]]),
    ("date, high-low; last 5", lambda rows: [row["high"] - row["low"] for row in rows[:5]]),
    ("(high + low) / 2 as mid; last 5", lambda rows: [(row["high"] + row["low"]) / 2 for row in rows[:5]]),
    ("max(high - low)", lambda rows: [max(row["high"] - row["low"] for row in rows)]),
    ("group by month: sum(volume)", lambda rows: [sum(r["volume"] for r in rows if r["date"][:7] == "2025-12")]),
    ("group by month; avg(close)", lambda rows: [mean([r["close"] for r in rows if r["date"][:7] == "2025-12"])]),
    ("avg(close) by month", lambda rows: [mean([r["close"] for r in rows if r["date"][:7] == "2025-12"])]),
    ("avg(close) group by month", lambda rows: [mean([r["close"] for r in rows if r["date"][:7] == "2025-12"])]),
    ("monthly avg(close)", lambda rows: [mean([r["close"] for r in rows if r["date"][:7] == "2025-12"])]),
    ("groupby month mean close", lambda rows: [mean([r["close"] for r in rows if r["date"][:7] == "2025-12"])]),
    ("high-low as range; max(range)", lambda rows: [max(row["high"] - row["low"] for row in rows)]),
    ("range = high - low; max(range)", lambda rows: [max(row["high"] - row["low"] for row in rows)]),
    ("close/open*100 as pct; top 1 by pct", lambda rows: [max(100 * row["close"] / row["open"] for row in rows)]),
    ("top 3 by close asc", _least(3, "close")),
    ("select max(close) from data", lambda rows: [max(row["close"] for row in rows)]),
    ("SELECT date, close FROM data ORDER BY date DESC LIMIT 5", _last_5),
    ("select * from data where close > 330", lambda rows: [row["close"] for row in rows if row["close"] > 330]),
    ("select date, close from rows order by close desc limit 1", _top(1, "close")),
    ("SELECT avg(close) FROM TIME_SERIES_DAILY WHERE date >= '2025-12-01'",
     lambda rows: [mean([row["close"] for row in within(rows, "2025-12-01")])]),
    ("date,clse", None),
    ("price; last 5", None),
    ("Close", _column("close", 100)),
    ("4. close; last 5", _last_5),
    ("timestamp,close; last 5", _last_5),
    ("close,volume | last 5", _last_5),
    ("last 5 | close", _last_5),
    ("columns: close; last 5", _last_5),
    ("columns=date,close; rows=5", None),
    ("close limit 5", _column("close", 5)),
    ("*; last 5", _last_5),
    ("all", None),
    ("", None),
    ("everything about ibm please", None),
    ("last 0", None),
    ("last -5", None),
    ("close > abc", None),
    ("max()", None),
    ("jmespath: rows[0].close", _column("close", 1)),
    ("jmespath: rows[", None),
    ("since yesterday", None),
    ("rolling mean(close, 5)", None),
)  # fmt: skip


def _in_2020(data: RawData) -> list[Any]:
    return [row["value"] for row in data.rows("UNEMPLOYMENT") if row["date"].startswith("2020")]


def _paid_in_2024(data: RawData) -> list[Any]:
    rows = data.rows("DIVIDENDS", symbol="IBM")
    return [row["amount"] for row in rows if row["ex_dividend_date"].startswith("2024")]


_QQQ = {"symbol": "QQQ"}
_OTHERS: tuple[tuple[str, Mapping[str, Any], str, Callable[[RawData], list[Any]] | None], ...] = (
    *(
        ("ETF_PROFILE", _QQQ, guess, lambda data: [row["symbol"] for row in _holdings(data)[:5]])
        for guess in (
            "holdings; first 5",
            "from holdings; first 5",
            "holdings[0:5]",
            "holdings[:5]",
            "top 5 holdings",
            "holdings; top 5 by weight",
            "holdings limit 5",
            "first 5 holdings",
            "select symbol, weight from holdings order by weight desc limit 5",
        )
    ),
    *(
        ("ETF_PROFILE", _QQQ, guess, lambda data: [data.record("ETF_PROFILE", **_QQQ)["net_expense_ratio"]])
        for guess in ("net_expense_ratio", "net expense ratio", "meta.net_expense_ratio", "expense ratio")
    ),
    *(
        (
            "TOP_GAINERS_LOSERS",
            {},
            guess,
            lambda data: [row["ticker"] for row in data.lists("TOP_GAINERS_LOSERS")["top_gainers"][:3]],
        )
        for guess in ("top_gainers; first 3", "top_gainers[:3]", "gainers; first 3", "top_gainers.ticker; limit 3",
                      "top gainers; limit 3", "from top_gainers: ticker, price; first 3")
    ),
    *(
        (
            "INCOME_STATEMENT",
            {"symbol": "IBM"},
            guess,
            lambda data: [data.lists("INCOME_STATEMENT", symbol="IBM")["annualReports"][0]["totalRevenue"]],
        )
        for guess in (
            "annualReports; totalRevenue; last 1",
            "annualReports[0].totalRevenue",
            "annual reports: total revenue; last 1",
            "annualReports.totalRevenue; last 1",
            "annual; totalRevenue; latest",
            "from annualReports select totalRevenue; last 1",
        )
    ),
    *(
        ("GLOBAL_QUOTE", {"symbol": "IBM"}, guess, lambda data: [data.record("GLOBAL_QUOTE", symbol="IBM")["price"]])
        for guess in ("price", "Price", "05. price", "Global Quote.price", "last price", "['price']", ".price",
                      "$.price", "quote.price", "price, volume", "price and volume")
    ),
    ("INCOME_STATEMENT", {"symbol": "IBM"}, "totalRevenue", None),
    ("HISTORICAL_OPTIONS", {"symbol": "IBM", "date": "2025-06-16"},
     "type = 'call' and strike between 280 and 290; expiration = 2025-06-20; mark", None),
    ("REALTIME_OPTIONS", {"symbol": "IBM"}, "calls; strike 300", None),
    ("REALTIME_OPTIONS", {"symbol": "IBM"}, "type=CALL; strike in (300, 305); expiration=2026-02-20; strike,mark",
     lambda data: [row["mark"] for row in data.rows("REALTIME_OPTIONS", symbol="IBM")
                   if (row["type"], row["expiration"]) == ("call", "2026-02-20") and row["strike"] in (300, 305)]),
    ("NEWS_SENTIMENT", {"tickers": "AAPL"}, "feed[*].title", None),
    ("NEWS_SENTIMENT", {"tickers": "AAPL"}, "feed[0:3].title",
     lambda data: [row["title"] for row in data.rows("NEWS_SENTIMENT", tickers="AAPL")[:3]]),
    ("NEWS_SENTIMENT", {"tickers": "AAPL"}, "title contains guidance; first 1", None),
    ("NEWS_SENTIMENT", {"tickers": "AAPL"}, "title like '%guidance%'; title", None),
    ("UNEMPLOYMENT", {}, "last year", None),
    ("UNEMPLOYMENT", {}, "last 12 months", lambda data: [row["value"] for row in data.rows("UNEMPLOYMENT")[:12]]),
    ("UNEMPLOYMENT", {}, "2020", _in_2020),
    ("UNEMPLOYMENT", {}, "in 2020", _in_2020),
    ("UNEMPLOYMENT", {}, "year=2020; avg(value)",
     lambda data: [mean(_in_2020(data))]),
    ("DIVIDENDS", {"symbol": "IBM"}, "amount; 2024",
     _paid_in_2024),
    ("DIVIDENDS", {"symbol": "IBM"},
     "sum(amount) where ex_dividend_date >= 2024-01-01 and ex_dividend_date < 2025-01-01",
     lambda data: [sum(_paid_in_2024(data))]),
    ("MARKET_STATUS", {}, "region=Japan; current_status",
     lambda data: [row["current_status"] for row in data.rows("MARKET_STATUS") if row["region"] == "Japan"]),
    ("MARKET_STATUS", {}, "distinct region", None),
)  # fmt: skip


def _holdings(data: RawData) -> Rows:
    return sorted(data.lists("ETF_PROFILE", **_QQQ)["holdings"], key=lambda row: -row["weight"])


def _of_daily(values: Values | None, size: str) -> Callable[[RawData], list[Any]] | None:
    return values and (lambda data: values(data.rows("TIME_SERIES_DAILY", symbol="IBM", outputsize=size)))


def _probe(name: str, arguments: Mapping[str, Any], guess: str, expected: Any, of_all: Any = None) -> Probe:
    call = {"tool_name": name, "arguments": dict(arguments), "select": guess}
    return Probe("select", "TOOL_CALL", call, expected, of_all, is_natural=guess not in _NOT_NATURAL)


_NOT_NATURAL = {"", "all", "everything about ibm please", "last 0", "last -5", "close > abc", "max()",
                "jmespath: rows[",
                "date,clse", "price; last 5", "columns=date,close; rows=5", "rolling mean(close, 5)",
                "calls; strike 300"}  # fmt: skip
"""Guesses that have no one meaning: an error is a right answer."""

PROBES = (
    *(
        _probe("TIME_SERIES_DAILY", {"symbol": "IBM"}, guess, _of_daily(values, "compact"), _of_daily(values, "full"))
        for guess, values in _DAILY
    ),
    *(_probe(*other) for other in _OTHERS),
)
