"""Responses of the mock API, and how the data of an endpoint become a document in its form."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Any, Literal

from toolfold.mock_api.endpoint import Request, parse_column, strip_number
from toolfold.mock_api.fields import Cell, is_listed, value_of
from toolfold.mock_api.market import seeded

JSON, CSV = "application/json", "application/x-download"
HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP response.

    Attributes:
        delay_s: Seconds of silence before the first byte; for ``drip``, how long the body takes.
        connection: ``normal``; ``truncated``, the body is shorter than ``Content-Length``; ``closed`` and ``reset`` (a
            TCP reset), no response; ``drip``, the body is sent in small pieces.
        times: How often the body is sent, one after the other.
        length: ``Content-Length`` where it is not the true one.
    """

    status: int
    content_type: str
    body: bytes
    delay_s: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()
    connection: Literal["normal", "truncated", "closed", "reset", "drip"] = "normal"
    times: int = 1
    length: int | None = None


def json_response(document: Any, status: int = 200) -> Response:
    """Return the document as JSON, indented as the vendor does."""
    return Response(status, JSON, json.dumps(document, indent=4).encode())


def csv_response(text: str) -> Response:
    """Return the text as CSV, with the vendor's content type."""
    return Response(200, CSV, text.encode())


class RefusedRequest(Exception):
    """Well-formed values for which there is no data; ``args[0]`` names the error body."""


Row = Mapping[str, Any]
"""Column, without its number, → value."""

AT, MONTHS = "@", "@months"
"""Keys of a row: the label of a row of a map, or the time of a made-up row; and the length of its period."""


@dataclass(frozen=True, slots=True)
class Data:
    """What an endpoint has to say; columns and keys that are missing here are made up by their names.

    Attributes:
        rows: The rows; several lists by their keys.
        beside: What is beside the rows, by key.
        columns: The columns of the rows where they are not those of the catalog.
    """

    rows: Sequence[Row] | Mapping[str, Sequence[Row]] = ()
    beside: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()


_EMPTY = ("INCOME_STATEMENT", "BALANCE_SHEET", "CASH_FLOW", "EARNINGS", "EARNINGS_ESTIMATES", "ETF_PROFILE",
          "INSTITUTIONAL_HOLDINGS")  # fmt: skip
"""Functions that answer ``{}`` for an unknown symbol although their answer is a list."""


def empty_response(request: Request) -> Response:
    """Return the answer of an endpoint that has no data for a symbol."""
    return json_response({}) if request.function in _EMPTY else render(request, Data())


def render(request: Request, data: Data) -> Response:
    """Return the data in the requested format."""
    endpoint = request.endpoint
    wants_csv = "csv" in endpoint.tool.formats and (request.text("datatype") == "csv" or not endpoint.has_json)
    tables = data.rows if isinstance(data.rows, Mapping) else {next(iter(endpoint.rows), ""): data.rows}
    columns = data.columns or endpoint.columns
    completed = {path: _completed(request, columns, rows, path) for path, rows in tables.items()}
    if not wants_csv:
        return json_response(_document(request, data, completed))
    header = tuple(map(strip_number, data.columns)) or endpoint.csv_header
    keys = [*([AT] if endpoint.kind == "map" else []), *(parse_column(column)[0] for column in columns)]
    by_name = {strip_number(key).replace(" ", "_"): key for key in keys}
    # A column has the key of the same name, else the one in the same place.
    order = [by_name.get(name.replace(" ", "_"), key) for name, key in zip(header, keys, strict=True)]
    (rows,) = completed.values()
    text, line_end = io.StringIO(), "\n" if endpoint.has_json else "\r\n"  # without JSON those of Windows
    csv.writer(text, lineterminator=line_end).writerows([header, *([row[key] for key in order] for row in rows)])
    return csv_response(text.getvalue())


def _document(request: Request, data: Data, tables: Mapping[str, list[dict[str, Any]]]) -> Any:
    """Return the JSON document: the rows in the form of the endpoint, and what is beside them."""
    endpoint, interval = request.endpoint, request.text("interval")
    shaped: dict[str, Any] = {}
    if endpoint.kind == "names":
        return {name: text for row in tables[""] for name, text in [row.values()]}
    for path, rows in tables.items():
        name = path.replace("{interval}", interval)
        if endpoint.kind == "map":
            shaped[name] = {row.pop(AT): row for row in rows}
        else:
            shaped[name] = (rows[0] if rows else {}) if endpoint.kind == "object" else rows
    if "" in shaped:
        return shaped[""]
    document: dict[str, Any] = {}
    for key in endpoint.keys:
        name, inner = parse_column(key.replace("{interval}", interval))
        if name in shaped:
            document[name] = shaped[name]
        elif name in data.beside:
            known = data.beside[name]
            document[name] = known if inner is None else _completed(request, inner, known, name)
        elif name in endpoint.rules or name == "endpoint":
            document[name] = request.text(name) or endpoint.label if name == "endpoint" else request.text(name)
        elif any(shaped.values()) or name in ("message", "status"):
            document[name] = value_of(key, _cell(request, "", 0, {}))
        else:
            document[name] = None
    # The key of a quote depends on the request.
    return document if shaped.keys() <= document.keys() else shaped


def _completed(request: Request, columns: Sequence[str], rows: Sequence[Row], table: str) -> list[dict[str, Any]]:
    """Return the rows by the keys of the columns, with made-up values for the columns that they lack."""
    keys = {parse_column(column)[0]: column for column in columns}
    names = {key: strip_number(key) for key in keys} | ({AT: AT} if request.endpoint.kind == "map" else {})
    if rows and all(name in rows[0] for name in names.values()):
        pairs = names.items()
        return [{key: row[name] for key, name in pairs} for row in rows]
    found = []
    for index, row in enumerate(rows):
        cell = _cell(request, table, index, row)
        found.append({key: row[name] if name in row else value_of(keys[key], cell) for key, name in names.items()})
    for key, name in names.items():
        if (said := request.text(name)) and is_listed(request.function, name):
            found = [row for row in found if row[key] == said]
    return found


def _cell(request: Request, table: str, index: int, row: Row) -> Cell:
    at = row.get(AT)
    when = at if isinstance(at, datetime) else datetime.combine(request.today, time(16, 16))
    subject = request.text("symbol").upper() or request.text("tickers").partition(",")[0]
    # A row that has values of its own is the same row wherever it is in the list.
    known = [value for key, value in row.items() if key not in (AT, MONTHS)] or [index]
    # A labelled row is the same on every later day.
    rng = seeded(request.function, table, subject, *([at] if isinstance(at, str) else [when, *known]))
    return Cell(request, index, when, rng, subject, row.get(MONTHS, 3))
