"""The data of an answer: computed from the prices where functions must agree, made up by the catalog elsewhere."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import Any

from toolfold.mock_api import market
from toolfold.mock_api.endpoint import Request, parse_column, strip_number
from toolfold.mock_api.market import Bar, Instrument, UnknownSymbol, daily_bars, trading_day
from toolfold.mock_api.responses import AT, COMPANIES, Data, Row, rule_of

_REPORTING_LAG = timedelta(days=25)  # from the end of a quarter to its report
_LIMITS = ("limit", "count", "per_page", "page_size", "size", "top", "max_results")
_SINCE = ("time_from", "from_date", "from", "since", "start_date", "start")
_UNTIL = ("time_to", "to_date", "to", "until", "end_date", "end", "date")
_ROWS, _MOST_ROWS, _WEEK = 20, 1000, 7 * 1440
_CONTRACT = (
    "contractID", "symbol", "expiration", "strike", "type", "last", "mark", "bid", "bid_size", "ask", "ask_size",
    "volume", "open_interest", "date", "implied_volatility", "delta", "gamma", "theta", "vega", "rho",
)  # fmt: skip
_GREEKS = 6  # of these columns, the last
_WIDE_ABOVE = 100  # the price from which strikes are five apart
_COMPACT_POINTS, _INTRADAY_DAYS = 100, 30
_PAID = 1.02  # what a share is adjusted by for the dividends of a year
_PRICES = ("Exchange Rate", "Bid Price", "Ask Price", "bid_price", "ask_price", "extended_hours_quote")
_GAPS_EVERY, _GAP_AT = 61, 17  # rows without a value: each series of the economy has the mark of a missing one
_BAND = 0.04  # from the mean of the prices to the next of several columns: a band, or a second line
_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1, "week": 7, "month": 30.44, "year": 365.25}


def made_up(request: Request) -> Data:
    """Return made-up rows, newest first, for any tool: as many and of the span of time that the parameters say."""
    endpoint, symbol = request.endpoint, request.text("symbol")
    wanted, is_to_come = endpoint.facts["about"] or "symbol", request.text("date") > request.today.isoformat()
    if not endpoint.is_typed and (is_to_come or (symbol and not getattr(market.find("stock", symbol), wanted))):
        raise UnknownSymbol(symbol)
    paths = {path: _rows(request, path) for path in endpoint.rows or ("",)}
    lists = {name: _rows(request, name) for name, inner in map(parse_column, endpoint.keys) if inner}
    beside = {"date": request.text("date") or request.today.isoformat(), **lists}
    return Data({path: rows[:1] if endpoint.kind == "object" else rows for path, rows in paths.items()}, beside)


def _rows(request: Request, table: str) -> list[Row]:
    endpoint, facts = request.endpoint, request.endpoint.facts
    if facts["rows"] == "periods":  # twenty years or their quarters, from the last that is reported
        months, last = 12 if table.startswith("annual") else 3, request.today - _REPORTING_LAG
        first = date(last.year, (last.month - 1) // months * months + 1, 1)
        ends = (market.add_months(first, -months * at) - timedelta(days=1) for at in range(240 // months))
        return [{AT: datetime.combine(end, time())} for end in ends]
    count = facts["rows"] or str(_ROWS if table in (*endpoint.rows, "") else 10)
    said = next((request.text(name) for name in _LIMITS if request.text(name).isdigit()), count)
    newest, step = datetime.combine(request.today, time(23)), int(facts["minutes"] or _WEEK)
    until, since = min(_time(request, _UNTIL, newest), newest), _time(request, _SINCE, datetime.min)
    times = [until - timedelta(minutes=step * at) for at in range(min(int(said), _MOST_ROWS))]
    return [{AT: at} for at in times if at >= since]


def _time(request: Request, names: Sequence[str], default: datetime) -> datetime:
    text = next((request.text(name) for name in names if request.text(name)), "")
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return default


def splits(request: Request) -> Data:
    """Return the splits of a share, newest first."""
    known = sorted(market.find("stock", request.text("symbol")).splits_after(""), reverse=True)
    return Data([{"effective_date": day, "split_factor": f"{factor:.4f}"} for day, factor in known])


def options(request: Request) -> Data:
    """Return the contracts of a trading day by expiration, by strike, call before put. Their figures are made up."""
    stock, newest = market.find("stock", request.text("symbol")), trading_day(request.today, -1).isoformat()
    day, wanted = request.text("date") or newest, (request.text("contract"), request.text("expiration"))
    close = {bar.label: bar.close for bar in daily_bars(stock, request.today)}.get(day)
    if close is None:
        raise UnknownSymbol(day)
    step = 5.0 if close > _WIDE_ABOVE else 1.0
    first = date.fromisoformat(day)
    friday, middle = first + timedelta(days=(4 - first.weekday()) % 7), max(13, round(close / step))
    rows = [
        {"contractID": f"{stock.symbol}{one:%y%m%d}{kind[0].upper()}{round(strike * 1000):08d}", "symbol": stock.symbol,
         "expiration": one.isoformat(), "strike": f"{strike:.2f}", "type": kind, "date": day}
        for one in (friday + timedelta(weeks=week) for week in range(10))
        for strike in (step * number for number in range(middle - 12, middle + 13))
        for kind in ("call", "put")
    ]  # fmt: skip
    rows = [row for row in rows if wanted[0] in ("", row["contractID"]) and wanted[1] in ("", row["expiration"])]
    has_greeks = request.endpoint.function.startswith("HIST") or request.text("require_greeks") == "true"
    return Data(rows, columns=_CONTRACT if has_greeks else _CONTRACT[:-_GREEKS])


def index_catalog(request: Request) -> Data:
    """Return symbol and name of the indices."""
    return Data([{"symbol": one.symbol, "name": one.name} for one in market.of_kind("index")])


def symbol_search(request: Request) -> Data:
    """Return up to ten shares and funds whose ticker, or a word of whose name, begins with the text."""
    wanted, rows = request.text("keywords").strip().lower().replace("-", " "), []
    for one in market.of_kind("stock"):
        symbol, name = one.symbol.lower().replace("-", " "), one.name.lower().replace("-", " ")
        if symbol.startswith(wanted) or f" {wanted}" in f" {name}":
            score = 1.0 if wanted in (symbol, name) else 0.5 + 0.4 * len(wanted) / len(f"{symbol} {name}")
            row = {"symbol": one.symbol, "name": one.name, "type": one.kind, "region": one.region}
            rows.append({**row, "currency": one.currency, "matchScore": f"{score:.4f}"})
    return Data(sorted(rows, key=lambda row: (-float(row["matchScore"]), row["symbol"]))[:10])


def earnings_calendar(request: Request) -> Data:
    """Return the coming reports of all companies or of one, by day: one each quarter."""
    symbol, months = request.text("symbol"), int(request.text("horizon").removesuffix("month"))
    companies, rows = [market.find("stock", symbol)] if symbol else COMPANIES, list[Row]()
    for one in (one for one in companies if one.is_company):
        lag = market.seeded("report", one.symbol).randint(1, 60)
        for day in (trading_day(request.today + timedelta(lag + 91 * at)) for at in range(months // 3)):
            row = {"symbol": one.symbol, "name": one.name.upper(), "currency": one.currency}
            rows.append({AT: datetime.combine(day, time()), **row})
    return Data(sorted(rows, key=lambda row: (row[AT], row["symbol"])))


def news(request: Request) -> Data:
    """Return articles about all of the tickers that are requested."""
    for ticker in request.items("tickers"):
        kind, _, code = ticker.rpartition(":")
        market.find("money" if kind else "stock", code)
    rows = _rows(request, "feed")
    if not rows:
        raise UnknownSymbol
    return Data(rows[::-1] if request.text("sort") == "EARLIEST" else rows, {"items": str(len(rows))})


def _instrument(request: Request) -> Instrument:
    """Return what the parameters name, or the function itself."""
    function, symbol, of = request.endpoint.function, request.text("symbol"), request.text("market")
    codes = [request.text(f"{side}_{name}") for name in ("symbol", "currency") for side in ("from", "to")]
    if any(codes):
        return market.find_pair(*filter(None, codes))
    if of:
        return market.find_pair(symbol, of, is_coin=True)
    if function == "INDEX_DATA":
        return market.find("index", symbol)
    if function.startswith("GOLD_SILVER"):
        return market.find("metal", market.METALS.get(symbol, symbol))
    if ("series", function) in market.INSTRUMENTS:
        return replace(market.find("series", function), symbol=function + request.text("maturity"))
    return market.find("stock", symbol)


def _interval(request: Request) -> str:
    named = re.search("DAILY|WEEKLY|MONTHLY", request.endpoint.function)
    return request.text("interval") or request.endpoint.facts["interval"] or (named[0].lower() if named else "monthly")


def _bars(request: Request, instrument: Instrument) -> list[Bar]:
    """Return the bars of the requested length: minutes are those of the last 30 days, or of a month."""
    days, interval, month = daily_bars(instrument, request.today), _interval(request), request.text("month")
    if interval in market.PERIODS:
        return market.group(days, interval, is_finished=instrument.kind == "series")
    since = (request.today - timedelta(days=_INTRADAY_DAYS)).isoformat()
    wanted = [bar for bar in days if (bar.label.startswith(month) if month else bar.label > since)]
    is_regular = request.text("extended_hours") == "false"
    bars = market.minute_bars(instrument, wanted, int(interval.removesuffix("min")), regular=is_regular)
    if not bars:
        raise UnknownSymbol
    return bars


def price_series(request: Request) -> Data:
    """Return the bars of anything that has a price or a value, newest first."""
    instrument = _instrument(request)
    bars = _bars(request, instrument)
    most = _COMPACT_POINTS if request.text("outputsize") == "compact" else len(bars)
    rows = [_price_row(bar, instrument) for bar in bars[-most:]]
    if instrument.kind == "series":
        for row in rows[_GAP_AT::_GAPS_EVERY]:
            row["value"] = "."
    beside = {"name": instrument.name, "interval": _interval(request), "unit": instrument.unit}
    meta = _meta(request, bars[-1].label, ". ")
    return Data(rows[::-1], {"Meta Data": meta, "nominal": f"{instrument.symbol}USD", **beside})


def _price_row(bar: Bar, instrument: Instrument) -> dict[str, Any]:
    """Return a bar as it was traded: before a split in fewer shares. Those of minutes are adjusted."""
    digits, splits = instrument.shown_decimals, instrument.splits_after(bar.label)
    shares = math.prod(factor for _, factor in splits) if len(bar.label) == len("YYYY-MM-DD") else 1
    return {
        AT: bar.label,
        "date": bar.label,
        **{name: f"{getattr(bar, name) * shares:.{digits}f}" for name in ("open", "high", "low", "close")},
        **dict.fromkeys(("price", "value"), f"{bar.close * shares:.{digits}f}"),
        "volume": f"{bar.volume / shares:.{8 if instrument.calendar == 'every' else 0}f}",
        "adjusted close": f"{bar.close * _PAID ** (int(bar.label[:4]) - 2026):.4f}",
    }


def _meta(request: Request, newest: str, separator: str) -> dict[str, str]:
    """Return meta data, numbered as the vendor does: what was requested, and how new the rows are."""
    names = (name for name in request.values if name not in ("datatype", "entitlement"))
    given = {name.replace("_", " ").title(): request.text(name) for name in names}
    about = {"Information": request.endpoint.tool.title, **given, "Last Refreshed": newest, "Time Zone": "US/Eastern"}
    return {f"{number}{separator}{name}": value for number, (name, value) in enumerate(about.items(), 1)}


def indicator(request: Request) -> Data:
    """Return a technical indicator, newest first: in its range of ``fields.csv``, or else a mean of the prices."""
    instrument, columns = market.find_charted(request.text("symbol")), request.endpoint.columns
    bars = _bars(request, instrument)
    rows: list[Row] = [{AT: bar.label[:16]} for bar in bars]
    _, has_range = rule_of(request.endpoint.function, columns[0])
    if not has_range:
        prices = [getattr(bar, request.text("series_type") or "close") for bar in bars]
        period = int(request.text("time_period") or 10)
        means = [sum(prices[end - period : end]) / period for end in range(period, len(prices) + 1)]
        of_mean = {column: 1 + _BAND * (len(columns) // 2 - at) for at, column in enumerate(columns)}
        rows = [
            {**row, **{column: f"{mean * factor:.4f}" for column, factor in of_mean.items()}}
            for row, mean in zip(rows[period - 1 :], means, strict=False)
        ]
    return Data(rows[::-1], {"Meta Data": _meta(request, bars[-1].label, ": ")})


def _quote_row(instrument: Instrument, request: Request) -> Row:
    """Return the newest day of a share, pair or metal, under all names that quotes have for it."""
    last, bar = daily_bars(instrument, request.today)[-2:]
    row, change = _price_row(bar, instrument), bar.close - last.close
    percent, digits = f"{100 * change / last.close:.4f}", instrument.shown_decimals
    pair = dict(zip(("From", "To"), instrument.symbol.split("/"), strict=False)) if "/" in instrument.symbol else {}
    return {
        **row,
        "symbol": instrument.symbol,
        "nominal": f"{instrument.symbol}USD",
        "latest trading day": bar.label,
        **dict.fromkeys(("previous close", "previous_close"), f"{last.close:.{digits}f}"),
        "change": f"{change:.{digits}f}",
        "change percent": f"{percent}%",
        "change_percent": percent,
        **dict.fromkeys(("timestamp", "Last Refreshed"), f"{bar.label} 19:59:42"),
        **{f"{side}_Currency Code": code for side, code in pair.items()},
        **{f"{side}_Currency Name": market.find("money", code).name for side, code in pair.items()},
        **dict.fromkeys(_PRICES, row["close"]),
        "Time Zone": "UTC",
    }


def quote(request: Request) -> Data:
    """Return the newest day of a share, pair or metal."""
    return Data([_quote_row(_instrument(request), request)])


def bulk_quotes(request: Request) -> Data:
    """Return the newest day of up to a hundred shares; the vendor leaves out unknown ones."""
    rows = []
    for symbol in request.items("symbol")[:100]:
        with contextlib.suppress(UnknownSymbol):
            rows.append(_quote_row(market.find("stock", symbol), request))
    return Data(rows)


def analytics(request: Request) -> Data:
    """Return made-up figures for each calculation and symbol of a window: 1year is one, as are two dates."""
    symbols, (first, *end) = request.text("symbols").upper().split(","), request.values["range"]
    last = end[0] if end else request.today.isoformat()
    if back := re.fullmatch(r"(\d+)([a-z]+)", first):
        first = (request.today - timedelta(days=min(int(back[1]) * _DAYS[back[2]], 36500))).isoformat()
    seeds = {symbol: (market.find("stock", symbol).symbol, last) for symbol in symbols}
    results = {
        text.upper(): {symbol: market.seeded(text, *seed).uniform(0.001, 0.04) for symbol, seed in seeds.items()}
        for text in request.items("calculations")
    }
    meta = {"symbols": ",".join(symbols), "min_dt": first, "max_dt": last,
            "ohlc": request.text("ohlc").capitalize(), "interval": request.text("interval")}  # fmt: skip
    document = {"meta_data": meta, "payload": {"RETURNS_CALCULATIONS": results}}
    return Data({"": [document]}, columns=tuple(document))


_ANSWERS: Mapping[str, Callable[[Request], Data]] = {
    answer.__name__: answer
    for answer in (analytics, bulk_quotes, earnings_calendar, index_catalog, news, options, price_series, quote, splits,
                   symbol_search)
}  # fmt: skip


def data_of(request: Request) -> Data:
    """Return the data of the answer to a request.

    Raises:
        UnknownSymbol: It does not know what was requested, or has no data of it.
    """
    endpoint = request.endpoint
    if endpoint.is_typed:
        return made_up(request)
    if endpoint.facts["answer"]:
        return _ANSWERS[endpoint.facts["answer"]](request)
    if "open" in map(strip_number, endpoint.columns) or ("series", endpoint.function) in market.INSTRUMENTS:
        return price_series(request)
    return indicator(request) if endpoint.kind == "map" else made_up(request)
