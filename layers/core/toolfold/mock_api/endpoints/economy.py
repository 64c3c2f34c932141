"""Commodities and economic indicators: a name, an interval, a unit and dated values, with "." for a missing value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache, partial
from statistics import fmean

from toolfold.mock_api.endpoint import DATATYPE, ApiRequest, Document, Endpoint, Parameter, Table, list_table
from toolfold.mock_api.price_series import (
    PriceSeries,
    add_months,
    daily_bars,
    is_trading_day,
    month_end,
    monthly_bars,
    weekdays,
    weekly_bars,
)
from toolfold.mock_api.seeded_random import SeededRandom

MISSING = "."
# Rows without a value, so that each series contains the mark of a missing value.
MISSING_EVERY, MISSING_AT = 61, 17
FRIDAY = 4


@dataclass(frozen=True, slots=True)
class Series:
    """One commodity or economic indicator.

    Attributes:
        level: The value around 2026.
        growth: The trend per year, as a fraction.
        volatility: The typical move per month, as a fraction.
        intervals: The intervals that can be requested, the default first.
        fixed: The interval where there is only one.
    """

    function: str
    title: str
    unit: str
    level: float
    growth: float
    volatility: float
    decimals: int
    first_year: int
    intervals: tuple[str, ...] = ()
    fixed: str = ""


_ENERGY = ("monthly", "daily", "weekly")
_GOODS = ("monthly", "quarterly", "annual")
_RATES = ("monthly", "daily", "weekly")
_BARREL, _POUND, _TON = "dollars per barrel", "cents per pound", "dollar per metric ton"

SERIES = (
    Series("WTI", "Crude Oil Prices WTI", _BARREL, 62, 0.02, 0.06, 2, 1986, _ENERGY),
    Series("BRENT", "Crude Oil Prices Brent", _BARREL, 65, 0.02, 0.06, 2, 1987, _ENERGY),
    Series("NATURAL_GAS", "Henry Hub Natural Gas Spot Price", "dollars per million BTU", 3.6, 0.01, 0.09, 2, 1997,
           _ENERGY),
    Series("COPPER", "Global Price of Copper", _TON, 11800, 0.04, 0.045, 6, 1992, _GOODS),
    Series("ALUMINUM", "Global Price of Aluminum", _TON, 2950, 0.02, 0.04, 6, 1992, _GOODS),
    Series("WHEAT", "Global Price of Wheat", _TON, 175, 0.02, 0.05, 6, 1992, _GOODS),
    Series("CORN", "Global Price of Corn", _TON, 205, 0.02, 0.05, 6, 1992, _GOODS),
    Series("COTTON", "Global Price of Cotton", _POUND, 74, 0.01, 0.05, 6, 1992, _GOODS),
    Series("SUGAR", "Global Price of Sugar", _POUND, 15, 0.015, 0.06, 6, 1992, _GOODS),
    Series("COFFEE", "Global Price of Coffee", _POUND, 340, 0.03, 0.06, 6, 1992, _GOODS),
    Series("ALL_COMMODITIES", "Global Price Index of All Commodities", "index 2016=100", 165, 0.025, 0.03, 6, 1992,
           _GOODS),
    Series("REAL_GDP", "Real Gross Domestic Product", "billions of dollars", 23900, 0.024, 0.004, 3, 1947,
           ("annual", "quarterly")),
    Series("REAL_GDP_PER_CAPITA", "Real Gross Domestic Product per Capita", "chained 2012 dollars", 70000, 0.018, 0.004,
           1, 1947, fixed="quarterly"),
    Series("TREASURY_YIELD", "{maturity} Treasury Constant Maturity Rate", "percent", 4.2, 0.0, 0.05, 2, 1962, _RATES),
    Series("FEDERAL_FUNDS_RATE", "Effective Federal Funds Rate", "percent", 3.7, 0.0, 0.06, 2, 1954, _RATES),
    Series("CPI", "Consumer Price Index for all Urban Consumers", "index 1982-1984=100", 326, 0.028, 0.002, 3, 1947,
           ("monthly", "semiannual")),
    Series("INFLATION", "Inflation - US Consumer Prices", "percent", 3.1, 0.0, 0.08, 14, 1960, fixed="annual"),
    Series("RETAIL_SALES", "Advance Retail Sales: Retail Trade", "millions of dollars", 650000, 0.042, 0.015, 1, 1992,
           fixed="monthly"),
    Series("DURABLES", "Manufacturer New Orders: Durable Goods", "millions of dollars", 330000, 0.025, 0.03, 1, 1992,
           fixed="monthly"),
    Series("UNEMPLOYMENT", "Unemployment Rate", "percent", 4.4, 0.0, 0.02, 1, 1948, fixed="monthly"),
    Series("NONFARM_PAYROLL", "Total Nonfarm Payroll", "thousands of persons", 159000, 0.014, 0.003, 0, 1939,
           fixed="monthly"),
)  # fmt: skip

# Treasury maturities: title, and difference of their yield to that of ten years
MATURITIES = {
    "3month": ("3-Month", -0.5), "2year": ("2-Year", -0.6), "5year": ("5-Year", -0.4), "7year": ("7-Year", -0.2),
    "10year": ("10-Year", 0.0), "30year": ("30-Year", 0.6),
}  # fmt: skip
MATURITY = Parameter("maturity", enum=tuple(MATURITIES), default="10year")


@lru_cache(maxsize=64)
def _months(series: Series, today: date) -> dict[date, float]:
    """Return monthly values, oldest first, up to the last finished month."""
    rng = SeededRandom("economy", series.function)
    values: dict[date, float] = {}
    month, distance = date(series.first_year, 1, 1), 0.0
    while month_end(month) < today:
        distance = 0.985 * distance + series.volatility * rng.normal()
        trend = series.growth * (month.year - 2026 + month.month / 12)
        values[month] = series.level * math.exp(trend + distance)
        month = add_months(month, 1)
    return values


def _by_months(span: int) -> Callable[[Series, date], list[tuple[date, float]]]:
    """Return means over ``span`` complete months, dated on the first day of the first of them."""

    def values(series: Series, today: date) -> list[tuple[date, float]]:
        months = list(_months(series, today).items())
        groups = [months[n : n + span] for n in range(0, len(months), span)]
        return [(group[0][0], fmean(value for _, value in group)) for group in groups if len(group) == span]

    return values


def _on_days(wanted: Callable[[date], bool]) -> Callable[[Series, date], list[tuple[date, float]]]:
    """Return values of single days, near the value of their month."""

    def values(series: Series, today: date) -> list[tuple[date, float]]:
        months = _months(series, today)
        newest = next(reversed(months))
        rng = SeededRandom("economy daily", series.function)
        found = []
        for day in weekdays(date(series.first_year, 1, 2), today - timedelta(days=1)):
            noise = 1 + 0.3 * series.volatility * rng.normal()
            if wanted(day):
                found.append((day, months[min(day.replace(day=1), newest)] * noise))
        return found

    return values


INTERVALS: dict[str, Callable[[Series, date], list[tuple[date, float]]]] = {
    "daily": _on_days(lambda day: True),
    "weekly": _on_days(lambda day: day.weekday() == FRIDAY),
    "monthly": _by_months(1),
    "quarterly": _by_months(3),
    "semiannual": _by_months(6),
    "annual": _by_months(12),
}


def _is_missing(interval: str, index: int, day: date) -> bool:
    if interval == "daily":
        return not is_trading_day(day)  # markets are closed: a row without a value
    return index % MISSING_EVERY == MISSING_AT


def _build(request: ApiRequest, *, series: Series) -> Document:
    interval = series.fixed or request.text("interval")
    title, lift = MATURITIES.get(request.text("maturity"), ("", 0.0))
    rows = []
    for index, (day, value) in enumerate(INTERVALS[interval](series, request.today)):
        text = MISSING if _is_missing(interval, index, day) else f"{max(value + lift, 0.01):.{series.decimals}f}"
        rows.append({"date": day.isoformat(), "value": text})
    return {
        "name": series.title.format(maturity=title),
        "interval": interval,
        "unit": series.unit,
        "data": rows[::-1],
    }


def _parameters(series: Series) -> tuple[Parameter, ...]:
    interval = (Parameter("interval", enum=series.intervals, default=series.intervals[0]),) if series.intervals else ()
    maturity = (MATURITY,) if series.function == "TREASURY_YIELD" else ()
    return (*interval, *maturity, DATATYPE)


# Metal prices of one troy ounce in dollars
METALS = {"GOLD": "XAU", "XAU": "XAU", "SILVER": "XAG", "XAG": "XAG"}
METAL_SERIES = {
    "XAU": PriceSeries("XAU/USD", 4400, 0.09, 0.009, 4, 0.0, "weekdays"),
    "XAG": PriceSeries("XAG/USD", 78, 0.08, 0.016, 4, 0.0, "weekdays"),
}
METAL = Parameter("symbol", required=True, enum=tuple(METALS))


def _metal_spot(request: ApiRequest) -> Document:
    metal = METALS[request.text("symbol")]
    last = daily_bars(METAL_SERIES[metal], request.today)[-1]
    return {"nominal": f"{metal}USD", "timestamp": f"{last.label} 21:59:30", "price": str(last.close)}


def _metal_history(request: ApiRequest) -> Document:
    metal = METALS[request.text("symbol")]
    bars = list(daily_bars(METAL_SERIES[metal], request.today))
    chosen = {"daily": bars, "weekly": weekly_bars(bars), "monthly": monthly_bars(bars)}[request.text("interval")]
    rows = [{"date": bar.label, "price": str(bar.close)} for bar in reversed(chosen)]
    return {"nominal": f"{metal}USD", "data": rows}


_VALUES = Table("data", "list", ("timestamp", "value"), ("date", "value"))

ENDPOINTS = (
    *(
        Endpoint(series.function, _parameters(series), partial(_build, series=series), _VALUES, symbol="")
        for series in SERIES
    ),
    Endpoint("GOLD_SILVER_SPOT", (METAL,), _metal_spot, symbol=""),
    Endpoint(
        "GOLD_SILVER_HISTORY",
        (METAL, Parameter("interval", enum=("daily", "weekly", "monthly"), default="monthly"), DATATYPE),
        _metal_history,
        list_table("data", "date", "price"),
        symbol="",
    ),
)
