"""Everyday questions about indicators, currencies, commodities, the economy and news, and about what there is not.

What there is not: empty lists, unknown symbols, paid data, years before the data begin.
"""

from __future__ import annotations

from benchmarks.agent.questions.model import Question, calls, cpi, daily, indicator, year
from benchmarks.agent.raw_data import mean, within

QUESTIONS = (
    Question(
        "is IBM overbought: current 14 day RSI",
        ("RSI",),
        calls({"symbol": "IBM", "interval": "daily", "time_period": 14, "series_type": "close"}, "last 1"),
        lambda data: [indicator(data, "RSI", time_period="14")[0]["RSI"]],
    ),
    Question(
        "IBM 50 day and 200 day simple moving average",
        ("SMA",),
        calls({"symbol": "IBM", "interval": "daily", "time_period": [50, 200], "series_type": "close"}, "last 1"),
        lambda data: [indicator(data, "SMA", time_period=period)[0]["SMA"] for period in ("50", "200")],
    ),
    Question(
        "weekly bollinger bands of IBM, newest values",
        ("BBANDS",),
        calls({"symbol": "IBM", "interval": "weekly", "time_period": 20, "series_type": "close"}, "latest", "last 1"),
        lambda data: [
            value
            for name, value in indicator(data, "BBANDS", interval="weekly", time_period="20")[0].items()
            if name != "date"
        ],
    ),
    Question(
        "exchange rate of bitcoin in dollars",
        ("CURRENCY_EXCHANGE_RATE",),
        calls({"from_currency": "BTC", "to_currency": "USD"}),
        lambda data: [data.record("CURRENCY_EXCHANGE_RATE", from_currency="BTC", to_currency="USD")["Exchange_Rate"]],
    ),
    Question(
        "how did the euro do against the dollar: closes of the last 10 days",
        ("FX_DAILY",),
        calls({"from_symbol": "EUR", "to_symbol": "USD"}, "close; [0:10]", "date,close; last 10"),
        lambda data: [row["close"] for row in data.rows("FX_DAILY", from_symbol="EUR", to_symbol="USD")[:10]],
    ),
    Question(
        "highest price of bitcoin in euros in 2024",
        ("DIGITAL_CURRENCY_DAILY", "DIGITAL_CURRENCY_MONTHLY", "DIGITAL_CURRENCY_WEEKLY"),
        calls({"symbol": "BTC", "market": "EUR"}, "2024; max(high)"),
        lambda data: [
            max(row["high"] for row in year(data.rows("DIGITAL_CURRENCY_DAILY", symbol="BTC", market="EUR"), "2024"))
        ],
    ),
    Question(
        "average oil price (WTI) in 2024",
        ("WTI",),
        calls({"interval": "monthly"}, "2024; mean(value)", "SELECT avg(value) FROM data WHERE date LIKE '2024%'"),
        lambda data: [mean([row["value"] for row in year(data.rows("WTI", interval="monthly"), "2024")])],
    ),
    Question(
        "months since 2000 in which WTI oil was above 90 dollars",
        ("WTI",),
        calls({"interval": "monthly"}, "value > 90 and date >= 2000; date", "value>90; since 2000"),
        lambda data: [
            row["date"] for row in within(data.rows("WTI", interval="monthly"), "2000") if (row["value"] or 0) > 90
        ],
    ),
    Question(
        "US unemployment rate now and a year ago",
        ("UNEMPLOYMENT",),
        calls({}, "last 13 months", "last 13"),
        lambda data: [data.rows("UNEMPLOYMENT")[index]["value"] for index in (0, 12)],
    ),
    Question(
        "peak US unemployment since 2019 and when it was",
        ("UNEMPLOYMENT",),
        calls({}, "after 2019-01-01; top 1 by value", "since 2019-01-01; max(value)"),
        lambda data: [max(row["value"] or 0 for row in within(data.rows("UNEMPLOYMENT"), "2019"))],
    ),
    Question(
        "US inflation by year over the last decade",
        ("INFLATION",),
        calls({}, "last 10 years", "last 10"),
        lambda data: [row["value"] for row in data.rows("INFLATION")[:10]],
    ),
    Question(
        "how much did the US consumer price index rise from January 2020 to January 2025 in percent",
        ("CPI",),
        calls(
            {"interval": "monthly"},
            "2020-01..2025-01; (last(value) / first(value) - 1) * 100",
            "2020-01..2025-01; first(value), last(value)",
        ),
        lambda data: [100 * (cpi(data, "2025-01") / cpi(data, "2020-01") - 1)],
        lambda data: [cpi(data, "2025-01"), cpi(data, "2020-01")],
    ),
    Question(
        "spread between the 10 year and the 2 year treasury yield, latest month",
        ("TREASURY_YIELD",),
        calls({"interval": "monthly", "maturity": ["10year", "2year"]}, "last 1"),
        lambda data: [
            data.rows("TREASURY_YIELD", interval="monthly", maturity=maturity)[0]["value"]
            for maturity in ("10year", "2year")
        ],
    ),
    Question(
        "is the london stock exchange open now",
        ("MARKET_STATUS",),
        calls({}, "region contains United Kingdom", "region=United Kingdom; current_status"),
        lambda data: [row["current_status"] for row in data.rows("MARKET_STATUS") if row["region"] == "United Kingdom"],
    ),
    Question(
        "what is the ticker of Tesco in London",
        ("SYMBOL_SEARCH",),
        calls({"keywords": "tesco"}),
        lambda data: [
            row["symbol"] for row in data.rows("SYMBOL_SEARCH", keywords="tesco") if row["region"] == "United Kingdom"
        ][:1],
    ),
    Question(
        "headlines of the three newest articles about Apple",
        ("NEWS_SENTIMENT",),
        calls({"tickers": "AAPL"}, "feed: title; limit 3", "feed; last 3; title"),
        lambda data: [row["title"] for row in data.rows("NEWS_SENTIMENT", tickers="AAPL")[:3]],
    ),
    Question(
        "did Tesla ever pay a dividend",
        ("DIVIDENDS",),
        calls({"symbol": "TSLA"}),
        lambda data: [],
        outcome="nothing",
    ),
    Question(
        "latest price of the stock NOSUCHCORP",
        ("GLOBAL_QUOTE",),
        calls({"symbol": "NOSUCHCORP"}, "price"),
        lambda data: [],
        outcome="nothing",
    ),
    Question(
        "lowest close of IBM in 1995",
        ("TIME_SERIES_DAILY",),
        calls({"symbol": "IBM"}, "1995; min(close)"),
        lambda data: [daily(data, "IBM", True)[-1]["date"]],
        outcome="nothing",
    ),
    Question(
        "lowest daily close of IBM stock over the past twelve months",
        ("TIME_SERIES_DAILY",),
        calls(
            {"symbol": "IBM"}, "2025-01-13..2026-01-13; min(close)"
        ),  # A free key gets 100 days: the answer must say where they begin.
        lambda data: [daily(data, "IBM")[-1]["date"]],
        key="free",
        outcome="nothing",
    ),
    Question(
        "split adjusted daily closes of IBM for the last 5 days",
        ("TIME_SERIES_DAILY_ADJUSTED",),
        calls({"symbol": "IBM"}, "date,adjusted_close; last 5"),
        lambda data: [],
        key="free",
        outcome="nothing",
    ),
    Question(
        "highest close of gold in the year 2031",
        ("GOLD_SILVER_HISTORY",),
        calls({"symbol": "GOLD", "interval": "daily"}, "2031; max(price)"),
        lambda data: [data.rows("GOLD_SILVER_HISTORY", symbol="GOLD", interval="daily")[0]["date"]],
        outcome="nothing",
    ),
    Question(
        "IBM options that expire on a Sunday, 2026-02-22",
        ("REALTIME_OPTIONS", "HISTORICAL_OPTIONS"),
        calls({"symbol": "IBM"}, "expiration = 2026-02-22; strike, type"),
        lambda data: [
            pick(row["expiration"] for row in data.rows("REALTIME_OPTIONS", symbol="IBM")) for pick in (min, max)
        ],
        outcome="nothing",
    ),
    Question(
        "weekly closes of IBM from before its data begin up to February 2000",
        ("TIME_SERIES_WEEKLY", "TIME_SERIES_WEEKLY_ADJUSTED"),
        calls({"symbol": "IBM"}, "date,close; 1998-01..2000-02"),
        lambda data: [row["close"] for row in within(data.rows("TIME_SERIES_WEEKLY", symbol="IBM"), "1998", "2000-03")],
    ),
    Question(
        "dividends of IBM per share in 2024 on a free key",
        ("DIVIDENDS",),
        calls({"symbol": "IBM"}, "2024; sum(amount)"),
        lambda data: [
            sum(row["amount"] for row in year(data.rows("DIVIDENDS", symbol="IBM"), "2024", "ex_dividend_date"))
        ],
        key="free",
    ),
)
