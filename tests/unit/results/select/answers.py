"""Small realistic answers of an upstream, for the tests of ``select``."""

import datetime
import json

from toolfold.budget import WorkBudget
from toolfold.results import tables
from toolfold.results.tables import Document

TODAY = datetime.date(2026, 1, 14)

DAILY = """timestamp,open,high,low,close,volume
2026-01-13,102,105,101,104,1200000
2026-01-12,100,103,99,102,900000
2026-01-09,98,101,97,100,1500000
2026-01-08,99,99,95,98,800000
2026-01-07,95,98,94,97,700000
2026-01-06,96,97,93,95,1100000
2025-12-31,94,97,92,96,600000
2025-12-15,90,95,90,94,500000
2025-09-30,85,88,84,86,400000
2025-07-15,80,84,79,82,300000
2025-01-14,70,73,69,72,1000000
2025-01-13,68,71,68,70,2000000
2024-12-31,66,69,65,67,100000
"""
ADJUSTED = "timestamp,open,close,adjusted close,dividend amount\n2026-01-13,10,12,11.5,0\n2026-01-12,9,11,10.5,0.2\n"
QUOTE = json.dumps(
    {
        "Global Quote": {
            "01. symbol": "IBM",
            "02. open": "300.5",
            "05. price": "303.02",
            "06. volume": "4573084",
            "07. latest trading day": "2026-01-13",
            "10. change percent": "0.31%",
        }
    }
)
STATEMENTS = json.dumps(
    {
        "symbol": "IBM",
        "annualReports": [
            {"fiscalDateEnding": f"{year}-12-31", "reportedCurrency": "USD", "totalRevenue": str(revenue),
             "costOfRevenue": str(revenue - 40), "netIncome": str(income)}
            for year, revenue, income in ((2025, 200, 20), (2024, 180, 15), (2023, 160, 12), (2022, 150, 10))
        ],
        "quarterlyReports": [
            {"fiscalDateEnding": day, "reportedCurrency": "USD", "totalRevenue": str(revenue), "netIncome": str(income)}
            for day, revenue, income in (("2025-12-31", 60, 6), ("2025-09-30", 50, 5), ("2025-06-30", 45, 4),
                                         ("2025-03-31", 45, 5), ("2024-12-31", 55, 4))
        ],
    }
)  # fmt: skip
NEWS = json.dumps(
    {
        "items": "3",
        "sentiment_score_definition": "x <= -0.35: Bearish",
        "feed": [
            {"title": "Merger agreed", "url": "https://a.example/1", "time_published": "20260113T101500",
             "source": "Wire", "overall_sentiment_score": 0.3, "topics": [{"topic": "Mergers"}],
             "ticker_sentiment": [{"ticker": "IBM", "ticker_sentiment_score": "0.4"}]},
            {"title": "Profit falls", "url": "https://a.example/2", "time_published": "20260112T091500",
             "source": "Daily", "overall_sentiment_score": -0.2, "topics": [{"topic": "Earnings"}],
             "ticker_sentiment": [{"ticker": "AAPL", "ticker_sentiment_score": "-0.1"}]},
            {"title": "Rates unchanged", "url": "https://a.example/3", "time_published": "20260110T080000",
             "source": "Wire", "overall_sentiment_score": 0.1, "topics": [{"topic": "Economy"}],
             "ticker_sentiment": []},
        ],
    }
)  # fmt: skip
OPTIONS = """contractID,symbol,expiration,strike,type,last,volume,open_interest,implied_volatility,delta,date
A,IBM,2026-01-16,280.00,call,25.5,10,500,0.25,0.9,2026-01-13
B,IBM,2026-01-16,280.00,put,0.5,30,400,0.27,-0.1,2026-01-13
C,IBM,2026-02-20,300.00,call,12.5,200,900,0.22,0.55,2026-01-13
D,IBM,2026-02-20,300.00,put,9.5,50,300,0.23,-0.45,2026-01-13
E,IBM,2026-02-20,320.00,call,4.5,80,,0.24,0.25,2026-01-13
F,IBM,2026-03-20,320.00,put,19.5,5,100,0.26,-0.7,2026-01-13
"""
HOLDINGS = json.dumps(
    {
        "net_assets": "403000000000",
        "net_expense_ratio": "0.002",
        "sectors": [{"sector": "TECHNOLOGY", "weight": "0.52"}, {"sector": "HEALTH CARE", "weight": "0.05"}],
        "holdings": [
            {"symbol": "NVDA", "description": "NVIDIA CORP", "weight": "0.09"},
            {"symbol": "AAPL", "description": "APPLE INC", "weight": "0.08"},
            {"symbol": "MSFT", "description": "MICROSOFT CORP", "weight": "0.07"},
            {"symbol": "COST", "description": "COSTCO WHOLESALE", "weight": "0.03"},
        ],
    }
)


def _movers(*movers: tuple[str, str, str, str]) -> list[dict[str, str]]:
    names = ("ticker", "price", "change_percentage", "volume")
    return [dict(zip(names, mover, strict=True)) for mover in movers]


MOVERS = json.dumps(
    {
        "metadata": "Top gainers, losers, and most actively traded US tickers",
        "last_updated": "2026-01-13 16:15:59 US/Eastern",
        "top_gainers": _movers(("AAA", "1.5", "120.5%", "5000000"), ("BBB", "7", "80.1%", "900000"),
                               ("CCC", "0.4", "40.0%", "700000")),
        "top_losers": _movers(("DDD", "3", "-60.5%", "400000"), ("EEE", "9.5", "-33.1%", "300000")),
        "most_actively_traded": _movers(("NVDA", "185.0", "0.9%", "160000000"), ("AAA", "1.5", "120.5%", "5000000")),
    }
)  # fmt: skip
MACRO = json.dumps(
    {
        "name": "Consumer Price Index for all Urban Consumers",
        "interval": "monthly",
        "unit": "index 1982-1984=100",
        "data": [
            {"date": f"{year}-{month:02}-01", "value": "." if (year, month) == (2025, 10) else str(300 + year % 100
                                                                                           + month / 10)}
            for year in (2025, 2024, 2023)
            for month in range(12, 0, -1)
        ],
    }
)  # fmt: skip
MATCHES = json.dumps(
    {
        "bestMatches": [
            {"1. symbol": "TSCO.LON", "2. name": "Tesco PLC", "3. type": "Equity", "4. region": "United Kingdom",
             "8. currency": "GBX", "9. matchScore": "0.7273"},
            {"1. symbol": "TSCDF", "2. name": "Tesco plc", "3. type": "Equity", "4. region": "United States",
             "8. currency": "USD", "9. matchScore": "0.7143"},
            {"1. symbol": "TCO.FRK", "2. name": "Tecogen fund", "3. type": "ETF", "4. region": "Frankfurt",
             "8. currency": "EUR", "9. matchScore": "0.5000"},
        ]
    }
)  # fmt: skip
CALENDAR = """symbol,name,reportDate,fiscalDateEnding,estimate,currency
AAA,Alpha Inc,2026-01-15,2025-12-31,1.5,USD
BBB,Beta Corp,2026-01-20,2025-12-31,,USD
CCC,Gamma Ltd,2026-02-10,2025-12-31,0.4,CAD
DDD,Delta SA,2026-04-02,2026-02-28,2.25,USD
"""
DIVIDENDS = json.dumps(
    {
        "symbol": "IBM",
        "data": [
            {"ex_dividend_date": day, "payment_date": paid, "amount": amount}
            for day, paid, amount in (("2025-11-10", "2025-12-10", "1.68"), ("2025-08-08", "2025-09-10", "1.68"),
                                      ("2025-05-09", "2025-06-10", "1.68"), ("2025-02-10", "2025-03-10", "1.67"),
                                      ("2024-11-12", "2024-12-10", "1.67"), ("2024-08-09", "2024-09-10", "1.67"))
        ],
    }
)  # fmt: skip

ANSWERS = {
    name.lower(): body
    for name, body in (("DAILY", DAILY), ("ADJUSTED", ADJUSTED), ("QUOTE", QUOTE), ("STATEMENTS", STATEMENTS),
                       ("NEWS", NEWS), ("OPTIONS", OPTIONS), ("HOLDINGS", HOLDINGS), ("MOVERS", MOVERS),
                       ("MACRO", MACRO), ("MATCHES", MATCHES), ("CALENDAR", CALENDAR), ("DIVIDENDS", DIVIDENDS))
}  # fmt: skip


def document(name: str) -> Document:
    """Return one of the answers, parsed."""
    body = ANSWERS[name]
    return tables.parse_tables(body, "json" if body[0] in "[{" else "csv", {}, WorkBudget())
