"""Answers that are computed from the prices: price series, indicators, quotes, the economy; and analytics."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from statistics import fmean
from typing import Any

from toolfold.mock_api import instruments
from toolfold.mock_api.endpoint import Request
from toolfold.mock_api.instruments import (
    Instrument,
    Seeded,
    UnknownSymbol,
    find_charted,
    find_money,
    find_pair,
    find_stock,
)
from toolfold.mock_api.prices import PERIODS, Bar, daily_bars, group, minute_bars, traded_bars
from toolfold.mock_api.responses import AT, Data, RefusedRequest, Row

COMPACT_POINTS = 100
INTRADAY_DAYS = 30


def _instrument(request: Request) -> Instrument:
    symbol, market = request.text("symbol"), request.text("market")
    if request.text("from_symbol"):
        return find_pair(request.text("from_symbol"), request.text("to_symbol"))
    if market:
        return find_pair(instruments.find("coin", symbol).symbol, market)
    if request.function == "INDEX_DATA":
        return instruments.find("index", symbol)
    if request.function.startswith("GOLD_SILVER"):
        return instruments.find("metal", instruments.METALS.get(symbol, symbol))
    return find_stock(symbol)


def _bars(request: Request, instrument: Instrument, days: Sequence[Bar]) -> list[Bar]:
    """Return the bars of the requested length: minutes are those of the last 30 days, or of a month.

    Some functions have the length in their name.
    """
    named = re.search("DAILY|WEEKLY|MONTHLY", request.function)
    interval, month = request.text("interval") or (named[0].lower() if named else "monthly"), request.text("month")
    if interval in PERIODS:
        return group(days, interval)
    since = (request.today - timedelta(days=INTRADAY_DAYS)).isoformat()
    wanted = [bar for bar in days if (bar.label.startswith(month) if month else bar.label > since)]
    is_regular = request.text("extended_hours") == "false"
    bars = minute_bars(instrument, wanted, int(interval.removesuffix("min")), regular=is_regular)
    if not bars:
        raise RefusedRequest("invalid_call")
    return bars


def price_series(request: Request) -> Data:
    """Return the bars of a stock, pair, index or metal, newest first."""
    instrument = _instrument(request)
    is_stock, is_coin = instrument.kind in ("Equity", "ETF"), instrument.calendar == "every"
    is_adjusted = not is_stock or (request.text("interval") and request.text("adjusted") != "false")
    bars = _bars(request, instrument, (daily_bars if is_adjusted else traded_bars)(instrument, request.today))
    newest = bars[-1].label
    is_intraday = len(newest) > 10
    digits = 4 if is_stock else 8 if is_coin and not is_intraday else 5 if instrument.kind == "pair" else 2
    bars = bars[-COMPACT_POINTS:] if request.text("outputsize") == "compact" else bars
    rows = [_price_row(bar, digits) for bar in reversed(bars)]
    if is_coin:  # intraday, this is the only number of a series that is a number in JSON
        for row, bar in zip(rows, reversed(bars), strict=True):
            row["volume"] = int(bar.volume) if is_intraday else f"{bar.volume:.8f}"
    meta = _meta(request, newest, ". ")
    return Data(rows, {"Meta Data": meta, "name": instrument.name, "nominal": f"{instrument.symbol}USD"})


def _price_row(bar: Bar, digits: int) -> dict[str, Any]:
    return {
        AT: bar.label,
        "date": bar.label,
        **{name: f"{getattr(bar, name):.{digits}f}" for name in ("open", "high", "low", "close")},
        "price": str(bar.close),
        "volume": f"{bar.volume:.0f}",
        "adjusted close": f"{bar.adjusted_close:.4f}",
        "dividend amount": f"{bar.dividend:.4f}",
        "split coefficient": f"{bar.split:.4f}",
    }


def _meta(request: Request, newest: str, separator: str) -> dict[str, str]:
    """Return meta data, numbered as the vendor does: what was requested, and how new the rows are."""
    names = (name for name in request.values if name not in ("datatype", "entitlement"))
    given = {name.replace("_", " ").title(): request.text(name) for name in names}
    about = {"Information": request.endpoint.tool.title, **given, "Last Refreshed": newest, "Time Zone": "US/Eastern"}
    return {f"{number}{separator}{name}": value for number, (name, value) in enumerate(about.items(), 1)}


def sma(values: Sequence[float], period: int) -> list[float]:
    """Return the simple moving average, from the first day with enough values."""
    return [sum(values[end - period : end]) / period for end in range(period, len(values) + 1)]


def ema(values: Sequence[float], period: int) -> list[float]:
    """Return the exponential moving average, which starts from the mean of the first ``period`` values."""
    line = sma(values[:period], period)
    for value in values[period:]:
        line.append(line[-1] + 2 / (period + 1) * (value - line[-1]))
    return line


_NEAR_PRICE = (
    "SMA", "EMA", "WMA", "DEMA", "TEMA", "TRIMA", "KAMA", "MAMA", "VWAP", "T3", "MIDPOINT", "MIDPRICE", "SAR",
    "HT_TRENDLINE", "BBANDS",
)  # fmt: skip
"""Indicators that are an average of the prices; ``fields.csv`` has the range of all others."""

_FACTORS = {1: (1.0,), 2: (1.0, 0.99), 3: (1.04, 1.0, 0.96)}
"""Number of columns → each as a multiple of the average: of three, upper, middle and lower band."""


def indicator(request: Request) -> Data:
    """Return a technical indicator, newest first."""
    instrument, columns = find_charted(request.text("symbol")), request.endpoint.columns
    bars = _bars(request, instrument, daily_bars(instrument, request.today))
    lines: list[list[str]] = []
    if request.function in _NEAR_PRICE:
        prices = [getattr(bar, request.text("series_type") or "close") for bar in bars]
        average = (sma if request.function in ("SMA", "BBANDS") else ema)(
            prices, int(request.text("time_period") or 10)
        )
        lines = [[f"{value * factor:.4f}" for value in reversed(average)] for factor in _FACTORS[len(columns)]]
    rows = [
        {AT: bar.label[:16], **dict(zip(columns, values, strict=False))}
        for bar, *values in zip(reversed(bars), *lines, strict=False)
    ]
    return Data(rows, {"Meta Data": _meta(request, bars[-1].label, ": ")})


def _quote_row(symbol: str, request: Request, digits: int) -> Row:
    """Return what quotes say about a share, under all names that they have for it."""
    last, bar = traded_bars(find_stock(symbol), request.today)[-2:]
    change = bar.close - last.close
    percent = f"{100 * change / last.close:.4f}"
    return {
        **_price_row(bar, digits),
        "symbol": symbol.upper(),
        "price": f"{bar.close:.{digits}f}",
        "latest trading day": bar.label,
        **dict.fromkeys(("previous close", "previous_close"), f"{last.close:.{digits}f}"),
        "change": f"{change:.{digits}f}",
        "change percent": f"{percent}%",
        "change_percent": percent,
        "timestamp": f"{bar.label} 19:59:42{'' if request.function.endswith('PRICES') else '.250'}",
    }


def quote(request: Request) -> Data:
    """Return the newest day of a share. The key of a delayed quote has another name."""
    rows = [_quote_row(request.text("symbol"), request, 4)]
    is_delayed = request.text("entitlement") == "delayed"
    return Data({"Global Quote - DATA DELAYED BY 15 MINUTES": rows} if is_delayed else rows)


def bulk_quotes(request: Request) -> Data:
    """Return the newest day of up to a hundred shares; the vendor leaves out unknown ones."""
    rows = []
    for symbol in request.items("symbol")[:100]:
        with contextlib.suppress(UnknownSymbol):
            rows.append(_quote_row(symbol, request, 2))
    return Data(rows, {"endpoint": request.endpoint.label})


def exchange_rate(request: Request) -> Data:
    """Return the newest rate of a pair."""
    codes = {side: request.text(f"{side.lower()}_currency") for side in ("From", "To")}
    rate = daily_bars(find_pair(*codes.values()), request.today)[-1].close
    row = {f"{side}_Currency Code": code.upper() for side, code in codes.items()}
    row |= {f"{side}_Currency Name": find_money(code).name for side, code in codes.items()}
    prices = {"Exchange Rate": rate, "Bid Price": rate * 0.99998, "Ask Price": rate * 1.00002}
    row |= {name: f"{price:.8f}" for name, price in prices.items()}
    return Data([{**row, "Last Refreshed": f"{request.today} 21:59:30", "Time Zone": "UTC"}])


def metal_price(request: Request) -> Data:
    """Return the newest price of gold or silver."""
    metal = _instrument(request)
    bar = daily_bars(metal, request.today)[-1]
    price = {"timestamp": f"{bar.label} 21:59:30", "price": f"{bar.close:.4f}"}
    return Data([{"nominal": f"{metal.symbol}USD", **price}])


MATURITIES = {"3month": -0.5, "2year": -0.6, "5year": -0.4, "7year": -0.2, "30year": 0.6}
"""Maturity of a treasury → difference of its yield to that of ten years."""

_ONLY = {"REAL_GDP_PER_CAPITA": "quarterly", "INFLATION": "annual"}
"""Functions without a parameter for the interval → theirs where it is not a month."""

_GAPS_EVERY, _GAP_AT = 61, 17
"""Rows without a value, so that each series has the mark of a missing one."""


def economy(request: Request) -> Data:
    """Return a commodity price or an indicator of the economy: the means of finished periods, newest first."""
    series, maturity = instruments.find("series", request.function), request.text("maturity")
    interval = request.text("interval") or _ONLY.get(request.function, "monthly")
    days = daily_bars(series, request.today)[:-1]
    periods = [list(part) for _, part in groupby(days, lambda bar: PERIODS[interval](bar.label))]
    rows = []
    for number, part in enumerate(periods if interval == "daily" else periods[:-1]):
        label = part[-1].label if interval in ("daily", "weekly") else f"{part[0].label[:7]}-01"
        value = max(fmean(bar.close for bar in part) + MATURITIES.get(maturity, 0.0), 0.01)
        text = "." if number % _GAPS_EVERY == _GAP_AT else f"{value:.{series.decimals}f}"
        rows.append({"date": label, "value": text})
    name = f"{maturity.replace('year', '-Year').replace('month', '-Month')} {series.name}".strip()
    return Data(rows[::-1], {"name": name, "interval": interval, "unit": series.unit})


_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "week": 7, "month": 30.44, "year": 365.25}


def analytics(request: Request) -> Data:
    """Return made-up figures for each calculation and symbol, of the days in a window: 1year is one, as are two dates.

    Those of sliding windows are of the newest day.
    """
    symbols, (start, *end) = request.text("SYMBOLS").upper().split(","), request.values["RANGE"]
    try:
        bars = daily_bars([find_stock(symbol) for symbol in symbols].pop(), request.today)
    except UnknownSymbol:
        raise RefusedRequest("analytics_error") from None
    first, last = "" if start == "full" else start[:10], f"{end[0][:10]}~" if end else "9999"
    if back := re.fullmatch(r"(\d+)([a-z]+)", start):
        first = (request.today - timedelta(days=min(int(back[1]) * _DAYS[back[2]], 36500))).isoformat()
    labels = [bar.label for bar in bars if first <= bar.label <= last]
    if len(labels) < int(request.text("WINDOW_SIZE") or 3):
        raise RefusedRequest("analytics_error")
    results = {
        text.upper(): {symbol: Seeded(text, symbol, labels[-1]).uniform(0.001, 0.04) for symbol in symbols}
        for text in request.items("CALCULATIONS")
    }
    meta = {"symbols": ",".join(symbols), "min_dt": labels[0], "max_dt": labels[-1],
            "ohlc": request.text("OHLC").capitalize(), "interval": request.text("INTERVAL")}  # fmt: skip
    document = {"meta_data": meta, "payload": {"RETURNS_CALCULATIONS": results}}
    return Data({"": [document]}, columns=tuple(document))


BUILDERS: Mapping[str, Callable[[Request], Data]] = {
    "GLOBAL_QUOTE": quote,
    "REALTIME_BULK_QUOTES": bulk_quotes,
    "REALTIME_BULK_BID_ASK_PRICES": bulk_quotes,
    "CURRENCY_EXCHANGE_RATE": exchange_rate,
    "GOLD_SILVER_SPOT": metal_price,
    "GOLD_SILVER_HISTORY": price_series,
    "INDEX_DATA": price_series,
    "ANALYTICS_FIXED_WINDOW": analytics,
    "ANALYTICS_SLIDING_WINDOW": analytics,
}
"""Function → what computes its answer, where the form of the answer does not tell."""
