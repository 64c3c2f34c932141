"""Listings and calendars: CSV only, with CRLF line ends."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from toolfold.mock_api.endpoint import ApiRequest, Document, Endpoint, Parameter, document_without_rows, list_table
from toolfold.mock_api.endpoints.statements import quarterly_eps, report_day
from toolfold.mock_api.price_series import add_months, trading_day_on_or_after
from toolfold.mock_api.seeded_random import SeededRandom
from toolfold.mock_api.stocks import COMPANIES, Company, get_company

CRLF = "\r\n"
NEVER = "null"  # written in the column of a date that does not exist
FIRST_LISTING_DAY = date(2010, 1, 1)  # the vendor's first day

MADE_UP_ACTIVE, MADE_UP_DELISTED = 240, 120
_FIRST = ("Amber", "Birch", "Cobalt", "Delta", "Ember", "Fjord", "Granite", "Harbor", "Indigo", "Juniper", "Kestrel",
          "Larch", "Meadow", "Nimbus", "Opal", "Pebble", "Quarry", "Ridge", "Sable", "Tundra")  # fmt: skip
_SECOND = ("Acquisition Corp", "Bancorp", "Biosciences Inc", "Capital Trust", "Energy Partners LP", "Foods Inc",
           "Holdings Ltd", "Logistics Co", "Materials Inc", "Robotics Inc", "Systems Corp",
           "Therapeutics Inc")  # fmt: skip
EXCHANGES = ("NYSE", "NASDAQ", "NYSE ARCA", "NYSE MKT", "BATS")


class Listing(NamedTuple):
    """One listed or delisted symbol."""

    symbol: str
    name: str
    exchange: str
    kind: str
    listed: date
    delisted: date | None


def made_up_ticker(index: int) -> str:
    """Return a ticker of the form ZZxxx, which no exchange assigns."""
    return "ZZ" + "".join(chr(ord("A") + index // 26**power % 26) for power in (2, 1, 0))


def made_up_name(rng: SeededRandom) -> str:
    """Return the name of a company that does not exist."""
    return f"{rng.choice(_FIRST)} {rng.choice(_SECOND)}"


@lru_cache(maxsize=1)
def _listings() -> tuple[Listing, ...]:
    """Return the known issuers and many made-up ones, by symbol."""
    found = [_known(issuer) for issuer in COMPANIES.values() if issuer.region == "United States"]
    for index in range(MADE_UP_ACTIVE + MADE_UP_DELISTED):
        rng = SeededRandom("listing", index)
        listed = trading_day_on_or_after(date(rng.randint(1998, 2023), rng.randint(1, 12), rng.randint(1, 28)))
        gone = (
            trading_day_on_or_after(listed + timedelta(days=rng.randint(300, 3000)))
            if index >= MADE_UP_ACTIVE
            else None
        )
        kind = "ETF" if rng.chance(0.25) else "Stock"
        name = f"{made_up_name(rng)} ETF" if kind == "ETF" else made_up_name(rng)
        found.append(Listing(made_up_ticker(index), name, rng.choice(EXCHANGES), kind, listed, gone))
    return tuple(sorted(found))


def _known(issuer: Company) -> Listing:
    rng = SeededRandom("listing", issuer.symbol)
    listed = trading_day_on_or_after(date(rng.randint(1962, 2009), rng.randint(1, 12), rng.randint(1, 28)))
    return Listing(issuer.symbol, issuer.name, issuer.exchange, "ETF" if issuer.is_fund else "Stock", listed, None)


LISTING_KEYS = ("symbol", "name", "exchange", "assetType", "ipoDate", "delistingDate", "status")


def _listing_status(request: ApiRequest) -> Document:
    """Return the symbols that traded on the day, or those that had been delisted by then."""
    day = request.date_value("date") or request.today
    delisted = request.text("state") == "delisted"
    rows: list[dict[str, str]] = []
    if not FIRST_LISTING_DAY <= day <= request.today:
        return {"data": rows}
    for one in _listings():
        gone = one.delisted is not None and one.delisted <= day
        if one.listed > day or gone != delisted:
            continue
        end = one.delisted.isoformat() if gone and one.delisted else NEVER
        status = "Delisted" if gone else "Active"
        values = (one.symbol, one.name, one.exchange, one.kind, one.listed.isoformat(), end, status)
        rows.append(dict(zip(LISTING_KEYS, values, strict=True)))
    return {"data": rows}


EARNINGS_KEYS = ("symbol", "name", "reportDate", "fiscalDateEnding", "estimate", "currency", "timeOfTheDay")
HORIZONS = {"3month": 3, "6month": 6, "12month": 12}


def _earnings_calendar(request: ApiRequest) -> Document:
    """Return coming reports by day. Estimate and time of day are empty where they are not announced."""
    until = add_months(request.today.replace(day=1), HORIZONS[request.text("horizon")])
    only = request.text("symbol")
    issuers = [get_company(only)] if only else list(COMPANIES.values())
    quarters = [add_months(date(request.today.year - 1, 10, 1), 3 * n) for n in range(6)]
    rows: list[tuple[str, ...]] = []
    for issuer in issuers:
        if issuer.is_fund:
            continue
        recent = list(quarterly_eps(issuer.symbol, request.today).values())[-4:]
        for first in quarters:
            end = add_months(first, 3) - timedelta(days=1)
            day = report_day(issuer.symbol, end)
            if not request.today <= day < until:
                continue
            rng = SeededRandom("calendar", issuer.symbol, end)
            estimate = f"{sum(recent) / 4 * rng.uniform(0.95, 1.1):.2f}" if rng.chance(0.8) else ""
            time = rng.choice(("post-market", "pre-market", ""))
            name = issuer.name.upper()
            rows.append((day.isoformat(), issuer.symbol, name, end.isoformat(), estimate, issuer.currency, time))
    ordered = [(symbol, name, day, *rest) for day, symbol, name, *rest in sorted(rows)]
    return {"data": [dict(zip(EARNINGS_KEYS, row, strict=True)) for row in ordered]}


IPO_KEYS = ("symbol", "name", "ipoDate", "priceRangeLow", "priceRangeHigh", "currency", "exchange")
IPO_COUNT = 24


def _ipo_calendar(request: ApiRequest) -> Document:
    """Return new listings of the next weeks, all made up. A price range of 0 is not announced yet."""
    rows = []
    day = request.today
    for index in range(IPO_COUNT):
        rng = SeededRandom("ipo", request.today, index)
        day = trading_day_on_or_after(day + timedelta(days=rng.randint(0, 4)))
        low = rng.randint(8, 28) if rng.chance(0.5) else 0
        high = low + rng.randint(1, 3) if low else 0
        symbol = made_up_ticker(1000 + index)
        values = (symbol, made_up_name(rng), day.isoformat(), str(low), str(high), "USD", rng.choice(EXCHANGES[:2]))
        rows.append(dict(zip(IPO_KEYS, values, strict=True)))
    return {"data": rows}


ENDPOINTS = (
    Endpoint(
        "LISTING_STATUS",
        (Parameter("date", kind="date"), Parameter("state", enum=("active", "delisted"), default="active")),
        _listing_status,
        list_table("data", *LISTING_KEYS, line_end=CRLF),
        has_json=False,
        symbol="",
    ),
    Endpoint(
        "EARNINGS_CALENDAR",
        (Parameter("symbol"), Parameter("horizon", enum=tuple(HORIZONS), default="3month")),
        _earnings_calendar,
        list_table("data", *EARNINGS_KEYS, line_end=CRLF),
        has_json=False,
        unknown_symbol=document_without_rows(rows="data"),
    ),
    Endpoint(
        "IPO_CALENDAR",
        (),
        _ipo_calendar,
        list_table("data", *IPO_KEYS, line_end=CRLF),
        has_json=False,
        symbol="",
    ),
)
