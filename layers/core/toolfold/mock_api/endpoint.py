"""What a function answers: its parameters, its document, and how the document becomes CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .request_parsing import ApiRequest, Parameter

Document = dict[str, Any]
Builder = Callable[[ApiRequest], Document]

DATATYPE = Parameter("datatype", enum=("json", "csv"), default="json")
ENTITLEMENT = Parameter("entitlement", enum=("delayed", "realtime"))


@dataclass(frozen=True, slots=True)
class Table:
    """Where the rows of a document are, and the CSV columns they turn into.

    ``kind``: ``list`` of objects; ``map`` from date to object, the date being the first column; ``object``, a single
    row; ``pairs``, a flat map of two columns. ``keys`` are the row keys in the order of the columns (for a map, of
    the columns after the first).
    """

    path: str
    kind: Literal["list", "map", "object", "pairs"]
    header: tuple[str, ...]
    keys: tuple[str, ...] = ()
    line_end: str = "\n"

    def columns(self, request: ApiRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Header and row keys of this call."""
        return self.header, self.keys

    def rows(self, document: Document, request: ApiRequest) -> Iterable[Sequence[Any]]:
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
    """One function. ``table`` is None where there is no CSV; ``json`` is False where there is nothing but CSV.

    ``symbol`` names the parameter that is looked up; an unknown one answers with ``unknown`` (a document), or with
    the ``refusal`` envelope where ``unknown`` is None. ``access`` is what a free key gets: the data, the premium
    envelope, or rows that only look like data.
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

    @property
    def entitled(self) -> bool:
        return ENTITLEMENT in self.parameters


class ApiError(Exception):
    """The values are well formed but the vendor has no answer to them; ``args[0]`` is the envelope to send."""


def strip_number(key: str) -> str:
    """A JSON row key without its number: ``"05. price"`` and ``"5: Time"`` to ``price`` and ``Time``."""
    return re.sub(r"^\d+(\.\d+)?[.:] ", "", key)


def number_keys(*names: str, width: int = 1) -> tuple[str, ...]:
    """Names with the vendor's number before each: ``1. open``, ``2. high``."""
    return tuple(f"{index:0{width}d}. {name}" for index, name in enumerate(names, 1))


def list_table(path: str, *keys: str, line_end: str = "\n") -> Table:
    """A list of objects whose CSV columns are the row keys without their numbers."""
    return Table(path, "list", tuple(strip_number(key) for key in keys), keys, line_end)


def to_csv(table: Table, document: Document, request: ApiRequest) -> str:
    """Header and rows; None becomes an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=table.line_end)
    writer.writerow(table.columns(request)[0])
    writer.writerows(table.rows(document, request))
    return text.getvalue()


def empty_document(_: ApiRequest) -> Document:
    """How company functions answer an unknown symbol."""
    return {}


def document_without_rows(*echoed: str, rows: str, **fixed: Any) -> Builder:
    """How list functions answer an unknown symbol: their frame, and no rows."""

    def build(request: ApiRequest) -> Document:
        return {**{name: request.text(name) for name in echoed}, **fixed, rows: []}

    return build
