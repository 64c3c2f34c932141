"""Definition of an endpoint: its parameters, the builder of its document, and how the document becomes CSV.

Validation of a query string: the parameters of a function, and access to their values.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

Query = Sequence[tuple[str, str]]

# Parameters that hold symbols: a fault can be requested in each of them.
SYMBOL_PARAMETERS = ("symbol", "symbols", "SYMBOLS", "tickers", "keywords", "from_symbol", "from_currency")


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)", text) is not None


def _parses(convert: Callable[[str], object]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            convert(text)
        except ValueError:
            return False
        return True

    return check


# Kind of value -> whether a text is a valid value of that kind.
VALUE_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "text": lambda text: bool(text.strip()),
    "integer": lambda text: re.fullmatch(r"[+-]?\d{1,9}", text) is not None,
    "number": _is_number,
    "boolean": lambda text: text in ("true", "false"),
    "date": lambda text: len(text) == 10 and _parses(date.fromisoformat)(text),
    "month": lambda text: re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])", text) is not None,
    "minute": lambda text: len(text) == 13 and _parses(lambda t: datetime.strptime(t, "%Y%m%dT%H%M"))(text),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter, with the limits that the vendor's documentation gives for it.

    Attributes:
        name: Name in the query string; case counts.
        kind: A key of ``VALUE_CHECKS``.
        required: Whether a request without it is an error.
        default: Value when none is sent.
        enum: The allowed values; empty for any.
        pattern: Regular expression that the whole value has to match.
        minimum: Lowest allowed number.
        maximum: Highest allowed number.
        above: Number that the value has to exceed.
        comma_list: Whether the value is a list separated by commas.
        repeats: How often the parameter may be sent.
    """

    name: str
    kind: str = "text"
    required: bool = False
    default: str = ""
    enum: tuple[str, ...] = ()
    pattern: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    comma_list: bool = False
    repeats: int = 1

    def accepts(self, text: str) -> bool:
        """Return whether the value is valid."""
        parts = split_list(text) if self.comma_list else [text]
        return all(self._accepts_one(part) for part in parts)

    def _accepts_one(self, text: str) -> bool:
        if not VALUE_CHECKS[self.kind](text):
            return False
        if self.enum and text not in self.enum:
            return False
        if self.pattern and re.fullmatch(self.pattern, text) is None:
            return False
        if self.kind not in ("integer", "number"):
            return True
        value = float(text)
        return not (
            (self.minimum is not None and value < self.minimum)
            or (self.maximum is not None and value > self.maximum)
            or (self.above is not None and value <= self.above)
        )


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A validated request.

    Attributes:
        function: Value of the ``function`` parameter.
        values: Every known parameter that was sent or has a default.
        today: The newest day of the data.
    """

    function: str
    values: Mapping[str, tuple[str, ...]]
    today: date

    def all_values(self, name: str) -> tuple[str, ...]:
        """Return every value of a parameter that may repeat."""
        return self.values.get(name, ())

    def text(self, name: str) -> str:
        """Return the first value, or an empty string."""
        return next(iter(self.all_values(name)), "")

    def integer(self, name: str) -> int:
        """Return the value as an integer."""
        return int(self.text(name))

    def number(self, name: str) -> float:
        """Return the value as a float."""
        return float(self.text(name))

    def boolean(self, name: str) -> bool:
        """Return whether the value is ``true``."""
        return self.text(name) == "true"

    def comma_list(self, name: str) -> list[str]:
        """Return the parts of a list separated by commas."""
        return split_list(self.text(name)) if self.text(name) else []

    def date_value(self, name: str) -> date | None:
        """Return the value as a date, or None when it was not sent."""
        return date.fromisoformat(self.text(name)) if self.text(name) else None


def split_list(text: str) -> list[str]:
    """Split a list at its commas, except inside brackets as in ``HISTOGRAM(bins=5,x=1)``."""
    return [part.strip() for part in re.split(r",(?![^()]*\))", text)]


def get_values(query: Query, name: str) -> tuple[str, ...]:
    """Return every value sent for ``name``, in order. An empty value counts as not sent."""
    return tuple(value for key, value in query if key == name and value != "")


def get_first(query: Query, name: str) -> str:
    """Return the first value sent for ``name``, or an empty string."""
    return next(iter(get_values(query, name)), "")


def parse_request(query: Query, function: str, parameters: Sequence[Parameter], today: date) -> ApiRequest | None:
    """Return the validated request, or None when a required parameter is missing or a value is invalid.

    Parameters that the function does not have are ignored, as the vendor does.
    """
    values: dict[str, tuple[str, ...]] = {}
    for parameter in parameters:
        sent = get_values(query, parameter.name)
        if parameter.repeats == 1:
            sent = sent[:1]
        if len(sent) > parameter.repeats or (parameter.required and not sent):
            return None
        if not all(parameter.accepts(value) for value in sent):
            return None
        if sent or parameter.default:
            values[parameter.name] = sent or (parameter.default,)
    return ApiRequest(function, values, today)


def is_unknown_symbol(symbol: str) -> bool:
    """Return whether no market has this symbol: it starts with ``NOSUCH``."""
    return symbol.upper().startswith("NOSUCH")


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
