"""Responses of the mock API, and how the data of an endpoint become a document in its form.

Values that no function computes are made up by the names of their columns, as ``fields.csv`` says. The first line whose
pattern is the column, or ``function.column``, in lower case, says what is in it:

=====================  ================================================================================================
``any A|B``            one of the texts; ``each A|B`` by the number of the row, ``list A|B`` a list of some of them
``time FORMAT``        the time of the row; ``day N`` its day, N days later
``ahead N``            a trading day after that time, N days after that of the row before
``LOW HIGH [%]``       a number with the decimals of LOW; ``number LOW HIGH`` is a number also where others are texts
``?MARK:SHARE …``      a share of the values has the mark of a missing one
``null``               no value
=====================  ================================================================================================

Anything else is the text, with {symbol}, {name} and others of the share that is requested, {ticker} and {company} of
another company in each row, what was sent for a parameter, {index}, {word} and {number}.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from functools import cached_property, lru_cache
from random import Random
from typing import Any, Literal

from toolfold.mock_api.endpoint import Request, parse_column, strip_number
from toolfold.mock_api.market import INSTRUMENTS, of_kind, read_table, seeded, trading_day

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


Row = Mapping[str, Any]
"""Column, without its number, → value."""

AT = "@"
"""Key of a row: the label of a row of a map, or the time of a made-up row."""


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


def empty_response(request: Request) -> Response:
    """Return the answer of an endpoint that has no data for a symbol."""
    return json_response({}) if request.endpoint.facts["unknown"] == "nothing" else render(request, Data())


def render(request: Request, data: Data) -> Response:
    """Return the data in the requested format."""
    endpoint = request.endpoint
    tables = data.rows if isinstance(data.rows, Mapping) else {next(iter(endpoint.rows), ""): data.rows}
    columns = data.columns or endpoint.columns
    completed = {path: _completed(request, columns, rows, path) for path, rows in tables.items()}
    if "csv" not in endpoint.tool.formats or (endpoint.has_json and request.text("datatype") != "csv"):
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
    form: Mapping[str, Callable[[list[dict[str, Any]]], Any]] = {
        "map": lambda rows: {row.pop(AT): row for row in rows},
        "object": lambda rows: rows[0] if rows else {},
        "names": lambda rows: dict(tuple(row.values()) for row in rows),
    }
    shape = form.get(endpoint.kind, list)
    shaped = {path.replace("{interval}", interval): shape(rows) for path, rows in tables.items()}
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
            document[name] = request.text(name) or (endpoint.label if name == "endpoint" else "")
        elif any(shaped.values()) or name in ("message", "status"):
            document[name] = value_of(key, Cell(request, "", 0, {}))
        else:
            document[name] = None
    return document


def _completed(request: Request, columns: Sequence[str], rows: Sequence[Row], table: str) -> list[dict[str, Any]]:
    """Return the rows by the keys of the columns, with made-up values for the columns that they lack."""
    keys = {parse_column(column)[0]: column for column in columns}
    names = {key: strip_number(key) for key in keys} | ({AT: AT} if request.endpoint.kind == "map" else {})
    found = []
    for index, row in enumerate(rows):
        cell = Cell(request, table, index, row)
        found.append({key: row[name] if name in row else value_of(keys[key], cell) for key, name in names.items()})
    return found


_WORDS = ("Amber", "Birch", "Cobalt", "Delta", "Ember", "Fjord", "Granite", "Harbor", "Indigo", "Juniper")

_OF_TYPES = {"integer": "1 9000", "number": "1.00 400.00", "boolean": "any true|false", "array": "list amber|birch"}
"""Type in the JSON Schema of a parameter that has the name of the column → its rule."""

COMPANIES = [one for one in of_kind("stock") if one.kind == "Equity"]

_RULES = [(re.compile(line["column"]), line["value"]) for line in read_table("fields.csv")]


@lru_cache(maxsize=2000)
def rule_of(function: str, column: str) -> tuple[str, bool]:
    """Return the rule of a column, and whether it is that of this function alone."""
    column = column.lower()
    names = {True: f"{function.lower()}.{column}", False: column}
    known = ((rule, "\\." in pattern.pattern, pattern) for pattern, rule in _RULES)
    return next((rule, is_own) for rule, is_own, pattern in known if pattern.fullmatch(names[is_own]))


class Cell:
    """A row of a request with its number, its time, and its random numbers, for the values that are made up in it.

    Attributes:
        subject: The symbol that the request is about; empty for none.
        another: A company for this row of a list of several.
        stock: The share that the row is about: the subject, or another one.
    """

    def __init__(self, request: Request, table: str, index: int, row: Row) -> None:
        at = row.get(AT)
        self.request, self.index, self.another = request, index, COMPANIES[index % len(COMPANIES)]
        self.time = at if isinstance(at, datetime) else datetime.combine(request.today, time(16, 16))
        self.subject = request.text("symbol").upper() or request.text("tickers").partition(",")[0]
        self.stock = INSTRUMENTS.get(("stock", self.subject), self.another)
        # A row that has values of its own is the same row wherever it is in the list.
        known = [value for key, value in row.items() if key != AT] or [index]
        # A labelled row is the same on every later day.
        labels = [at] if isinstance(at, str) else [self.time, *known]
        self._seed = request.endpoint.function, table, self.subject, *labels

    @cached_property
    def rng(self) -> Random:
        """The random numbers of the row."""
        return seeded(*self._seed)

    def number(self, low: str, high: str, unit: str = "") -> str:
        """Return a number between two, with the decimals of the first."""
        return f"{self.rng.uniform(float(low), float(high)):.{len(low.partition('.')[2])}f}{unit}"


def value_of(column: str, cell: Cell) -> Any:
    """Return the value of a column: that of the parameter with this name, or what its rule gives."""
    name, inner = parse_column(strip_number(column))
    request = cell.request
    if inner:
        wanted = {one: items for one in inner if (items := request.items(f"{one}s"))}
        count = max(map(len, wanted.values()), default=cell.rng.randint(1, 3))
        return [
            {one: wanted[one][at] if one in wanted else value_of(one, cell) for one in inner} for at in range(count)
        ]
    if (said := request.text(name)) and name not in ("date", "symbol"):
        return _typed(said, request)
    schema = request.endpoint.siblings.get(name, {}) if request.endpoint.is_typed else {}
    rule = _OF_TYPES.get(str(schema.get("type"))) or rule_of(request.endpoint.function, name)[0]
    return _typed(_apply("any " + "|".join(map(str, schema["enum"])) if "enum" in schema else rule, cell), request)


def _typed(value: Any, request: Request) -> Any:
    """Return a number or a boolean for a text that is one, where the source does not write them as texts."""
    if not request.endpoint.is_typed or not isinstance(value, str):
        return value
    if re.fullmatch(r"-?\d+(\.\d+)?", value):
        return float(value) if "." in value else int(value)
    return value == "true" if value in ("true", "false") else value


def _apply(rule: str, cell: Cell) -> Any:
    if missing := re.fullmatch(r"\?([^:]*):([\d.]+) (.*)", rule):
        if cell.rng.random() < float(missing[2]):
            return None if missing[1] == "null" else missing[1]
        rule = missing[3]
    if re.fullmatch(r"-?[\d.]+ -?[\d.]+( %)?", rule):
        return cell.number(*rule.split())
    word, _, rest = rule.partition(" ")
    if word in _KINDS:
        return _KINDS[word](rest, cell)

    def replace(found: re.Match[str]) -> str:
        name = found[1]
        return parts.get(name) or getattr(cell.stock, name, "") or cell.request.text(name) or cell.rng.choice(_WORDS)

    parts = {
        "symbol": cell.subject,
        "ticker": cell.another.symbol,
        "company": cell.another.name.upper(),
        "index": str(cell.index + 1),
        "number": str(cell.rng.randint(100_000, 999_999)) if "{" in rule else "",
    }
    return re.sub(r"\{(\w+)\}", replace, rule)


_KINDS: Mapping[str, Callable[[str, Cell], Any]] = {
    "any": lambda rest, cell: cell.rng.choice(rest.split("|")),
    "each": lambda rest, cell: rest.split("|")[cell.index % (rest.count("|") + 1)],
    "list": lambda rest, cell: cell.rng.sample(rest.split("|"), cell.rng.randint(1, 2)),
    "time": lambda rest, cell: cell.time.strftime(rest),
    "day": lambda rest, cell: (cell.time + timedelta(days=int(rest))).date().isoformat(),
    "ahead": lambda rest, cell: trading_day(cell.time.date() + timedelta(int(rest) * (cell.index + 1))).isoformat(),
    "number": lambda rest, cell: float(cell.number(*rest.split())),
    "null": lambda rest, cell: None,
}
"""First word of a rule → what makes the value."""
