"""Company and fund data: overview, logo, profile, dividends, splits, shares."""

from __future__ import annotations

from toolfold.mock_api.endpoint import (
    DATATYPE,
    ApiRequest,
    Document,
    Endpoint,
    document_without_rows,
    empty_document,
    list_table,
)
from toolfold.mock_api.endpoints.core_stocks import SYMBOL
from toolfold.mock_api.endpoints.statements import (
    MISSING,
    SHARES,
    UNKNOWN,
    last_quarter,
    quarterly_eps,
    quarters,
    shares_outstanding,
    trailing_year,
)
from toolfold.mock_api.seeded_random import SeededRandom
from toolfold.mock_api.stocks import COMPANIES, Company, dividends, get_company, splits, unadjusted_bars

UNLISTED = "n/a"  # mark of a missing value in a fund profile


def _overview(request: ApiRequest) -> Document:
    issuer = get_company(request.text("symbol"))
    if issuer.is_fund:  # a fund has no company overview; the vendor returns {}
        return {}
    symbol, today = issuer.symbol, request.today
    rng = SeededRandom("overview", symbol)
    bars = unadjusted_bars(symbol, today)
    price = bars[-1].close
    year = bars[-252:]
    closes = [bar.close for bar in bars]
    shares = shares_outstanding(symbol)
    latest, quarter = last_quarter(symbol, today)
    total = trailing_year(symbol, today)
    revenue, net, ebitda = total["totalRevenue"], total["netIncome"], total["ebitda"]
    eps, book = sum(list(quarterly_eps(symbol, today).values())[-4:]), quarter["totalShareholderEquity"] / shares
    value = price * shares
    enterprise = value + quarter["longTermDebt"] - quarter["cashAndCashEquivalentsAtCarryingValue"]
    paid = dividends(symbol, today)[-4:]
    yearly = sum(payment.amount for payment in paid)
    return {
        **_identity(issuer, rng),
        "LatestQuarter": latest.isoformat(),
        "MarketCapitalization": f"{value:.0f}",
        "EBITDA": f"{ebitda:.0f}",
        "PERatio": f"{price / eps:.2f}" if eps > 0 else UNKNOWN,
        "PEGRatio": f"{rng.uniform(0.8, 3.2):.3f}" if rng.chance(0.7) else MISSING,
        "BookValue": f"{book:.2f}",
        "DividendPerShare": f"{yearly:.2f}" if paid else MISSING,
        "DividendYield": f"{yearly / price:.4f}" if paid else MISSING,
        "EPS": f"{eps:.2f}",
        "RevenuePerShareTTM": f"{revenue / shares:.2f}",
        "ProfitMargin": f"{net / revenue:.3f}",
        "OperatingMarginTTM": f"{total['operatingIncome'] / revenue:.3f}",
        "ReturnOnAssetsTTM": f"{net / quarter['totalAssets']:.4f}",
        "ReturnOnEquityTTM": f"{net / quarter['totalShareholderEquity']:.3f}",
        "RevenueTTM": f"{revenue:.0f}",
        "GrossProfitTTM": f"{total['grossProfit']:.0f}",
        "DilutedEPSTTM": f"{eps:.2f}",
        "QuarterlyEarningsGrowthYOY": f"{rng.uniform(-0.1, 0.25):.3f}",
        "QuarterlyRevenueGrowthYOY": f"{rng.uniform(-0.05, 0.18):.3f}",
        **_ratings(rng, price),
        "TrailingPE": f"{price / eps:.2f}" if eps > 0 else UNKNOWN,
        "ForwardPE": f"{price / eps / 1.08:.2f}" if eps > 0 else UNKNOWN,
        "PriceToSalesRatioTTM": f"{value / revenue:.3f}",
        "PriceToBookRatio": f"{price / book:.2f}",
        "EVToRevenue": f"{enterprise / revenue:.3f}",
        "EVToEBITDA": f"{enterprise / ebitda:.2f}",
        "Beta": f"{rng.uniform(0.4, 1.9):.3f}",
        "52WeekHigh": f"{max(bar.high for bar in year):.2f}",
        "52WeekLow": f"{min(bar.low for bar in year):.2f}",
        "50DayMovingAverage": f"{sum(closes[-50:]) / 50:.2f}",
        "200DayMovingAverage": f"{sum(closes[-200:]) / 200:.2f}",
        "SharesOutstanding": str(shares),
        "SharesFloat": str(int(shares * 0.997)),
        "PercentInsiders": f"{rng.uniform(0.05, 4):.3f}",
        "PercentInstitutions": f"{rng.uniform(50, 88):.3f}",
        "DividendDate": paid[-1].paid.isoformat() if paid else MISSING,
        "ExDividendDate": paid[-1].ex_date.isoformat() if paid else MISSING,
    }


def _identity(issuer: Company, rng: SeededRandom) -> dict[str, str]:
    return {
        "Symbol": issuer.symbol,
        "AssetType": "Common Stock",
        "Name": issuer.name,
        "Description": f"{issuer.name}: every number of this overview is synthetic and comes from the mock API.",
        "CIK": str(rng.randint(10_000, 1_999_999)),
        "Exchange": issuer.exchange,
        "Currency": issuer.currency,
        "Country": "USA" if issuer.region == "United States" else issuer.region,
        "Sector": issuer.sector,
        "Industry": issuer.industry,
        "Address": "1 EXAMPLE SQUARE, EXAMPLE CITY, UNITED STATES, 00000",
        "OfficialSite": f"https://{issuer.symbol.lower().replace('.', '-')}.example",
        "FiscalYearEnd": "December",
    }


def _ratings(rng: SeededRandom, price: float) -> dict[str, str]:
    """Return the ratings of analysts."""
    return {
        "AnalystTargetPrice": f"{price * rng.uniform(0.95, 1.25):.2f}",
        "AnalystRatingStrongBuy": str(rng.randint(0, 9)),
        "AnalystRatingBuy": str(rng.randint(2, 20)),
        "AnalystRatingHold": str(rng.randint(2, 15)),
        "AnalystRatingSell": str(rng.randint(0, 3)),
        "AnalystRatingStrongSell": UNKNOWN if rng.chance(0.3) else str(rng.randint(0, 2)),
    }


def _logo(request: ApiRequest) -> Document:
    symbol = request.text("symbol").upper()
    return {
        "symbol": symbol,
        "logo_url_png": f"https://logos.example/{symbol}.png",
        "logo_url_svg": f"https://logos.example/{symbol}.svg",
    }


SECTORS = (
    "INFORMATION TECHNOLOGY", "COMMUNICATION SERVICES", "CONSUMER DISCRETIONARY", "CONSUMER STAPLES", "HEALTHCARE",
    "INDUSTRIALS", "FINANCIALS", "UTILITIES", "MATERIALS", "ENERGY",
)  # fmt: skip


def _weights(rng: SeededRandom, count: int, total: float) -> list[float]:
    """Return falling weights that add up to ``total``."""
    raw = sorted((rng.uniform(0.2, 1.0) ** 3 for _ in range(count)), reverse=True)
    return [total * one / sum(raw) for one in raw]


def _etf_profile(request: ApiRequest) -> Document:
    fund = get_company(request.text("symbol"))
    rng = SeededRandom("etf", fund.symbol)
    stocks = [one for one in COMPANIES.values() if not one.is_fund and one.region == "United States"]
    held = rng.sample(stocks, 30)
    sectors = zip(SECTORS, _weights(rng, len(SECTORS), 0.998), strict=True)
    holdings: list[dict[str, str]] = [
        {"symbol": one.symbol, "description": one.name.upper(), "weight": f"{weight:.4f}"}
        for one, weight in zip(held, _weights(rng, len(held), 0.93), strict=True)
    ]
    # Cash has no ticker.
    holdings.append({"symbol": UNLISTED, "description": "US DOLLAR", "weight": "0.0012"})
    return {
        "net_assets": str(rng.randint(2, 600) * 10**9),
        "net_expense_ratio": f"{rng.uniform(0.0003, 0.0075):.4f}",
        "portfolio_turnover": UNLISTED,
        "dividend_yield": f"{rng.uniform(0.003, 0.035):.4f}",
        "inception_date": f"{rng.randint(1993, 2014)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        "leveraged": "NO",
        "sectors": [{"sector": name, "weight": f"{weight:.3f}"} for name, weight in sectors],
        "holdings": holdings,
    }


DIVIDEND_KEYS = ("ex_dividend_date", "declaration_date", "record_date", "payment_date", "amount")
DETAILS_SINCE = "2004"  # of older dividends only the day and the amount are known


def _dividends(request: ApiRequest) -> Document:
    rows = []
    for payment in reversed(dividends(request.text("symbol"), request.today)):
        ex_date = payment.ex_date.isoformat()
        known = ex_date >= DETAILS_SINCE
        dates = [payment.declared.isoformat(), ex_date, payment.paid.isoformat()] if known else [MISSING] * 3
        rows.append(dict(zip(DIVIDEND_KEYS, [ex_date, *dates, f"{payment.amount:.2f}"], strict=True)))
    return {"symbol": request.text("symbol"), "data": rows}


def _splits(request: ApiRequest) -> Document:
    rows = [
        {"effective_date": split.day.isoformat(), "split_factor": f"{split.factor:.4f}"}
        for split in reversed(splits(request.text("symbol")))
        if split.day <= request.today
    ]
    return {"symbol": request.text("symbol"), "data": rows}


def _shares(request: ApiRequest) -> Document:
    issuer = get_company(request.text("symbol"))
    reports = {} if issuer.is_fund else quarters(issuer.symbol, request.today)
    rows = [
        {
            "date": end.isoformat(),
            "shares_outstanding_diluted": str(round(figures[SHARES] * 1.01 / 1000) * 1000),
            "shares_outstanding_basic": str(round(figures[SHARES] / 1000) * 1000),
        }
        for end, figures in reversed(reports.items())
    ]
    return {"symbol": request.text("symbol"), "status": "success", "data": rows}


_NO_DATA = document_without_rows("symbol", rows="data")

ENDPOINTS = (
    Endpoint("OVERVIEW", (SYMBOL,), _overview, unknown_symbol=empty_document),
    Endpoint("COMPANY_LOGO", (SYMBOL,), _logo, unknown_symbol=empty_document),
    Endpoint("ETF_PROFILE", (SYMBOL,), _etf_profile, unknown_symbol=empty_document),
    Endpoint("DIVIDENDS", (SYMBOL, DATATYPE), _dividends, list_table("data", *DIVIDEND_KEYS), unknown_symbol=_NO_DATA),
    Endpoint(
        "SPLITS",
        (SYMBOL, DATATYPE),
        _splits,
        list_table("data", "effective_date", "split_factor"),
        unknown_symbol=_NO_DATA,
    ),
    Endpoint(
        "SHARES_OUTSTANDING",
        (SYMBOL, DATATYPE),
        _shares,
        list_table("data", "date", "shares_outstanding_diluted", "shares_outstanding_basic"),
        unknown_symbol=document_without_rows("symbol", status="success", rows="data"),
    ),
)
