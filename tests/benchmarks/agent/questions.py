"""Everyday questions, the calls that a model writes for them at first, and the right answers.

The questions and the guesses were written down before it was tried which of them work. The newest trading day
of the mock API is 2026-01-13; a model knows the date from its own context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.agent.raw_data import RawData, mean, within


@dataclass(frozen=True)
class Call:
    """Arguments of a tool, and the ``select`` of TOOL_CALL."""

    arguments: Mapping[str, Any]
    select: str | None = None


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        text: what a person says; it is also the query of TOOL_LIST.
        tools: the tools that can answer it; the first is used.
        guesses: calls in the order in which a model tries them, each after the one before has failed.
        expected: the values that the answer must hold, computed from the raw data.
        operands: other values from which a model gets the expected ones with one operation, where there are some.
    """

    text: str
    tools: tuple[str, ...]
    guesses: tuple[Call, ...]
    expected: Callable[[RawData], list[Any]]
    operands: Callable[[RawData], list[Any]] | None = None


def _daily(data: RawData, symbol: str, full: bool = False) -> list[dict[str, Any]]:
    return data.rows("TIME_SERIES_DAILY", symbol=symbol, outputsize="full" if full else "compact")


def _monthly(data: RawData, symbol: str) -> list[dict[str, Any]]:
    return data.rows("TIME_SERIES_MONTHLY_ADJUSTED", symbol=symbol)


def _annual(data: RawData, function: str, symbol: str) -> list[dict[str, Any]]:
    return data.lists(function, symbol=symbol)["annualReports"]


def _year(rows: list[dict[str, Any]], year: str, by: str = "date") -> list[dict[str, Any]]:
    return [row for row in rows if str(row[by]).startswith(year)]


def _indicator(data: RawData, function: str, **more: str) -> list[dict[str, Any]]:
    return data.rows(function, **{"symbol": "IBM", "interval": "daily", "series_type": "close", **more})


def _cpi(data: RawData, month: str) -> float:
    return float(_year(data.rows("CPI", interval="monthly"), month)[0]["value"])


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
        lambda data: [row["close"] for row in _daily(data, "IBM")[:5]],
    ),
    Question(
        "lowest close of IBM between January 13 2025 and January 13 2026",
        ("TIME_SERIES_DAILY",),
        (
            Call({"symbol": "IBM"}, "2025-01-13..2026-01-13; min(close)"),
            Call({"symbol": "IBM", "outputsize": "full"}, "2025-01-13..2026-01-13; min(close)"),
        ),
        lambda data: [min(row["close"] for row in within(_daily(data, "IBM", True), "2025-01-13", "2026-01-14"))],
    ),
    Question(
        "year to date performance of Microsoft stock: first and last close of 2026",
        ("TIME_SERIES_DAILY",),
        (Call({"symbol": "MSFT"}, "date,close; ytd"), Call({"symbol": "MSFT"}, "date,close; since 2026-01-01")),
        lambda data: [within(_daily(data, "MSFT"), "2026")[index]["close"] for index in (0, -1)],
    ),
    Question(
        "average daily volume of AAPL in December 2025",
        ("TIME_SERIES_DAILY",),
        (Call({"symbol": "AAPL"}, "avg(volume); 2025-12"),),
        lambda data: [mean([row["volume"] for row in _year(_daily(data, "AAPL"), "2025-12")])],
    ),
    Question(
        "the three days with the highest trading volume of IBM since October 2025",
        ("TIME_SERIES_DAILY",),
        (
            Call({"symbol": "IBM"}, "date,volume; since 2025-10-01; top 3 by volume"),
            Call({"symbol": "IBM"}, "date,volume; since 2025-10-01; order by volume desc; limit 3"),
        ),
        lambda data: [
            row["date"] for row in sorted(within(_daily(data, "IBM"), "2025-10-01"), key=lambda row: -row["volume"])[:3]
        ],
    ),
    Question(
        "biggest daily range (high minus low) of IBM in the last 100 days",
        ("TIME_SERIES_DAILY",),
        (
            Call({"symbol": "IBM"}, "high - low as spread; top 1 by spread"),
            Call({"symbol": "IBM"}, "select max(high - low) from data"),
        ),
        lambda data: [max(row["high"] - row["low"] for row in _daily(data, "IBM"))],
    ),
    Question(
        "on how many of the last 100 days did Tesla close above its open",
        ("TIME_SERIES_DAILY",),
        (
            Call({"symbol": "TSLA"}, "count(*) where close > open"),
            Call({"symbol": "TSLA"}, "select count(*) from data where close > open"),
        ),
        lambda data: [sum(row["close"] > row["open"] for row in _daily(data, "TSLA"))],
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
        lambda data: [_year(_daily(data, "IBM"), "2026-01-09")[0]["close"]],
    ),
    Question(
        "highest weekly close of IBM in 2023",
        ("TIME_SERIES_WEEKLY", "TIME_SERIES_WEEKLY_ADJUSTED"),
        (Call({"symbol": "IBM"}, "max(close); 2023"),),
        lambda data: [max(row["close"] for row in _year(data.rows("TIME_SERIES_WEEKLY", symbol="IBM"), "2023"))],
    ),
    Question(
        "dividend adjusted monthly closes of IBM for the last year",
        ("TIME_SERIES_MONTHLY_ADJUSTED",),
        (
            Call({"symbol": "IBM"}, "date, adjusted close; last 12 months"),
            Call({"symbol": "IBM"}, "date,adjusted_close; last 12"),
        ),
        lambda data: [row["adjusted_close"] for row in _monthly(data, "IBM")[:12]],
    ),
    Question(
        "average monthly close of IBM by year for 2023 and 2024",
        ("TIME_SERIES_MONTHLY", "TIME_SERIES_MONTHLY_ADJUSTED"),
        (
            Call({"symbol": "IBM"}, "2023..2024; group by year: avg(close)"),
            Call({"symbol": "IBM"}, "group by year: avg(close)"),
        ),
        lambda data: [mean([row["close"] for row in _year(_monthly(data, "IBM"), year)]) for year in ("2023", "2024")],
    ),
    Question(
        "how much dividend did IBM pay per share in 2024",
        ("DIVIDENDS",),
        (
            Call({"symbol": "IBM"}, "sum(amount); 2024"),
            Call({"symbol": "IBM"}, "group by year: sum(amount)"),
        ),
        lambda data: [
            sum(row["amount"] for row in _year(data.rows("DIVIDENDS", symbol="IBM"), "2024", "ex_dividend_date"))
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
            row[name] for row in _annual(data, "INCOME_STATEMENT", "AAPL")[:3] for name in ("totalRevenue", "netIncome")
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
                for row in _annual(data, "INCOME_STATEMENT", "AAPL")
                if row["fiscalDateEnding"].startswith("2024")
            )
        ],
        lambda data: [
            row[name]
            for row in _annual(data, "INCOME_STATEMENT", "AAPL")
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
            row["operatingCashflow"] - row["capitalExpenditures"] for row in _annual(data, "CASH_FLOW", "MSFT")[:1]
        ],
        lambda data: [
            row[name]
            for row in _annual(data, "CASH_FLOW", "MSFT")[:1]
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
                for row in _year(data.rows("INSIDER_TRANSACTIONS", symbol="IBM"), "2025-12", "transaction_date")
                if row["acquisition_or_disposal"] == "D"
            )
        ],
    ),
    Question(
        "call options of IBM expiring 2025-01-17 with strike between 200 and 220 on 2025-01-15: open interest",
        ("HISTORICAL_OPTIONS",),
        (
            Call(
                {"symbol": "IBM", "date": "2025-01-15"},
                "strike,open_interest; expiration=2025-01-17; type=call; strike>=200; strike<=220",
            ),
        ),
        lambda data: [
            row["open_interest"]
            for row in data.rows("HISTORICAL_OPTIONS", symbol="IBM", date="2025-01-15")
            if row["expiration"] == "2025-01-17" and row["type"] == "call" and 200 <= row["strike"] <= 220
        ],
    ),
    Question(
        "is IBM overbought: current 14 day RSI",
        ("RSI",),
        (Call({"symbol": "IBM", "interval": "daily", "time_period": 14, "series_type": "close"}, "last 1"),),
        lambda data: [_indicator(data, "RSI", time_period="14")[0]["RSI"]],
    ),
    Question(
        "IBM 50 day and 200 day simple moving average",
        ("SMA",),
        (Call({"symbol": "IBM", "interval": "daily", "time_period": [50, 200], "series_type": "close"}, "last 1"),),
        lambda data: [_indicator(data, "SMA", time_period=period)[0]["SMA"] for period in ("50", "200")],
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
            for name, value in _indicator(data, "BBANDS", interval="weekly", time_period="20")[0].items()
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
            max(row["high"] for row in _year(data.rows("DIGITAL_CURRENCY_DAILY", symbol="BTC", market="EUR"), "2024"))
        ],
    ),
    Question(
        "average oil price (WTI) in 2024",
        ("WTI",),
        (Call({"interval": "monthly"}, "mean(value); 2024"), Call({"interval": "monthly"}, "avg(value); 2024")),
        lambda data: [mean([row["value"] for row in _year(data.rows("WTI", interval="monthly"), "2024")])],
    ),
    Question(
        "months since 2000 in which WTI oil was above 120 dollars",
        ("WTI",),
        (
            Call({"interval": "monthly"}, "date where value > 120 and date >= 2000"),
            Call({"interval": "monthly"}, "value>120; since 2000"),
        ),
        lambda data: [
            row["date"] for row in within(data.rows("WTI", interval="monthly"), "2000") if (row["value"] or 0) > 120
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
        lambda data: [100 * (_cpi(data, "2025-01") / _cpi(data, "2020-01") - 1)],
        lambda data: [_cpi(data, "2025-01"), _cpi(data, "2020-01")],
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
