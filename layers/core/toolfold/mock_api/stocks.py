"""Stock prices of a symbol: unadjusted and adjusted, by day, week, month and minute; dividends and splits.

Listed companies and funds: tickers and names of well-known issuers (facts), with invented price levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from toolfold.mock_api.price_series import (
    NEW_YORK_SESSION,
    Bar,
    PriceSeries,
    daily_bars,
    intraday_bars,
    trading_day_on_or_after,
)
from toolfold.mock_api.seeded_random import SeededRandom


@dataclass(frozen=True, slots=True)
class Company:
    """An issuer. Its price moves around ``level``; ``dividend`` is paid per year. Both are in ``currency``."""

    symbol: str
    name: str
    exchange: str = "NYSE"
    sector: str = "INDUSTRIALS"
    industry: str = "CONGLOMERATES"
    level: float = 100.0
    dividend: float = 0.0
    kind: str = "Equity"
    region: str = "United States"
    currency: str = "USD"

    @property
    def is_fund(self) -> bool:
        """Whether this is a fund, which has no company data."""
        return self.kind == "ETF"


# symbol | name | exchange | sector | industry | price level | dividend per year
_STOCKS = """
AAPL|Apple Inc|NASDAQ|TECHNOLOGY|CONSUMER ELECTRONICS|260|1.04
ABBV|AbbVie Inc|NYSE|HEALTHCARE|DRUG MANUFACTURERS - GENERAL|220|6.56
ADBE|Adobe Inc|NASDAQ|TECHNOLOGY|SOFTWARE - APPLICATION|340|0
AMD|Advanced Micro Devices Inc|NASDAQ|TECHNOLOGY|SEMICONDUCTORS|210|0
AMZN|Amazon.com Inc|NASDAQ|CONSUMER CYCLICAL|INTERNET RETAIL|240|0
AVGO|Broadcom Inc|NASDAQ|TECHNOLOGY|SEMICONDUCTORS|340|2.60
BA|Boeing Company|NYSE|INDUSTRIALS|AEROSPACE & DEFENSE|230|0
BAC|Bank of America Corp|NYSE|FINANCIAL SERVICES|BANKS - DIVERSIFIED|54|1.12
CAT|Caterpillar Inc|NYSE|INDUSTRIALS|FARM & HEAVY CONSTRUCTION MACHINERY|610|6.04
COIN|Coinbase Global Inc|NASDAQ|FINANCIAL SERVICES|FINANCIAL DATA & STOCK EXCHANGES|250|0
COST|Costco Wholesale Corp|NASDAQ|CONSUMER DEFENSIVE|DISCOUNT STORES|930|5.20
CRM|Salesforce Inc|NYSE|TECHNOLOGY|SOFTWARE - APPLICATION|255|1.66
CSCO|Cisco Systems Inc|NASDAQ|TECHNOLOGY|COMMUNICATION EQUIPMENT|75|1.64
CVX|Chevron Corp|NYSE|ENERGY|OIL & GAS INTEGRATED|160|6.84
DIS|Walt Disney Company|NYSE|COMMUNICATION SERVICES|ENTERTAINMENT|113|1.50
F|Ford Motor Company|NYSE|CONSUMER CYCLICAL|AUTO MANUFACTURERS|14|0.60
GE|GE Aerospace|NYSE|INDUSTRIALS|AEROSPACE & DEFENSE|320|1.44
GOOGL|Alphabet Inc Class A|NASDAQ|COMMUNICATION SERVICES|INTERNET CONTENT & INFORMATION|330|0.84
HD|Home Depot Inc|NYSE|CONSUMER CYCLICAL|HOME IMPROVEMENT RETAIL|370|9.20
IBM|International Business Machines|NYSE|TECHNOLOGY|INFORMATION TECHNOLOGY SERVICES|300|6.72
INTC|Intel Corp|NASDAQ|TECHNOLOGY|SEMICONDUCTORS|45|0
JNJ|Johnson & Johnson|NYSE|HEALTHCARE|DRUG MANUFACTURERS - GENERAL|205|5.20
JPM|JPMorgan Chase & Co|NYSE|FINANCIAL SERVICES|BANKS - DIVERSIFIED|320|6.00
KO|Coca-Cola Company|NYSE|CONSUMER DEFENSIVE|BEVERAGES - NON-ALCOHOLIC|70|2.04
META|Meta Platforms Inc|NASDAQ|COMMUNICATION SERVICES|INTERNET CONTENT & INFORMATION|640|2.10
MSFT|Microsoft Corp|NASDAQ|TECHNOLOGY|SOFTWARE - INFRASTRUCTURE|475|3.64
MSTR|Strategy Inc|NASDAQ|TECHNOLOGY|SOFTWARE - APPLICATION|165|0
NFLX|Netflix Inc|NASDAQ|COMMUNICATION SERVICES|ENTERTAINMENT|90|0
NKE|Nike Inc|NYSE|CONSUMER CYCLICAL|FOOTWEAR & ACCESSORIES|65|1.64
NVDA|NVIDIA Corp|NASDAQ|TECHNOLOGY|SEMICONDUCTORS|185|0.04
ORCL|Oracle Corp|NYSE|TECHNOLOGY|SOFTWARE - INFRASTRUCTURE|200|2.00
OXY|Occidental Petroleum Corp|NYSE|ENERGY|OIL & GAS E&P|43|0.96
PEP|PepsiCo Inc|NASDAQ|CONSUMER DEFENSIVE|BEVERAGES - NON-ALCOHOLIC|142|5.69
PFE|Pfizer Inc|NYSE|HEALTHCARE|DRUG MANUFACTURERS - GENERAL|25|1.72
PG|Procter & Gamble Company|NYSE|CONSUMER DEFENSIVE|HOUSEHOLD & PERSONAL PRODUCTS|143|4.23
PYPL|PayPal Holdings Inc|NASDAQ|FINANCIAL SERVICES|CREDIT SERVICES|58|0
T|AT&T Inc|NYSE|COMMUNICATION SERVICES|TELECOM SERVICES|24|1.11
TSLA|Tesla Inc|NASDAQ|CONSUMER CYCLICAL|AUTO MANUFACTURERS|440|0
UNH|UnitedHealth Group Inc|NYSE|HEALTHCARE|HEALTHCARE PLANS|340|8.84
V|Visa Inc Class A|NYSE|FINANCIAL SERVICES|CREDIT SERVICES|345|2.68
WMT|Walmart Inc|NASDAQ|CONSUMER DEFENSIVE|DISCOUNT STORES|115|0.94
XOM|Exxon Mobil Corp|NYSE|ENERGY|OIL & GAS INTEGRATED|122|4.12
"""

_FUNDS = """
ARKK|ARK Innovation ETF|NYSE ARCA|80
DIA|SPDR Dow Jones Industrial Average ETF Trust|NYSE ARCA|490
GLD|SPDR Gold Shares|NYSE ARCA|420
IWM|iShares Russell 2000 ETF|NYSE ARCA|255
QQQ|Invesco QQQ Trust Series 1|NASDAQ|620
SPY|SPDR S&P 500 ETF Trust|NYSE ARCA|690
TLT|iShares 20+ Year Treasury Bond ETF|NASDAQ|88
VOO|Vanguard S&P 500 ETF|NYSE ARCA|635
XLF|Financial Select Sector SPDR Fund|NYSE ARCA|54
XLK|Technology Select Sector SPDR Fund|NYSE ARCA|146
"""

# symbol | name | region | currency | price level
_FOREIGN_STOCKS = """
TSCO.LON|Tesco PLC|United Kingdom|GBX|440
BA.LON|BAE Systems plc|United Kingdom|GBX|1900
SHOP.TRT|Shopify Inc|Toronto|CAD|230
GPV.TRV|GreenPower Motor Company Inc|Toronto Venture|CAD|2
MBG.DEX|Mercedes-Benz Group AG|XETRA|EUR|60
SAP.DEX|SAP SE|XETRA|EUR|210
RELIANCE.BSE|Reliance Industries Limited|India/Bombay|INR|1470
600104.SHH|SAIC Motor Corporation Limited|Shanghai|CNY|15
000002.SHZ|China Vanke Co Ltd|Shenzhen|CNY|5
"""


def _table() -> dict[str, Company]:
    found: list[Company] = []
    for line in _STOCKS.split("\n")[1:-1]:
        symbol, name, exchange, sector, industry, level, dividend = line.split("|")
        found.append(Company(symbol, name, exchange, sector, industry, float(level), float(dividend)))
    for line in _FUNDS.split("\n")[1:-1]:
        symbol, name, exchange, level = line.split("|")
        found.append(Company(symbol, name, exchange, level=float(level), dividend=float(level) * 0.01, kind="ETF"))
    for line in _FOREIGN_STOCKS.split("\n")[1:-1]:
        symbol, name, region, currency, level = line.split("|")
        found.append(Company(symbol, name, region, level=float(level), region=region, currency=currency))
    return {company.symbol: company for company in found}


COMPANIES = _table()


def get_company(symbol: str) -> Company:
    """Return the issuer of ``symbol``. A ticker that is not in the table gets an invented issuer."""
    symbol = symbol.upper()
    known = COMPANIES.get(symbol)
    if known:
        return known
    rng = SeededRandom("company", symbol)
    dividend = round(rng.uniform(0.2, 4.0), 2) if rng.chance(0.5) else 0.0
    return Company(symbol, f"{symbol} Example Company", level=round(rng.uniform(12, 320), 0), dividend=dividend)


SPLIT_FACTORS = (2.0, 2.0, 3.0, 1.5)
FIRST_DIVIDEND_YEAR = 2000


class Dividend(NamedTuple):
    """One cash dividend."""

    ex_date: date
    declared: date
    paid: date
    amount: float


class Split(NamedTuple):
    """One stock split: ``factor`` new shares for an old one."""

    day: date
    factor: float


class AdjustedBar(NamedTuple):
    """A day as it was traded, with adjusted close, dividend and split coefficient."""

    bar: Bar
    adjusted_close: float
    dividend: float
    split: float


@lru_cache(maxsize=256)
def price_series_for(symbol: str) -> PriceSeries:
    """Return the parameters of the price series of a stock."""
    issuer = get_company(symbol)
    rng = SeededRandom("stock", issuer.symbol)
    shares = rng.uniform(2e6, 6e7) * min(1.0, 200 / issuer.level)
    return PriceSeries(
        issuer.symbol,
        issuer.level,
        growth=rng.uniform(0.05, 0.12),
        volatility=rng.uniform(0.009, 0.02),
        volume=shares,
    )


@lru_cache(maxsize=256)
def splits(symbol: str) -> tuple[Split, ...]:
    """Return the splits, between none and two, oldest first."""
    rng = SeededRandom("splits", symbol.upper())
    years = sorted(rng.sample(range(2002, 2025), rng.randint(0, 2)))
    return tuple(
        Split(trading_day_on_or_after(date(year, rng.randint(2, 11), rng.randint(1, 28))), rng.choice(SPLIT_FACTORS))
        for year in years
    )


def split_factor_after(symbol: str, day: date) -> float:
    """Return the factor by which a share of ``day`` has been multiplied since."""
    factor = 1.0
    for split in splits(symbol):
        if split.day > day:
            factor *= split.factor
    return factor


@lru_cache(maxsize=256)
def dividends(symbol: str, today: date) -> tuple[Dividend, ...]:
    """Return the quarterly payments up to ``today``, oldest first, unadjusted; empty where none is paid."""
    issuer = get_company(symbol)
    if not issuer.dividend:
        return ()
    found: list[Dividend] = []
    for year in range(FIRST_DIVIDEND_YEAR, today.year + 1):
        for month in (2, 5, 8, 11):
            ex_date = trading_day_on_or_after(date(year, month, 9))
            growth = 1.05 ** (2025 - year)
            amount = round(issuer.dividend / 4 / growth * split_factor_after(symbol, ex_date), 2)
            if ex_date <= today and amount > 0:
                found.append(
                    Dividend(
                        ex_date,
                        ex_date - timedelta(days=16),
                        trading_day_on_or_after(ex_date + timedelta(days=30)),
                        amount,
                    )
                )
    return tuple(found)


@lru_cache(maxsize=32)
def unadjusted_bars(symbol: str, today: date) -> tuple[Bar, ...]:
    """Return daily bars at the prices of their day, oldest first. They jump at a stock split."""
    bars = daily_bars(price_series_for(symbol), today)
    past = [split for split in splits(symbol) if split.day <= today]
    if not past:
        return bars
    return tuple(_scale_bar(bar, split_factor_after(symbol, date.fromisoformat(bar.label))) for bar in bars)


def _scale_bar(bar: Bar, factor: float) -> Bar:
    if factor == 1.0:
        return bar
    opening, high, low, close = (round(price * factor, 2) for price in bar[1:5])
    return Bar(bar.label, opening, high, low, close, bar.volume / factor)


@lru_cache(maxsize=16)
def adjusted_bars(symbol: str, today: date) -> tuple[AdjustedBar, ...]:
    """Return unadjusted daily bars with adjusted close, dividend and split coefficient, oldest first."""
    paid = {dividend.ex_date.isoformat(): dividend.amount for dividend in dividends(symbol, today)}
    split = {event.day.isoformat(): event.factor for event in splits(symbol) if event.day <= today}
    found: list[AdjustedBar] = []
    factor = 1.0
    bars = unadjusted_bars(symbol, today)
    for index in range(len(bars) - 1, -1, -1):
        bar = bars[index]
        amount, coefficient = paid.get(bar.label, 0.0), split.get(bar.label, 1.0)
        found.append(AdjustedBar(bar, round(bar.close * factor, 4), amount, coefficient))
        if index:
            factor *= (1 - amount / coefficient / bars[index - 1].close) / coefficient
    return tuple(reversed(found))


def last_close(symbol: str, today: date) -> float:
    """Return the newest unadjusted close."""
    return unadjusted_bars(symbol, today)[-1].close


def minute_bars(
    symbol: str, today: date, minutes: int, *, month: str = "", extended_hours: bool = True, split_adjusted: bool = True
) -> list[Bar]:
    """Return intraday bars, oldest first: of the last 30 days, or of ``month`` (YYYY-MM)."""
    days = daily_bars(price_series_for(symbol), today) if split_adjusted else unadjusted_bars(symbol, today)
    since = (today - timedelta(days=30)).isoformat()
    chosen = [bar for bar in days if (bar.label.startswith(month) if month else bar.label > since)]
    return intraday_bars(price_series_for(symbol), chosen, minutes, NEW_YORK_SESSION, extended_hours=extended_hours)
