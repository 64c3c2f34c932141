"""Answers that are lists and records: made-up rows for any tool, and those of companies, options and news."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from toolfold.mock_api.endpoint import Request, parse_column
from toolfold.mock_api.instruments import Seeded, find_company, find_money, find_stock, of_kind
from toolfold.mock_api.prices import add_months, dividends, is_trading_day, splits, traded_bars, trading_day
from toolfold.mock_api.responses import AT, MONTHS, Data, RefusedRequest, Row

REPORTING_LAG = timedelta(days=25)  # from the end of a quarter to its report
FIRST_YEAR = 2006
_LIMITS = ("limit", "count", "per_page", "page_size", "size", "top", "max_results")
_SINCE = ("time_from", "from_date", "from", "since", "start_date", "start")
_UNTIL = ("time_to", "to_date", "to", "until", "end_date", "end")
_ROWS, _MOST_ROWS, _WEEK = 20, 1000, 7 * 1440
# Function → number of rows, and minutes between them
_PLANS = {
    "NEWS_SENTIMENT": (50, 85), "INSIDER_TRANSACTIONS": (240, 9_000), "INSTITUTIONAL_HOLDINGS": (60, 0),
    "EARNINGS_CALL_TRANSCRIPT": (40, 0), "MARKET_STATUS": (16, 0), "IPO_CALENDAR": (24, 0),
    "POLITICIAN_METADATA": (6, 0), "CONGRESS_TRADES": (24, 40_000), "LISTING_STATUS": (60, 90_000),
}  # fmt: skip
_BY_QUARTER = ("INCOME_STATEMENT", "BALANCE_SHEET", "CASH_FLOW", "EARNINGS", "EARNINGS_ESTIMATES", "SHARES_OUTSTANDING")
"""Functions whose rows are quarters or years."""

_OF_COMPANIES = (*_BY_QUARTER, "OVERVIEW", "EARNINGS_CALL_TRANSCRIPT")


def made_up(request: Request) -> Data:
    """Return made-up rows, newest first, for any tool: as many and of the span of time that the parameters say."""
    endpoint, function = request.endpoint, request.function
    if request.text("symbol") and not endpoint.is_typed:
        (find_company if function in _OF_COMPANIES else find_stock)(request.text("symbol"))
    paths = {path: _rows(request, path) for path in endpoint.rows or ("",)}
    lists = {name: _rows(request, name) for name, inner in map(parse_column, endpoint.keys) if inner}
    return Data({path: rows[:1] if endpoint.kind == "object" else rows for path, rows in paths.items()}, lists)


def _rows(request: Request, table: str) -> list[Row]:
    function = request.function
    if function in _BY_QUARTER or function == "OVERVIEW":
        return _quarters(request, is_annual=table.startswith("annual") or function == "OVERVIEW")
    count, step = _PLANS.get(function, (_ROWS if table in (*request.endpoint.rows, "") else 10, _WEEK))
    said = next((request.text(name) for name in _LIMITS if request.text(name).isdigit()), str(count))
    newest = datetime.combine(request.today, time(23))
    until, since = min(_time(request, _UNTIL, newest), newest), _time(request, _SINCE, datetime.min)
    times = [until - timedelta(minutes=step * at) for at in range(min(int(said), _MOST_ROWS))]
    return [{AT: at} for at in times if at >= since]


def _time(request: Request, names: Sequence[str], default: datetime) -> datetime:
    text = next((request.text(name) for name in names if request.text(name)), "")
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return default


def _quarters(request: Request, *, is_annual: bool) -> list[Row]:
    last, ahead = request.today - REPORTING_LAG, request.function == "EARNINGS_ESTIMATES"
    first = date(last.year, (last.month - 1) // 3 * 3 + 1, 1)
    count = 4 * (first.year - FIRST_YEAR + 1)
    if ahead:  # estimates begin with the end of the year after the next
        first, count = date(first.year + 3, 1, 1), 16
    ends = [add_months(first, -3 * at) - timedelta(days=1) for at in range(count)]
    if is_annual:
        ends = ends[:1] if request.function == "OVERVIEW" else [end for end in ends if end.month == 12]
    rows = [datetime.combine(end, time()) for end in ends if end.year >= FIRST_YEAR]
    return [{AT: at, MONTHS: 12 if is_annual else 3} for at in rows]


def dividend_list(request: Request) -> Data:
    """Return the dividends, newest first. Of older ones only the day and the amount are known."""
    around = {"ex_dividend_date": 0, "declaration_date": -16, "record_date": 0, "payment_date": 30}
    rows = []
    for day, amount in reversed(dividends(find_stock(request.text("symbol")), request.today)):
        dates = {name: (day + timedelta(days=days)).isoformat() for name, days in around.items()}
        if day.year < 2004:
            dates |= dict.fromkeys(list(around)[1:], "None")
        rows.append({**dates, "amount": f"{amount:.2f}"})
    return Data(rows)


def splits_of(request: Request) -> Data:
    """Return the splits, newest first."""
    known = [one for one in splits(find_stock(request.text("symbol")).symbol) if one[0] <= request.today]
    return Data([{"effective_date": day.isoformat(), "split_factor": f"{factor:.4f}"} for day, factor in known[::-1]])


GREEKS = ("implied_volatility", "delta", "gamma", "theta", "vega", "rho")
FIRST_OPTIONS = date(2008, 1, 1)  # the vendor's history begins here


@lru_cache(maxsize=8)
def _chain(symbol: str, day: date) -> tuple[dict[str, str], ...]:
    """Return all contracts of a trading day: by expiration, by strike, call before put."""
    spot = traded_bars(find_stock(symbol), day)[-1].close
    step = next((step for limit, step in ((25, 0.5), (75, 1.0), (200, 2.5), (600, 5.0)) if spot < limit), 10.0)
    friday, middle = day + timedelta(days=(4 - day.weekday()) % 7), round(spot / step)
    expirations = [trading_day(friday + timedelta(weeks=week), -1) for week in (0, 1, 2, 3, 4, 5, 9, 13, 26, 39)]
    return tuple(
        {
            "contractID": f"{symbol}{expires:%y%m%d}{kind[0].upper()}{round(strike * 1000):08d}",
            "symbol": symbol,
            "expiration": expires.isoformat(),
            "strike": f"{strike:.2f}",
            "type": kind,
            "date": day.isoformat(),
        }
        for expires in expirations
        for strike in (step * number for number in range(max(1, middle - 12), middle + 13))
        for kind in ("call", "put")
    )


def options(request: Request) -> Data:
    """Return contracts, or ratios of their volumes, filtered by contract and expiration.

    A day without trading has none. The figures of a contract are made up.
    """
    symbol, given = find_stock(request.text("symbol")).symbol, request.text("date")
    day = date.fromisoformat(given) if given else trading_day(request.today, -1)
    is_open = FIRST_OPTIONS <= day <= request.today and is_trading_day(day)
    wanted = {"contractID": request.text("contract"), "expiration": request.text("expiration")}
    chain = _chain(symbol, day) if is_open else ()
    rows = [one for one in chain if all(one[key] == text for key, text in wanted.items() if text)]
    if request.function.endswith("PUT_CALL_RATIO"):
        expirations = dict.fromkeys(row["expiration"] for row in rows)
        return Data([{"date": expires} for expires in expirations], {"date": day.isoformat()})
    if request.function.endswith("INTEREST_RATIO"):
        return Data(rows)
    has_greeks = request.function.startswith("HIST") or request.text("require_greeks") == "true"
    return Data(rows, columns=(*_PRICE_KEYS, *(GREEKS if has_greeks else ())))


_PRICE_KEYS = (
    "contractID", "symbol", "expiration", "strike", "type", "last", "mark", "bid", "bid_size", "ask", "ask_size",
    "volume", "open_interest", "date",
)  # fmt: skip


def symbol_search(request: Request) -> Data:
    """Return up to ten shares and funds whose ticker, or a word of whose name, begins with the text."""
    wanted, rows = request.text("keywords").strip().lower(), []
    for one in of_kind("stock"):
        symbol, name = one.symbol.lower(), one.name.lower()
        if symbol.startswith(wanted) or f" {wanted}" in f" {name}":
            score = 1.0 if wanted in (symbol, name) else 0.5 + 0.4 * len(wanted) / len(f"{symbol} {name}")
            row = {"symbol": one.symbol, "name": one.name, "type": one.kind, "region": one.region}
            rows.append({**row, "currency": one.currency, "matchScore": f"{score:.4f}"})
    return Data(sorted(rows, key=lambda row: (-float(row["matchScore"]), row["symbol"]))[:10])


def earnings_calendar(request: Request) -> Data:
    """Return the coming reports of all companies or of one, by day: two to four weeks after the end of a quarter."""
    symbol, months = request.text("symbol"), int(request.text("horizon").removesuffix("month"))
    companies = [find_company(symbol)] if symbol else [one for one in of_kind("stock") if one.kind == "Equity"]
    quarter = date(request.today.year, (request.today.month - 1) // 3 * 3 + 1, 1)
    rows = []
    for at in range(months // 3):
        end = add_months(quarter, 3 * at) - timedelta(days=1)
        for one in companies:
            day = trading_day(end + timedelta(days=Seeded("report", one.symbol).integer(14, 28)))
            row = {"symbol": one.symbol, "name": one.name.upper(), "currency": one.currency}
            rows.append({**row, "reportDate": day.isoformat(), "fiscalDateEnding": end.isoformat()})
    coming = [row for row in rows if row["reportDate"] >= request.today.isoformat()]
    return Data(sorted(coming, key=lambda row: (row["reportDate"], row["symbol"])))


def news(request: Request) -> Data:
    """Return articles about all of the tickers that are requested."""
    for ticker in request.items("tickers"):
        kind, _, code = ticker.rpartition(":")
        (find_money if kind else find_stock)(code)
    rows = _rows(request, "feed")
    if not rows:
        raise RefusedRequest("invalid_inputs_news")
    rows = rows[::-1] if request.text("sort") == "EARLIEST" else rows
    return Data(rows, {"items": str(len(rows))})


BUILDERS: Mapping[str, Callable[[Request], Data]] = {
    "DIVIDENDS": dividend_list,
    "SPLITS": splits_of,
    "SYMBOL_SEARCH": symbol_search,
    "EARNINGS_CALENDAR": earnings_calendar,
    "NEWS_SENTIMENT": news,
    "INDEX_CATALOG": lambda _: Data(beside={one.symbol: one.name for one in of_kind("index")}),
    **{
        f"{of}_{what}": options
        for of in ("REALTIME", "HISTORICAL")
        for what in ("OPTIONS", "OPTIONS_FMV", "PUT_CALL_RATIO", "VOLUME_OPEN_INTEREST_RATIO")
    },
}
"""Function → what computes its answer."""
