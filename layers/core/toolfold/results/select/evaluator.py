"""Apply a ``select`` to a document: rows by condition and date, columns, and functions of the rows.

``first`` and ``last`` go by the first date column, regardless of how the upstream orders its rows; among equal dates
the order of the table decides. A null meets no condition except ``=null``, and functions ignore it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.errors import InvalidArguments
from toolfold.fuzzy import closest_matches, normalize
from toolfold.results import values
from toolfold.results.columns import as_number, as_text, column_index, date_column, positions_by_date
from toolfold.results.select.aggregates import aggregate_rows
from toolfold.results.select.parser import Condition, Name, RowLimit, Selection, invalid_select
from toolfold.results.tables import Document, Table

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NULLS = {"null", "none"}
_MAX_LISTED = 60
"""Columns named in an error: all of any financial statement."""


def evaluate(selection: Selection, document: Document, budget: WorkBudget) -> Document:
    """Return the selected part of ``document``. Metadata is left out unless a name selects it.

    With several tables and no ``from``, the result has every table that has all of the selected columns.

    Raises:
        InvalidArguments: a name does not exist, or a comparison or function does not fit the values.
        AnswerTooLarge: evaluating it would exceed the budget.
    """
    budget.check_time()
    if not document.tables:
        return _evaluate_fields(selection, document.metadata)
    tables = document.tables if selection.table is None else (_find_table(document, selection.table),)
    metadata = document.metadata if isinstance(document.metadata, dict) else {}
    names = _join_words(selection.columns, tables)
    columns, fields = _split_columns_and_fields(names, tables, metadata)
    if fields and not columns and selection == Selection(columns=selection.columns):
        return Document(metadata=fields)
    required = (*columns, *selection.names)
    for name in required:
        if not _exists(name, tables):
            raise _no_column(name, tables, metadata)
    matching = [table for table in tables if _has_columns(table, required)]
    if not matching:
        raise invalid_select(
            "no table has all of these columns; ask for one table with from",
            required[0].offset,
            tables=_table_names(tables),
        )
    if selection.dates:
        matching = [table for table in matching if date_column(table) is not None]
        if not matching:
            listed = ", ".join(tables[0].columns[:_MAX_LISTED])
            raise invalid_select("there is no column of dates here", None, f"Columns: {listed}.")
    parts = [_evaluate_table(selection, columns, table) for table in matching]
    return _join_parts(parts, fields, matching)


def _join_parts(parts: list[tuple[Table, dict[str, Any]]], fields: dict[str, Any], tables: Sequence[Table]) -> Document:
    """Return one document of the parts; the metadata of several parts is listed by the tables' names."""
    by_table = {table.name: metadata for table, (_, metadata) in zip(tables, parts, strict=True) if metadata}
    metadata = next(iter(by_table.values())) if len(parts) == 1 and by_table else by_table
    return Document(tuple(table for table, _ in parts), {**fields, **metadata})


def _join_words(names: Sequence[Name], tables: Sequence[Table]) -> list[Name]:
    """Join words that are one column's name when there is no comma between them: ``adjusted close``."""
    joined: list[Name] = []
    for name in names:
        previous = joined[-1] if joined else None
        if (
            previous is not None
            and not _exists(previous, tables)
            and name.offset == previous.offset + len(previous.text) + 1
        ):
            candidate = Name(f"{previous.text} {name.text}", previous.offset)
            if _exists(candidate, tables):
                joined[-1] = candidate
                continue
        joined.append(name)
    return joined


def _exists(name: Name, tables: Sequence[Table]) -> bool:
    return any(column_index(table, name.text) is not None for table in tables)


def _evaluate_fields(selection: Selection, value: Any) -> Document:
    """Select fields of an answer without tables."""
    if selection != Selection(columns=selection.columns) or not isinstance(value, dict):
        example = ",".join(list(value)[:2]) if isinstance(value, dict) else "name"
        raise invalid_select(
            "this answer has no rows",
            None,
            f"Name its fields, as in {example}, or use jmespath: and an expression.",
            **({"columns": list(value)[:_MAX_LISTED]} if isinstance(value, dict) else {}),
        )
    not_fields, fields = _split_columns_and_fields(selection.columns, (), value)
    if not_fields:
        raise _no_column(not_fields[0], (), value)
    return Document(metadata=fields)


def _split_columns_and_fields(
    names: Sequence[Name], tables: Sequence[Table], metadata: Mapping[str, Any]
) -> tuple[tuple[Name, ...], dict[str, Any]]:
    """Return the names that are not fields of the metadata, and the fields with their values."""
    by_normalized = {normalize(key): key for key in reversed(list(metadata))}
    columns, fields = [], {}
    for name in names:
        field = name.text if name.text in metadata else by_normalized.get(normalize(name.text))
        if field is not None and not _exists(name, tables):
            fields[field] = metadata[field]
        else:
            columns.append(name)
    return tuple(columns), fields


# Names


def _has_columns(table: Table, names: Sequence[Name]) -> bool:
    return all(column_index(table, name.text) is not None for name in names)


def _find_table(document: Document, name: Name) -> Table:
    """Return the table called ``name``: by its whole path first, then by its last part."""
    normalized = normalize(name.text)
    for whole in (True, False):
        for table in document.tables:
            if normalize(table.name if whole else table.name.rpartition(".")[2]) == normalized:
                return table
    listed = ", ".join(_table_names(document.tables))
    raise invalid_select(f"there is no table {name.text[:40]!r}", name.offset, f"Tables: {listed}.")


def _table_names(tables: Sequence[Table]) -> list[str]:
    return [table.name for table in tables]


def _no_column(name: Name, tables: Sequence[Table], metadata: Mapping[str, Any]) -> InvalidArguments:
    known = list(dict.fromkeys([column for table in tables for column in table.columns] + list(metadata)))
    closest = "".join(f"Did you mean {column}? " for column in closest_matches(name.text, known))
    listed = ", ".join(known[:_MAX_LISTED])
    return invalid_select(f"there is no column {name.text[:40]!r}", name.offset, f"{closest}Columns: {listed}.")


def _index(table: Table, name: Name) -> int:
    return column_index(table, name.text)  # type: ignore[return-value]  # called for tables that have every name


# Rows


def _evaluate_table(selection: Selection, columns: Sequence[Name], table: Table) -> tuple[Table, dict[str, Any]]:
    """Return the selected part of one table, and metadata about the rows that functions were applied to."""
    date_index = date_column(table)
    rows: list[Sequence[Any]] = list(table.rows)
    for condition in selection.conditions:
        rows = _filter_rows(condition, table, rows)
    if date_index is not None:  # with dates to select, only tables that have some come here
        for low, high in selection.dates:
            rows = [row for row in rows if row[date_index] is not None and _is_within(row[date_index], low, high)]
    if selection.row_limit is not None:
        rows = _limit_rows(selection.row_limit, table, rows, date_index)
    if selection.aggregates:
        return aggregate_rows(selection.aggregates, table, rows, date_index)
    if not columns:
        return Table(table.name, table.columns, rows), {}
    indexes = list(dict.fromkeys(_index(table, name) for name in columns))
    cells = [tuple(row[index] for index in indexes) for row in rows]
    return Table(table.name, tuple(table.columns[index] for index in indexes), cells), {}


def _is_within(date: str, low: str, high: str) -> bool:
    """Return whether a date is in a range, ends included, each as precise as written: 2024-03 is the whole month."""
    return date >= low and (not high or date[: len(high)] <= high)


def _filter_rows(condition: Condition, table: Table, rows: list[Sequence[Any]]) -> list[Sequence[Any]]:
    index = _index(table, condition.column)
    if condition.value.lower() in _NULLS and condition.operator in ("=", "!="):
        select_nulls = condition.operator == "="
        return [row for row in rows if (row[index] is None) is select_nulls]
    present = [row for row in rows if row[index] is not None]
    if condition.operator == "~":
        substring = condition.value.lower()
        return [row for row in present if substring in as_text(row[index]).lower()]
    is_met = _make_test(condition, [row[index] for row in present])
    return [row for row in present if is_met(row[index])]


def _make_test(condition: Condition, cells: Sequence[Any]) -> Callable[[Any], bool]:
    """Return the test of a cell: as a number where all cells are numbers, as a date, or as text."""
    alternatives = condition.value.split("|") if condition.operator in ("=", "!=") else [condition.value]
    compare = _COMPARISONS["=" if condition.operator == "!=" else condition.operator]
    numbers = [as_number(alternative.strip().removesuffix("%")) for alternative in alternatives]
    if all(as_number(cell) is not None for cell in cells) and None not in numbers:
        return _negate_if_unequal(condition, lambda cell: any(compare(as_number(cell), number) for number in numbers))
    if any(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells):
        problem = f"{condition.column.text} holds numbers, and {condition.value[:40]!r} is none"
        raise invalid_select(problem, condition.column.offset)
    texts = [alternative.strip().lower() for alternative in alternatives]
    if all(map(values.is_date, cells)):
        dates = [text.upper().replace(" ", "T") for text in texts]
        return _negate_if_unequal(condition, lambda cell: any(compare(cell[: len(date)], date) for date in dates))
    return _negate_if_unequal(condition, lambda cell: any(compare(as_text(cell).lower(), text) for text in texts))


def _negate_if_unequal(condition: Condition, test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return (lambda cell: not test(cell)) if condition.operator == "!=" else test


def _limit_rows(
    limit: RowLimit, table: Table, rows: list[Sequence[Any]], date_index: int | None
) -> list[Sequence[Any]]:
    if limit.by is not None:
        index = _index(table, limit.by)
        present = [row for row in rows if row[index] is not None]
        numbers = [as_number(row[index]) for row in present]
        keys: list[Any] = [as_text(row[index]) for row in present] if None in numbers else numbers
        order = sorted(range(len(present)), key=keys.__getitem__, reverse=limit.which == "top")
        return [present[position] for position in order[: limit.count]]
    if date_index is None or limit.which == "limit":
        return rows[: limit.count] if limit.which in ("first", "limit") else rows[max(0, len(rows) - limit.count) :]
    dated = positions_by_date(rows, date_index)
    undated = [position for position, row in enumerate(rows) if row[date_index] is None]
    ranked = (dated if limit.which == "first" else dated[::-1]) + undated
    return [rows[position] for position in sorted(ranked[: limit.count])]
