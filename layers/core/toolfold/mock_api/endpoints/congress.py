"""Trades of members of Congress. Every member is made up, since a made-up trade must not name a real person."""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple

from toolfold.mock_api.endpoint import DATATYPE, ApiError, ApiRequest, Document, Endpoint, Parameter, list_table
from toolfold.mock_api.seeded_random import SeededRandom
from toolfold.mock_api.stocks import COMPANIES, get_company


class Member(NamedTuple):
    """A made-up member of Congress."""

    bioguide_id: str
    name: str
    chamber: str
    party: str
    state: str
    district: str


# No real id begins with 99 after its letter.
MEMBERS = (
    Member("E990001", "Jordan Example", "HOUSE", "D", "CA", "99"),
    Member("S990002", "Casey Sample", "HOUSE", "R", "TX", "98"),
    Member("P990003", "Morgan Placeholder", "SENATE", "D", "OR", ""),
    Member("M990004", "Riley Mock", "SENATE", "R", "OH", ""),
    Member("S990005", "Avery Stub", "HOUSE", "I", "VT", "97"),
    Member("F990006", "Quinn Fixture", "SENATE", "R", "UT", ""),
)
TRADE_KEYS = (
    "chamber", "politician", "bioguide_id", "politician_canonical", "party", "state", "state_district", "symbol",
    "ticker_reported", "ticker_source", "asset_name", "asset_type_code", "transaction_type", "transaction_date",
    "notification_date", "amount_min", "amount_max", "owner_code", "filing_status", "filed_date",
)  # fmt: skip
# The ranges in which amounts are reported by law.
AMOUNTS = (("1001.00", "15000.00"), ("15001.00", "50000.00"), ("50001.00", "100000.00"), ("100001.00", "250000.00"))
TRADES_PER_PAIR = 6


def _trade(rng: SeededRandom, member: Member, symbol: str, today: date) -> dict[str, str | None]:
    """Return one trade. A senator's filing has no district, notification date and status: those are null."""
    house = member.chamber == "HOUSE"
    traded = today - timedelta(days=rng.randint(20, 1400))
    filed = traded + timedelta(days=rng.randint(5, 44))
    issuer = get_company(symbol)
    low, high = rng.choice(AMOUNTS)
    title = f"Hon. {member.name}" if house else member.name
    asset = f"{issuer.name} ({symbol}) [ST]" if house else issuer.name
    values: list[str | None] = [
        member.chamber, title, member.bioguide_id, member.name, member.party, member.state,
        f"{member.state}{member.district}" if house else None, symbol, symbol, "reported", asset,
        "ST" if house else "Stock", rng.choice(("BUY", "SELL")), traded.isoformat(),
        filed.isoformat() if house else None, low, high, rng.choice(("SELF", "SPOUSE", "JOINT")),
        "NEW" if house else None, min(filed, today).isoformat(),
    ]  # fmt: skip
    return dict(zip(TRADE_KEYS, values, strict=True))


def _trades(request: ApiRequest) -> Document:
    symbol, member_id = request.text("symbol").upper(), request.text("bioguide_id")
    if not symbol and not member_id:
        raise ApiError("invalid_call")
    members = [one for one in MEMBERS if member_id in ("", one.bioguide_id)]
    symbols = [symbol] if symbol else sorted(COMPANIES)[::6]
    rows = []
    for member in members:
        for one in symbols:
            rng = SeededRandom("congress", member.bioguide_id, one)
            rows += [_trade(rng, member, one, request.today) for _ in range(rng.randint(1, TRADES_PER_PAIR))]
    rows.sort(key=lambda row: row["transaction_date"] or "", reverse=True)
    return {"symbol": symbol, "bioguide_id": member_id, "trades": rows}


def _no_trades(request: ApiRequest) -> Document:
    return {"symbol": request.text("symbol").upper(), "bioguide_id": request.text("bioguide_id"), "trades": []}


def _metadata(_: ApiRequest) -> Document:
    politicians = []
    for member in MEMBERS:
        first, last = member.name.lower().split()
        seat = {"chamber": member.chamber, "state": member.state, "district": member.district or None}
        politicians.append(
            {
                "bioguide_id": member.bioguide_id,
                "display_name": member.name,
                "aliases": [f"{first} {last}", f"{last}, {first}"],
                **seat,
                "party": member.party,
                "terms": [{**seat, "start_date": "2021-01-03", "end_date": "2027-01-03"}],
            }
        )
    return {"politicians": politicians}


ENDPOINTS = (
    Endpoint(
        "CONGRESS_TRADES",
        (Parameter("symbol"), Parameter("bioguide_id", pattern=r"[A-Z]\d{6}"), DATATYPE),
        _trades,
        list_table("trades", *TRADE_KEYS),
        unknown_symbol=_no_trades,
    ),
    Endpoint("POLITICIAN_METADATA", (), _metadata, symbol=""),
)
