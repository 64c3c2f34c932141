"""Everyday questions about prices, dividends and splits of stocks, and about companies, funds, options and insiders."""

from __future__ import annotations

from benchmarks.agent.questions.model import Call, Question, annual, calls, daily, monthly, year
from benchmarks.agent.raw_data import mean, within

QUESTIONS = (
    Question(
        "what does apple cost right now",
        ("GLOBAL_QUOTE",),
        calls({"symbol": "AAPL"}, "price", None),
        lambda data: [data.record("GLOBAL_QUOTE", symbol="AAPL")["price"]],
    ),
    Question(
        "how much did IBM move today in percent",
        ("GLOBAL_QUOTE",),
        calls({"symbol": "IBM"}),
        lambda data: [data.record("GLOBAL_QUOTE", symbol="IBM")["change_percent"]],
    ),
    Question(
        "closing prices of IBM over the last 5 trading days",
        ("TIME_SERIES_DAILY",),
        calls({"symbol": "IBM"}, "date,close; last 5 days", "date,close; last 5"),
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
        calls({"symbol": "MSFT"}, "date,close; ytd", "date,close; since 2026-01-01"),
        lambda data: [within(daily(data, "MSFT"), "2026")[index]["close"] for index in (0, -1)],
    ),
    Question(
        "average daily volume of AAPL in December 2025",
        ("TIME_SERIES_DAILY",),
        calls({"symbol": "AAPL"}, "2025-12; avg(volume)"),
        lambda data: [mean([row["volume"] for row in year(daily(data, "AAPL"), "2025-12")])],
    ),
    Question(
        "the three days with the highest trading volume of IBM since October 2025",
        ("TIME_SERIES_DAILY",),
        calls(
            {"symbol": "IBM"},
            "date,volume; since 2025-10-01; top 3 by volume",
            "date,volume; since 2025-10-01; order by volume desc; limit 3",
        ),
        lambda data: [
            row["date"] for row in sorted(within(daily(data, "IBM"), "2025-10-01"), key=lambda row: -row["volume"])[:3]
        ],
    ),
    Question(
        "biggest daily range (high minus low) of IBM in the last 100 days",
        ("TIME_SERIES_DAILY",),
        calls({"symbol": "IBM"}, "high - low as spread; top 1 by spread", "select max(high - low) from data"),
        lambda data: [max(row["high"] - row["low"] for row in daily(data, "IBM"))],
    ),
    Question(
        "on how many of the last 100 days did Tesla close above its open",
        ("TIME_SERIES_DAILY",),
        calls({"symbol": "TSLA"}, "close > open; count", "select count(*) from data where close > open"),
        lambda data: [sum(row["close"] > row["open"] for row in daily(data, "TSLA"))],
    ),
    Question(
        "compare the latest prices of Apple and Microsoft",
        ("GLOBAL_QUOTE", "REALTIME_BULK_QUOTES"),
        calls({"symbol": ["AAPL", "MSFT"]}, "symbol,price"),
        lambda data: [data.record("GLOBAL_QUOTE", symbol=symbol)["price"] for symbol in ("AAPL", "MSFT")],
    ),
    Question(
        "close of IBM on 2026-01-09",
        ("TIME_SERIES_DAILY",),
        calls({"symbol": "IBM"}, "date = 2026-01-09; close", "close; 2026-01-09"),
        lambda data: [year(daily(data, "IBM"), "2026-01-09")[0]["close"]],
    ),
    Question(
        "highest weekly close of IBM in 2023",
        ("TIME_SERIES_WEEKLY", "TIME_SERIES_WEEKLY_ADJUSTED"),
        calls({"symbol": "IBM"}, "2023; max(close)"),
        lambda data: [max(row["close"] for row in year(data.rows("TIME_SERIES_WEEKLY", symbol="IBM"), "2023"))],
    ),
    Question(
        "dividend adjusted monthly closes of IBM for the last year",
        ("TIME_SERIES_MONTHLY_ADJUSTED",),
        calls({"symbol": "IBM"}, "date, adjusted close; last 12 months", "date,adjusted_close; last 12"),
        lambda data: [row["adjusted_close"] for row in monthly(data, "IBM")[:12]],
    ),
    Question(
        "average monthly close of IBM by year for 2023 and 2024",
        ("TIME_SERIES_MONTHLY", "TIME_SERIES_MONTHLY_ADJUSTED"),
        calls(
            {"symbol": "IBM"},
            "2023..2024; group by year: avg(close)",
            "SELECT strftime('%Y', date) AS year, avg(close) FROM data GROUP BY 1",
        ),
        lambda data: [
            mean([row["close"] for row in year(monthly(data, "IBM"), number)]) for number in ("2023", "2024")
        ],
    ),
    Question(
        "how much dividend did IBM pay per share in 2024",
        ("DIVIDENDS",),
        calls({"symbol": "IBM"}, "2024; sum(amount)", "sum(amount) by year"),
        lambda data: [
            sum(row["amount"] for row in year(data.rows("DIVIDENDS", symbol="IBM"), "2024", "ex_dividend_date"))
        ],
    ),
    Question(
        "when is the next dividend of IBM paid, or when was the last one",
        ("DIVIDENDS",),
        calls({"symbol": "IBM"}, "payment_date,amount; last 1", "payment_date,amount; first 1"),
        lambda data: [data.rows("DIVIDENDS", symbol="IBM")[0]["payment_date"]],
    ),
    Question(
        "did apple ever split its stock and by how much",
        ("SPLITS",),
        calls({"symbol": "AAPL"}),
        lambda data: [row["split_factor"] for row in data.rows("SPLITS", symbol="AAPL")],
    ),
    Question(
        "market cap and P/E ratio of Apple",
        ("COMPANY_OVERVIEW",),
        calls({"symbol": "AAPL"}, "MarketCapitalization, PERatio"),
        lambda data: [data.record("OVERVIEW", symbol="AAPL")[name] for name in ("MarketCapitalization", "PERatio")],
    ),
    Question(
        "which sector does Microsoft belong to",
        ("COMPANY_OVERVIEW",),
        calls({"symbol": "MSFT"}, "sector"),
        lambda data: [data.record("OVERVIEW", symbol="MSFT")["Sector"]],
    ),
    Question(
        "annual revenue and net income of Apple for the last 3 fiscal years",
        ("INCOME_STATEMENT",),
        calls(
            {"symbol": "AAPL"},
            "annualReports; fiscalDateEnding, totalRevenue, netIncome; last 3",
            "from annualReports; fiscalDateEnding,totalRevenue,netIncome; last 3",
        ),
        lambda data: [
            row[name] for row in annual(data, "INCOME_STATEMENT", "AAPL")[:3] for name in ("totalRevenue", "netIncome")
        ],
    ),
    Question(
        "net margin of Apple in fiscal 2024",
        ("INCOME_STATEMENT",),
        calls(
            {"symbol": "AAPL"},
            "from annualReports; netIncome / totalRevenue as margin; 2024",
            "select netIncome * 1.0 / totalRevenue from annualReports where fiscalDateEnding like '2024%'",
        ),
        lambda data: [
            next(
                row["netIncome"] / row["totalRevenue"]
                for row in annual(data, "INCOME_STATEMENT", "AAPL")
                if row["fiscalDateEnding"].startswith("2024")
            )
        ],
        lambda data: [
            row[name]
            for row in annual(data, "INCOME_STATEMENT", "AAPL")
            if row["fiscalDateEnding"].startswith("2024")
            for name in ("netIncome", "totalRevenue")
        ],
    ),
    Question(
        "total debt versus equity of Microsoft, latest quarter",
        ("BALANCE_SHEET",),
        calls({"symbol": "MSFT"}, "from quarterlyReports; shortLongTermDebtTotal, totalShareholderEquity; last 1"),
        lambda data: [
            data.lists("BALANCE_SHEET", symbol="MSFT")["quarterlyReports"][0][name]
            for name in ("shortLongTermDebtTotal", "totalShareholderEquity")
        ],
    ),
    Question(
        "free cash flow of Microsoft last year: operating cash flow minus capex",
        ("CASH_FLOW",),
        calls(
            {"symbol": "MSFT"},
            "annualReports: operatingCashflow - capitalExpenditures as fcf; last 1",
            "from annualReports; operatingCashflow, capitalExpenditures; last 1",
        ),
        lambda data: [
            row["operatingCashflow"] - row["capitalExpenditures"] for row in annual(data, "CASH_FLOW", "MSFT")[:1]
        ],
        lambda data: [
            row[name]
            for row in annual(data, "CASH_FLOW", "MSFT")[:1]
            for name in ("operatingCashflow", "capitalExpenditures")
        ],
    ),
    Question(
        "IBM earnings per share for each year since 2020",
        ("EARNINGS",),
        calls({"symbol": "IBM"}, "annualEarnings; since 2020", "from annualEarnings; since 2020"),
        lambda data: [
            row["reportedEPS"]
            for row in data.lists("EARNINGS", symbol="IBM")["annualEarnings"]
            if row["fiscalDateEnding"] >= "2020"
        ],
    ),
    Question(
        "did IBM beat earnings estimates last quarter, what was the surprise",
        ("EARNINGS",),
        calls({"symbol": "IBM"}, "from quarterlyEarnings; reportedEPS, estimatedEPS, surprisePercentage; last 1"),
        lambda data: [data.lists("EARNINGS", symbol="IBM")["quarterlyEarnings"][0]["surprisePercentage"]],
    ),
    Question(
        "when does IBM report earnings next",
        ("EARNINGS_CALENDAR",),
        calls({"symbol": "IBM"}),
        lambda data: [data.rows("EARNINGS_CALENDAR", symbol="IBM")[0]["reportDate"]],
    ),
    Question(
        "the top 5 gainers of the day",
        ("TOP_GAINERS_LOSERS",),
        calls({}, "top_gainers; first 5", "from top_gainers; first 5"),
        lambda data: [row["ticker"] for row in data.lists("TOP_GAINERS_LOSERS")["top_gainers"][:5]],
    ),
    Question(
        "which stock was traded most today",
        ("TOP_GAINERS_LOSERS",),
        calls(
            {}, "from most_actively_traded; order by volume desc; limit 1", "from most_actively_traded; top 1 by volume"
        ),
        lambda data: [
            max(data.lists("TOP_GAINERS_LOSERS")["most_actively_traded"], key=lambda row: row["volume"])["ticker"]
        ],
    ),
    Question(
        "five largest holdings of QQQ with their weights",
        ("ETF_PROFILE",),
        calls({"symbol": "QQQ"}, "holdings; first 5", "from holdings; first 5"),
        lambda data: [
            row["weight"]
            for row in sorted(data.lists("ETF_PROFILE", symbol="QQQ")["holdings"], key=lambda row: -row["weight"])[:5]
        ],
    ),
    Question(
        "how much do insiders of IBM sell: total shares disposed of in December 2025",
        ("INSIDER_TRANSACTIONS",),
        calls({"symbol": "IBM"}, "acquisition_or_disposal=D; 2025-12; sum(shares)"),
        lambda data: [
            sum(
                row["shares"] or 0
                for row in year(data.rows("INSIDER_TRANSACTIONS", symbol="IBM"), "2025-12", "transaction_date")
                if row["acquisition_or_disposal"] == "D"
            )
        ],
    ),
    Question(
        "call options of IBM expiring 2025-01-17 with strike between 260 and 280 on 2025-01-15: open interest",
        ("HISTORICAL_OPTIONS",),
        calls(
            {"symbol": "IBM", "date": "2025-01-15"},
            "expiration=2025-01-17; type=call; strike>=260; strike<=280; strike,open_interest",
        ),
        lambda data: [
            row["open_interest"]
            for row in data.rows("HISTORICAL_OPTIONS", symbol="IBM", date="2025-01-15")
            if row["expiration"] == "2025-01-17" and row["type"] == "call" and 260 <= row["strike"] <= 280
        ],
    ),
)
