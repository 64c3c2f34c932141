"""Responses that are harmful, misleading or changed, and that a client has to handle. All of them are made up."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Sequence
from dataclasses import replace

from toolfold.mock_api.endpoint import Endpoint
from toolfold.mock_api.request_parsing import Query, get_first
from toolfold.mock_api.responses import JSON, Response, csv_response, json_response

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
