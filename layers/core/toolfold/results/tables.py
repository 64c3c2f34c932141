"""Parse the answer of an upstream into typed tables and metadata.

CSV is one table. In JSON every list of objects is a table, and so is every object whose keys are dates; its path in the
document is its name. A parsed document has the upstream's data cell by cell.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.errors import TRY_AGAIN, UpstreamError
from toolfold.results import values


@dataclass(frozen=True)
class Table:
    """Rows of typed cells under named columns; ``name`` is its dotted path in the document, or empty."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]

    def column(self, name: str) -> list[Any]:
        """Return all cells of one column."""
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def objects(self) -> list[dict[str, Any]]:
        """Return the rows as objects."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Document:
    """A parsed answer: its tables, and ``metadata``, the JSON value that is left without them ({}: nothing)."""

    tables: tuple[Table, ...] = ()
    metadata: Any = field(default_factory=dict)


def parse_tables(body: str, kind: str, answer: Mapping[str, Any], budget: WorkBudget) -> Document:
    """Parse an answer.

    Args:
        body: its text.
        kind: ``json`` or ``csv``.
        answer: what the catalog says about it: ``kind`` ``object`` (one row is one thing) or ``names`` (key → name),
            ``csv`` (a header whose first column names the dates).
        budget: what the call may cost.

    Raises:
        UpstreamError: the CSV cannot be parsed.
        AnswerTooLarge: the budget is used up.
    """
    return _from_csv(body, answer) if kind == "csv" else _from_json(parse_json(body, answer, budget), answer)


def parse_json(body: str, answer: Mapping[str, Any], budget: WorkBudget) -> Any:
    """Parse a JSON answer: the upstream's structure, with names and cells as in :mod:`toolfold.results.values`."""
    budget.check_time()
    data = json.loads(body, parse_float=values.parse_number, parse_constant=lambda _constant: None)
    if answer.get("kind") == "names" and isinstance(data, dict):
        return data
    return _typed(data)


def _from_csv(body: str, answer: Mapping[str, Any]) -> Document:
    try:
        header, *rows = [record for record in csv.reader(io.StringIO(body, newline="")) if record]
    except (csv.Error, ValueError):
        raise UpstreamError("The service sent CSV that cannot be read.", TRY_AGAIN, retryable=True) from None
    width = max(map(len, rows), default=len(header))
    header += [f"column {index}" for index in range(len(header) + 1, width + 1)]
    if any(len(row) != len(header) for row in rows):
        rows = [row + [""] * (len(header) - len(row)) for row in rows]
    columns = [
        values.typed_column(name, cells, header)
        for name, cells in zip(
            values.clean_names(header), zip(*rows, strict=True) if rows else [()] * len(header), strict=True
        )
    ]
    if answer.get("kind") == "object" and len(rows) == 1:
        return Document(metadata={name: cells[0] for name, cells in columns})
    table = Table("", tuple(name for name, _ in columns), list(zip(*(cells for _, cells in columns), strict=True)))
    return Document((table,))


def _typed(value: Any) -> Any:
    if isinstance(value, list):
        if _are_objects(value):
            return _typed_rows(value)
        if any(isinstance(item, list | dict) for item in value):
            return [_typed(item) for item in value]
        return values.typed_column("", value)[1]
    if not isinstance(value, dict):
        return values.typed_scalar("", value)[1]
    if _are_dates(value):
        return dict(zip(values.parse_dates(list(value)) or value, _typed(list(value.values())), strict=True))
    typed = {}
    for key, item in zip(values.clean_names(value), value.values(), strict=True):
        if isinstance(item, list | dict):
            typed[key] = _typed(item)
        else:
            name, typed_item = values.typed_scalar(key, item, value)
            typed[name] = typed_item
    return typed


def _typed_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    typed: list[dict[str, Any]] = [{} for _ in rows]
    for key, name in zip(keys, values.clean_names(keys), strict=True):
        having = [(target, row[key]) for target, row in zip(typed, rows, strict=True) if key in row]
        given = [cell for _, cell in having]
        if any(isinstance(cell, list | dict) for cell in given):
            column, cells = name, [_typed(cell) for cell in given]
        else:
            column, cells = values.typed_column(name, given, keys)
        for (target, _), cell in zip(having, cells, strict=True):
            target[column] = cell
    return typed


def _are_objects(items: Sequence[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) for item in items)


def _are_dates(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(map(values.is_date, value))


def _from_json(data: Any, answer: Mapping[str, Any]) -> Document:
    if isinstance(data, dict) and answer.get("kind") == "names":
        return Document((Table("", ("symbol", "name"), list(data.items())),))
    if isinstance(data, dict) and len(data) == 1 and not _are_dates(data):
        (only,) = data.values()
        if _is_flat(only) and not _are_dates(only):
            return Document(metadata=only)
    tables: list[Table] = []
    metadata = _extract_tables(data, "", tables, answer)
    return Document(tuple(tables), metadata)


def _extract_tables(value: Any, path: str, tables: list[Table], answer: Mapping[str, Any]) -> Any:
    """Append the tables in ``value`` to ``tables``; return the rest, ``{}`` when ``value`` is a table."""
    table = _table(path, value, answer)
    if table is not None:
        tables.append(table)
        return {}
    if not isinstance(value, dict):
        return value
    rest = {}
    for key, item in value.items():
        if not isinstance(item, list | dict):
            rest[key] = item
            continue
        left = _extract_tables(item, f"{path}.{key}" if path else key, tables, answer)
        if left != {} or item == {}:
            rest[key] = left
    return rest


def _table(path: str, value: Any, answer: Mapping[str, Any]) -> Table | None:
    if isinstance(value, list):
        if _are_objects(value):
            return _table_of_objects(path, value)
        return Table(path, (), []) if not value and path in answer.get("rows", ()) else None
    dates = (answer.get("csv") or "date").partition(",")[0]
    if _are_dates(value):
        if all(isinstance(row, dict) and dates not in row for row in value.values()):
            return _table_of_objects(path, [{dates: date, **row} for date, row in value.items()])
        flat = _is_flat(value)
        return Table(path, (dates, "value"), list(value.items())) if flat else None
    if isinstance(value, dict) and value and all(_are_dates(series) and _is_flat(series) for series in value.values()):
        return _table_of_series(path, dates, value)
    return None


def _table_of_objects(name: str, items: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table with a column for every key; a key that an object lacks is null."""
    columns = tuple(dict.fromkeys(key for item in items for key in item))
    return Table(name, columns, [tuple(item.get(column) for column in columns) for item in items])


def _table_of_series(name: str, dates: str, series: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the series side by side, with a row for each date of any of them."""
    days = dict.fromkeys(day for values_ in series.values() for day in values_)
    return Table(name, (dates, *series), [(day, *(one.get(day) for one in series.values())) for day in days])


def _is_flat(value: Any) -> bool:
    return isinstance(value, dict) and not any(isinstance(item, list | dict) for item in value.values())


def from_value(value: Any) -> Document:
    """Return a typed JSON value as a document: a list of objects is a table."""
    if isinstance(value, list) and _are_objects(value):
        return Document((_table_of_objects("", value),))
    return Document(metadata=value)
