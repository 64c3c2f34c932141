"""Stock time series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from toolfold.mock_api.endpoint import (
    DATATYPE,
    ENTITLEMENT,
    ApiError,
    ApiRequest,
    Document,
    Endpoint,
    Parameter,
    Table,
    number_keys,
    strip_number,
)
from toolfold.mock_api.price_series import Bar, monthly_bars, weekly_bars
from toolfold.mock_api.stocks import AdjustedBar, adjusted_bars, minute_bars, unadjusted_bars

COMPACT_POINTS = 100
EASTERN = "US/Eastern"

SYMBOL = Parameter("symbol", required=True)
OUTPUTSIZE = Parameter("outputsize", enum=("compact", "full"), default="compact")
MINUTES = ("1min", "5min", "15min", "30min", "60min")
MONTH = Parameter("month", kind="month")

OHLCV = number_keys("open", "high", "low", "close", "volume")
DAILY_ADJUSTED = (*OHLCV[:4], "5. adjusted close", "6. volume", "7. dividend amount", "8. split coefficient")
PERIOD_ADJUSTED = DAILY_ADJUSTED[:7]


def newest_first(rows: Sequence[tuple[str, dict[str, str]]], request: ApiRequest) -> dict[str, dict[str, str]]:
    """Return rows as a map from timestamp to values, newest first, cut to the compact size when that is requested."""
    compact = request.text("outputsize") == "compact"
    return dict(reversed(rows[-COMPACT_POINTS:] if compact else rows))


def size_name(request: ApiRequest) -> str:
    """Return the name of the output size in the meta data."""
    return {"compact": "Compact", "full": "Full size"}[request.text("outputsize")]


def meta(*entries: tuple[str, str]) -> dict[str, str]:
    """Return numbered meta data entries."""
    return {f"{index}. {name}": value for index, (name, value) in enumerate(entries, 1)}


def _price_rows(bars: Iterable[Bar]) -> list[tuple[str, dict[str, str]]]:
    return [
        (bar.label, dict(zip(OHLCV, [*(f"{price:.4f}" for price in bar[1:5]), f"{bar.volume:.0f}"], strict=True)))
        for bar in bars
    ]


def _adjusted_rows(bars: Iterable[AdjustedBar], keys: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    rows = []
    for bar, adjusted_close, dividend, split in bars:
        prices = [f"{price:.4f}" for price in (*bar[1:5], adjusted_close)]
        values = [*prices, f"{bar.volume:.0f}", f"{dividend:.4f}", f"{split:.4f}"]
        rows.append((bar.label, dict(zip(keys, values, strict=False))))
    return rows


def _series_document(title: str, path: str, rows: list[tuple[str, dict[str, str]]], request: ApiRequest) -> Document:
    sized = [("Output Size", size_name(request))] if request.text("outputsize") else []
    head = [("Information", title), ("Symbol", request.text("symbol")), ("Last Refreshed", rows[-1][0])]
    return {"Meta Data": meta(*head, *sized, ("Time Zone", EASTERN)), path: newest_first(rows, request)}


def _intraday(request: ApiRequest) -> Document:
    interval = request.text("interval")
    bars = minute_bars(
        request.text("symbol"),
        request.today,
        int(interval.removesuffix("min")),
        month=request.text("month"),
        extended_hours=request.boolean("extended_hours"),
        split_adjusted=request.boolean("adjusted"),
    )
    if not bars:
        raise ApiError("invalid_call")
    rows = _price_rows(bars)
    title = f"Intraday ({interval}) open, high, low, close prices and volume"
    return {
        "Meta Data": meta(
            ("Information", title),
            ("Symbol", request.text("symbol")),
            ("Last Refreshed", rows[-1][0]),
            ("Interval", interval),
            ("Output Size", size_name(request)),
            ("Time Zone", EASTERN),
        ),
        f"Time Series ({interval})": newest_first(rows, request),
    }


def _daily(request: ApiRequest) -> Document:
    rows = _price_rows(unadjusted_bars(request.text("symbol"), request.today))
    return _series_document("Daily Prices (open, high, low, close) and Volumes", "Time Series (Daily)", rows, request)


def _daily_adjusted(request: ApiRequest) -> Document:
    rows = _adjusted_rows(adjusted_bars(request.text("symbol"), request.today), DAILY_ADJUSTED)
    title = "Daily Time Series with Splits and Dividend Events"
    return _series_document(title, "Time Series (Daily)", rows, request)


def _weekly(request: ApiRequest) -> Document:
    rows = _price_rows(weekly_bars(unadjusted_bars(request.text("symbol"), request.today)))
    return _series_document("Weekly Prices (open, high, low, close) and Volumes", "Weekly Time Series", rows, request)


def _monthly(request: ApiRequest) -> Document:
    rows = _price_rows(monthly_bars(unadjusted_bars(request.text("symbol"), request.today)))
    return _series_document("Monthly Prices (open, high, low, close) and Volumes", "Monthly Time Series", rows, request)


def _period_adjusted(request: ApiRequest, *, name: str) -> Document:
    days = adjusted_bars(request.text("symbol"), request.today)
    closes = {day.bar.label: day.adjusted_close for day in days}
    bars = {"Weekly": weekly_bars, "Monthly": monthly_bars}[name](day.bar for day in days)
    paid = [(day.bar.label, day.dividend) for day in days if day.dividend]
    found = []
    since = ""
    for bar in bars:
        dividend = sum(amount for label, amount in paid if since < label <= bar.label)
        found.append(AdjustedBar(bar, closes[bar.label], dividend, 1.0))
        since = bar.label
    rows = _adjusted_rows(found, PERIOD_ADJUSTED)
    return _series_document(f"{name} Adjusted Prices and Volumes", f"{name} Adjusted Time Series", rows, request)


def _map(path: str, keys: tuple[str, ...], *, underscores: bool = False) -> Table:
    """Return a table of prices. Daily has ``adjusted_close`` where weekly and monthly have ``adjusted close``."""
    names = [strip_number(key).replace(" ", "_") if underscores else strip_number(key) for key in keys]
    return Table(path, "map", ("timestamp", *names), keys)


_PERIOD = (SYMBOL, DATATYPE, ENTITLEMENT)

ENDPOINTS = (
    Endpoint(
        "TIME_SERIES_INTRADAY",
        (
            SYMBOL,
            Parameter("interval", required=True, enum=MINUTES),
            Parameter("adjusted", kind="boolean", default="true"),
            Parameter("extended_hours", kind="boolean", default="true"),
            MONTH,
            OUTPUTSIZE,
            DATATYPE,
            ENTITLEMENT,
        ),
        _intraday,
        _map("Time Series ({interval})", OHLCV),
        access="premium",
    ),
    Endpoint(
        "TIME_SERIES_DAILY", (SYMBOL, OUTPUTSIZE, DATATYPE, ENTITLEMENT), _daily, _map("Time Series (Daily)", OHLCV)
    ),
    Endpoint(
        "TIME_SERIES_DAILY_ADJUSTED",
        (SYMBOL, OUTPUTSIZE, DATATYPE, ENTITLEMENT),
        _daily_adjusted,
        _map("Time Series (Daily)", DAILY_ADJUSTED, underscores=True),
        access="premium",
    ),
    Endpoint("TIME_SERIES_WEEKLY", _PERIOD, _weekly, _map("Weekly Time Series", OHLCV)),
    Endpoint(
        "TIME_SERIES_WEEKLY_ADJUSTED",
        _PERIOD,
        partial(_period_adjusted, name="Weekly"),
        _map("Weekly Adjusted Time Series", PERIOD_ADJUSTED),
    ),
    Endpoint("TIME_SERIES_MONTHLY", _PERIOD, _monthly, _map("Monthly Time Series", OHLCV)),
    Endpoint(
        "TIME_SERIES_MONTHLY_ADJUSTED",
        _PERIOD,
        partial(_period_adjusted, name="Monthly"),
        _map("Monthly Adjusted Time Series", PERIOD_ADJUSTED),
    ),
)
