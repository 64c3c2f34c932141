"""Everyday questions about companies, funds, options and insiders."""

from __future__ import annotations

from benchmarks.agent.questions.model import Call, Question, annual, year

QUESTIONS = (
    Question(
        "market cap and P/E ratio of Apple",
        ("COMPANY_OVERVIEW",),
        (Call({"symbol": "AAPL"}, "MarketCapitalization, PERatio"),),
        lambda data: [data.record("OVERVIEW", symbol="AAPL")[name] for name in ("MarketCapitalization", "PERatio")],
    ),
    Question(
        "which sector does Microsoft belong to",
        ("COMPANY_OVERVIEW",),
        (Call({"symbol": "MSFT"}, "sector"),),
        lambda data: [data.record("OVERVIEW", symbol="MSFT")["Sector"]],
    ),
    Question(
        "annual revenue and net income of Apple for the last 3 fiscal years",
        ("INCOME_STATEMENT",),
        (
            Call({"symbol": "AAPL"}, "annualReports; fiscalDateEnding, totalRevenue, netIncome; last 3"),
            Call({"symbol": "AAPL"}, "from annualReports; fiscalDateEnding,totalRevenue,netIncome; last 3"),
        ),
        lambda data: [
            row[name] for row in annual(data, "INCOME_STATEMENT", "AAPL")[:3] for name in ("totalRevenue", "netIncome")
        ],
    ),
    Question(
        "net margin of Apple in fiscal 2024",
        ("INCOME_STATEMENT",),
        (
            Call({"symbol": "AAPL"}, "from annualReports; netIncome / totalRevenue as margin; 2024"),
            Call(
                {"symbol": "AAPL"},
                "select netIncome * 1.0 / totalRevenue from annualReports where fiscalDateEnding like '2024%'",
            ),
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
        (Call({"symbol": "MSFT"}, "from quarterlyReports; shortLongTermDebtTotal, totalShareholderEquity; last 1"),),
        lambda data: [
            data.lists("BALANCE_SHEET", symbol="MSFT")["quarterlyReports"][0][name]
            for name in ("shortLongTermDebtTotal", "totalShareholderEquity")
        ],
    ),
    Question(
        "free cash flow of Microsoft last year: operating cash flow minus capex",
        ("CASH_FLOW",),
        (
            Call({"symbol": "MSFT"}, "annualReports: operatingCashflow - capitalExpenditures as fcf; last 1"),
            Call({"symbol": "MSFT"}, "from annualReports; operatingCashflow, capitalExpenditures; last 1"),
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
        (
            Call({"symbol": "IBM"}, "annualEarnings; since 2020"),
            Call({"symbol": "IBM"}, "from annualEarnings; since 2020"),
        ),
        lambda data: [
            row["reportedEPS"]
            for row in data.lists("EARNINGS", symbol="IBM")["annualEarnings"]
            if row["fiscalDateEnding"] >= "2020"
        ],
    ),
    Question(
        "did IBM beat earnings estimates last quarter, what was the surprise",
        ("EARNINGS",),
        (Call({"symbol": "IBM"}, "from quarterlyEarnings; reportedEPS, estimatedEPS, surprisePercentage; last 1"),),
        lambda data: [data.lists("EARNINGS", symbol="IBM")["quarterlyEarnings"][0]["surprisePercentage"]],
    ),
    Question(
        "when does IBM report earnings next",
        ("EARNINGS_CALENDAR",),
        (Call({"symbol": "IBM"}),),
        lambda data: [data.rows("EARNINGS_CALENDAR", symbol="IBM")[0]["reportDate"]],
    ),
    Question(
        "the top 5 gainers of the day",
        ("TOP_GAINERS_LOSERS",),
        (
            Call({}, "top_gainers; first 5"),
            Call({}, "from top_gainers; first 5"),
        ),
        lambda data: [row["ticker"] for row in data.lists("TOP_GAINERS_LOSERS")["top_gainers"][:5]],
    ),
    Question(
        "which stock was traded most today",
        ("TOP_GAINERS_LOSERS",),
        (
            Call({}, "from most_actively_traded; order by volume desc; limit 1"),
            Call({}, "from most_actively_traded; top 1 by volume"),
        ),
        lambda data: [
            max(data.lists("TOP_GAINERS_LOSERS")["most_actively_traded"], key=lambda row: row["volume"])["ticker"]
        ],
    ),
    Question(
        "five largest holdings of QQQ with their weights",
        ("ETF_PROFILE",),
        (
            Call({"symbol": "QQQ"}, "holdings; first 5"),
            Call({"symbol": "QQQ"}, "from holdings; first 5"),
        ),
        lambda data: [
            row["weight"]
            for row in sorted(data.lists("ETF_PROFILE", symbol="QQQ")["holdings"], key=lambda row: -row["weight"])[:5]
        ],
    ),
    Question(
        "how much do insiders of IBM sell: total shares disposed of in December 2025",
        ("INSIDER_TRANSACTIONS",),
        (Call({"symbol": "IBM"}, "acquisition_or_disposal=D; 2025-12; sum(shares)"),),
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
        (
            Call(
                {"symbol": "IBM", "date": "2025-01-15"},
                "strike,open_interest; expiration=2025-01-17; type=call; strike>=260; strike<=280",
            ),
        ),
        lambda data: [
            row["open_interest"]
            for row in data.rows("HISTORICAL_OPTIONS", symbol="IBM", date="2025-01-15")
            if row["expiration"] == "2025-01-17" and row["type"] == "call" and 260 <= row["strike"] <= 280
        ],
    ),
)
