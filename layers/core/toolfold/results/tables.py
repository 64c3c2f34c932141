"""An upstream's answer as toolfold's own form: typed tables, and what stands beside them.

CSV is one table. In JSON every list of objects is a table, and so is every object whose keys are dates; where they
stand in the document names them. What is shaped holds the upstream's data cell by cell.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolfold.errors import TRY_AGAIN, UpstreamError
from toolfold.results import values


@dataclass(frozen=True)
class Table:
    """Rows of typed cells under named columns; ``name`` is the path it was found at, dotted, or empty."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]

    def column(self, name: str) -> list[Any]:
        """All cells of one column."""
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def objects(self) -> list[dict[str, Any]]:
        """The rows as objects."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Document:
    """A shaped answer: its tables, and ``rest``, the JSON value that is left without them ({}: nothing)."""

    tables: tuple[Table, ...] = ()
    rest: Any = field(default_factory=dict)


def document(body: str, kind: str, answer: Mapping[str, Any]) -> Document:
    """The answer in ``body``, which is ``json`` or ``csv``.

    Args:
        answer: what the catalog knows of it: ``kind`` ``object`` (one row is one thing) or ``names`` (key → name),
            ``csv`` (a header whose first column names the dates).

    Raises:
        UpstreamError: CSV that cannot be read.
    """
    return _from_csv(body, answer) if kind == "csv" else _from_tree(tree(body, answer), answer)


def tree(body: str, answer: Mapping[str, Any]) -> Any:
    """A JSON answer with the upstream's structure, names and cells as in :mod:`toolfold.results.values`."""
    data = json.loads(body, parse_float=values.number, parse_constant=lambda _constant: None)
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
        values.column(name, cells, header)
        for name, cells in zip(
            values.names(header), zip(*rows, strict=True) if rows else [()] * len(header), strict=True
        )
    ]
    if answer.get("kind") == "object" and len(rows) == 1:
        return Document(rest={name: cells[0] for name, cells in columns})
    table = Table("", tuple(name for name, _ in columns), list(zip(*(cells for _, cells in columns), strict=True)))
    return Document((table,))


def _typed(value: Any) -> Any:
    if isinstance(value, list):
        if _are_objects(value):
            return _typed_rows(value)
        if any(isinstance(item, list | dict) for item in value):
            return [_typed(item) for item in value]
        return values.column("", value)[1]
    if not isinstance(value, dict):
        return values.scalar("", value)[1]
    if _are_dates(value):
        return dict(zip(values.moments(list(value)) or value, _typed(list(value.values())), strict=True))
    typed = {}
    for key, item in zip(values.names(value), value.values(), strict=True):
        if isinstance(item, list | dict):
            typed[key] = _typed(item)
        else:
            name, typed_item = values.scalar(key, item, value)
            typed[name] = typed_item
    return typed


def _typed_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    typed: list[dict[str, Any]] = [{} for _ in rows]
    for key, name in zip(keys, values.names(keys), strict=True):
        having = [(into, row[key]) for into, row in zip(typed, rows, strict=True) if key in row]
        found = [cell for _, cell in having]
        if any(isinstance(cell, list | dict) for cell in found):
            called, cells = name, [_typed(cell) for cell in found]
        else:
            called, cells = values.column(name, found, keys)
        for (into, _), cell in zip(having, cells, strict=True):
            into[called] = cell
    return typed


def _are_objects(items: Sequence[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) for item in items)


def _are_dates(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(map(values.is_date, value))


def _from_tree(tree: Any, answer: Mapping[str, Any]) -> Document:
    if isinstance(tree, dict) and answer.get("kind") == "names":
        return Document((Table("", ("symbol", "name"), list(tree.items())),))
    if isinstance(tree, dict) and len(tree) == 1 and not _are_dates(tree):
        (only,) = tree.values()
        if _is_flat(only) and not _are_dates(only):
            return Document(rest=only)
    tables: list[Table] = []
    rest = _without_tables(tree, "", tables, answer)
    return Document(tuple(tables), rest)


def _without_tables(value: Any, path: str, tables: list[Table], answer: Mapping[str, Any]) -> Any:
    """What is left of ``value`` when its tables have been moved to ``tables``; ``{}`` when it was one."""
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
        left = _without_tables(item, f"{path}.{key}" if path else key, tables, answer)
        if left != {} or item == {}:
            rest[key] = left
    return rest


def _table(path: str, value: Any, answer: Mapping[str, Any]) -> Table | None:
    if isinstance(value, list):
        if _are_objects(value):
            return _of_objects(path, value)
        return Table(path, (), []) if not value and path in answer.get("rows", ()) else None
    dates = (answer.get("csv") or "date").partition(",")[0]
    if _are_dates(value):
        if all(isinstance(row, dict) and dates not in row for row in value.values()):
            return _of_objects(path, [{dates: date, **row} for date, row in value.items()])
        flat = _is_flat(value)
        return Table(path, (dates, "value"), list(value.items())) if flat else None
    if isinstance(value, dict) and value and all(_are_dates(series) and _is_flat(series) for series in value.values()):
        return _of_series(path, dates, value)
    return None


def _of_objects(name: str, items: Sequence[Mapping[str, Any]]) -> Table:
    """Rows under all keys that occur; where an object has no such key, its cell is null."""
    columns = tuple(dict.fromkeys(key for item in items for key in item))
    return Table(name, columns, [tuple(item.get(column) for column in columns) for item in items])


def _of_series(name: str, dates: str, series: Mapping[str, Mapping[str, Any]]) -> Table:
    """Series side by side, a row for each date that any of them has."""
    days = dict.fromkeys(day for values_ in series.values() for day in values_)
    return Table(name, (dates, *series), [(day, *(one.get(day) for one in series.values())) for day in days])


def _is_flat(value: Any) -> bool:
    return isinstance(value, dict) and not any(isinstance(item, list | dict) for item in value.values())


def from_value(value: Any) -> Document:
    """Any typed JSON value as a document: a list of objects is a table."""
    if isinstance(value, list) and _are_objects(value):
        return Document((_of_objects("", value),))
    return Document(rest=value)
