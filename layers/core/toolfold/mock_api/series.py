"""Answers that are computed from the prices: price series, indicators, quotes, the economy; and analytics."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import groupby, pairwise
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
from toolfold.mock_api.prices import (
    FRIDAY,
    PERIODS,
    Bar,
    daily_bars,
    group,
    is_trading_day,
    minute_bars,
    traded_bars,
)
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

    Some functions have the length in their name. With ``outputsize=compact`` only the newest days are computed.
    """
    named = re.search("DAILY|WEEKLY|MONTHLY", request.function)
    interval, month = request.text("interval") or (named[0].lower() if named else "monthly"), request.text("month")
    if interval in PERIODS:
        return group(days, interval)
    since = (request.today - timedelta(days=INTRADAY_DAYS)).isoformat()
    bars = minute_bars(
        instrument,
        [bar for bar in days if (bar.label.startswith(month) if month else bar.label > since)],
        int(interval.removesuffix("min")),
        regular=request.text("extended_hours") == "false",
        at_least=COMPACT_POINTS if request.text("outputsize") == "compact" else None,
    )
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
        "open": f"{bar.open:.{digits}f}",
        "high": f"{bar.high:.{digits}f}",
        "low": f"{bar.low:.{digits}f}",
        "close": f"{bar.close:.{digits}f}",
        "price": str(bar.close),
        "volume": f"{bar.volume:.0f}",
        "adjusted close": f"{bar.adjusted_close:.4f}",
        "dividend amount": f"{bar.dividend:.4f}",
        "split coefficient": f"{bar.split:.4f}",
    }


def _meta(request: Request, newest: str, separator: str) -> dict[str, str]:
    """Return meta data, numbered as the vendor does: what was requested, and how new the rows are."""
    given = {name.replace("_", " ").title(): request.text(name) for name in request.values if name not in _NOT_META}
    about = {"Information": request.endpoint.tool.title, **given, "Last Refreshed": newest, "Time Zone": "US/Eastern"}
    return {f"{number}{separator}{name}": value for number, (name, value) in enumerate(about.items(), 1)}


_NOT_META = ("datatype", "entitlement")


# Technical indicators: the best known are computed, and those near the price follow it. A line is as long as the bars,
# oldest first, with None where an indicator has too few points.

Line = Sequence[float | None]
Numbers = Mapping[str, float]
"""The numeric parameters of a request."""


def sma(values: Sequence[float], period: int) -> Line:
    """Return the simple moving average."""
    line: list[float | None] = []
    total = 0.0
    for index, value in enumerate(values):
        total += value - (values[index - period] if index >= period else 0.0)
        line.append(total / period if index >= period - 1 else None)
    return line


def ema(values: Sequence[float], period: int, weight: float = 0.0) -> Line:
    """Return the exponential moving average, which starts from the mean of the first ``period`` points.

    The weight of a new point is 1 / ``period`` for Wilder's average, by default 2 / (``period`` + 1).
    """
    if len(values) < period:
        return [None] * len(values)
    weight = weight or 2 / (period + 1)
    current = sum(values[:period]) / period
    line: list[float | None] = [None] * (period - 1) + [current]
    for value in values[period:]:
        current += weight * (value - current)
        line.append(current)
    return line


def average(values: Line, period: float, code: float = 0) -> Line:
    """Return the moving average of a line that may begin with Nones: for code 0 the simple one, else exponential."""
    known = [value for value in values if value is not None]
    return [None] * (len(values) - len(known)) + list((ema if code else sma)(known, int(period)))


def points(function: Callable[..., float], *lines: Line) -> Line:
    """Apply ``function`` point by point; None where one of the lines has None."""
    return [None if None in values else function(*values) for values in zip(*lines, strict=True)]


def _rsi(bars: Sequence[Bar], series: Sequence[float], numbers: Numbers) -> Sequence[Line]:
    period = int(numbers["time_period"])
    steps = [b - a for a, b in pairwise(series)]
    gains = ema([max(step, 0.0) for step in steps], period, 1 / period)
    losses = ema([max(-step, 0.0) for step in steps], period, 1 / period)
    return ([None, *points(lambda up, down: 100 * up / (up + down) if up + down else 50.0, gains, losses)],)


def _macd(bars: Sequence[Bar], series: Sequence[float], numbers: Numbers) -> Sequence[Line]:
    fast, slow, signal = (
        (numbers[f"{name}period"], numbers.get(f"{name}matype", 1)) for name in ("fast", "slow", "signal")
    )
    line = points(lambda a, b: a - b, average(series, *fast), average(series, *slow))
    smooth = average(line, *signal)
    return line, smooth, points(lambda a, b: a - b, line, smooth)


def _bands(bars: Sequence[Bar], series: Sequence[float], numbers: Numbers) -> Sequence[Line]:
    period = numbers["time_period"]
    middle = average(series, period, numbers["matype"])
    mean, squares = average(series, period), average([value * value for value in series], period)
    deviation = points(lambda a, b: math.sqrt(max(b - a * a, 0.0)), mean, squares)
    upper = points(lambda m, d: m + numbers["nbdevup"] * d, middle, deviation)
    return upper, middle, points(lambda m, d: m - numbers["nbdevdn"] * d, middle, deviation)


def _atr(bars: Sequence[Bar], series: Sequence[float], numbers: Numbers) -> Sequence[Line]:
    period, pairs = int(numbers["time_period"]), zip(bars, [bars[0], *bars], strict=False)
    ranges = [max(bar.high, last.close) - min(bar.low, last.close) for bar, last in pairs]
    return (ema(ranges, period, 1 / period),)


def _near_price(bars: Sequence[Bar], series: Sequence[float], numbers: Numbers) -> Sequence[Line]:
    return [ema(series, int(numbers.get("time_period", period))) for period in (10, 20)]


Formula = Callable[[Sequence[Bar], Sequence[float], Numbers], Sequence[Line]]
"""Bars, the prices that ``series_type`` names, and the numeric parameters → a line for each column in JSON, or more."""

FORMULAS: Mapping[str, Formula] = {
    "SMA": lambda bars, series, given: (average(series, given["time_period"]),),
    "EMA": lambda bars, series, given: (average(series, given["time_period"], 1),),
    "RSI": _rsi,
    "MACD": _macd,
    "MACDEXT": _macd,
    "BBANDS": _bands,
    "ATR": _atr,
    **dict.fromkeys(
        ("WMA", "DEMA", "TEMA", "TRIMA", "KAMA", "MAMA", "VWAP", "T3", "MIDPOINT", "MIDPRICE", "SAR", "HT_TRENDLINE"),
        _near_price,
    ),
}
"""Function → what computes it; ``fields.csv`` has the range of all others."""


def indicator(request: Request) -> Data:
    """Return a technical indicator, newest first."""
    instrument, columns = find_charted(request.text("symbol")), request.endpoint.columns
    bars = _bars(request, instrument, daily_bars(instrument, request.today))
    given = request.numbers()
    if compute := FORMULAS.get(request.function):
        lines = compute(bars, [getattr(bar, request.text("series_type") or "close") for bar in bars], given)
        rows = [
            {AT: bar.label[:16], **{key: f"{value:.4f}" for key, value in zip(columns, values, strict=False)}}
            for bar, *values in zip(bars, *lines, strict=True)
            if None not in values
        ]
    else:
        rows = [{AT: bar.label[:16]} for bar in bars[int(given.get("time_period", 0)) :]]
    return Data(rows[::-1], {"Meta Data": _meta(request, bars[-1].label, ": ")})


def _quote_row(symbol: str, request: Request, digits: int) -> Row:
    """Return what quotes say about a share, under all names that they have for it."""
    last, bar = traded_bars(find_stock(symbol), request.today)[-2:]
    change, spread = bar.close - last.close, max(0.01, round(bar.close * 0.0001, 2))
    percent = f"{100 * change / last.close:.4f}"
    return {
        **_price_row(bar, digits),
        "symbol": symbol.upper(),
        "price": f"{bar.close:.{digits}f}",
        "latest trading day": bar.label,
        "previous close": f"{last.close:.{digits}f}",
        "previous_close": f"{last.close:.{digits}f}",
        "change": f"{change:.{digits}f}",
        "change percent": f"{percent}%",
        "change_percent": percent,
        "timestamp": f"{bar.label} 19:59:42{'' if request.function.endswith('PRICES') else '.250'}",
        "extended_hours_quote": f"{bar.close + spread:.2f}",
        "extended_hours_change": f"{spread:.2f}",
        "extended_hours_change_percent": f"{100 * spread / bar.close:.5f}",
        "bid_price": f"{bar.close - spread:.2f}",
        "ask_price": f"{bar.close + spread:.2f}",
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


MONTHS = {"monthly": 1, "quarterly": 3, "semiannual": 6, "annual": 12}
MATURITIES = {"3month": -0.5, "2year": -0.6, "5year": -0.4, "7year": -0.2, "30year": 0.6}
"""Maturity of a treasury → difference of its yield to that of ten years."""

_ONLY = {"REAL_GDP_PER_CAPITA": "quarterly", "INFLATION": "annual"}
"""Functions without a parameter for the interval → theirs where it is not a month."""

_GAPS_EVERY, _GAP_AT = 61, 17
"""Rows without a value, so that each series has the mark of a missing one."""


def economy(request: Request) -> Data:
    """Return a commodity price or an indicator of the economy: finished periods, newest first."""
    series, maturity = instruments.find("series", request.function), request.text("maturity")
    interval = request.text("interval") or _ONLY.get(request.function, "monthly")
    days, lift = daily_bars(series, request.today)[:-1], MATURITIES.get(maturity, 0.0)
    if interval in MONTHS:
        values = _means(days, MONTHS[interval], request.today)
    else:
        dated = [(date.fromisoformat(bar.label), bar) for bar in days]
        wanted = [(day, bar) for day, bar in dated if interval == "daily" or day.weekday() == FRIDAY]
        values = [(bar.label, bar.close if is_trading_day(day) else None) for day, bar in wanted]
    texts = ((label, value and f"{max(value + lift, 0.01):.{series.decimals}f}") for label, value in values)
    rows = [{"date": label, "value": text or "."} for label, text in texts]
    name = f"{maturity.replace('year', '-Year').replace('month', '-Month')} {series.name}".strip()
    return Data(rows[::-1], {"name": name, "interval": interval, "unit": series.unit})


def _means(days: Sequence[Bar], span: int, today: date) -> list[tuple[str, float | None]]:
    """Return first day and mean of each finished period, None for a value that is not known."""
    periods = groupby(days, lambda bar: (int(bar.label[:4]) * 12 + int(bar.label[5:7]) - 1) // span)
    found: list[tuple[str, float | None]] = []
    for at, (number, part) in enumerate(periods):
        closes = [bar.close for bar in part]
        mean = None if at % _GAPS_EVERY == _GAP_AT else math.fsum(closes) / len(closes)
        if number < (today.year * 12 + today.month - 1) // span:
            found.append((f"{number * span // 12}-{number * span % 12 + 1:02d}-01", mean))
    return found


def analytics(request: Request) -> Data:
    """Return plausible figures for each calculation and symbol, of a fixed window or of each sliding one."""
    symbols, sliding = request.text("SYMBOLS").upper().split(","), int(request.text("WINDOW_SIZE") or 0)
    try:
        labels = [bar.label for bar in _window(request, [find_stock(symbol) for symbol in symbols].pop())]
    except UnknownSymbol:
        raise RefusedRequest("analytics_error") from None
    if len(labels) < (sliding or 3):
        raise RefusedRequest("analytics_error")
    results: dict[str, Any] = {}
    for text in request.items("CALCULATIONS"):
        name, starts = text.partition("(")[0], dict(zip(labels[sliding - 1 :], labels, strict=False))
        if not sliding:
            results[text.upper()] = _figures(name, symbols, labels[-1])
            continue
        running = {label: _figures(name, symbols, label) for label in starts}
        if "index" not in running[labels[-1]]:
            running = {one: {label: values[one] for label, values in running.items()} for one in symbols}
        results[text.upper()] = {f"RUNNING_{name}": running, "window_start": starts}
    size = {"window_size": sliding} if sliding else {}
    meta = {"symbols": ",".join(symbols), **size, "min_dt": labels[0], "max_dt": labels[-1],
            "ohlc": request.text("OHLC").capitalize(), "interval": request.text("INTERVAL")}  # fmt: skip
    document = {"meta_data": meta, "payload": {"RETURNS_CALCULATIONS": results}}
    return Data({"": [document]}, columns=tuple(document))


def _figures(name: str, symbols: Sequence[str], label: str) -> dict[str, Any]:
    """Return a figure for each symbol, or the lower half of the matrix of all pairs."""
    made_up = {symbol: Seeded(name, symbol, label).uniform(0.001, 0.04) for symbol in symbols}
    if name not in ("COVARIANCE", "CORRELATION"):
        return made_up
    rows = [[1.0 if one == other else (made_up[one] + made_up[other]) * 9 for other in symbols[: at + 1]]
            for at, one in enumerate(symbols)]  # fmt: skip
    return {"index": list(symbols), name.lower(): rows}


_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "week": 7, "month": 30.44, "year": 365.25}


def _window(request: Request, stock: Instrument) -> list[Bar]:
    """Return the bars in the requested window: one date is a start, two are start and end, 1year is a span."""
    interval, (start, *rest) = request.text("INTERVAL").lower(), request.values["RANGE"]
    days, minutes = daily_bars(stock, request.today), interval.removesuffix("min")
    is_intraday = minutes != interval
    bars = minute_bars(stock, days[-INTRADAY_DAYS:], int(minutes)) if is_intraday else group(days, interval)
    last = f"{rest[0].replace('T', ' ')}~" if rest else "9999"  # ~ is behind every label of that day or month
    back, first = re.fullmatch(r"(\d+)([a-z]+)", start), "" if start == "full" else start.replace("T", " ")
    if back is not None:
        span = timedelta(days=min(int(back[1]) * _DAYS[back[2]], 36500))
        first = (datetime.combine(request.today, time(16)) - span).isoformat(sep=" ")[: 19 if is_intraday else 10]
    return [bar for bar in bars if first <= bar.label <= last]


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
