"""Faults on demand: the vendor's own error bodies, and failures of networks and servers.

A fault is requested by key (``apikey=fault-daily-quota``, every request fails) or by symbol (``FAULT.DAILY_QUOTA``, one
request fails). Some take a number: ``FAULT.SLOW.3`` waits three seconds.

Responses that are harmful, misleading or changed, and that a client has to handle. All of them are made up.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from urllib.parse import urlencode

from toolfold.mock_api.endpoint import SYMBOL_PARAMETERS, ApiRequest, Endpoint, Query, get_first, get_values, split_list
from toolfold.mock_api.responses import HTML, JSON, TEXT, Response, csv_response, json_response

GIANT_BYTES, BOMB_BYTES = 1_000_000_000, 100_000_000
_MEGABYTE = 1_000_000
_DAYS = ("2026-01-13", "2026-01-12", "2026-01-09")
_ROWS = [{"date": "2026-01-13", "value": str(number)} for number in range(40)]


def sample_rows() -> Response:
    """Return some rows as JSON, for every function."""
    return json_response({"data": _ROWS})


def gigabyte_body() -> Response:
    """Return a billion bytes that begin like data, to be sent in pieces to save memory here."""
    line = b"2026-01-13,100.0000\n"
    return replace(csv_response(""), body=line * (_MEGABYTE // len(line)), times=GIANT_BYTES // _MEGABYTE)


def gzip_bomb() -> Response:
    """Return a hundred kilobytes that decompress to a hundred megabytes."""
    return Response(200, JSON, _bomb(), headers=(("Content-Encoding", "gzip"),))


@functools.cache
def _bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)  # 31: with a gzip header
    pieces = [packer.compress(b"0" * _MEGABYTE) for _ in range(BOMB_BYTES // _MEGABYTE)]
    return b"".join([*pieces, packer.flush()])


def invalid_utf8(query: Query, endpoint: Endpoint | None) -> Response:
    """Return a company whose name is encoded in Latin-1."""
    if _wants_csv(query, endpoint):
        return replace(csv_response(""), body="symbol,name\nXMPL,Soci\u00e9t\u00e9\n".encode("latin-1"))
    return Response(200, JSON, '{"symbol": "XMPL", "name": "Soci\u00e9t\u00e9"}'.encode("latin-1"))


def wrong_content_length(query: Query, endpoint: Endpoint | None, by: int) -> Response:
    """Return a ``Content-Length`` that is wrong by ``by`` bytes.

    Where it is too large, the connection stays open and silent.
    """
    sent = _table(_columns(endpoint)) if _wants_csv(query, endpoint) else sample_rows()
    return replace(sent, length=len(sent.body) + by)


def changed_columns(query: Query, endpoint: Endpoint | None, change: str) -> Response:
    """Return rows with a changed header.

    Args:
        query: The query, for the format.
        endpoint: The endpoint, for the expected columns.
        change: ``new_column`` adds an unknown column, ``missing_column`` drops the last one, ``renamed_column`` renames
            the first.
    """
    columns = _columns(endpoint)
    if change == "new_column":
        columns = [*columns, "mood"]
    elif change == "missing_column":
        columns = columns[:-1]
    else:
        columns = ["renamed", *columns[1:]]
    if _wants_csv(query, endpoint):
        return _table(columns)
    return json_response({"data": [dict(zip(columns, row, strict=True)) for row in _rows(columns)]})


def _columns(endpoint: Endpoint | None) -> list[str]:
    table = endpoint.table if endpoint else None
    return list(table.header) if table and len(table.header) > 1 else ["timestamp", "value"]


def _rows(columns: Sequence[str]) -> list[list[str]]:
    return [[day, *["100.0000"] * (len(columns) - 1)] for day in _DAYS]


def _table(columns: Sequence[str]) -> Response:
    return csv_response("".join(",".join(row) + "\n" for row in [columns, *_rows(columns)]))


def _wants_csv(query: Query, endpoint: Endpoint | None) -> bool:
    return get_first(query, "datatype") == "csv" or (endpoint is not None and not endpoint.has_json)


KEY_PREFIX, SYMBOL_PREFIX = "fault-", "FAULT."
LONGEST_WAIT_S = 600.0
HUGE_BYTES = 20_000_000
_PREMIUM = "https://www.alphavantage.co/premium/"
_THANKS = "Thank you for using Alpha Vantage! "

# The vendor's error messages: JSON key and text, by which a client recognises them. {...} is filled in.
ERROR_BODIES: dict[str, tuple[str, str]] = {
    "invalid_api_key": (
        "Error Message",
        "the parameter apikey is invalid or missing. Please claim your free API key on "
        "(https://www.alphavantage.co/support/#api-key). It should take less than 20 seconds.",
    ),
    "demo_key_only": (
        "Information",
        "The **demo** API key is for demo purposes only. Please claim your free API key at "
        "(https://www.alphavantage.co/support/#api-key) to explore our full API offerings. "
        "It takes fewer than 20 seconds.",
    ),
    "unknown_function": ("Error Message", "This API function ({function}) does not exist."),
    "invalid_call": (
        "Error Message",
        "Invalid API call. Please retry or visit the documentation "
        "(https://www.alphavantage.co/documentation/) for {function}.",
    ),
    "invalid_inputs_news": (
        "Information",
        "Invalid inputs. Please refer to the API documentation "
        "https://www.alphavantage.co/documentation#newsapi and try again.",
    ),
    "daily_quota": (
        "Information",
        "We have detected your API key as {key} and our standard API rate limit is 25 requests per day. "
        f"Please subscribe to any of the premium plans at {_PREMIUM} to instantly remove all daily rate limits.",
    ),
    "free_burst": (
        "Information",
        f"{_THANKS}Please consider spreading out your free API requests more sparingly (1 request per second). "
        f"You may subscribe to any of the premium plans at {_PREMIUM} to lift the free key rate limit "
        "(25 requests per day), raise the per-second burst limit, and instantly unlock all premium endpoints",
    ),
    "legacy_minute_note": (
        "Note",
        f"{_THANKS}Our standard API call frequency is 5 calls per minute and 500 calls per day. "
        f"Please visit {_PREMIUM} if you would like to target a higher API call frequency.",
    ),
    "call_volume_contact": (
        "Information",
        f"{_THANKS}Please contact premium@alphavantage.co if you are targeting a higher API call volume.",
    ),
    "premium_minute": (
        "Information",
        "Minute-level rate limit exceed. Please stay under the number of API requests per minute for your premium "
        "subscription plan. Please contact support@alphavantage.co if you are targeting a higher API request volume.",
    ),
    "premium_burst": (
        "Information",
        "Burst pattern detected. Please consider spreading out your API requests more evenly across a 1-minute "
        "window and query no more than 30 requests per second.",
    ),
    "premium_endpoint": (
        "Information",
        f"{_THANKS}This is a premium endpoint. You may subscribe to any of the premium plans at {_PREMIUM} "
        "to instantly unlock all premium endpoints",
    ),
    "premium_parameter": (
        "Information",
        f"{_THANKS}The outputsize=full parameter value is a premium feature for the {{function}} endpoint. "
        f"You may subscribe to any of the premium plans at {_PREMIUM} to instantly unlock all premium features",
    ),
    # The middle of this text is known, its end is not.
    "not_entitled": (
        "Information",
        f"{_THANKS}You are not yet entitled to {{feed}} US market data access. "
        f"Please subscribe to any premium plan at {_PREMIUM}",
    ),
    # A made-up notice that no client can know.
    "notice": ("Information", "The lighthouse will be repainted on Thursday. No action is needed."),
}
ERROR_BODIES["json_in_csv_request"] = ERROR_BODIES["premium_endpoint"]

FEEDS = {"delayed": "15-minute delayed", "realtime": "realtime"}

PLACEHOLDER_MESSAGE = (
    "This is a premium endpoint. ***THE SAMPLE DATA SCHEMA BELOW IS ARTIFICIAL AND FOR ILLUSTRATION PURPOSES ONLY***. "
    "To access the actual data, please subscribe to either the 600 requests per minute or the 1200 requests per "
    f"minute premium plan at {_PREMIUM} ..."
)
# function -> the name of its placeholder rows
PLACEHOLDER_NAMES = {
    "REALTIME_OPTIONS": "Realtime Options",
    "REALTIME_OPTIONS_FMV": "Realtime Options FMV",
    "REALTIME_BULK_QUOTES": "Realtime Bulk Quotes",
    "REALTIME_BULK_BID_ASK_PRICES": "Realtime Bulk Bid and Ask Prices",
}
_OPTION_ROW = {
    "contractID": "XXYYZZ999999C00050000", "symbol": "XXYYZZ", "expiration": "2099-99-99", "strike": "50.00",
    "type": "call", "last": "10.00", "mark": "10.10", "bid": "10.05", "bid_size": "10", "ask": "10.15",
    "ask_size": "10", "volume": "10", "open_interest": "10", "date": "2049-99-99",
}  # fmt: skip
_OLD_STAMP = "2024-10-18 19:59:00.000"


@dataclass(frozen=True, slots=True)
class FaultRequest:
    """A requested fault, and the query that requested it."""

    name: str
    number: float | None
    query: Query
    endpoint: Endpoint | None

    @property
    def function(self) -> str:
        """The value of the ``function`` parameter."""
        return get_first(self.query, "function")


def requested_fault(query: Query, endpoint: Endpoint | None) -> Response | None:
    """Return the faulty response that the key or a symbol of the query requests, or None."""
    key = get_first(query, "apikey")
    if key.startswith(KEY_PREFIX):
        return _build_fault(key.removeprefix(KEY_PREFIX), query, endpoint)
    for name in SYMBOL_PARAMETERS:
        for symbol in split_list(get_first(query, name)):
            if symbol.upper().startswith(SYMBOL_PREFIX):
                return _build_fault(symbol[len(SYMBOL_PREFIX) :], query, endpoint)
    return None


def _build_fault(text: str, query: Query, endpoint: Endpoint | None) -> Response:
    words = re.sub(r"[-.]", "_", text.lower())
    match = re.fullmatch(r"([a-z]\w*?)(?:_(\d+(?:_\d+)?))?", words)
    name, number = (match[1], match[2]) if match else (words, None)
    fault = FaultRequest(name, float(number.replace("_", ".")) if number else None, query, endpoint)
    build = FAULTS.get(name)
    if build is None:  # a misspelt name must not pass as data
        listed = ", ".join(sorted(FAULTS))
        return Response(404, TEXT, f"The mock API has no such fault. It knows: {listed}\n".encode())
    return build(fault)


def error_response(name: str, query: Query) -> Response:
    """Return one of the vendor's error bodies. It is always JSON, also where CSV was requested."""
    key, text = ERROR_BODIES[name]
    filled = text.format(
        function=get_first(query, "function"),
        key=get_first(query, "apikey"),
        feed=FEEDS.get(get_first(query, "entitlement"), FEEDS["delayed"]),
    )
    return json_response({key: filled})


def analytics_error_response(_: FaultRequest | None = None) -> Response:
    """Return an error of the analytics functions. Only the two keys are known; the texts are invented."""
    return json_response({"error": "The window has no data for these symbols.", "trace": "mock"})


def placeholder_response(function: str, endpoint: Endpoint | None) -> Response:
    """Return rows that look like data and are not, as the vendor returns them to keys of a smaller plan."""
    options = function not in PLACEHOLDER_NAMES or "OPTIONS" in function or endpoint is None or endpoint.table is None
    name = function if function in PLACEHOLDER_NAMES else "REALTIME_OPTIONS"
    if options or endpoint is None or endpoint.table is None:
        put = {**_OPTION_ROW, "contractID": "XXYYZZ999999P00050000", "type": "put"}
        rows = [_OPTION_ROW, put]
    else:
        known = {"symbol": "IBM", "timestamp": _OLD_STAMP}
        rows = [{key: known.get(key, "100.00") for key in endpoint.table.keys}]
    return json_response({"endpoint": PLACEHOLDER_NAMES[name], "message": PLACEHOLDER_MESSAGE, "data": rows})


def _empty_list(fault: FaultRequest) -> Response:
    """Return the function's own document without rows, where it has one."""
    endpoint = fault.endpoint
    if endpoint is None or endpoint.unknown_symbol is None:
        return json_response({"data": []})
    sent = {parameter.name: get_values(fault.query, parameter.name) for parameter in endpoint.parameters}
    return json_response(endpoint.unknown_symbol(ApiRequest(endpoint.function, sent, date.min)))


def _header_only(fault: FaultRequest) -> Response:
    table = fault.endpoint.table if fault.endpoint else None
    if table is None:
        return csv_response("symbol,name,reportDate,fiscalDateEnding,estimate,currency,timeOfTheDay\r\n")
    return csv_response(",".join(table.header) + table.line_end)


def _html_page(status: int, text: str) -> bytes:
    return f"<!DOCTYPE html>\n<html><head><title>{status} {text}</title></head><body>{text}</body></html>\n".encode()


def _http_error(status: int, text: str, *headers: tuple[str, str]) -> Callable[[FaultRequest], Response]:
    return lambda _: Response(status, HTML, _html_page(status, text), headers=headers)


def _redirected_to_itself(fault: FaultRequest) -> Response:
    return _http_error(302, "Found", ("Location", "?" + urlencode(fault.query)))(fault)


def _slow(fault: FaultRequest) -> Response:
    seconds = 2.0 if fault.number is None else fault.number
    return replace(json_response({"data": []}), delay_s=min(seconds, LONGEST_WAIT_S))


def _huge(fault: FaultRequest) -> Response:
    """Return about 20 MB of rows, in the requested format."""
    if get_first(fault.query, "datatype") == "csv":
        row = "2026-01-13,100.0000\n"
        return csv_response("timestamp,value\n" + row * (HUGE_BYTES // len(row)))
    line = '    {"date": "2026-01-13", "value": "100.0000"}'
    lines = ",\n".join([line] * (HUGE_BYTES // (len(line) + 2)))
    return Response(200, JSON, f'{{"name": "Huge", "data": [\n{lines}\n]}}\n'.encode())


def _drip(fault: FaultRequest) -> Response:
    seconds = 2.0 if fault.number is None else fault.number
    return replace(sample_rows(), delay_s=min(seconds, LONGEST_WAIT_S), connection="drip")


FAULTS: dict[str, Callable[[FaultRequest], Response]] = {
    **{name: lambda fault, name=name: error_response(name, fault.query) for name in ERROR_BODIES},  # type: ignore[misc]
    "analytics_error": analytics_error_response,
    "premium_placeholder_rows": lambda fault: placeholder_response(fault.function, fault.endpoint),
    "empty_object": lambda _: json_response({}),
    "empty_quote": lambda _: json_response({"Global Quote": {}}),
    "empty_list": _empty_list,
    "header_only_csv": _header_only,
    "empty_body": lambda _: Response(200, JSON, b""),
    "empty": lambda _: Response(200, JSON, b""),
    "http_error": _http_error(503, "Service Unavailable"),
    "http500": _http_error(500, "Internal Server Error"),
    "http502": _http_error(502, "Bad Gateway"),
    "http503": _http_error(503, "Service Unavailable"),
    "http429": _http_error(429, "Too Many Requests", ("Retry-After", "7")),
    "http404": _http_error(404, "Not Found"),
    "redirect": _http_error(302, "Found", ("Location", "http://elsewhere.example/query")),
    "redirect_loop": _redirected_to_itself,
    "html": lambda _: Response(200, HTML, _html_page(200, "Maintenance")),
    "badjson": lambda _: Response(200, JSON, b'{"Meta Data": {"1. Information": "this object ends too ear'),
    "truncated": lambda _: replace(sample_rows(), connection="truncated"),
    "length_too_small": lambda fault: wrong_content_length(fault.query, fault.endpoint, -15),
    "length_too_large": lambda fault: wrong_content_length(fault.query, fault.endpoint, 15),
    "closed": lambda _: Response(200, JSON, b"", connection="closed"),
    "reset": lambda _: Response(200, JSON, b"", connection="reset"),
    "slow": _slow,
    "drip": _drip,
    "huge": _huge,
    "giant": lambda _: gigabyte_body(),
    "gzip_bomb": lambda _: gzip_bomb(),
    "invalid_utf8": lambda fault: invalid_utf8(fault.query, fault.endpoint),
    "json_for_csv": lambda _: sample_rows(),
    **{
        name: lambda fault, name=name: changed_columns(fault.query, fault.endpoint, name)  # type: ignore[misc]
        for name in ("new_column", "missing_column", "renamed_column")
    },
}
