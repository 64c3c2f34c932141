"""Everyday questions about prices, dividends and splits of stocks."""

from __future__ import annotations

from benchmarks.agent.questions.model import Call, Question, daily, monthly, year
from benchmarks.agent.raw_data import mean, within

QUESTIONS = (
    Question(
        "what does apple cost right now",
        ("GLOBAL_QUOTE",),
        (Call({"symbol": "AAPL"}, "price"), Call({"symbol": "AAPL"})),
        lambda data: [data.record("GLOBAL_QUOTE", symbol="AAPL")["price"]],
    ),
    Question(
        "how much did IBM move today in percent",
        ("GLOBAL_QUOTE",),
        (Call({"symbol": "IBM"}),),
        lambda data: [data.record("GLOBAL_QUOTE", symbol="IBM")["change_percent"]],
    ),
    Question(
        "closing prices of IBM over the last 5 trading days",
        ("TIME_SERIES_DAILY",),
        (Call({"symbol": "IBM"}, "date,close; last 5 days"), Call({"symbol": "IBM"}, "date,close; last 5")),
        lambda data: [row["close"] for row in daily(data, "IBM")[:5]],
    ),
    Question(
        "lowest close of IBM between January 13 2025 and January 13 2026",
        ("TIME_SERIES_DAILY",),
        (
            Call({"symbol": "IBM"}, "2025-01-13..2026-01-13; min(close)"),
            Call({"symbol": "IBM", "outputsize": "full"}, "2025-01-13..2026-01-13; min(close)"),
        ),
        lambda data: [min(row["close"] for row in within(daily(data, "IBM", True), "2025-01-13", "2026-01-14"))],
    ),
    Question(
        "year to date performance of Microsoft stock: first and last close of 2026",
        ("TIME_SERIES_DAILY",),
        (Call({"symbol": "MSFT"}, "date,close; ytd"), Call({"symbol": "MSFT"}, "date,close; since 2026-01-01")),
        lambda data: [within(daily(data, "MSFT"), "2026")[index]["close"] for index in (0, -1)],
    ),
    Question(
        "average daily volume of AAPL in December 2025",
        ("TIME_SERIES_DAILY",),
        (Call({"symbol": "AAPL"}, "avg(volume); 2025-12"),),
        lambda data: [mean([row["volume"] for row in year(daily(data, "AAPL"), "2025-12")])],
    ),
    Question(
        "the three days with the highest trading volume of IBM since October 2025",
        ("TIME_SERIES_DAILY",),
        (
            Call({"symbol": "IBM"}, "date,volume; since 2025-10-01; top 3 by volume"),
            Call({"symbol": "IBM"}, "date,volume; since 2025-10-01; order by volume desc; limit 3"),
        ),
        lambda data: [
            row["date"] for row in sorted(within(daily(data, "IBM"), "2025-10-01"), key=lambda row: -row["volume"])[:3]
        ],
    ),
    Question(
        "biggest daily range (high minus low) of IBM in the last 100 days",
        ("TIME_SERIES_DAILY",),
        (
            Call({"symbol": "IBM"}, "high - low as spread; top 1 by spread"),
            Call({"symbol": "IBM"}, "select max(high - low) from data"),
        ),
        lambda data: [max(row["high"] - row["low"] for row in daily(data, "IBM"))],
    ),
    Question(
        "on how many of the last 100 days did Tesla close above its open",
        ("TIME_SERIES_DAILY",),
        (
            Call({"symbol": "TSLA"}, "count(*) where close > open"),
            Call({"symbol": "TSLA"}, "select count(*) from data where close > open"),
        ),
        lambda data: [sum(row["close"] > row["open"] for row in daily(data, "TSLA"))],
    ),
    Question(
        "compare the latest prices of Apple and Microsoft",
        ("GLOBAL_QUOTE", "REALTIME_BULK_QUOTES"),
        (Call({"symbol": ["AAPL", "MSFT"]}, "symbol,price"),),
        lambda data: [data.record("GLOBAL_QUOTE", symbol=symbol)["price"] for symbol in ("AAPL", "MSFT")],
    ),
    Question(
        "close of IBM on 2026-01-09",
        ("TIME_SERIES_DAILY",),
        (Call({"symbol": "IBM"}, "close; on 2026-01-09"), Call({"symbol": "IBM"}, "close; 2026-01-09")),
        lambda data: [year(daily(data, "IBM"), "2026-01-09")[0]["close"]],
    ),
    Question(
        "highest weekly close of IBM in 2023",
        ("TIME_SERIES_WEEKLY", "TIME_SERIES_WEEKLY_ADJUSTED"),
        (Call({"symbol": "IBM"}, "max(close); 2023"),),
        lambda data: [max(row["close"] for row in year(data.rows("TIME_SERIES_WEEKLY", symbol="IBM"), "2023"))],
    ),
    Question(
        "dividend adjusted monthly closes of IBM for the last year",
        ("TIME_SERIES_MONTHLY_ADJUSTED",),
        (
            Call({"symbol": "IBM"}, "date, adjusted close; last 12 months"),
            Call({"symbol": "IBM"}, "date,adjusted_close; last 12"),
        ),
        lambda data: [row["adjusted_close"] for row in monthly(data, "IBM")[:12]],
    ),
    Question(
        "average monthly close of IBM by year for 2023 and 2024",
        ("TIME_SERIES_MONTHLY", "TIME_SERIES_MONTHLY_ADJUSTED"),
        (
            Call({"symbol": "IBM"}, "2023..2024; group by year: avg(close)"),
            Call({"symbol": "IBM"}, "group by year: avg(close)"),
        ),
        lambda data: [
            mean([row["close"] for row in year(monthly(data, "IBM"), number)]) for number in ("2023", "2024")
        ],
    ),
    Question(
        "how much dividend did IBM pay per share in 2024",
        ("DIVIDENDS",),
        (
            Call({"symbol": "IBM"}, "sum(amount); 2024"),
            Call({"symbol": "IBM"}, "group by year: sum(amount)"),
        ),
        lambda data: [
            sum(row["amount"] for row in year(data.rows("DIVIDENDS", symbol="IBM"), "2024", "ex_dividend_date"))
        ],
    ),
    Question(
        "when is the next dividend of IBM paid, or when was the last one",
        ("DIVIDENDS",),
        (
            Call({"symbol": "IBM"}, "payment_date,amount; last 1"),
            Call({"symbol": "IBM"}, "payment_date,amount; first 1"),
        ),
        lambda data: [data.rows("DIVIDENDS", symbol="IBM")[0]["payment_date"]],
    ),
    Question(
        "did apple ever split its stock and by how much",
        ("SPLITS",),
        (Call({"symbol": "AAPL"}),),
        lambda data: [row["split_factor"] for row in data.rows("SPLITS", symbol="AAPL")],
    ),
)
