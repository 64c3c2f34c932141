"""Apply a ``select`` to a document: rows by condition and date, columns, and functions of the rows.

``first`` and ``last`` go by the first date column, regardless of how the upstream orders its rows; among equal dates
the order of the table decides. A null meets no condition except ``=null``, and functions ignore it.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results.columns import as_number, as_text, positions_by_date
from toolfold.results.select import names as names_of
from toolfold.results.select.aggregates import aggregate_rows
from toolfold.results.select.conditions import NUMBER_BYTES, Rows, chunks, filter_dates, filter_rows
from toolfold.results.select.names import ColumnLookup, TableLookup
from toolfold.results.select.parser import Name, RowLimit, Selection, invalid_select
from toolfold.results.tables import Document, Table
from toolfold.text_safety import quoted_name


def evaluate(selection: Selection, document: Document, budget: WorkBudget) -> Document:
    """Return the selected part of ``document``. Metadata is left out unless a name selects it.

    With several tables and no ``from``, the result has every table that has all of the selected columns.

    Raises:
        InvalidArguments: a name does not exist, or a comparison or function does not fit the values.
        AnswerTooLarge: evaluating it would exceed the budget.
    """
    budget.check_time()
    if selection.sql:
        from toolfold.results.select import sql_query

        return sql_query.evaluate(selection.sql, document, budget)
    if not document.tables:
        return _evaluate_fields(selection, document.metadata)
    tables = document.tables if selection.table is None else (names_of.find_table(document, selection.table),)
    lookups = [ColumnLookup(table) for table in budget.checked(tables)]
    metadata = document.metadata if isinstance(document.metadata, dict) else {}
    lookup = TableLookup(lookups)
    names = names_of.join_words(selection.columns, lookup)
    columns, fields = names_of.split_columns_and_fields(names, lookup, metadata)
    if fields and not columns and selection == Selection(columns=selection.columns):
        return Document(metadata=fields)
    required = (*columns, *selection.names)
    for name in required:
        budget.check_time()
        if not lookup.exists(name):
            raise names_of.no_column(name, lookup, metadata)
    matching = [one for one in budget.checked(lookups) if names_of.has_columns(one, required)]
    if not matching:
        raise invalid_select(
            "no table has all of these columns; ask for one table with from",
            required[0].offset,
            tables=names_of.first_names(table.name for table in tables),
        )
    if selection.dates:
        matching = [one for one in budget.checked(matching) if one.date_index is not None]
        if not matching:
            listed = names_of.listed_names(tables[0].columns)
            raise invalid_select("there is no column of dates here", None, f"Columns: {listed}.")
    parts = [_evaluate_table(selection, columns, one, budget) for one in matching]
    return _join_parts(parts, fields, [one.table for one in matching])


def _join_parts(parts: list[tuple[Table, dict[str, Any]]], fields: dict[str, Any], tables: Sequence[Table]) -> Document:
    """Return one document of the parts; the metadata of several parts is listed by the tables' names."""
    by_table = {table.name: metadata for table, (_, metadata) in zip(tables, parts, strict=True) if metadata}
    metadata = next(iter(by_table.values())) if len(parts) == 1 and by_table else by_table
    return Document(tuple(table for table, _ in parts), {**fields, **metadata})


def _evaluate_fields(selection: Selection, value: Any) -> Document:
    """Select fields of an answer without tables."""
    if selection != Selection(columns=selection.columns) or not isinstance(value, dict):
        known = names_of.first_names(value) if isinstance(value, dict) else []
        example = ",".join(quoted_name(name) for name in known[:2]) or "name"
        raise invalid_select(
            "this answer has no rows",
            None,
            f"Name its fields, as in {example}, or use jmespath: and an expression.",
            **({"columns": known} if isinstance(value, dict) else {}),
        )
    not_fields, fields = names_of.split_columns_and_fields(selection.columns, TableLookup(()), value)
    if not_fields:
        raise names_of.no_column(not_fields[0], TableLookup(()), value)
    return Document(metadata=fields)


def _index(lookup: ColumnLookup, name: Name) -> int:
    return lookup.index(name.text)  # type: ignore[return-value]  # called for tables that have every name


# Rows


def _evaluate_table(
    selection: Selection, columns: Sequence[Name], lookup: ColumnLookup, budget: WorkBudget
) -> tuple[Table, dict[str, Any]]:
    """Return the selected part of one table, and metadata about the rows that functions were applied to."""
    table, date_index = lookup.table, lookup.date_index
    budget.reserve(16 * len(table.rows))
    rows: Rows = list(table.rows)
    for condition in selection.conditions:
        rows = filter_rows(condition, _index(lookup, condition.column), rows, budget)
    if date_index is not None:  # with dates to select, only tables that have some come here
        rows = filter_dates(selection.dates, date_index, rows, budget)
    if selection.row_limit is not None:
        rows = _limit_rows(selection.row_limit, lookup, rows, budget)
    if selection.aggregates:
        return aggregate_rows(selection.aggregates, lookup, rows, budget)
    if not columns:
        return Table(table.name, table.columns, rows), {}
    indexes = list(dict.fromkeys(_index(lookup, name) for name in columns))
    budget.reserve((56 + 8 * len(indexes)) * len(rows))
    cells = [tuple(row[index] for index in indexes) for part in chunks(rows, budget) for row in part]
    return Table(table.name, tuple(table.columns[index] for index in indexes), cells), {}


def _limit_rows(limit: RowLimit, lookup: ColumnLookup, rows: Rows, budget: WorkBudget) -> Rows:
    if limit.by is not None:
        return _largest(limit, _index(lookup, limit.by), rows, budget)
    date_index = lookup.date_index
    if date_index is None or limit.which == "limit":
        return rows[: limit.count] if limit.which in ("first", "limit") else rows[max(0, len(rows) - limit.count) :]
    budget.check_time()
    dated = positions_by_date(rows, date_index)
    undated = [position for position, row in enumerate(rows) if row[date_index] is None]
    ranked = (dated if limit.which == "first" else dated[::-1]) + undated
    return [rows[position] for position in sorted(ranked[: limit.count])]


def _largest(limit: RowLimit, index: int, rows: Rows, budget: WorkBudget) -> Rows:
    """Return the rows with the largest or smallest cells, sorted; equal ones in the order of the table."""
    size = (NUMBER_BYTES + 16) * len(rows)
    budget.reserve(size)
    present = [row for part in chunks(rows, budget) for row in part if row[index] is not None]
    numbers = [as_number(row[index]) for part in chunks(present, budget) for row in part]
    keys: list[Any] = [as_text(row[index]) for row in present] if None in numbers else numbers
    largest = heapq.nlargest if limit.which == "top" else heapq.nsmallest
    positions = largest(limit.count, range(len(present)), key=keys.__getitem__)
    budget.release(size)
    return [present[position] for position in positions]
