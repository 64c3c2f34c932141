"""Everyday questions about what there is not: empty lists, unknown symbols, paid data, years before the data begin."""

from __future__ import annotations

from benchmarks.agent.questions.model import Call, Question, daily, year
from benchmarks.agent.raw_data import within

QUESTIONS = (
    Question(
        "did Tesla ever pay a dividend",
        ("DIVIDENDS",),
        (Call({"symbol": "TSLA"}),),
        lambda data: [],
        outcome="nothing",
    ),
    Question(
        "latest price of the stock NOSUCHCORP",
        ("GLOBAL_QUOTE",),
        (Call({"symbol": "NOSUCHCORP"}, "price"),),
        lambda data: [],
        outcome="nothing",
    ),
    Question(
        "lowest close of IBM in 1995",
        ("TIME_SERIES_DAILY",),
        (Call({"symbol": "IBM"}, "1995; min(close)"),),
        lambda data: [daily(data, "IBM", True)[-1]["date"]],
        outcome="nothing",
    ),
    Question(
        "lowest daily close of IBM stock over the past twelve months",
        ("TIME_SERIES_DAILY",),
        (Call({"symbol": "IBM"}, "2025-01-13..2026-01-13; min(close)"),),
        # A free key gets 100 days: the answer must say where they begin.
        lambda data: [daily(data, "IBM")[-1]["date"]],
        key="free",
        outcome="nothing",
    ),
    Question(
        "split adjusted daily closes of IBM for the last 5 days",
        ("TIME_SERIES_DAILY_ADJUSTED",),
        (Call({"symbol": "IBM"}, "date,adjusted_close; last 5"),),
        lambda data: [],
        key="free",
        outcome="nothing",
    ),
    Question(
        "highest close of gold in the year 2031",
        ("GOLD_SILVER_HISTORY",),
        (Call({"symbol": "GOLD", "interval": "daily"}, "2031; max(price)"),),
        lambda data: [data.rows("GOLD_SILVER_HISTORY", symbol="GOLD", interval="daily")[0]["date"]],
        outcome="nothing",
    ),
    Question(
        "IBM options that expire on a Sunday, 2026-02-22",
        ("REALTIME_OPTIONS", "HISTORICAL_OPTIONS"),
        (Call({"symbol": "IBM"}, "expiration = 2026-02-22; strike, type"),),
        lambda data: [
            pick(row["expiration"] for row in data.rows("REALTIME_OPTIONS", symbol="IBM")) for pick in (min, max)
        ],
        outcome="nothing",
    ),
    Question(
        "weekly closes of IBM from before its data begin up to February 2000",
        ("TIME_SERIES_WEEKLY", "TIME_SERIES_WEEKLY_ADJUSTED"),
        (Call({"symbol": "IBM"}, "date,close; 1998-01..2000-02"),),
        lambda data: [row["close"] for row in within(data.rows("TIME_SERIES_WEEKLY", symbol="IBM"), "1998", "2000-03")],
    ),
    Question(
        "dividends of IBM per share in 2024 on a free key",
        ("DIVIDENDS",),
        (Call({"symbol": "IBM"}, "2024; sum(amount)"),),
        lambda data: [
            sum(row["amount"] for row in year(data.rows("DIVIDENDS", symbol="IBM"), "2024", "ex_dividend_date"))
        ],
        key="free",
    ),
)
