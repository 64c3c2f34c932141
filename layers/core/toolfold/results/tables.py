"""Parse the answer of an upstream into typed tables and metadata.

CSV is one table. In JSON every list of objects is a table, and so are every object whose keys are dates, objects of
the same names in an object, and rows that are lists; its path in the document is its name. A parsed document has the
upstream's data cell by cell. What would be a table of mostly empty cells stays nested JSON, as do tables deep inside a
document, and those of a document with very many.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.redaction import NO_REDACTION, Redactor
from toolfold.results import json_rows, parsing, values
from toolfold.results.json_rows import are_dates, are_keyed_rows, are_objects, is_flat
from toolfold.results.types import ColumnType, column_type

if TYPE_CHECKING:
    from toolfold.models import Requested

_MAX_TABLES = 60
"""Tables of one document: each costs a header in every preview. The statements of a company are a dozen."""

_MAX_TABLE_DEPTH = 12
_MAX_NAME_CHARS = 200
"""Length of a path that may name a table: a caller has to repeat it in a select."""

_LONG_NUMBER = re.compile(r"\d{16}")
"""Digits of a number that a double may not hold."""

_MAX_KNOWN = 100
"""Keys of an object whose names are kept for others that have the same, and how many such objects are."""

_FREED_BYTES = 30
"""What a cell of CSV needs less than reserved once its column is typed: as a number no text, as a text no number."""


class Origin(NamedTuple):
    """The table that rows were selected from.

    Attributes:
        table: that table.
        rows: for each selected row the number of its row there, from 1; None: it is computed.
        columns: for each column its index there; None: it is computed.
    """

    table: Table
    rows: Sequence[int | None]
    columns: Sequence[int | None]


@dataclass(frozen=True)
class Table:
    """Rows of cells under named columns.

    Attributes:
        name: its dotted path in the document, or empty.
        columns: the names of the columns.
        rows: the cells, as they are shown.
        keys: columns that say what a row is about, beside its date: from the catalog, or arguments that differ.
        types: index of a column → its type, as far as they were needed.
        origin: where the cells were selected from: their types are decided there.
        nested: how many of the last columns are paths into cells, which are shown where they are named.
    """

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    keys: tuple[str, ...] = field(default=(), compare=False)
    types: dict[int, ColumnType] = field(default_factory=dict, compare=False, repr=False)
    origin: Origin | None = field(default=None, compare=False, repr=False)
    nested: int = field(default=0, compare=False)

    def type_of(self, index: int) -> ColumnType:
        """Return the type of a column, decided once from all of its cells."""
        if index not in self.types:
            origin = self.origin
            column = None if origin is None else origin.columns[index]
            if origin is None or column is None:
                self.types[index] = column_type([row[index] for row in self.rows])
            else:
                whole = origin.table.type_of(column)
                selected = [None if row is None else whole.values[row - 1] for row in origin.rows]
                self.types[index] = replace(whole, values=selected)
        return self.types[index]

    @cached_property
    def date_index(self) -> int | None:
        """The index of the column of dates: the first one whose dates differ, or the first one; None without one."""
        alike = None
        for index in range(len(self.columns)):
            cells = (row[index] for row in self.rows)
            first = next((one for one in cells if one is not None and str(one) not in values.MISSING), None)
            may_be_date = isinstance(first, str) and any(map(str.isdigit, first[:16]))
            if (may_be_date or (type(first) is int and first > 19_000_000)) and self.type_of(index).kind.is_date:
                if len(self.rows) == 1 or any(one != first for one in cells if one is not None):
                    return index
                alike = index if alike is None else alike
        return alike

    @cached_property
    def dates(self) -> list[str]:
        """The values of the column of dates, as they are compared, in the order of the rows that have one."""
        values_of = () if self.date_index is None else self.type_of(self.date_index).values
        return [value for value in values_of if value is not None]

    @property
    def is_newest_first(self) -> bool:
        """Whether the newest rows are listed first."""
        return bool(self.dates) and self.dates[0] > self.dates[-1]

    def column(self, name: str) -> list[Any]:
        """Return all cells of one column."""
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def objects(self) -> list[dict[str, Any]]:
        """Return the rows as objects."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Document:
    """A parsed answer: its tables, and ``metadata``, the JSON value that is left without them ({}: nothing).

    ``notes`` are sentences about the answer for its reader: what it lacks of what was requested, and what was assumed.
    ``name`` is the key of a single record that is the only member of what the upstream sent. ``is_text``: the answer is
    plain text, which is ``metadata``. ``requested`` is what a ``select`` requested of the answer that this is part of.
    """

    tables: tuple[Table, ...] = ()
    metadata: Any = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    name: str = field(default="", compare=False)
    is_text: bool = False
    requested: Requested | None = field(default=None, compare=False)


def parse_tables(
    body: str, kind: str, answer: Mapping[str, Any], budget: WorkBudget, redactor: Redactor = NO_REDACTION
) -> Document:
    """Parse an answer.

    Args:
        body: its text.
        kind: ``json``, ``csv`` or ``text``, which is kept as one string.
        answer: what the catalog says about it: ``kind`` ``object`` (one row is one thing), ``names`` (key → name)
            or ``typed`` (values that have their types), ``csv`` (a header whose first column names the dates).
        budget: what the call may cost.
        redactor: replaces the keys of the call.

    Raises:
        UpstreamError: the answer cannot be parsed.
        AnswerTooLarge: the budget is used up.
    """
    if kind == "csv":
        return _from_csv(body, answer, budget, redactor)
    if kind == "text":
        return Document(metadata=redactor.redact_text(body), is_text=True)
    return from_json(parse_json(body, answer, budget, redactor), answer, budget)


def parse_json(body: str, answer: Mapping[str, Any], budget: WorkBudget, redactor: Redactor = NO_REDACTION) -> Any:
    """Parse a JSON answer: the upstream's structure, with names and cells as in :mod:`toolfold.results.values`."""
    data = parsing.parse_json(body, redactor, budget, values.parse_number)
    if answer.get("kind") == "typed":
        return parsing.mapped(data, values.lossless, budget) if _LONG_NUMBER.search(body) else data
    if answer.get("kind") == "names" and isinstance(data, dict):
        return data
    typed = _Typer(answer, budget).value(data)
    budget.release(parsing.json_size(body).containers)
    return typed


def _from_csv(body: str, answer: Mapping[str, Any], budget: WorkBudget, redactor: Redactor) -> Document:
    header, cells = parsing.parse_csv(body, redactor, budget)
    names = dict.fromkeys(values.clean_names(header))
    row_count = len(cells[0]) if cells else 0
    typer = _Typer(answer, budget)
    typed: list[list[Any]] = []
    for index, name in enumerate(names):
        budget.reserve(parsing.list_size(row_count))
        typed.append(typer.column(name, cells[index]))
        cells[index] = []
        budget.release(_FREED_BYTES * row_count)
    if answer.get("kind") == "object" and row_count == 1:
        return Document(metadata={name: column[0] for name, column in zip(names, typed, strict=True)})
    budget.reserve(parsing.rows_size(row_count, len(names)))
    rows = list(zip(*typed, strict=True))
    keys = tuple(name for name in names if name in typer.identifiers)
    first: dict[str, str] = {}
    renamed = [name for given, name in zip(header, names, strict=True) if first.setdefault(given, name) != name]
    repeated = f"Several columns have the same name; later ones are called {', '.join(renamed[:9])}."
    notes = [repeated] if renamed else []
    if tuple(header) in rows:
        notes.append("The header is repeated among the rows, which count as rows.")
    notes += parsing.notes_on_lines(body) if len(names) > 1 else ()
    return Document((Table("", tuple(names), rows, keys),), notes=tuple(notes))


class _Typer:
    """Convert the values of an answer: the cells of one name in a list of objects are a column.

    Digits of the ``identifiers`` that the catalog names are no numbers.
    """

    def __init__(self, answer: Mapping[str, Any], budget: WorkBudget) -> None:
        self.identifiers, self._budget = frozenset(answer.get("identifiers", ())), budget
        self._known: dict[tuple[str, ...], list[str]] = {}

    def value(self, value: Any) -> Any:
        """Return a JSON value with names and cells as in :mod:`toolfold.results.values`."""
        if isinstance(value, list):
            if are_objects(value):
                return self._rows(value)
            self._budget.reserve(parsing.list_size(len(value)))
            if json_rows.row_width(value):
                self._budget.reserve(len(value) * parsing.list_size(len(value[0])))
                head = json_rows.has_header(value)
                columns = (self.column("", list(cells)) for cells in zip(*value[head:], strict=True))
                return [*value[:head], *map(list, zip(*columns, strict=True))]
            return self.column("", value)
        if not isinstance(value, dict):
            return values.typed_scalar("", value, identifiers=self.identifiers)
        self._budget.reserve(parsing.object_size(len(value)))
        is_dated = are_dates(value)
        if is_dated or are_keyed_rows(value):
            dates = values.parse_dates(list(value)) if is_dated else None
            return dict(zip(dates or value, self.value(list(value.values())), strict=True))
        typed = {}
        names = self._names(value)
        members = zip(names, value.values(), strict=True)
        # For a small object, reserving its memory has looked at the clock.
        for name, item in members if len(names) < _MAX_KNOWN else self._budget.checked(members):
            if isinstance(item, list | dict):  # without the calls of a column: objects may be nested deeply
                typed[name] = self.value(item)
            else:
                typed[name] = values.typed_scalar(name, item, identifiers=self.identifiers)
        return typed

    def column(self, name: str, cells: list[Any]) -> list[Any]:
        """Return the cells of a column; the slowest conversion takes two microseconds for a cell."""
        if not {list, dict}.isdisjoint(map(type, cells)):
            return [self.value(cell) for cell in cells]
        if len(cells) == 1:
            return [values.typed_scalar(name, cells[0], identifiers=self.identifiers)]
        self._budget.check_time(20 * len(cells))
        return values.typed_column(name, cells, identifiers=self.identifiers)

    def _names(self, keys: Collection[str]) -> list[str]:
        """Return keys as names. Objects inside others have the same keys again and again."""
        found = self._known.get(tuple(keys)) if len(keys) < _MAX_KNOWN else None
        if found is None:
            found = values.clean_names(self._budget.checked(keys))
            if len(keys) < _MAX_KNOWN and len(self._known) < _MAX_KNOWN:
                self._known[tuple(keys)] = found
        return found

    def _rows(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return objects with typed cells; where some lack keys, in time linear in the given cells."""
        first, budget = rows[0].keys(), self._budget
        places: dict[str, list[int]] = {}
        if all(row.keys() == first for row in budget.checked(rows)):
            budget.release((len(rows) - 1) * parsing.keys_size(len(first)))  # the parser makes equal keys once
            budget.reserve(len(rows) * parsing.object_size(len(first)))
        else:
            for index, row in enumerate(budget.checked(rows)):
                budget.reserve(parsing.object_size(len(row)))
                for key in row:
                    if key not in places:
                        budget.reserve(2 * parsing.list_size(4))
                        places[key] = []
                    places[key].append(index)
        names = self._names(places or first)
        given = ([rows[index][key] for index in places.get(key, range(len(rows)))] for key in places or first)
        columns = [self.column(name, cells) for name, cells in zip(names, given, strict=True)]
        if columns and not places:
            lines = zip(*columns, strict=True)
            return [dict(zip(names, line, strict=True)) for line in budget.checked(lines)]
        typed: list[dict[str, Any]] = [{} for _ in rows]
        for name, cells, indexes in zip(names, columns, places.values(), strict=True):
            for index, cell in zip(indexes, cells, strict=True):
                typed[index][name] = cell
        return typed


def from_json(data: Any, answer: Mapping[str, Any], budget: WorkBudget) -> Document:
    """Return a typed JSON value as a document: its lists of objects and its series are tables."""
    if isinstance(data, dict) and answer.get("kind") == "names":
        budget.reserve(parsing.rows_size(len(data), 2))
        return Document((Table("", ("symbol", "name"), list(data.items())),))
    if isinstance(data, dict) and len(data) == 1 and not are_dates(data):
        (only,) = data.values()
        if is_flat(only) and not are_dates(only):
            return Document(metadata=only, name=next(iter(data)))
    finder = _TableFinder(answer, budget)
    try:
        metadata = finder.extract(data, ())
    except _TooManyTables:
        return Document(metadata=data)
    return Document(tuple(finder.tables.values()), metadata)


class _TooManyTables(Exception):
    """A document has more tables than can be shown side by side."""


class _TableFinder:
    """Find the tables in a typed JSON value."""

    def __init__(self, answer: Mapping[str, Any], budget: WorkBudget) -> None:
        self._answer, self._budget = answer, budget
        self._dates = (answer.get("csv") or "date").partition(",")[0]
        self._identifiers = frozenset(answer.get("identifiers", ()))
        self.tables: dict[str, Table] = {}

    def extract(self, value: Any, path: tuple[str, ...], titles: Sequence[Sequence[str]] = ()) -> Any:
        """Add the tables in ``value`` to ``tables``; return the rest, ``{}`` when ``value`` is a table.

        ``titles`` are the lists beside it that may name the columns of rows.
        """
        self._budget.check_time()
        if len(path) > _MAX_TABLE_DEPTH:
            return value
        name = ".".join(path) if sum(map(len, path)) < _MAX_NAME_CHARS else None
        name = None if name in self.tables else name
        table = None if name is None else self._table(name, value, titles)
        if table is not None:
            if len(self.tables) == _MAX_TABLES:
                raise _TooManyTables
            keys = (*table.keys, *(column for column in table.columns if column in self._identifiers))
            self.tables[table.name] = replace(table, keys=keys) if keys else table
            return {}
        if isinstance(value, list) and sum(are_objects(item) for item in value if isinstance(item, list)) == 1:
            # What is beside the rows of a page describes the page: [{"page": 1, "total": 20}, [{…}, …]].
            left = [item for item in value if not isinstance(item, list) or self.extract(item, path) != {}]
            return left[0] if len(left) == 1 else left
        if not isinstance(value, dict):
            return value
        columns = {} if name is None else json_rows.columns_of(value)
        if name is not None and columns and len(self.tables) < _MAX_TABLES:
            self._budget.reserve(parsing.rows_size(len(next(iter(columns.values()))), len(columns)))
            self.tables[name] = Table(name, tuple(columns), list(zip(*columns.values(), strict=True)))
            return {key: item for key, item in value.items() if key not in columns}
        rest = {}
        # A list of types, as databases write it, is no list of names; the names of types are.
        lists = [item for key, item in value.items() if not key.lower().endswith(("type", "types"))]
        titles = list(filter(None, map(json_rows.titles_in, lists)))
        for key, item in value.items():
            if not isinstance(item, list | dict):
                rest[key] = item
                continue
            left = self.extract(item, (*path, key), titles)
            if left != {} or item == {}:
                rest[key] = left
        return rest

    def _table(self, name: str, value: Any, titles: Sequence[Sequence[str]]) -> Table | None:
        if isinstance(value, list):
            if are_objects(value):
                return table_of_objects(name, value, self._budget)
            if width := json_rows.row_width(value):
                self._budget.check_time(20 * width * len(value))
                fitting = [one for one in titles if len(one) == width]
                found = json_rows.titled_rows(value, fitting[0] if len(fitting) == 1 else (), self._dates)
                return None if found is None else Table(name, tuple(values.clean_names(found[0])), found[1])
            return Table(name, (), []) if not value and name in self._answer.get("rows", ()) else None
        if are_dates(value):
            if all(isinstance(row, dict) and self._dates not in row for row in value.values()):
                self._budget.reserve(sum(parsing.object_size(len(row) + 1) for row in value.values()))
                return table_of_objects(name, [{self._dates: date, **row} for date, row in value.items()], self._budget)
            return Table(name, (self._dates, "value"), list(value.items())) if is_flat(value) else None
        if isinstance(value, dict) and value and all(are_dates(one) and is_flat(one) for one in value.values()):
            # Side by side, with a row for each date of any, unless that would be mostly empty.
            days = dict.fromkeys(day for one in value.values() for day in one)
            if not parsing.is_dense(len(days), len(value), sum(map(len, value.values()))):
                return None
            self._budget.reserve(parsing.rows_size(len(days), len(value)))
            rows = [(day, *[one.get(day) for one in value.values()]) for day in self._budget.checked(days)]
            return Table(name, (self._dates, *value), rows)
        if are_keyed_rows(value):
            key = values.unique_names([*next(iter(value.values())), "key"])[-1]
            self._budget.reserve(sum(parsing.object_size(len(row) + 1) for row in value.values()))
            table = table_of_objects(name, [{key: one, **row} for one, row in value.items()], self._budget)
            return table and replace(table, keys=(key,))
        return None


def table_of_objects(name: str, items: Sequence[Mapping[str, Any]], budget: WorkBudget) -> Table | None:
    """Return a table with a column for every key, or None where it would be mostly empty.

    A key that an object lacks is null.
    """
    columns = tuple(dict.fromkeys(key for item in budget.checked(items) for key in item))
    given = sum(map(len, items))
    if not parsing.is_dense(len(items), len(columns), given):
        return None
    budget.reserve(parsing.rows_size(len(items), len(columns)))
    if given == len(items) * len(columns) and len(columns) > 1:  # no key is missing anywhere
        rows: Iterator[tuple[Any, ...]] = map(operator.itemgetter(*columns), budget.checked(items))
    else:
        rows = (tuple([item.get(column) for column in columns]) for item in budget.checked(items))
    return Table(name, columns, list(rows))


def from_value(value: Any, budget: WorkBudget) -> Document:
    """Return a typed JSON value as a document: a list of objects is a table."""
    table = table_of_objects("", value, budget) if isinstance(value, list) and are_objects(value) else None
    return Document(metadata=value) if table is None else Document((table,))


DATE_NAMES = {"date", "time", "datetime", "day", "timestamp"}
"""Names by which a model may call the date column of an answer that it has not seen."""
