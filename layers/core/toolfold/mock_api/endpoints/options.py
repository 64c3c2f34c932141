"""Option chains, fair values, and the ratios computed from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache
from itertools import groupby

from toolfold.mock_api.endpoint import (
    DATATYPE,
    ApiRequest,
    Document,
    Endpoint,
    Parameter,
    Table,
    document_without_rows,
    list_table,
)
from toolfold.mock_api.endpoints.core_stocks import SYMBOL
from toolfold.mock_api.price_series import is_trading_day, trading_day_on_or_before
from toolfold.mock_api.seeded_random import SeededRandom
from toolfold.mock_api.stocks import last_close

PRICE_KEYS = (
    "contractID", "symbol", "expiration", "strike", "type", "last", "mark", "bid", "bid_size", "ask", "ask_size",
    "volume", "open_interest", "date",
)  # fmt: skip
GREEK_KEYS = ("implied_volatility", "delta", "gamma", "theta", "vega", "rho")
ALL_KEYS = (*PRICE_KEYS, *GREEK_KEYS)
MISSING = "-"

FIRST_DAY = date(2008, 1, 1)  # the vendor's option history begins here
RATE = 0.04  # yearly interest, for the prices
WEEKLY_EXPIRATIONS, MONTHLY_EXPIRATIONS = 5, 6
STRIKES_EACH_SIDE = 12
FRIDAY = 4

Contract = dict[str, str]


@lru_cache(maxsize=8)
def chain(symbol: str, day: date) -> tuple[Contract, ...]:
    """Return all contracts of ``symbol`` on the trading day ``day``: by expiration, by strike, call before put."""
    spot = last_close(symbol, day)
    step = _strike_step(spot)
    middle = round(spot / step)
    strikes = [step * n for n in range(max(1, middle - STRIKES_EACH_SIDE), middle + STRIKES_EACH_SIDE + 1)]
    return tuple(
        _contract(symbol, day, expiration=expiration, strike=strike, kind=kind, spot=spot)
        for expiration in _expirations(day)
        for strike in strikes
        for kind in ("call", "put")
    )


def _strike_step(spot: float) -> float:
    return next((step for limit, step in ((25, 0.5), (75, 1.0), (200, 2.5), (600, 5.0)) if spot < limit), 10.0)


def _expirations(day: date) -> list[date]:
    """Return the next Fridays, and the third Friday of the months after them; for a holiday, the day before."""
    friday = day + timedelta(days=(FRIDAY - day.weekday()) % 7)
    fridays = [friday + timedelta(days=7 * n) for n in range(60)]
    weeks = fridays[:WEEKLY_EXPIRATIONS]
    months = [one for one in fridays[WEEKLY_EXPIRATIONS:] if 15 <= one.day <= 21][:MONTHLY_EXPIRATIONS]
    return [trading_day_on_or_before(one) for one in (*weeks, *months)]


def _normal(value: float) -> float:
    return (1 + math.erf(value / math.sqrt(2))) / 2


def _contract(symbol: str, day: date, *, expiration: date, strike: float, kind: str, spot: float) -> Contract:
    """Return price and greeks by Black and Scholes, with a volatility smile."""
    name = f"{symbol}{expiration:%y%m%d}{kind[0].upper()}{round(strike * 1000):08d}"
    rng = SeededRandom("option", name, day)
    years = max((expiration - day).days, 0.5) / 365
    distance = math.log(strike / spot)
    sigma = 0.24 + 0.5 * distance * distance - 0.12 * distance + rng.uniform(0, 0.02)
    root = sigma * math.sqrt(years)
    upper = (-distance + (RATE + sigma * sigma / 2) * years) / root
    lower = upper - root
    density = math.exp(-upper * upper / 2) / math.sqrt(2 * math.pi)
    discounted = strike * math.exp(-RATE * years)
    sign = 1 if kind == "call" else -1
    mark = max(sign * (spot * _normal(sign * upper) - discounted * _normal(sign * lower)), 0.0)
    decay = spot * density * sigma / (2 * math.sqrt(years))
    greeks = (
        sigma,
        sign * _normal(sign * upper),
        density / (spot * root),
        (-decay - sign * RATE * discounted * _normal(sign * lower)) / 365,
        spot * density * math.sqrt(years) / 100,
        sign * discounted * years * _normal(sign * lower) / 100,
    )
    half = max(0.02, mark * 0.02)
    busy = 2000 * math.exp(-60 * distance * distance) * (1.2 if sign > 0 else 0.9)
    volume = int(busy * rng.random() ** 2)
    interest = 0 if rng.chance(0.03) else int(4 * busy * rng.random())
    values = [
        name, symbol, expiration.isoformat(), f"{strike:.2f}", kind,
        f"{mark * rng.uniform(0.95, 1.05) if volume else 0:.2f}", f"{mark:.2f}", f"{max(mark - half, 0):.2f}",
        str(rng.randint(1, 200)), f"{mark + half:.2f}", str(rng.randint(1, 200)), str(volume), str(interest),
        day.isoformat(),
    ]  # fmt: skip
    # A worthless contract has no implied volatility.
    quoted = [MISSING] * len(greeks) if mark < 0.005 else [f"{value:.5f}" for value in greeks]
    return dict(zip(ALL_KEYS, [*values, *quoted], strict=True))


def _chosen(request: ApiRequest, day: date) -> list[Contract]:
    """Return the chain, filtered by contract and expiration; empty on a day without trading."""
    if day > request.today or day < FIRST_DAY or not is_trading_day(day):
        return []
    contracts = chain(request.text("symbol").upper(), day)
    wanted = {"contractID": request.text("contract"), "expiration": request.text("expiration")}
    return [one for one in contracts if all(one[key] == value for key, value in wanted.items() if value)]


def _without_greeks(contract: Contract) -> Contract:
    return {key: contract[key] for key in PRICE_KEYS}


def _today(request: ApiRequest) -> date:
    return trading_day_on_or_before(request.today)


def _realtime(request: ApiRequest) -> Document:
    rows = _chosen(request, _today(request))
    if not request.boolean("require_greeks"):
        rows = [_without_greeks(row) for row in rows]
    return {"endpoint": "Realtime Options", "message": "success", "data": rows}


def _fair_value(request: ApiRequest) -> Document:
    """Return the chain without quotes: the mark comes from a model."""
    silent = {"bid": "0.00", "bid_size": "0", "ask": "0.00", "ask_size": "0"}
    document = _realtime(request)
    rows = [{**row, **silent} for row in document["data"]]
    return {"endpoint": "Realtime Options FMV", "message": "success", "data": rows}


def _history(request: ApiRequest) -> Document:
    day = request.date_value("date") or _today(request)
    return {"endpoint": "Historical Options", "message": "success", "data": _chosen(request, day)}


def _put_call(contracts: list[Contract]) -> str:
    """Return the volume of puts divided by the volume of calls."""
    traded = {kind: sum(int(one["volume"]) for one in contracts if one["type"] == kind) for kind in ("put", "call")}
    return f"{traded['put'] / (traded['call'] or 1):.2f}"


def _put_call_ratio(request: ApiRequest) -> Document:
    day = request.date_value("date") or _today(request)
    contracts = _chosen(request, day)
    by_expiration = [
        {"date": expiration, "value": _put_call(list(group))}
        for expiration, group in groupby(contracts, lambda one: one["expiration"])
    ]
    dated = {"date": day.isoformat()} if request.function.startswith("HISTORICAL") else {}
    full = _put_call(contracts) if contracts else None
    return {
        "symbol": request.text("symbol"),
        **dated,
        "put_call_ratio_full_chain": full,
        "put_call_ratio_by_expiration": by_expiration,
    }


def _volume_ratio(request: ApiRequest) -> Document:
    """Return one row per contract, null where there is no open interest. The vendor's other columns are not known."""
    day = request.date_value("date") or _today(request)
    dated = {"date": day.isoformat()} if request.function.startswith("HISTORICAL") else {}
    rows = []
    for contract in _chosen(request, day):
        interest = int(contract["open_interest"])
        ratio = f"{int(contract['volume']) / interest:.4f}" if interest else None
        rows.append({**dated, "volume_open_interest_ratio": ratio})
    return {"symbol": request.text("symbol"), "data": rows}


class _ChainTable(Table):
    """Table with six more columns when greeks are requested."""

    __slots__ = ()

    def columns(self, request: ApiRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names = ALL_KEYS if request.boolean("require_greeks") else PRICE_KEYS
        return names, names


_GREEKS = Parameter("require_greeks", kind="boolean", default="false")
_CONTRACT = Parameter("contract")
_EXPIRATION = Parameter("expiration", kind="date")
_DATE = Parameter("date", kind="date")
_CHAIN = _ChainTable("data", "list", PRICE_KEYS, PRICE_KEYS)
_NO_ROWS: dict[str, Callable[[ApiRequest], Document]] = {
    name: document_without_rows(endpoint=name, message="success", rows="data")
    for name in ("Realtime Options", "Realtime Options FMV", "Historical Options")
}


def _no_ratio(request: ApiRequest) -> Document:
    dated = (
        {"date": (request.date_value("date") or _today(request)).isoformat()}
        if request.function.startswith("HIST")
        else {}
    )
    return {
        "symbol": request.text("symbol"),
        **dated,
        "put_call_ratio_full_chain": None,
        "put_call_ratio_by_expiration": [],
    }


ENDPOINTS = (
    Endpoint(
        "REALTIME_OPTIONS",
        (SYMBOL, _GREEKS, _CONTRACT, _EXPIRATION, DATATYPE),
        _realtime,
        _CHAIN,
        access="placeholder",
        unknown_symbol=_NO_ROWS["Realtime Options"],
    ),
    Endpoint(
        "REALTIME_OPTIONS_FMV",
        (SYMBOL, _GREEKS, _CONTRACT, _EXPIRATION, DATATYPE),
        _fair_value,
        _CHAIN,
        access="placeholder",
        unknown_symbol=_NO_ROWS["Realtime Options FMV"],
    ),
    Endpoint("REALTIME_PUT_CALL_RATIO", (SYMBOL,), _put_call_ratio, unknown_symbol=_no_ratio),
    Endpoint(
        "REALTIME_VOLUME_OPEN_INTEREST_RATIO",
        (SYMBOL,),
        _volume_ratio,
        unknown_symbol=document_without_rows("symbol", rows="data"),
    ),
    Endpoint(
        "HISTORICAL_OPTIONS",
        (SYMBOL, _DATE, _CONTRACT, _EXPIRATION, DATATYPE),
        _history,
        list_table("data", *ALL_KEYS),
        access="premium",
        unknown_symbol=_NO_ROWS["Historical Options"],
    ),
    Endpoint("HISTORICAL_PUT_CALL_RATIO", (SYMBOL, _DATE), _put_call_ratio, unknown_symbol=_no_ratio),
    Endpoint(
        "HISTORICAL_VOLUME_OPEN_INTEREST_RATIO",
        (SYMBOL, _DATE),
        _volume_ratio,
        unknown_symbol=document_without_rows("symbol", rows="data"),
    ),
)
