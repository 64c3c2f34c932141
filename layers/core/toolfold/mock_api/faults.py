"""Faults on demand: the vendor's own error bodies, and failures of networks and servers.

A fault is requested by key (``apikey=fault-daily-quota``, every request fails) or by symbol (``FAULT.DAILY_QUOTA``, one
request fails). Some take a number: ``FAULT.SLOW.3`` waits three seconds.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

from toolfold.mock_api.endpoint import Endpoint, Query, Request, get_first, get_values, split_list
from toolfold.mock_api.responses import CSV, HTML, JSON, TEXT, Response, csv_response, empty_response, json_response

KEY_PREFIX, SYMBOL_PREFIX = "fault-", "FAULT."
LONGEST_WAIT_S = 600.0
HUGE_BYTES, GIANT_BYTES, BOMB_BYTES, _MEGABYTE = 20_000_000, 1_000_000_000, 100_000_000, 1_000_000
_DAYS, _LINE = ("2026-01-13", "2026-01-12", "2026-01-09"), "2026-01-13,100.0000\n"
ERROR_BODIES: Mapping[str, Mapping[str, str]] = json.loads(
    Path(__file__).with_name("error_bodies.json").read_text(encoding="utf-8")
)
"""The vendor's errors: JSON key and text, by which a client recognises them. {...} is filled in. The end of
``not_entitled`` and the text of ``analytics_error`` are not known; ``notice`` is made up, and no client knows it."""

_FEEDS = {"delayed": "15-minute delayed", "realtime": "realtime"}
_PLACEHOLDER_VALUES = {
    "contractID": "XXYYZZ999999C00050000", "symbol": "XXYYZZ", "expiration": "2099-99-99", "type": "call",
    "date": "2049-99-99", "timestamp": "2024-10-18 19:59:00.000",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """A requested fault: the query that requested it, and how long a slow answer takes."""

    query: Query
    endpoint: Endpoint | None
    seconds: float

    @property
    def wants_csv(self) -> bool:
        """Whether the answer would be CSV."""
        return get_first(self.query, "datatype") == "csv" or (self.endpoint is not None and not self.endpoint.has_json)

    @property
    def columns(self) -> list[str]:
        """The columns of the endpoint."""
        header = self.endpoint.csv_header if self.endpoint and "csv" in self.endpoint.tool.formats else ()
        return list(header) if len(header) > 1 else ["timestamp", "value"]

    def table(self, *columns: str, as_csv: bool) -> Response:
        """Return rows of 100, as CSV or as a list below the key ``data``."""
        rows = [[day, *["100.0000"] * (len(columns) - 1)] for day in _DAYS]
        if as_csv:
            return csv_response("".join(",".join(row) + "\n" for row in [columns, *rows]))
        return json_response({"data": [dict(zip(columns, row, strict=True)) for row in rows]})


def requested_fault(query: Query, endpoint: Endpoint | None, key: str) -> Response | None:
    """Return the faulty response that the key or a value of the query requests, or None."""
    symbols = (symbol for _, text in query for symbol in split_list(text))
    requested = next((one[len(SYMBOL_PREFIX) :] for one in symbols if one.upper().startswith(SYMBOL_PREFIX)), None)
    if key.startswith(KEY_PREFIX):
        requested = key.removeprefix(KEY_PREFIX)
    if requested is None:
        return None
    match = re.fullmatch(r"([a-z]\w*?)(?:_(\d+)(?:_(\d+))?)?", re.sub(r"[-.]", "_", requested.lower()))
    build = FAULTS.get(match[1]) if match else None
    if match is None or build is None:  # a misspelt name must not pass as data
        listed = ", ".join(sorted(FAULTS))
        return Response(404, TEXT, f"The mock API has no such fault. It knows: {listed}\n".encode())
    return build(Fault(query, endpoint, min(float(f"{match[2] or 2}.{match[3] or 0}"), LONGEST_WAIT_S)))


def error_response(name: str, query: Query) -> Response:
    """Return one of the vendor's error bodies. It is always JSON, also where CSV was requested."""
    feed = _FEEDS.get(get_first(query, "entitlement"), _FEEDS["delayed"])
    values = {"function": get_first(query, "function"), "key": get_first(query, "apikey"), "feed": feed}
    return json_response({key: text.format_map(values) for key, text in ERROR_BODIES[name].items()})


def placeholder_response(endpoint: Endpoint | None) -> Response:
    """Return rows that look like data and are not, as the vendor returns them to keys of a smaller plan."""
    is_quote = endpoint is not None and "BULK" in endpoint.function
    columns = endpoint.columns if endpoint and is_quote else list(_PLACEHOLDER_VALUES)[:-1]
    row = {column: _PLACEHOLDER_VALUES.get(column, "100.00") for column in columns}
    label = endpoint.label if endpoint else "Realtime Options"
    return json_response({"endpoint": label, **ERROR_BODIES["premium_placeholder_rows"], "data": [row, row]})


def _empty_list(fault: Fault) -> Response:
    if fault.endpoint is None:
        return json_response({"data": []})
    sent = {name: get_values(fault.query, name) for name in fault.endpoint.rules}
    return empty_response(Request(fault.endpoint, {**sent, "datatype": ()}, date(2026, 1, 13)))


def _page(status: int, text: str = "", *headers: tuple[str, str]) -> Response:
    text = text or HTTPStatus(status).phrase
    page = f"<!DOCTYPE html>\n<html><head><title>{status} {text}</title></head><body>{text}</body></html>\n"
    return Response(status, HTML, page.encode(), headers=headers)


def _huge(fault: Fault) -> Response:
    """Return about 20 MB of rows, in the requested format."""
    if fault.wants_csv:
        return csv_response("timestamp,value\n" + _LINE * (HUGE_BYTES // len(_LINE)))
    line = '    {"date": "2026-01-13", "value": "100.0000"}'
    lines = ",\n".join([line] * (HUGE_BYTES // (len(line) + 2)))
    return Response(200, JSON, f'{{"name": "Huge", "data": [\n{lines}\n]}}\n'.encode())


@cache
def _gzip_bomb() -> bytes:
    """Return a hundred kilobytes that decompress to a hundred megabytes."""
    return gzip.compress(b"0" * BOMB_BYTES, mtime=0)


def _invalid_utf8(fault: Fault) -> Response:
    """Return a company whose name is encoded in Latin-1."""
    row = {"symbol": "XMPL", "name": "Soci\u00e9t\u00e9"}
    text = f"symbol,name\n{','.join(row.values())}\n" if fault.wants_csv else json.dumps(row, ensure_ascii=False)
    return Response(200, CSV if fault.wants_csv else JSON, text.encode("latin-1"))


def _wrong_length(by: int, fault: Fault) -> Response:
    """Return a ``Content-Length`` that is wrong. Where it is too large, the connection stays open and silent."""
    sent = fault.table(*fault.columns, as_csv=fault.wants_csv)
    return replace(sent, length=len(sent.body) + by)


FAULTS: dict[str, Callable[[Fault], Response]] = {
    **{name: partial(lambda name, fault: error_response(name, fault.query), name) for name in ERROR_BODIES},
    "premium_placeholder_rows": lambda fault: placeholder_response(fault.endpoint),
    "empty_object": lambda _: json_response({}),
    "empty_quote": lambda _: json_response({"Global Quote": {}}),
    "empty_list": _empty_list,
    "header_only_csv": lambda fault: csv_response(",".join(fault.columns) + "\n"),
    **dict.fromkeys(("empty_body", "empty"), lambda _: Response(200, JSON, b"")),
    **{f"http{status}": partial(lambda status, _: _page(status), status) for status in (404, 500, 502, 503)},
    "http_error": lambda _: _page(503),
    "http429": lambda _: _page(429, "", ("Retry-After", "7")),
    "redirect": lambda _: _page(302, "", ("Location", "http://elsewhere.example/query")),
    "redirect_loop": lambda fault: _page(302, "", ("Location", "?" + urlencode(fault.query))),
    "html": lambda _: _page(200, "Maintenance"),
    "badjson": lambda _: Response(200, JSON, b'{"Meta Data": {"1. Information": "ends too ear'),
    "truncated": lambda fault: replace(fault.table(*fault.columns, as_csv=False), connection="truncated"),
    "length_too_small": partial(_wrong_length, -15),
    "length_too_large": partial(_wrong_length, 15),
    "closed": lambda _: Response(200, JSON, b"", connection="closed"),
    "reset": lambda _: Response(200, JSON, b"", connection="reset"),
    "slow": lambda fault: replace(json_response({"data": []}), delay_s=fault.seconds),
    "drip": lambda fault: replace(fault.table(*fault.columns, as_csv=False), delay_s=fault.seconds, connection="drip"),
    "huge": _huge,
    # A billion bytes that begin like data, sent in pieces to save memory here.
    "giant": lambda _: replace(csv_response(_LINE * (_MEGABYTE // len(_LINE))), times=GIANT_BYTES // _MEGABYTE),
    "gzip_bomb": lambda _: Response(200, JSON, _gzip_bomb(), headers=(("Content-Encoding", "gzip"),)),
    "invalid_utf8": _invalid_utf8,
    "json_for_csv": lambda fault: fault.table("date", "value", as_csv=False),
    "new_column": lambda fault: fault.table(*fault.columns, "mood", as_csv=fault.wants_csv),
    "missing_column": lambda fault: fault.table(*fault.columns[:-1], as_csv=fault.wants_csv),
    "renamed_column": lambda fault: fault.table("renamed", *fault.columns[1:], as_csv=fault.wants_csv),
}
"""Name of a fault → the response that has it."""
