"""Analytics over fixed and sliding windows, computed from the synthetic prices."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from itertools import pairwise
from statistics import fmean, median, variance
from typing import Any

from toolfold.mock_api.endpoint import ApiError, ApiRequest, Document, Endpoint, Parameter, is_unknown_symbol
from toolfold.mock_api.endpoints.core_stocks import MINUTES
from toolfold.mock_api.price_series import Bar, add_months, daily_bars, month_end, monthly_bars, weekly_bars
from toolfold.mock_api.stocks import minute_bars, price_series_for

RANGE = r"full|\d+(minute|hour|day|week|month|year)|\d{4}-\d{2}(-\d{2}(T\d{2}:\d{2}:\d{2})?)?"
INTERVALS = (*MINUTES, "DAILY", "WEEKLY", "MONTHLY")
PERIODS_PER_YEAR = {"DAILY": 252, "WEEKLY": 52, "MONTHLY": 12}
SYMBOL_LIMIT = 50  # of the larger plans
KENDALL_POINTS = 300  # all pairs of points are compared: more points would take seconds
Values = dict[str, list[float]]


def _annual_factor(options: dict[str, str], interval: str) -> float:
    annualized = options.get("annualized", "false").lower() == "true"
    return PERIODS_PER_YEAR.get(interval, 252 * 390 // int(re.sub(r"\D", "", interval) or 1)) if annualized else 1


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    return [(bisect_left(order, value) + bisect_right(order, value) - 1) / 2 for value in values]


def covariance(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the sample covariance."""
    if len(left) < 2:
        return 0.0
    mean_left, mean_right = fmean(left), fmean(right)
    return sum((a - mean_left) * (b - mean_right) for a, b in zip(left, right, strict=True)) / (len(left) - 1)


def _pearson(left: Sequence[float], right: Sequence[float]) -> float:
    scale = (covariance(left, left) * covariance(right, right)) ** 0.5
    return covariance(left, right) / scale if scale else 0.0


def _kendall(left: Sequence[float], right: Sequence[float]) -> float:
    left, right = left[-KENDALL_POINTS:], right[-KENDALL_POINTS:]
    count = len(left)
    agree = sum((left[a] > left[b]) == (right[a] > right[b]) for a in range(count) for b in range(a))
    total = count * (count - 1) / 2
    return (2 * agree - total) / total if total else 0.0


METHODS: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "PEARSON": _pearson,
    "SPEARMAN": lambda left, right: _pearson(_ranks(left), _ranks(right)),
    "KENDALL": _kendall,
}


def _cumulative(returns: Sequence[float]) -> float:
    total = 1.0
    for one in returns:
        total *= 1 + one
    return total - 1


def _variance(returns: Sequence[float]) -> float:
    return variance(returns) if len(returns) > 1 else 0.0


# Calculations that give one number per symbol, from its returns and the factor that makes them yearly.
SINGLE: dict[str, Callable[[Sequence[float], float], float]] = {
    "MIN": lambda returns, _: min(returns),
    "MAX": lambda returns, _: max(returns),
    "MEAN": lambda returns, _: fmean(returns),
    "MEDIAN": lambda returns, _: median(returns),
    "CUMULATIVE_RETURN": lambda returns, _: _cumulative(returns),
    "VARIANCE": lambda returns, factor: _variance(returns) * factor,
    "STDDEV": lambda returns, factor: (_variance(returns) * factor) ** 0.5,
}
SLIDING = ("MEAN", "MEDIAN", "CUMULATIVE_RETURN", "VARIANCE", "STDDEV", "COVARIANCE", "CORRELATION")
FIXED = (*SINGLE, "MAX_DRAWDOWN", "HISTOGRAM", "AUTOCORRELATION", "COVARIANCE", "CORRELATION")


def _triangle(returns: Values, name: str, options: dict[str, str], factor: float) -> Document:
    """Return the lower half of the matrix of all pairs, with the diagonal."""
    symbols = list(returns)
    method = METHODS.get(options.get("method", "PEARSON").upper(), _pearson)
    rows = []
    for index, left in enumerate(symbols):
        others = symbols[: index + 1]
        if name == "COVARIANCE":
            rows.append([covariance(returns[left], returns[right]) * factor for right in others])
        else:
            rows.append([1.0 if left == right else method(returns[left], returns[right]) for right in others])
    return {"index": symbols, name.lower(): rows}


def _drawdown(returns: Sequence[float], stamps: Sequence[str]) -> Document:
    value = peak = 1.0
    peak_at = 0
    worst, start, end = 0.0, 0, 0
    for index, one in enumerate(returns):
        value *= 1 + one
        if value > peak:
            peak, peak_at = value, index
        if value / peak - 1 < worst:
            worst, start, end = value / peak - 1, peak_at, index
    return {"max_drawdown": worst, "drawdown_range": {"start_drawdown": stamps[start], "end_drawdown": stamps[end]}}


def _histogram(returns: Sequence[float], bins: int) -> Document:
    low, high = min(returns), max(returns)
    width = (high - low) / bins or 1.0
    counts = [0] * bins
    for one in returns:
        counts[min(int((one - low) / width), bins - 1)] += 1
    return {"bin_count": counts, "bin_edges": [low + n * width for n in range(bins + 1)]}


def _autocorrelation(returns: Sequence[float], lag: int) -> float:
    return _pearson(returns[:-lag], returns[lag:]) if len(returns) > lag + 1 else 0.0


def parse_calculation(text: str) -> tuple[str, dict[str, str]]:
    """Split ``STDDEV(annualized=True)`` into its name and its options."""
    match = re.fullmatch(r"([A-Z_]+)(?:\(([^()]*)\))?", text)
    if match is None:
        return text, {}
    pairs = (pair.partition("=") for pair in (match[2] or "").split(",") if pair)
    return match[1], {key.strip().lower(): value.strip() for key, _, value in pairs}


def _positive(options: dict[str, str], name: str, default: int) -> int:
    text = options.get(name, str(default))
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise ApiError("invalid_call")
    return int(text)


def _fixed_calculation(text: str, returns: Values, stamps: list[str], interval: str) -> Any:
    name, options = parse_calculation(text)
    factor = _annual_factor(options, interval)
    if name in ("COVARIANCE", "CORRELATION"):
        return _triangle(returns, name, options, factor)
    if name == "MAX_DRAWDOWN":
        return {symbol: _drawdown(values, stamps) for symbol, values in returns.items()}
    if name == "HISTOGRAM":
        bins = _positive(options, "bins", 10)
        return {symbol: _histogram(values, bins) for symbol, values in returns.items()}
    if name == "AUTOCORRELATION":
        lag = _positive(options, "lag", 1)
        return {symbol: _autocorrelation(values, lag) for symbol, values in returns.items()}
    return {symbol: SINGLE[name](values, factor) for symbol, values in returns.items()}


def _sliding_calculation(text: str, returns: Values, stamps: list[str], request: ApiRequest) -> Document:
    """Return a calculation for each window of ``WINDOW_SIZE`` bars, dated on the last bar."""
    name, options = parse_calculation(text)
    factor = _annual_factor(options, request.text("INTERVAL"))
    size = request.integer("WINDOW_SIZE")
    ends = range(size - 1, len(stamps))
    running: Document
    if name in ("COVARIANCE", "CORRELATION"):
        running = {
            stamps[end]: _triangle(
                {symbol: values[end - size + 1 : end] for symbol, values in returns.items()}, name, options, factor
            )
            for end in ends
        }
    else:
        running = {
            symbol: {stamps[end]: SINGLE[name](values[end - size + 1 : end], factor) for end in ends}
            for symbol, values in returns.items()
        }
    starts = {stamps[end]: stamps[end - size + 1] for end in ends}
    params = {"params": {key: value.lower() for key, value in options.items()}} if options else {}
    return {f"RUNNING_{name}": running, "window_start": starts, **params}


def _bars(symbol: str, request: ApiRequest) -> Sequence[Bar]:
    interval = request.text("INTERVAL")
    if interval in MINUTES:
        return minute_bars(symbol, request.today, int(interval.removesuffix("min")), extended_hours=False)
    days = daily_bars(price_series_for(symbol), request.today)
    return {"DAILY": list, "WEEKLY": weekly_bars, "MONTHLY": monthly_bars}[interval](days)  # type: ignore[operator, no-any-return]


_UNITS = {"day": 1, "week": 7}


def _span(ranges: Sequence[str], newest: str) -> tuple[str, str]:
    """Return the first and last label of the window. One date is a start, two are start and end."""
    last = datetime.fromisoformat(newest)
    start = ranges[0]
    end = ranges[1] if len(ranges) > 1 else ""
    if len(end) == 7:
        end = month_end(date.fromisoformat(f"{end}-01")).isoformat()
    end = end.replace("T", " ")
    if len(end) == 10:
        end += " 24"
    match = re.fullmatch(r"(\d+)([a-z]+)", start)
    if start == "full":
        return "", end or "9999"
    if match is None:
        return start.replace("T", " "), end or "9999"
    count, unit = min(int(match[1]), 100_000), match[2]
    if unit in ("minute", "hour"):
        first = last - timedelta(**{f"{unit}s": count})
    elif unit in _UNITS:
        first = last - timedelta(days=count * _UNITS[unit])
    else:
        months = min(count * (12 if unit == "year" else 1), 12 * 100)
        moved = add_months(last.date().replace(day=min(last.day, 28)), -months)
        first = datetime.combine(moved, last.time())
    return first.isoformat(sep=" ")[: len(newest)], "9999"


def _window(request: ApiRequest) -> tuple[list[str], list[str], Values]:
    """Return the symbols, the labels of the bars in the window, and the returns between them."""
    symbols = list(dict.fromkeys(symbol.upper() for symbol in request.comma_list("SYMBOLS")))
    if len(symbols) > SYMBOL_LIMIT or any(is_unknown_symbol(symbol) for symbol in symbols):
        raise ApiError("analytics_error")
    ohlc = request.text("OHLC")
    columns: dict[str, dict[str, float]] = {}
    for symbol in symbols:
        bars = _bars(symbol, request)
        first, last = _span(request.all_values("RANGE"), bars[-1].label)
        columns[symbol] = {bar.label: getattr(bar, ohlc) for bar in bars if first <= bar.label <= last}
    stamps = list(columns[symbols[0]])
    if len(stamps) < 3:
        raise ApiError("analytics_error")
    prices = {symbol: list(column.values()) for symbol, column in columns.items()}
    return symbols, stamps, {name: [b / a - 1 for a, b in pairwise(one)] for name, one in prices.items()}


def _meta(request: ApiRequest, stamps: list[str], symbols: list[str], **window: int) -> Document:
    span = {"min_dt": stamps[0], "max_dt": stamps[-1]}
    rest = {"ohlc": request.text("OHLC").capitalize(), "interval": request.text("INTERVAL")}
    return {"symbols": ",".join(symbols), **window, **span, **rest}


def _calculations(request: ApiRequest, known: Sequence[str]) -> list[str]:
    texts = request.comma_list("CALCULATIONS")
    if any(parse_calculation(text)[0] not in known for text in texts):
        raise ApiError("invalid_call")
    return texts


def _fixed(request: ApiRequest) -> Document:
    texts = _calculations(request, FIXED)
    symbols, stamps, returns = _window(request)
    found = {text.upper(): _fixed_calculation(text, returns, stamps, request.text("INTERVAL")) for text in texts}
    return {"meta_data": _meta(request, stamps, symbols), "payload": {"RETURNS_CALCULATIONS": found}}


def _sliding(request: ApiRequest) -> Document:
    texts = _calculations(request, SLIDING)
    symbols, stamps, returns = _window(request)
    size = request.integer("WINDOW_SIZE")
    if len(stamps) < size:
        raise ApiError("analytics_error")
    found = {text.upper(): _sliding_calculation(text, returns, stamps, request) for text in texts}
    meta = _meta(request, stamps, symbols, window_size=size)
    return {"meta_data": meta, "payload": {"RETURNS_CALCULATIONS": found}}


_COMMON = (
    Parameter("SYMBOLS", required=True, comma_list=True),
    Parameter("RANGE", required=True, pattern=RANGE, repeats=2),
    Parameter("INTERVAL", required=True, enum=INTERVALS),
    Parameter("OHLC", enum=("open", "high", "low", "close"), default="close"),
    Parameter("CALCULATIONS", required=True, comma_list=True),
)

ENDPOINTS = (
    Endpoint("ANALYTICS_FIXED_WINDOW", _COMMON, _fixed, symbol=""),
    Endpoint(
        "ANALYTICS_SLIDING_WINDOW",
        (*_COMMON, Parameter("WINDOW_SIZE", kind="integer", required=True, minimum=10)),
        _sliding,
        symbol="",
    ),
)
