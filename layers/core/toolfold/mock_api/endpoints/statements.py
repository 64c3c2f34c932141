"""Financial statements and earnings: consistent quarters, and the years, ratios and estimates computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import lru_cache

from toolfold.mock_api.endpoint import ApiRequest, Document, Endpoint, empty_document
from toolfold.mock_api.endpoints.core_stocks import SYMBOL
from toolfold.mock_api.price_series import add_months, month_end, trading_day_on_or_before
from toolfold.mock_api.seeded_random import SeededRandom
from toolfold.mock_api.stocks import get_company

FIRST_YEAR = 2006
REPORTING_LAG = timedelta(days=25)  # from the end of a quarter to its report
MISSING, UNKNOWN = "None", "-"

INCOME_KEYS = (
    "fiscalDateEnding", "reportedCurrency", "grossProfit", "totalRevenue", "costOfRevenue",
    "costofGoodsAndServicesSold", "operatingIncome", "sellingGeneralAndAdministrative", "researchAndDevelopment",
    "operatingExpenses", "investmentIncomeNet", "netInterestIncome", "interestIncome", "interestExpense",
    "nonInterestIncome", "otherNonOperatingIncome", "depreciation", "depreciationAndAmortization", "incomeBeforeTax",
    "incomeTaxExpense", "interestAndDebtExpense", "netIncomeFromContinuingOperations", "comprehensiveIncomeNetOfTax",
    "ebit", "ebitda", "netIncome",
)  # fmt: skip
BALANCE_KEYS = (
    "fiscalDateEnding", "reportedCurrency", "totalAssets", "totalCurrentAssets",
    "cashAndCashEquivalentsAtCarryingValue", "cashAndShortTermInvestments", "inventory", "currentNetReceivables",
    "totalNonCurrentAssets", "propertyPlantEquipment", "accumulatedDepreciationAmortizationPPE", "intangibleAssets",
    "intangibleAssetsExcludingGoodwill", "goodwill", "investments", "longTermInvestments", "shortTermInvestments",
    "otherCurrentAssets", "otherNonCurrentAssets", "totalLiabilities", "totalCurrentLiabilities",
    "currentAccountsPayable", "deferredRevenue", "currentDebt", "shortTermDebt", "totalNonCurrentLiabilities",
    "capitalLeaseObligations", "longTermDebt", "currentLongTermDebt", "longTermDebtNoncurrent",
    "shortLongTermDebtTotal", "otherCurrentLiabilities", "otherNonCurrentLiabilities", "totalShareholderEquity",
    "treasuryStock", "retainedEarnings", "commonStock", "commonStockSharesOutstanding",
)  # fmt: skip
CASH_KEYS = (
    "fiscalDateEnding", "reportedCurrency", "operatingCashflow", "paymentsForOperatingActivities",
    "proceedsFromOperatingActivities", "changeInOperatingLiabilities", "changeInOperatingAssets",
    "depreciationDepletionAndAmortization", "capitalExpenditures", "changeInReceivables", "changeInInventory",
    "profitLoss", "cashflowFromInvestment", "cashflowFromFinancing", "proceedsFromRepaymentsOfShortTermDebt",
    "paymentsForRepurchaseOfCommonStock", "paymentsForRepurchaseOfEquity", "paymentsForRepurchaseOfPreferredStock",
    "dividendPayout", "dividendPayoutCommonStock", "dividendPayoutPreferredStock", "proceedsFromIssuanceOfCommonStock",
    "proceedsFromIssuanceOfLongTermDebtAndCapitalSecuritiesNet", "proceedsFromIssuanceOfPreferredStock",
    "proceedsFromRepurchaseOfEquity", "proceedsFromSaleOfTreasuryStock", "stockBasedCompensation",
    "changeInCashAndCashEquivalents", "changeInExchangeRate", "netIncome",
)  # fmt: skip

Figures = dict[str, float]
SHARES = "commonStockSharesOutstanding"


def shares_outstanding(symbol: str) -> int:
    """Return the shares of today, so that the market value is between a few and a few thousand billions."""
    issuer = get_company(symbol)
    return int(SeededRandom("shares", issuer.symbol).uniform(0.1, 5.0) * 1e11 / issuer.level) // 1000 * 1000


def reported_quarters(today: date) -> list[date]:
    """Return the ends of the quarters that have been reported by ``today``, oldest first."""
    ends = [month_end(date(year, month, 1)) for year in range(FIRST_YEAR, today.year + 1) for month in (3, 6, 9, 12)]
    return [end for end in ends if end + REPORTING_LAG <= today]


@lru_cache(maxsize=64)
def quarters(symbol: str, today: date) -> dict[date, Figures]:
    """Return the figures of all reported quarters by their end, oldest first."""
    issuer = get_company(symbol)
    rng = SeededRandom("statements", issuer.symbol)
    shares = shares_outstanding(symbol)
    revenue_now = shares * issuer.level / rng.uniform(2.5, 7) / 4
    growth, gross, admin = rng.uniform(0.02, 0.12), rng.uniform(0.38, 0.62), rng.uniform(0.08, 0.14)
    found: dict[date, Figures] = {}
    for end in reported_quarters(today):
        age = (end.year - 2025) + (end.month - 12) / 12
        season = {3: 0.96, 6: 0.99, 9: 0.98, 12: 1.07}[end.month]
        found[end] = _quarter(
            revenue_now * (1 + growth) ** age * season * rng.uniform(0.97, 1.03),
            (gross + rng.uniform(-0.015, 0.015), admin, rng.uniform(0.06, 0.09)),
            shares * (1.01**-age),
        )
    return found


def _quarter(revenue: float, shares_of_revenue: tuple[float, float, float], shares: float) -> Figures:
    """Return one quarter from its revenue: profit adds up from top to bottom, assets equal liabilities plus equity."""
    gross, admin, research = (revenue * part for part in shares_of_revenue)
    depreciation, interest, interest_income = 0.05 * revenue, 0.012 * revenue, 0.005 * revenue
    operating = gross - admin - research
    before_tax = operating + interest_income - interest
    tax = 0.19 * before_tax
    net = before_tax - tax
    assets, equity_part = 9 * revenue, 0.38
    current, goodwill, plant = 0.27 * assets, 0.3 * assets, 0.12 * assets
    liabilities = assets * (1 - equity_part)
    current_liabilities, debt = 0.35 * liabilities, 0.5 * liabilities
    operating_cash, spending = net + depreciation + 0.01 * revenue, 0.04 * revenue
    return {
        "totalRevenue": revenue, "grossProfit": gross, "costOfRevenue": revenue - gross,
        "costofGoodsAndServicesSold": revenue - gross, "operatingIncome": operating,
        "sellingGeneralAndAdministrative": admin, "researchAndDevelopment": research,
        "operatingExpenses": admin + research, "netInterestIncome": interest_income - interest,
        "interestIncome": interest_income, "interestExpense": interest, "depreciationAndAmortization": depreciation,
        "incomeBeforeTax": before_tax, "incomeTaxExpense": tax, "netIncomeFromContinuingOperations": net,
        "ebit": before_tax + interest, "ebitda": before_tax + interest + depreciation, "netIncome": net,
        "totalAssets": assets, "totalCurrentAssets": current, "cashAndCashEquivalentsAtCarryingValue": 0.4 * current,
        "cashAndShortTermInvestments": 0.45 * current, "inventory": 0.1 * current,
        "currentNetReceivables": 0.35 * current, "totalNonCurrentAssets": assets - current,
        "propertyPlantEquipment": plant, "intangibleAssets": 0.08 * assets,
        "intangibleAssetsExcludingGoodwill": 0.08 * assets, "goodwill": goodwill,
        "shortTermInvestments": 0.05 * current, "otherCurrentAssets": 0.1 * current, "totalLiabilities": liabilities,
        "totalCurrentLiabilities": current_liabilities, "currentAccountsPayable": 0.2 * current_liabilities,
        "shortTermDebt": 0.15 * current_liabilities, "totalNonCurrentLiabilities": liabilities - current_liabilities,
        "capitalLeaseObligations": 0.03 * liabilities, "longTermDebt": debt,
        "currentLongTermDebt": 0.1 * current_liabilities, "shortLongTermDebtTotal": debt + 0.15 * current_liabilities,
        "otherCurrentLiabilities": 0.3 * current_liabilities,
        "otherNonCurrentLiabilities": 0.08 * liabilities, "totalShareholderEquity": assets * equity_part,
        "retainedEarnings": 0.7 * assets * equity_part, "commonStock": 0.25 * assets * equity_part, SHARES: shares,
        "operatingCashflow": operating_cash, "depreciationDepletionAndAmortization": depreciation,
        "capitalExpenditures": spending, "changeInInventory": 0.002 * revenue,
        "cashflowFromInvestment": -1.6 * spending, "cashflowFromFinancing": -0.6 * operating_cash,
        "dividendPayout": 0.35 * net, "dividendPayoutCommonStock": 0.35 * net,
        "proceedsFromRepurchaseOfEquity": -0.1 * net, "stockBasedCompensation": 0.02 * revenue,
    }  # fmt: skip


def _years(by_end: dict[date, Figures], stock_keys: Sequence[str] = ()) -> dict[date, Figures]:
    """Return complete years: flows are summed, ``stock_keys`` are those of the last quarter."""
    found: dict[date, Figures] = {}
    for end in by_end:
        year = [by_end[one] for one in by_end if one.year == end.year]
        if end.month == 12 and len(year) == 4:
            summed = {key: sum(quarter[key] for quarter in year) for key in year[0]}
            found[end] = {**summed, **{key: year[-1][key] for key in stock_keys if key in year[-1]}}
    return found


def trailing_year(symbol: str, today: date) -> Figures:
    """Return the sums of the last four reported quarters."""
    last = list(quarters(symbol.upper(), today).values())[-4:]
    return {key: sum(quarter[key] for quarter in last) for key in last[0]}


def last_quarter(symbol: str, today: date) -> tuple[date, Figures]:
    """Return end and figures of the newest reported quarter."""
    return list(quarters(symbol.upper(), today).items())[-1]


def quarterly_eps(symbol: str, today: date) -> dict[date, float]:
    """Return earnings per share by quarter end, oldest first."""
    return {
        end: round(figures["netIncome"] / figures[SHARES], 2)
        for end, figures in quarters(symbol.upper(), today).items()
    }


def _rows(reports: dict[date, Figures], keys: Sequence[str], currency: str) -> list[dict[str, str]]:
    """Return rows, newest first, with whole numbers as text and "None" for values that are not reported."""
    rows = []
    for end, figures in reversed(reports.items()):
        unit = {SHARES: 1000}
        values = {
            key: str(round(figures[key] / unit.get(key, 10**6)) * unit.get(key, 10**6)) if key in figures else MISSING
            for key in keys[2:]
        }
        rows.append({"fiscalDateEnding": end.isoformat(), "reportedCurrency": currency, **values})
    return rows


def _statement(keys: Sequence[str], stock_keys: Sequence[str] = ()) -> Callable[[ApiRequest], Document]:
    def build(request: ApiRequest) -> Document:
        issuer = get_company(request.text("symbol"))
        if issuer.is_fund:  # funds have no statements; the vendor returns {}
            return {}
        by_end = quarters(issuer.symbol, request.today)
        return {
            "symbol": request.text("symbol"),
            "annualReports": _rows(_years(by_end, stock_keys), keys, issuer.currency),
            "quarterlyReports": _rows(by_end, keys, issuer.currency),
        }

    return build


def _earnings(request: ApiRequest) -> Document:
    """Return years and quarters. As with the vendor, the first year is the current one, dated on its newest quarter."""
    issuer = get_company(request.text("symbol"))
    if issuer.is_fund:
        return {}
    per_share = quarterly_eps(issuer.symbol, request.today)
    years: dict[int, list[tuple[date, float]]] = {}
    for end, eps in per_share.items():
        years.setdefault(end.year, []).append((end, eps))
    annual = [
        {"fiscalDateEnding": year[-1][0].isoformat(), "reportedEPS": f"{sum(eps for _, eps in year):.2f}"}
        for year in reversed(years.values())
    ]
    rng = SeededRandom("earnings", issuer.symbol)
    quarterly = []
    for index, (end, eps) in enumerate(reversed(per_share.items())):
        estimate = round(eps * rng.uniform(0.93, 1.04), 2)
        old = index >= 70  # the oldest quarters have no estimates
        surprise = round(eps - estimate, 2)
        quarterly.append(
            {
                "fiscalDateEnding": end.isoformat(),
                "reportedDate": report_day(issuer.symbol, end).isoformat(),
                "reportedEPS": str(eps),
                "estimatedEPS": MISSING if old else str(estimate),
                "surprise": MISSING if old else str(surprise),
                "surprisePercentage": MISSING if old else f"{100 * surprise / estimate if estimate else 0:.4f}",
                "reportTime": rng.choice(("post-market", "pre-market")),
            }
        )
    return {"symbol": request.text("symbol"), "annualEarnings": annual, "quarterlyEarnings": quarterly}


def report_day(symbol: str, end: date) -> date:
    """Return a trading day about three weeks after the quarter's end, always at the same distance for one company."""
    return trading_day_on_or_before(end + timedelta(days=SeededRandom("report day", symbol.upper()).randint(18, 24)))


def _estimates(request: ApiRequest) -> Document:
    issuer = get_company(request.text("symbol"))
    if issuer.is_fund:
        return {}
    end, figures = last_quarter(issuer.symbol, request.today)
    eps, revenue = figures["netIncome"] / figures[SHARES], figures["totalRevenue"]
    ahead = [month_end(add_months(end.replace(day=1), 3 * n)) for n in range(4, -12, -1)]
    years = [(date(end.year + n, 12, 31), "fiscal year", 4 * 1.07 ** (n + 0.5)) for n in range(2, -1, -1)]
    nearer = [(day, "fiscal quarter", 1.07 ** ((day - end).days / 365)) for day in ahead]
    wanted = sorted([*years, *nearer], key=lambda row: (row[0], row[1]), reverse=True)
    rows = [_estimate(issuer.symbol, day, horizon, eps * part, revenue * part) for day, horizon, part in wanted]
    return {"symbol": request.text("symbol"), "estimates": rows}


def _estimate(symbol: str, day: date, horizon: str, eps: float, revenue: float) -> dict[str, str | None]:
    rng = SeededRandom("estimate", symbol, day, horizon)
    analysts = rng.randint(9, 24)
    row: dict[str, str | None] = {
        "date": day.isoformat(),
        "horizon": horizon,
        "eps_estimate_average": f"{eps:.4f}",
        "eps_estimate_high": f"{eps * rng.uniform(1.02, 1.09):.4f}",
        "eps_estimate_low": f"{eps * rng.uniform(0.91, 0.98):.4f}",
        "eps_estimate_analyst_count": f"{analysts:.4f}",
    }
    for days in (7, 30, 60, 90):
        row[f"eps_estimate_average_{days}_days_ago"] = f"{eps * rng.uniform(0.98, 1.02):.4f}"
    for days in (7, 30):
        row[f"eps_estimate_revision_up_trailing_{days}_days"] = f"{rng.randint(0, analysts // 2):.4f}"
        # The vendor has no number of downward revisions for the last week.
        row[f"eps_estimate_revision_down_trailing_{days}_days"] = None if days == 7 else f"{rng.randint(0, 9):.4f}"
    row |= {
        "revenue_estimate_average": f"{revenue:.2f}",
        "revenue_estimate_high": f"{revenue * rng.uniform(1.01, 1.04):.2f}",
        "revenue_estimate_low": f"{revenue * rng.uniform(0.96, 0.99):.2f}",
        "revenue_estimate_analyst_count": f"{analysts - rng.randint(0, 3):.2f}",
    }
    return row


ENDPOINTS = (
    Endpoint("INCOME_STATEMENT", (SYMBOL,), _statement(INCOME_KEYS), unknown_symbol=empty_document),
    Endpoint("BALANCE_SHEET", (SYMBOL,), _statement(BALANCE_KEYS, BALANCE_KEYS), unknown_symbol=empty_document),
    Endpoint("CASH_FLOW", (SYMBOL,), _statement(CASH_KEYS), unknown_symbol=empty_document),
    Endpoint("EARNINGS", (SYMBOL,), _earnings, unknown_symbol=empty_document),
    Endpoint("EARNINGS_ESTIMATES", (SYMBOL,), _estimates, unknown_symbol=empty_document),
)
