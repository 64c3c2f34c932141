"""Everyday questions for the tools that other questions leave out: options, news, holders, calendars, and so on."""

from __future__ import annotations

from benchmarks.agent.questions.model import Call, Question, calls, year
from benchmarks.agent.raw_data import mean, within

_CHAIN = {"symbol": "IBM", "date": "2025-06-16"}

QUESTIONS = (
    Question(
        "open interest of the Apple put option with strike 250 that expires on 2026-02-20",
        ("REALTIME_OPTIONS", "HISTORICAL_OPTIONS"),
        calls(
            {"symbol": "AAPL"},
            "type=put; expiration=2026-02-20; strike=250; open_interest",
            "type = 'put' and strike = 250 and expiration = '2026-02-20'; open_interest",
        ),
        lambda data: [
            row["open_interest"]
            for row in data.rows("REALTIME_OPTIONS", symbol="AAPL")
            if (row["type"], row["strike"], row["expiration"]) == ("put", 250, "2026-02-20")
        ],
    ),
    Question(
        "put call ratio of IBM options right now",
        ("REALTIME_PUT_CALL_RATIO",),
        calls({"symbol": "IBM"}, "put_call_ratio_full_chain", None),
        lambda data: [float(data.record("REALTIME_PUT_CALL_RATIO", symbol="IBM")["put_call_ratio_full_chain"])],
    ),
    Question(
        "the five IBM option contracts with the largest open interest",
        ("REALTIME_OPTIONS", "HISTORICAL_OPTIONS"),
        calls(
            {"symbol": "IBM"},
            "top 5 by open interest; contractID, open_interest",
            "contractID, open_interest; order by open_interest desc; limit 5",
        ),
        lambda data: sorted(
            (row["open_interest"] for row in data.rows("REALTIME_OPTIONS", symbol="IBM")), reverse=True
        )[:5],
    ),
    Question(
        "average implied volatility on 2025-06-16 of the IBM calls that expire on 2025-06-20",
        ("HISTORICAL_OPTIONS",),
        calls(
            _CHAIN,
            "type=call and expiration=2025-06-20; avg(implied_volatility)",
            "select avg(implied_volatility) from data where type='call' and expiration='2025-06-20'",
        ),
        lambda data: [
            mean(
                [
                    row["implied_volatility"]
                    for row in data.rows("HISTORICAL_OPTIONS", **_CHAIN)
                    if (row["type"], row["expiration"]) == ("call", "2025-06-20")
                ]
            )
        ],
    ),
    Question(
        "the most positive news article about Microsoft",
        ("NEWS_SENTIMENT",),
        calls(
            {"tickers": "MSFT"},
            "top 1 by overall_sentiment_score; title",
            "title, overall_sentiment_score; order by overall_sentiment_score desc; limit 1",
        ),
        lambda data: [
            max(data.rows("NEWS_SENTIMENT", tickers="MSFT"), key=lambda row: row["overall_sentiment_score"])["title"]
        ],
    ),
    Question(
        "how many news articles about Tesla were published since January 1 2026",
        ("NEWS_SENTIMENT",),
        (
            Call({"tickers": "TSLA", "time_from": "20260101T0000"}, "count(*)"),
            Call({"tickers": "TSLA", "time_from": "2026-01-01", "limit": 1000}, "count(title)"),
        ),
        lambda data: [len(data.rows("NEWS_SENTIMENT", tickers="TSLA", time_from="20260101T0000", limit="1000"))],
    ),
    Question(
        "which insiders of Apple acquired shares in December 2025",
        ("INSIDER_TRANSACTIONS",),
        calls({"symbol": "AAPL"}, "acquisition_or_disposal = A; 2025-12; executive, shares", "executive; 2025-12"),
        lambda data: [
            row["executive"]
            for row in year(data.rows("INSIDER_TRANSACTIONS", symbol="AAPL"), "2025-12", "transaction_date")
            if row["acquisition_or_disposal"] == "A"
        ],
    ),
    Question(
        "three largest institutional holders of IBM with their shares",
        ("INSTITUTIONAL_HOLDINGS",),
        calls(
            {"symbol": "IBM"},
            "holdings; top 3 by shares_held",
            "from holdings; holder_name,shares_held; top 3 by shares_held",
        ),
        lambda data: sorted(row["shares_held"] for row in data.rows("INSTITUTIONAL_HOLDINGS", symbol="IBM"))[-3:],
    ),
    Question(
        "US real GDP in 2023 and 2024",
        ("REAL_GDP",),
        calls({"interval": "annual"}, "2023..2024", "from 2023 to 2024"),
        lambda data: [row["value"] for row in within(data.rows("REAL_GDP", interval="annual"), "2023", "2025")],
    ),
    Question(
        "how many yen is one euro",
        ("CURRENCY_EXCHANGE_RATE",),
        (
            Call({"from_currency": "EUR", "to_currency": "JPY"}, "exchange rate"),
            Call({"from": "EUR", "to": "JPY"}),
        ),
        lambda data: [data.record("CURRENCY_EXCHANGE_RATE", from_currency="EUR", to_currency="JPY")["Exchange_Rate"]],
    ),
    Question(
        "highest and lowest daily close of the pound against the dollar in 2024",
        ("FX_DAILY",),
        (
            Call({"from_symbol": "GBP", "to_symbol": "USD"}, "2024; max(close), min(close)"),
            Call({"from_symbol": "GBP", "to_symbol": "USD", "outputsize": "full"}, "2024; max(close), min(close)"),
        ),
        lambda data: [
            pick(
                row["close"]
                for row in year(data.rows("FX_DAILY", from_symbol="GBP", to_symbol="USD", outputsize="full"), "2024")
            )
            for pick in (max, min)
        ],
    ),
    Question(
        "price of ethereum in dollars on January 13 2025",
        ("DIGITAL_CURRENCY_DAILY",),
        calls({"symbol": "ETH", "market": "USD"}, "close; 2025-01-13", "date = '2025-01-13'"),
        lambda data: [
            row["close"]
            for row in data.rows("DIGITAL_CURRENCY_DAILY", symbol="ETH", market="USD")
            if row["date"] == "2025-01-13"
        ],
    ),
    Question(
        "average monthly close of bitcoin in dollars for each of the years 2022 to 2024",
        ("DIGITAL_CURRENCY_MONTHLY",),
        (
            Call({"symbol": "BTC", "market": "USD"}, "2022..2024; group by year: avg(close)"),
            Call({"symbol": "BTC"}, "2022..2024; avg(close) by year"),
        ),
        lambda data: [
            mean(
                [
                    row["close"]
                    for row in year(data.rows("DIGITAL_CURRENCY_MONTHLY", symbol="BTC", market="USD"), number)
                ]
            )
            for number in ("2022", "2023", "2024")
        ],
    ),
    Question(
        "what is the gold price",
        ("GOLD_SILVER_SPOT",),
        (Call({"symbol": "gold"}), Call({"symbol": "GOLD"})),
        lambda data: [data.record("GOLD_SILVER_SPOT", symbol="GOLD")["price"]],
    ),
    Question(
        "peak of the natural gas price in 2022: month and price",
        ("NATURAL_GAS",),
        calls({"interval": "monthly"}, "2022; top 1 by value", "2022; max(value)"),
        lambda data: [
            max(row["value"] for row in year(data.rows("NATURAL_GAS", interval="monthly"), "2022") if row["value"])
        ],
    ),
    Question(
        "MACD of Apple: newest line and signal",
        ("MACD", "MACDEXT"),
        calls({"symbol": "AAPL", "interval": "daily", "series_type": "close"}, "MACD, MACD_Signal; latest"),
        lambda data: [
            data.rows("MACD", symbol="AAPL", interval="daily", series_type="close")[0][name]
            for name in ("MACD", "MACD_Signal")
        ],
    ),
    Question(
        "lowest 14 day RSI of Tesla over the last 60 trading days",
        ("RSI",),
        (
            Call({"symbol": "TSLA"}, "last 60 trading days; min(RSI)"),
            Call(
                {"symbol": "TSLA", "interval": "daily", "time_period": 14, "series_type": "close"}, "last 60; min(rsi)"
            ),
        ),
        lambda data: [
            min(
                row["RSI"]
                for row in data.rows("RSI", symbol="TSLA", interval="daily", time_period="14", series_type="close")[:60]
            )
        ],
    ),
    Question(
        "weekly average true range of IBM over 14 weeks, newest value",
        ("ATR",),
        calls({"symbol": "IBM", "interval": "weekly", "time_period": "14"}, "latest"),
        lambda data: [data.rows("ATR", symbol="IBM", interval="weekly", time_period="14")[0]["ATR"]],
    ),
    Question(
        "which companies report earnings on January 20 2026",
        ("EARNINGS_CALENDAR",),
        (
            Call({}, "reportDate=2026-01-20; symbol"),
            Call({"horizon": "3month"}, "SELECT symbol FROM data WHERE reportDate = '2026-01-20'"),
        ),
        lambda data: [row["symbol"] for row in data.rows("EARNINGS_CALENDAR") if row["reportDate"] == "2026-01-20"],
    ),
    Question(
        "which companies go public on NASDAQ in February 2026",
        ("IPO_CALENDAR",),
        calls({}, "exchange=NASDAQ; 2026-02; name, ipoDate", "exchange=nasdaq; ipoDate = 2026-02"),
        lambda data: [
            row["name"] for row in year(data.rows("IPO_CALENDAR"), "2026-02", "ipoDate") if row["exchange"] == "NASDAQ"
        ],
    ),
    Question(
        "dividend yield and beta of Coca-Cola",
        ("COMPANY_OVERVIEW",),
        (Call({"symbol": "KO"}, "dividend yield, beta"), Call({"ticker": "KO"}, "DividendYield,Beta")),
        lambda data: [data.record("OVERVIEW", symbol="KO")[name] for name in ("DividendYield", "Beta")],
    ),
    Question(
        "which sector has the largest weight in SPY",
        ("ETF_PROFILE",),
        calls({"symbol": "SPY"}, "sectors; top 1 by weight", "from sectors; max(weight)"),
        lambda data: [max(data.lists("ETF_PROFILE", symbol="SPY")["sectors"], key=lambda row: row["weight"])["weight"]],
    ),
    Question(
        "which members of Congress bought Nvidia stock",
        ("CONGRESS_TRADES",),
        calls(
            {"symbol": "NVDA"},
            "transaction_type = purchase; politician, transaction_date",
            "transaction_type = buy; politician, transaction_date",
        ),
        lambda data: [
            row["politician"] for row in data.rows("CONGRESS_TRADES", symbol="NVDA") if row["transaction_type"] == "BUY"
        ],
    ),
    Question(
        "close of the S&P 500 index on the last day of 2025",
        ("INDEX_DATA",),
        calls({"symbol": "SPX", "interval": "daily"}, "date = 2025-12-31; close", "2025-12; last 1"),
        lambda data: [
            row["close"]
            for row in data.rows("INDEX_DATA", symbol="SPX", interval="daily")
            if row["date"] == "2025-12-31"
        ],
    ),
    Question(
        "sentiment of what the chief executive said in IBM's earnings call for the first quarter of 2024",
        ("EARNINGS_CALL_TRANSCRIPT",),
        calls(
            {"symbol": "IBM", "quarter": "2024Q1"},
            "title contains Chief Executive; sentiment",
            "speaker,title,sentiment",
        ),
        lambda data: [
            row["sentiment"]
            for row in data.rows("EARNINGS_CALL_TRANSCRIPT", symbol="IBM", quarter="2024Q1")
            if row["title"] == "Chief Executive Officer"
        ],
    ),
    Question(
        "last three 5 minute closes of IBM",
        ("TIME_SERIES_INTRADAY",),
        (Call({"symbol": "IBM", "interval": "5min"}, "close; last 3"), Call({"symbol": "IBM", "interval": 5})),
        lambda data: [row["close"] for row in data.rows("TIME_SERIES_INTRADAY", symbol="IBM", interval="5min")[:3]],
    ),
    Question(
        "analyst estimate of IBM's earnings per share for fiscal 2026",
        ("EARNINGS_ESTIMATES",),
        calls(
            {"symbol": "IBM"},
            "horizon = fiscal year; 2026; eps_estimate_average",
            "date,horizon,eps_estimate_average; 2026",
        ),
        lambda data: [
            row["eps_estimate_average"]
            for row in year(data.rows("EARNINGS_ESTIMATES", symbol="IBM"), "2026")
            if row["horizon"] == "fiscal year"
        ],
    ),
)
