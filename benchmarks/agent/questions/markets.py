"""Everyday questions about indicators, currencies, commodities, the economy and news."""

from __future__ import annotations

from benchmarks.agent.questions.model import Call, Question, cpi, indicator, year
from benchmarks.agent.raw_data import mean, within

QUESTIONS = (
    Question(
        "is IBM overbought: current 14 day RSI",
        ("RSI",),
        (Call({"symbol": "IBM", "interval": "daily", "time_period": 14, "series_type": "close"}, "last 1"),),
        lambda data: [indicator(data, "RSI", time_period="14")[0]["RSI"]],
    ),
    Question(
        "IBM 50 day and 200 day simple moving average",
        ("SMA",),
        (Call({"symbol": "IBM", "interval": "daily", "time_period": [50, 200], "series_type": "close"}, "last 1"),),
        lambda data: [indicator(data, "SMA", time_period=period)[0]["SMA"] for period in ("50", "200")],
    ),
    Question(
        "weekly bollinger bands of IBM, newest values",
        ("BBANDS",),
        (
            Call({"symbol": "IBM", "interval": "weekly", "time_period": 20, "series_type": "close"}, "latest"),
            Call({"symbol": "IBM", "interval": "weekly", "time_period": 20, "series_type": "close"}, "last 1"),
        ),
        lambda data: [
            value
            for name, value in indicator(data, "BBANDS", interval="weekly", time_period="20")[0].items()
            if name != "date"
        ],
    ),
    Question(
        "exchange rate of bitcoin in dollars",
        ("CURRENCY_EXCHANGE_RATE",),
        (Call({"from_currency": "BTC", "to_currency": "USD"}),),
        lambda data: [data.record("CURRENCY_EXCHANGE_RATE", from_currency="BTC", to_currency="USD")["Exchange_Rate"]],
    ),
    Question(
        "how did the euro do against the dollar: closes of the last 10 days",
        ("FX_DAILY",),
        (
            Call({"from_symbol": "EUR", "to_symbol": "USD"}, "[0:10].close"),
            Call({"from_symbol": "EUR", "to_symbol": "USD"}, "date,close; last 10"),
        ),
        lambda data: [row["close"] for row in data.rows("FX_DAILY", from_symbol="EUR", to_symbol="USD")[:10]],
    ),
    Question(
        "highest price of bitcoin in euros in 2024",
        ("DIGITAL_CURRENCY_DAILY", "DIGITAL_CURRENCY_MONTHLY", "DIGITAL_CURRENCY_WEEKLY"),
        (Call({"symbol": "BTC", "market": "EUR"}, "max(high); 2024"),),
        lambda data: [
            max(row["high"] for row in year(data.rows("DIGITAL_CURRENCY_DAILY", symbol="BTC", market="EUR"), "2024"))
        ],
    ),
    Question(
        "average oil price (WTI) in 2024",
        ("WTI",),
        (Call({"interval": "monthly"}, "mean(value); 2024"), Call({"interval": "monthly"}, "avg(value); 2024")),
        lambda data: [mean([row["value"] for row in year(data.rows("WTI", interval="monthly"), "2024")])],
    ),
    Question(
        "months since 2000 in which WTI oil was above 90 dollars",
        ("WTI",),
        (
            Call({"interval": "monthly"}, "date where value > 90 and date >= 2000"),
            Call({"interval": "monthly"}, "value>90; since 2000"),
        ),
        lambda data: [
            row["date"] for row in within(data.rows("WTI", interval="monthly"), "2000") if (row["value"] or 0) > 90
        ],
    ),
    Question(
        "US unemployment rate now and a year ago",
        ("UNEMPLOYMENT",),
        (Call({}, "last 13 months"), Call({}, "last 13")),
        lambda data: [data.rows("UNEMPLOYMENT")[index]["value"] for index in (0, 12)],
    ),
    Question(
        "peak US unemployment since 2019 and when it was",
        ("UNEMPLOYMENT",),
        (Call({}, "after 2019-01-01; top 1 by value"), Call({}, "since 2019-01-01; max(value)")),
        lambda data: [max(row["value"] or 0 for row in within(data.rows("UNEMPLOYMENT"), "2019"))],
    ),
    Question(
        "US inflation by year over the last decade",
        ("INFLATION",),
        (Call({}, "last 10 years"), Call({}, "last 10")),
        lambda data: [row["value"] for row in data.rows("INFLATION")[:10]],
    ),
    Question(
        "how much did the US consumer price index rise from January 2020 to January 2025 in percent",
        ("CPI",),
        (
            Call({"interval": "monthly"}, "change_percent(value); 2020-01..2025-01"),
            Call({"interval": "monthly"}, "2020-01..2025-01; change(value)"),
            Call({"interval": "monthly"}, "2020-01..2025-01; first(value), last(value)"),
        ),
        lambda data: [100 * (cpi(data, "2025-01") / cpi(data, "2020-01") - 1)],
        lambda data: [cpi(data, "2025-01"), cpi(data, "2020-01")],
    ),
    Question(
        "spread between the 10 year and the 2 year treasury yield, latest month",
        ("TREASURY_YIELD",),
        (Call({"interval": "monthly", "maturity": ["10year", "2year"]}, "last 1"),),
        lambda data: [
            data.rows("TREASURY_YIELD", interval="monthly", maturity=maturity)[0]["value"]
            for maturity in ("10year", "2year")
        ],
    ),
    Question(
        "is the london stock exchange open now",
        ("MARKET_STATUS",),
        (
            Call({}, "region ~ United Kingdom"),
            Call({}, "region=United Kingdom; current_status"),
        ),
        lambda data: [row["current_status"] for row in data.rows("MARKET_STATUS") if row["region"] == "United Kingdom"],
    ),
    Question(
        "what is the ticker of Tesco in London",
        ("SYMBOL_SEARCH",),
        (Call({"keywords": "tesco"}),),
        lambda data: [
            row["symbol"] for row in data.rows("SYMBOL_SEARCH", keywords="tesco") if row["region"] == "United Kingdom"
        ][:1],
    ),
    Question(
        "headlines of the three newest articles about Apple",
        ("NEWS_SENTIMENT",),
        (Call({"tickers": "AAPL"}, "feed[0:3].title"), Call({"tickers": "AAPL"}, "title; first 3")),
        lambda data: [row["title"] for row in data.rows("NEWS_SENTIMENT", tickers="AAPL")[:3]],
    ),
)
