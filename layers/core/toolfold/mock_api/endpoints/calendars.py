"""Listings and calendars: CSV only, with CRLF line ends."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from toolfold.mock_api.companies import COMPANIES, Company, company
from toolfold.mock_api.endpoint import Document, Shape, empty_rows, list_table
from toolfold.mock_api.request_parsing import Call, Parameter
from toolfold.mock_api.seeded_random import Draws
from toolfold.mock_api.trading_days import add_months, on_or_after

from .statements import quarterly_eps, report_day

CRLF = "\r\n"
NEVER = "null"  # written out, in the column of a date that never came
FIRST_LISTING_DAY = date(2010, 1, 1)  # the vendor knows listings from here on

INVENTED_ACTIVE, INVENTED_DELISTED = 240, 120
_FIRST = ("Amber", "Birch", "Cobalt", "Delta", "Ember", "Fjord", "Granite", "Harbor", "Indigo", "Juniper", "Kestrel",
          "Larch", "Meadow", "Nimbus", "Opal", "Pebble", "Quarry", "Ridge", "Sable", "Tundra")  # fmt: skip
_SECOND = ("Acquisition Corp", "Bancorp", "Biosciences Inc", "Capital Trust", "Energy Partners LP", "Foods Inc",
           "Holdings Ltd", "Logistics Co", "Materials Inc", "Robotics Inc", "Systems Corp",
           "Therapeutics Inc")  # fmt: skip
EXCHANGES = ("NYSE", "NASDAQ", "NYSE ARCA", "NYSE MKT", "BATS")


class Listing(NamedTuple):
    symbol: str
    name: str
    exchange: str
    kind: str
    listed: date
    delisted: date | None


def invented_ticker(place: int) -> str:
    """A ticker of the form ZZxxx, which no exchange gives out."""
    return "ZZ" + "".join(chr(ord("A") + place // 26**power % 26) for power in (2, 1, 0))


def invented_name(draws: Draws) -> str:
    return f"{draws.pick(_FIRST)} {draws.pick(_SECOND)}"


@lru_cache(maxsize=1)
def _listings() -> tuple[Listing, ...]:
    """Known issuers and many invented ones, by symbol."""
    found = [_known(issuer) for issuer in COMPANIES.values() if issuer.region == "United States"]
    for place in range(INVENTED_ACTIVE + INVENTED_DELISTED):
        draws = Draws("listing", place)
        listed = on_or_after(date(draws.integer(1998, 2023), draws.integer(1, 12), draws.integer(1, 28)))
        gone = on_or_after(listed + timedelta(days=draws.integer(300, 3000))) if place >= INVENTED_ACTIVE else None
        kind = "ETF" if draws.chance(0.25) else "Stock"
        name = f"{invented_name(draws)} ETF" if kind == "ETF" else invented_name(draws)
        found.append(Listing(invented_ticker(place), name, draws.pick(EXCHANGES), kind, listed, gone))
    return tuple(sorted(found))


def _known(issuer: Company) -> Listing:
    draws = Draws("listing", issuer.symbol)
    listed = on_or_after(date(draws.integer(1962, 2009), draws.integer(1, 12), draws.integer(1, 28)))
    return Listing(issuer.symbol, issuer.name, issuer.exchange, "ETF" if issuer.is_fund else "Stock", listed, None)


LISTING_KEYS = ("symbol", "name", "exchange", "assetType", "ipoDate", "delistingDate", "status")


def _listing_status(call: Call) -> Document:
    """Those that traded on the day, or those that had been delisted by then."""
    day = call.day("date") or call.today
    delisted = call.text("state") == "delisted"
    rows: list[dict[str, str]] = []
    if not FIRST_LISTING_DAY <= day <= call.today:
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


def _earnings_calendar(call: Call) -> Document:
    """Reports to come, by day; estimate and time of the day are empty where nobody has said anything."""
    until = add_months(call.today.replace(day=1), HORIZONS[call.text("horizon")])
    only = call.text("symbol")
    issuers = [company(only)] if only else list(COMPANIES.values())
    quarters = [add_months(date(call.today.year - 1, 10, 1), 3 * n) for n in range(6)]
    rows: list[tuple[str, ...]] = []
    for issuer in issuers:
        if issuer.is_fund:
            continue
        recent = list(quarterly_eps(issuer.symbol, call.today).values())[-4:]
        for first in quarters:
            end = add_months(first, 3) - timedelta(days=1)
            day = report_day(issuer.symbol, end)
            if not call.today <= day < until:
                continue
            draws = Draws("calendar", issuer.symbol, end)
            estimate = f"{sum(recent) / 4 * draws.between(0.95, 1.1):.2f}" if draws.chance(0.8) else ""
            time = draws.pick(("post-market", "pre-market", ""))
            name = issuer.name.upper()
            rows.append((day.isoformat(), issuer.symbol, name, end.isoformat(), estimate, issuer.currency, time))
    ordered = [(symbol, name, day, *rest) for day, symbol, name, *rest in sorted(rows)]
    return {"data": [dict(zip(EARNINGS_KEYS, row, strict=True)) for row in ordered]}


IPO_KEYS = ("symbol", "name", "ipoDate", "priceRangeLow", "priceRangeHigh", "currency", "exchange")
IPO_COUNT = 24


def _ipo_calendar(call: Call) -> Document:
    """New listings of the next weeks, all invented; a price range of 0 is one not yet told."""
    rows = []
    day = call.today
    for place in range(IPO_COUNT):
        draws = Draws("ipo", call.today, place)
        day = on_or_after(day + timedelta(days=draws.integer(0, 4)))
        low = draws.integer(8, 28) if draws.chance(0.5) else 0
        high = low + draws.integer(1, 3) if low else 0
        symbol = invented_ticker(1000 + place)
        values = (symbol, invented_name(draws), day.isoformat(), str(low), str(high), "USD", draws.pick(EXCHANGES[:2]))
        rows.append(dict(zip(IPO_KEYS, values, strict=True)))
    return {"data": rows}


SHAPES = (
    Shape(
        "LISTING_STATUS",
        (Parameter("date", kind="date"), Parameter("state", enum=("active", "delisted"), default="active")),
        _listing_status,
        list_table("data", *LISTING_KEYS, line_end=CRLF),
        json=False,
        symbol="",
    ),
    Shape(
        "EARNINGS_CALENDAR",
        (Parameter("symbol"), Parameter("horizon", enum=tuple(HORIZONS), default="3month")),
        _earnings_calendar,
        list_table("data", *EARNINGS_KEYS, line_end=CRLF),
        json=False,
        unknown=empty_rows(rows="data"),
    ),
    Shape(
        "IPO_CALENDAR",
        (),
        _ipo_calendar,
        list_table("data", *IPO_KEYS, line_end=CRLF),
        json=False,
        symbol="",
    ),
)
