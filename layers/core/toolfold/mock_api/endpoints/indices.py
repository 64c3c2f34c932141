"""Market indices: names are facts, levels are invented."""

from __future__ import annotations

from toolfold.mock_api.endpoint import DATATYPE, ApiRequest, Document, Endpoint, Parameter, Table, list_table
from toolfold.mock_api.endpoints.core_stocks import SYMBOL
from toolfold.mock_api.price_series import PriceSeries, daily_bars, monthly_bars, weekly_bars
from toolfold.mock_api.seeded_random import SeededRandom

# symbol | name | level
_INDICES = """
DJI|Dow Jones Industrial Average|49000
SPX|S&P 500 INDEX|6900
COMP|NASDAQ Composite|23500
NDX|NASDAQ 100|25700
VIX|CBOE Volatility Index|16
RUT|Russell 2000 Index|2600
RUI|Russell 1000 Index|3790
RUA|Russell 3000 Index|3950
OEX|S&P 100 Index|3440
MID|S&P MidCap 400 Index|3440
SML|S&P SmallCap 600 Index|1530
NYA|NYSE Composite|22500
XAX|NYSE American Composite|7100
DJT|Dow Jones Transportation Average|17800
DJU|Dow Jones Utility Average|1090
SOX|PHLX Semiconductor Index|7600
VXN|CBOE NASDAQ 100 Volatility Index|20
RVX|CBOE Russell 2000 Volatility Index|22
OVX|CBOE Crude Oil Volatility Index|34
GVZ|CBOE Gold Volatility Index|22
"""
INDICES = {
    symbol: (name, float(level)) for symbol, name, level in (line.split("|") for line in _INDICES.split("\n")[1:-1])
}
KEYS = ("date", "open", "high", "low", "close")


def _data(request: ApiRequest) -> Document:
    symbol, interval = request.text("symbol").upper(), request.text("interval")
    name, level = INDICES.get(symbol, (f"{symbol} Example Index", 1000 + 4000 * SeededRandom("index", symbol).random()))
    calm = not name.endswith("Volatility Index")
    series = PriceSeries(f"index {symbol}", level, 0.07 if calm else 0.0, 0.009 if calm else 0.04)
    bars = list(daily_bars(series, request.today))
    chosen = {"daily": bars, "weekly": weekly_bars(bars), "monthly": monthly_bars(bars)}[interval]
    rows = [
        dict(zip(KEYS, (bar.label, *(f"{price:.2f}" for price in bar[1:5])), strict=True)) for bar in reversed(chosen)
    ]
    return {"symbol": symbol, "name": name, "interval": interval, "data": rows}


def _catalog(_: ApiRequest) -> Document:
    return {symbol: name for symbol, (name, _) in INDICES.items()}


ENDPOINTS = (
    Endpoint(
        "INDEX_DATA",
        (SYMBOL, Parameter("interval", required=True, enum=("daily", "weekly", "monthly")), DATATYPE),
        _data,
        list_table("data", *KEYS),
        access="premium",
    ),
    Endpoint("INDEX_CATALOG", (DATATYPE,), _catalog, Table("", "pairs", ("symbol", "name")), symbol=""),
)
