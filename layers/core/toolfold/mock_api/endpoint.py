"""Definition of an endpoint: its parameters, the builder of its document, and how the document becomes CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolfold.mock_api.request_parsing import ApiRequest, Parameter

Document = dict[str, Any]
Builder = Callable[[ApiRequest], Document]

DATATYPE = Parameter("datatype", enum=("json", "csv"), default="json")
ENTITLEMENT = Parameter("entitlement", enum=("delayed", "realtime"))


@dataclass(frozen=True, slots=True)
class Table:
    """Location of the rows in a document, and the CSV columns that they become.

    Attributes:
        path: Key of the rows in the document; empty for the document itself.
        kind: ``list`` of objects; ``map`` from date to object, with the date as the first column; ``object``, a single
            row; ``pairs``, a flat map of two columns.
        header: The CSV header.
        keys: The row keys in the order of the columns (of a map: of the columns after the first).
        line_end: Line terminator of the CSV.
    """

    path: str
    kind: Literal["list", "map", "object", "pairs"]
    header: tuple[str, ...]
    keys: tuple[str, ...] = ()
    line_end: str = "\n"

    def columns(self, request: ApiRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the header and the row keys for this request."""
        return self.header, self.keys

    def rows(self, document: Document, request: ApiRequest) -> Iterable[Sequence[Any]]:
        """Return the CSV rows of a document."""
        path = self.path.replace("{interval}", request.text("interval"))
        keys = self.columns(request)[1]
        found: Any = document.get(path, {}) if path else document
        if self.kind == "pairs":
            return list(found.items())
        if self.kind == "object":
            return [[found[key] for key in keys]] if found else []
        if self.kind == "map":
            return [[stamp, *(row[key] for key in keys)] for stamp, row in found.items()]
        return [[row.get(key) for key in keys] for row in found]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One function of the API.

    Attributes:
        function: Value of the ``function`` parameter.
        parameters: The accepted parameters. Others are ignored, as the vendor does.
        build: Builds the JSON document of a valid request.
        table: How the document becomes CSV; None where CSV is not offered.
        has_json: False where the function returns nothing but CSV.
        access: What a free key gets: the data, the premium error, or placeholder rows.
        symbol: The parameter that holds the symbol; empty of functions without one.
        unknown_symbol: Builds the document for an unknown symbol; None where that is an error.
        error_name: The error body of an invalid request.
    """

    function: str
    parameters: tuple[Parameter, ...]
    build: Builder
    table: Table | None = None
    has_json: bool = True
    access: Literal["free", "premium", "placeholder"] = "free"
    symbol: str = "symbol"
    unknown_symbol: Builder | None = None
    error_name: str = "invalid_call"


class ApiError(Exception):
    """Well-formed values for which the vendor has no data; ``args[0]`` names the error body."""


def strip_number(key: str) -> str:
    """Return a row key without its number: ``price`` for ``"05. price"``, ``Time`` for ``"5: Time"``."""
    return re.sub(r"^\d+(\.\d+)?[.:] ", "", key)


def number_keys(*names: str, width: int = 1) -> tuple[str, ...]:
    """Return names with the vendor's number before each: ``1. open``, ``2. high``."""
    return tuple(f"{index:0{width}d}. {name}" for index, name in enumerate(names, 1))


def list_table(path: str, *keys: str, line_end: str = "\n") -> Table:
    """Return the table of a list of objects whose CSV columns are the row keys without their numbers."""
    return Table(path, "list", tuple(strip_number(key) for key in keys), keys, line_end)


def to_csv(table: Table, document: Document, request: ApiRequest) -> str:
    """Return header and rows as CSV. None becomes an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=table.line_end)
    writer.writerow(table.columns(request)[0])
    writer.writerows(table.rows(document, request))
    return text.getvalue()


def empty_document(_: ApiRequest) -> Document:
    """Return ``{}``, as company functions do for an unknown symbol."""
    return {}


def document_without_rows(*echoed: str, rows: str, **fixed: Any) -> Builder:
    """Return a builder of a document without rows, as list functions return it for an unknown symbol.

    Args:
        echoed: Parameters whose values the document repeats.
        rows: Key of the empty list.
        fixed: Further members of the document.
    """

    def build(request: ApiRequest) -> Document:
        return {**{name: request.text(name) for name in echoed}, **fixed, rows: []}

    return build
