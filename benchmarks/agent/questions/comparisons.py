"""Everyday questions that compare symbols and periods, group, calculate, and join series by date."""

from __future__ import annotations

from benchmarks.agent.questions.model import Call, Question, annual, calls, daily, monthly, year
from benchmarks.agent.raw_data import mean, within

_YIELDS = ("2year", "10year")
_PRICES = ("AAPL", "MSFT")

QUESTIONS = (
    Question(
        "by how much did Apple close above Microsoft on each of the last 3 trading days",
        ("TIME_SERIES_DAILY",),
        (
            Call({"symbol": ["AAPL", "MSFT"]}, "date,symbol,close; last 3 days"),
            Call({"symbol": ["AAPL", "MSFT"]}, "date,symbol,close; last 3"),
            Call({"symbol": "AAPL,MSFT"}, "date,close; last 3"),
        ),
        lambda data: [
            one["close"] - other["close"]
            for one, other in zip(daily(data, "AAPL")[:3], daily(data, "MSFT")[:3], strict=True)
        ],
        lambda data: [row["close"] for symbol in _PRICES for row in daily(data, symbol)[:3]],
    ),
    Question(
        "in which month of 2025 was the gap between the 2 year and the 10 year treasury yield the smallest",
        ("TREASURY_YIELD",),
        calls(
            {"interval": "monthly", "maturity": ["2year", "10year"]},
            "select a.date, b.value - a.value as gap from data a join data b on a.date = b.date "
            "where a.maturity = '2year' and b.maturity = '10year' and a.date >= '2025' order by gap limit 1",
            "2025",
        ),
        lambda data: [
            min(
                one["value"] - other["value"]
                for one, other in zip(
                    *(
                        year(data.rows("TREASURY_YIELD", interval="monthly", maturity=maturity), "2025")
                        for maturity in reversed(_YIELDS)
                    ),
                    strict=True,
                )
            )
        ],
        lambda data: [
            row["value"]
            for maturity in _YIELDS
            for row in year(data.rows("TREASURY_YIELD", interval="monthly", maturity=maturity), "2025")
        ],
    ),
    Question(
        "compare the P/E ratios of IBM, Apple and Microsoft",
        ("COMPANY_OVERVIEW",),
        (
            Call({"symbol": ["IBM", "AAPL", "MSFT"]}, "Symbol,PERatio"),
            Call({"symbol": "IBM,AAPL,MSFT"}, "Symbol,PERatio"),
        ),
        lambda data: [data.record("OVERVIEW", symbol=symbol)["PERatio"] for symbol in ("IBM", "AAPL", "MSFT")],
    ),
    Question(
        "net income of Apple and of Microsoft in their latest fiscal year",
        ("INCOME_STATEMENT",),
        calls(
            {"symbol": ["AAPL", "MSFT"]},
            "from annualReports; last 1; symbol, fiscalDateEnding, netIncome",
            "annualReports: netIncome; last 1",
        ),
        lambda data: [annual(data, "INCOME_STATEMENT", symbol)[0]["netIncome"] for symbol in _PRICES],
    ),
    Question(
        "euro and pound against the dollar: compare the monthly closes of the last 3 months",
        ("FX_MONTHLY",),
        calls({"from_symbol": ["EUR", "GBP"], "to_symbol": "USD"}, "last 3 months", "date,close; last 3"),
        lambda data: [
            row["close"]
            for symbol in ("EUR", "GBP")
            for row in data.rows("FX_MONTHLY", from_symbol=symbol, to_symbol="USD")[:3]
        ],
    ),
    Question(
        "20, 50 and 100 day exponential moving averages of Microsoft today",
        ("EMA",),
        calls(
            {"symbol": "MSFT", "interval": "daily", "time_period": [20, 50, 100], "series_type": "close"},
            "latest",
            "last 1",
        ),
        lambda data: [
            data.rows("EMA", symbol="MSFT", interval="daily", series_type="close", time_period=period)[0]["EMA"]
            for period in ("20", "50", "100")
        ],
    ),
    Question(
        "percent change of IBM stock over the past year, January 13 2025 to January 13 2026",
        ("TIME_SERIES_DAILY",),
        (
            Call({"symbol": "IBM"}, "2025-01-13..2026-01-13; (last(close) / first(close) - 1) * 100"),
            Call({"symbol": "IBM"}, "from 2025-01-13 to 2026-01-13; first(close), last(close)"),
            Call({"symbol": "IBM", "outputsize": "full"}, "2025-01-13..2026-01-13; first(close), last(close)"),
        ),
        lambda data: [
            100 * (rows[0]["close"] / rows[-1]["close"] - 1)
            for rows in [within(daily(data, "IBM", True), "2025-01-13", "2026-01-14")]
        ],
        lambda data: [
            within(daily(data, "IBM", True), "2025-01-13", "2026-01-14")[index]["close"] for index in (0, -1)
        ],
    ),
    Question(
        "total trading volume of IBM in each month of the fourth quarter of 2025",
        ("TIME_SERIES_DAILY", "TIME_SERIES_MONTHLY", "TIME_SERIES_MONTHLY_ADJUSTED"),
        calls({"symbol": "IBM"}, "2025-10..2025-12; group by month: sum(volume)", "date,volume; 2025-10..2025-12"),
        lambda data: [
            sum(row["volume"] for row in year(daily(data, "IBM"), month)) for month in ("2025-10", "2025-11", "2025-12")
        ],
    ),
    Question(
        "average federal funds rate in each year since 2020",
        ("FEDERAL_FUNDS_RATE",),
        calls(
            {"interval": "monthly"},
            "since 2020; group by year: avg(value)",
            "select substr(date,1,4) as year, avg(value) from data where date >= '2020' group by year",
        ),
        lambda data: [
            mean([row["value"] for row in year(data.rows("FEDERAL_FUNDS_RATE", interval="monthly"), number)])
            for number in ("2020", "2021", "2022", "2023", "2024", "2025")
        ],
    ),
    Question(
        "gross margin of Microsoft in percent for the last 5 fiscal years",
        ("INCOME_STATEMENT",),
        calls(
            {"symbol": "MSFT"},
            "from annualReports; fiscalDateEnding, grossProfit / totalRevenue * 100 as margin; last 5",
            "from annualReports; fiscalDateEnding, grossProfit, totalRevenue; last 5",
        ),
        lambda data: [
            100 * row["grossProfit"] / row["totalRevenue"] for row in annual(data, "INCOME_STATEMENT", "MSFT")[:5]
        ],
        lambda data: [
            row[name]
            for row in annual(data, "INCOME_STATEMENT", "MSFT")[:5]
            for name in ("grossProfit", "totalRevenue")
        ],
    ),
    Question(
        "current ratio of Apple in the latest quarter: current assets over current liabilities",
        ("BALANCE_SHEET",),
        calls(
            {"symbol": "AAPL"},
            "quarterlyReports; totalCurrentAssets / totalCurrentLiabilities as current_ratio; last 1",
            "from quarterlyReports; totalCurrentAssets,totalCurrentLiabilities; last 1",
        ),
        lambda data: [
            row["totalCurrentAssets"] / row["totalCurrentLiabilities"]
            for row in data.lists("BALANCE_SHEET", symbol="AAPL")["quarterlyReports"][:1]
        ],
        lambda data: [
            data.lists("BALANCE_SHEET", symbol="AAPL")["quarterlyReports"][0][name]
            for name in ("totalCurrentAssets", "totalCurrentLiabilities")
        ],
    ),
    Question(
        "best and worst month of IBM stock in 2024 by monthly close minus open",
        ("TIME_SERIES_MONTHLY", "TIME_SERIES_MONTHLY_ADJUSTED"),
        calls(
            {"symbol": "IBM"},
            "2024; close - open as gain; max(gain), min(gain)",
            "select max(close - open), min(close - open) from data where date like '2024%'",
        ),
        lambda data: [
            pick(row["close"] - row["open"] for row in year(monthly(data, "IBM"), "2024")) for pick in (max, min)
        ],
    ),
    Question(
        "how many months since 2020 had a US unemployment rate above 6 percent",
        ("UNEMPLOYMENT",),
        calls({}, "count(*) where value > 6 and date >= 2020-01-01", "value > 6 and date >= 2020-01-01; count"),
        lambda data: [sum((row["value"] or 0) > 6 for row in within(data.rows("UNEMPLOYMENT"), "2020"))],
    ),
    Question(
        "total US retail sales in the last quarter of 2025",
        ("RETAIL_SALES",),
        calls({}, "2025-10..2025-12; sum(value)"),
        lambda data: [sum(row["value"] for row in within(data.rows("RETAIL_SALES"), "2025-10", "2026"))],
    ),
    Question(
        "closing prices of IBM this month so far",
        ("TIME_SERIES_DAILY",),
        calls({"symbol": "IBM"}, "date,close; mtd", "date,close; this month"),
        lambda data: [row["close"] for row in within(daily(data, "IBM"), "2026-01-01")],
    ),
    Question(
        "closes of Apple for the week from January 5 to January 9 2026",
        ("TIME_SERIES_DAILY",),
        calls(
            {"symbol": "AAPL"}, "date,close; between 2026-01-05 and 2026-01-09", "date,close; 2026-01-05..2026-01-09"
        ),
        lambda data: [row["close"] for row in within(daily(data, "AAPL"), "2026-01-05", "2026-01-10")],
    ),
)
