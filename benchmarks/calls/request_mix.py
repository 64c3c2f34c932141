"""Requests of the workload: subjects by popularity, tools by frequency, and the parts of a response that are needed.

All weights are estimates, because no such figures are published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FUNDS = frozenset(("SPY", "QQQ", "VOO", "IWM", "DIA", "GLD", "TLT", "XLF", "XLK", "ARKK"))
STOCKS = (
    "NVDA", "AAPL", "TSLA", "SPY", "MSFT", "AMZN", "META", "GOOGL", "QQQ", "AMD", "NFLX", "AVGO", "PLTR", "COIN", "VOO",
    "JPM", "INTC", "MSTR", "DIS", "BA", "WMT", "KO", "COST", "IBM", "ORCL", "GLD", "XOM", "IWM", "F", "BAC", "V", "JNJ",
    "UNH", "PFE", "NKE", "CRM", "ADBE", "CSCO", "PYPL", "PEP", "TLT", "T", "CVX", "PG", "HD", "CAT", "GE", "ABBV",
    "DIA", "OXY", "XLK", "ARKK", "TSCO.LON", "SHOP.TRT", "XLF", "SAP.DEX", "BA.LON", "MBG.DEX", "RELIANCE.BSE",
    "GPV.TRV",
)  # fmt: skip
"""Sixty symbols, the best known first: the trace draws the n-th with a weight of 1/n."""

COMPANIES = tuple(symbol for symbol in STOCKS if symbol not in FUNDS and "." not in symbol)
SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "stock": STOCKS,
    "company": COMPANIES,
    "fund": tuple(symbol for symbol in STOCKS if symbol in FUNDS),
    "coin": ("BTC", "ETH", "SOL", "XRP", "DOGE"),
    "pair": ("EUR/USD", "USD/JPY", "GBP/USD", "USD/CHF", "USD/CAD", "AUD/USD"),
    "maturity": ("10year", "2year", "30year", "3month"),
    "words": ("apple", "tesla", "bank", "micro", "motor", "tesco", "gold", "international"),
    "": ("",),
}

_PRICES = (
    "timestamp,close; last 5", "timestamp,close; last 30", "change(close); last 20", "max(high), min(low); last 60",
    "timestamp,close,volume; last 10", "mean(volume); last 30", "timestamp,close; since 2025-12-15",
)  # fmt: skip
_LONG = (
    "change(close); since 2021", "max(high), min(low); last 52", "timestamp,close; last 12", "timestamp,close; 2024",
    "change(close); 2025", "max(close); since 2015",
)  # fmt: skip
_VALUES = ("last 12", "last 1", "max(value), min(value); since 2015", "change(value); 2025", "since 2025-06")
_LATEST = ("last 1", "last 5", "last 30", "since 2025-12-01")
_BARS = {"interval": "daily", "series_type": "close"}


@dataclass(frozen=True, slots=True)
class RequestPattern:
    """One kind of question. ``{}`` in ``arguments`` is the subject, ``{0}/{1}`` its parts where it is a pair.

    ``selects`` are the parts that questions about the answer need; none where an answer is short or wanted whole.
    """

    weight: float
    subject: str
    tool: str
    arguments: Mapping[str, Any]
    selects: tuple[str, ...] = ()
    premium: bool = False


def _indicator(weight: float, tool: str, period: int | None = None, **more: Any) -> RequestPattern:
    arguments = {"symbol": "{}", "interval": "daily", **more}
    return RequestPattern(weight, "stock", tool, arguments | ({"time_period": period} if period else {}), _LATEST)


REQUEST_MIX: tuple[RequestPattern, ...] = (
    # Stocks: what most people come for
    RequestPattern(24, "stock", "GLOBAL_QUOTE", {"symbol": "{}"}),
    RequestPattern(15, "stock", "TIME_SERIES_DAILY", {"symbol": "{}"}, _PRICES),
    RequestPattern(4, "stock", "TIME_SERIES_WEEKLY", {"symbol": "{}"}, _LONG),
    RequestPattern(2, "stock", "TIME_SERIES_MONTHLY", {"symbol": "{}"}, _LONG),
    RequestPattern(2, "stock", "TIME_SERIES_WEEKLY_ADJUSTED", {"symbol": "{}"},
                   ("change(adjusted_close); since 2016", "timestamp,adjusted_close; last 26")),
    RequestPattern(2, "words", "SYMBOL_SEARCH", {"keywords": "{}"}),
    RequestPattern(1, "", "MARKET_STATUS", {}),
    RequestPattern(2.5, "", "TOP_GAINERS_LOSERS", {},
                   ("from top_gainers; first 5", "from top_losers; first 5", "from most_actively_traded; first 10")),
    # Companies
    RequestPattern(6, "company", "COMPANY_OVERVIEW", {"symbol": "{}"},
                   ("PERatio,ForwardPE,PEGRatio", "MarketCapitalization,Sector,Industry",
                    "DividendYield,DividendPerShare")),
    RequestPattern(2.5, "company", "INCOME_STATEMENT", {"symbol": "{}"},
                   ("from annualReports; fiscalDateEnding,totalRevenue,netIncome; last 4",
           "from quarterlyReports; fiscalDateEnding,totalRevenue,grossProfit,operatingIncome; last 8")),
    RequestPattern(1.5, "company", "BALANCE_SHEET", {"symbol": "{}"},
                   ("from quarterlyReports; last 1",
           "from annualReports; fiscalDateEnding,totalAssets,totalLiabilities,totalShareholderEquity; last 5")),
    RequestPattern(1.5, "company", "CASH_FLOW", {"symbol": "{}"},
                   ("from annualReports; fiscalDateEnding,operatingCashflow,capitalExpenditures; last 5",
           "from quarterlyReports; fiscalDateEnding,operatingCashflow; last 4")),
    RequestPattern(3, "company", "EARNINGS", {"symbol": "{}"},
                   ("from quarterlyEarnings; reportedDate,reportedEPS,estimatedEPS,surprisePercentage; last 4",
           "from annualEarnings; last 5")),
    RequestPattern(1.5, "company", "DIVIDENDS", {"symbol": "{}"}, ("last 4", "sum(amount); 2025")),
    RequestPattern(1, "company", "EARNINGS_CALENDAR", {"symbol": "{}"}),
    RequestPattern(1, "company", "INSIDER_TRANSACTIONS", {"symbol": "{}"}, ("last 10", "top 5 by shares")),
    RequestPattern(1, "fund", "ETF_PROFILE", {"symbol": "{}"}, ("from holdings; first 10", "from sectors")),
    # News
    RequestPattern(6, "company", "NEWS_SENTIMENT", {"tickers": "{}"},
                   ("title,source,time_published,overall_sentiment_label; first 10", "title,summary; first 5",
           "mean(overall_sentiment_score)")),
    RequestPattern(1, "", "NEWS_SENTIMENT", {"topics": "technology"}, ("title,source,url; first 10",)),
    # Indicators
    _indicator(3, "RSI", 14, series_type="close"), _indicator(2, "SMA", 50, series_type="close"),
    _indicator(2, "SMA", 200, series_type="close"), _indicator(1.5, "EMA", 20, series_type="close"),
    _indicator(1.5, "MACDEXT", series_type="close"), _indicator(1, "BBANDS", 20, series_type="close"),
    _indicator(0.7, "ATR", 14), _indicator(0.5, "ADX", 14), _indicator(0.5, "STOCH"), _indicator(0.3, "OBV"),
    # Currencies, coins, goods, the economy
    RequestPattern(3, "pair", "CURRENCY_EXCHANGE_RATE", {"from_currency": "{0}", "to_currency": "{1}"}),
    RequestPattern(1.5, "pair", "FX_DAILY", {"from_symbol": "{0}", "to_symbol": "{1}"}, _PRICES[:3]),
    RequestPattern(3, "coin", "CURRENCY_EXCHANGE_RATE", {"from_currency": "{}", "to_currency": "USD"}),
    RequestPattern(2.5, "coin", "DIGITAL_CURRENCY_DAILY", {"symbol": "{}", "market": "USD"}, _PRICES),
    RequestPattern(1, "", "WTI", {"interval": "daily"}, _VALUES),
    RequestPattern(0.5, "", "BRENT", {"interval": "monthly"}, _VALUES),
    RequestPattern(0.3, "", "COPPER", {}, _VALUES), RequestPattern(1, "", "GOLD_SILVER_SPOT", {"symbol": "GOLD"}),
    RequestPattern(1.5, "", "CPI", {}, _VALUES), RequestPattern(0.8, "", "UNEMPLOYMENT", {}, _VALUES),
    RequestPattern(1, "", "FEDERAL_FUNDS_RATE", {}, _VALUES), RequestPattern(0.7, "", "REAL_GDP", {}, _VALUES),
    RequestPattern(1.5, "maturity", "TREASURY_YIELD", {"interval": "daily", "maturity": "{}"}, _VALUES),
    # Options, and what a free key is refused
    RequestPattern(1, "company", "REALTIME_PUT_CALL_RATIO", {"symbol": "{}"}),
    RequestPattern(0.7, "company", "HISTORICAL_PUT_CALL_RATIO", {"symbol": "{}"}),
    RequestPattern(1, "company", "HISTORICAL_OPTIONS", {"symbol": "{}"},
                   ("type=call; top 10 by volume; contractID,strike,expiration,last,volume",
           "type=put; expiration,strike,last,implied_volatility,delta; top 10 by open_interest"), premium=True),
    RequestPattern(1, "stock", "TIME_SERIES_INTRADAY", {"symbol": "{}", "interval": "5min"}, _PRICES[:4], premium=True),
    RequestPattern(1, "stock", "TIME_SERIES_DAILY_ADJUSTED", {"symbol": "{}"},
                   ("change(adjusted_close); last 60", "timestamp,adjusted_close; last 30"), premium=True),
    RequestPattern(1, "stock", "MACD", {"symbol": "{}", **_BARS}, _LATEST, premium=True),
)  # fmt: skip

WRONG_ARGUMENTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "TIME_SERIES_DAILY": ({"outputsize": "all"}, {"outputsize": "1y"}),
    "TIME_SERIES_INTRADAY": ({"interval": "fortnight"}, {"interval": "1d"}),
    "TREASURY_YIELD": ({"maturity": "10"},),
    "NEWS_SENTIMENT": ({"limit": "many"}, {"sort": "newest"}),
    **{
        tool: ({"interval": "fortnight"}, {"interval": "decade"})
        for tool in ("RSI", "SMA", "EMA", "MACDEXT", "BBANDS", "ATR", "ADX", "STOCH", "OBV", "MACD")
    },
    **{tool: ({"symbol": None},) for tool in ("GLOBAL_QUOTE", "COMPANY_OVERVIEW", "TIME_SERIES_WEEKLY", "EARNINGS")},
    "FX_DAILY": ({"from_symbol": "EURUSD", "to_symbol": None},),
    "DIGITAL_CURRENCY_DAILY": ({"market": None},),
}
"""Mistakes that models make, by tool: values they put in place of the right ones; None: left out."""
