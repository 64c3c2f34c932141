"""Make one document of the answers to several calls: rows under each other, or side by side by date or another key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from toolfold.budget import WorkBudget
from toolfold.errors import InvalidArguments
from toolfold.fuzzy import normalize
from toolfold.results import parsing, values
from toolfold.results.tables import DATE_NAMES, Document, Table
from toolfold.text_safety import quoted_name

_FIELDS = "fields"
"""Name of the table of what is no table in the answers, where ``data`` is another of their tables."""

_VALUE = "value"
"""Name of a column that says nothing: beside others it is called like its call."""

_MAX_LISTED = 20
_DAY = 10
"""Characters of an ISO 8601 day."""


class LabelledDocument(NamedTuple):
    """The answer of one call; ``labels`` are the values of the arguments in which the calls differ."""

    labels: tuple[Any, ...]
    document: Document


def stack_documents(varied: Sequence[str], parts: Sequence[LabelledDocument], budget: WorkBudget) -> Document:
    """Return one document in which the rows of all answers are under each other, the differing arguments first.

    What the answers have beside their tables is a table with a row for each call. Their notes are left out.
    """
    names = list(dict.fromkeys(table.name for part in parts for table in part.document.tables))
    metadata = [{} if part.document.metadata is None else part.document.metadata for part in parts]
    fields = [one if isinstance(one, Mapping) else {_VALUE: one} for one in metadata]
    tables: list[Table] = []
    if any(fields) or not names:
        columns = tuple(dict.fromkeys(key for one in fields for key in one))
        rows = [Table("", columns, [tuple(one.get(key) for key in columns)]) for one in fields]
        found = [(part.labels, table) for part, table in zip(parts, rows, strict=True)]
        name = "" if not names else "data" if {"", "data"}.isdisjoint(names) else _FIELDS
        tables.append(_stacked(name, varied, found, budget))
    return Document((*tables, *(_stacked(name, varied, _tables_called(name, parts), budget) for name in names)), {})


def side_by_side(parts: Sequence[LabelledDocument], budget: WorkBudget) -> Document:
    """Return the tables with dates as columns beside each other, by date: ``AAPL_close``, ``SMA_50``, ``10year``."""
    names = dict.fromkeys(table.name for part in parts for table in part.document.tables)
    tables, notes = [], list[str]()
    for name in names:
        found = [(labels, table) for labels, table in _tables_called(name, parts) if table.date_index is not None]
        if len(found) > 1:
            named = [_named_by_labels(labels, table) for labels, table in found]
            joined = _joined(name, named, [table.date_index or 0 for table in named], budget)
            tables.append(joined.tables[0])
            notes += joined.notes
    return Document(tuple(tables), notes=tuple(notes))


def join(tables: Sequence[Table], on: str, budget: WorkBudget) -> Document:
    """Return tables side by side, the rows with the same key in one row.

    Args:
        tables: at least two, with names of their own.
        on: ``date`` for the dates of each table, or the name of a column.
        budget: what it may cost.

    Returns:
        A table whose first column is the key; the others have the name of their table before theirs: ``AAPL_close``.
        Dates of different precision are compared by the days that both have. The rows are in the order of the first
        table that has them.

    Raises:
        InvalidArguments: there is one table only, or one without that column.
        AnswerTooLarge: the budget is used up.
    """
    if len(tables) < 2:
        problem = "A join needs the results of at least two calls that succeeded."
        raise InvalidArguments(problem, "Name two or more, or leave join out.")
    keys = [_key_index(table, on) for table in tables]
    named = []
    for table, key in zip(tables, keys, strict=True):
        columns = [column if index == key else f"{table.name}_{column}" for index, column in enumerate(table.columns)]
        named.append(replace(table, columns=tuple(columns)))
    return _joined("", named, keys, budget)


# Under each other


def _tables_called(name: str, parts: Sequence[LabelledDocument]) -> list[tuple[tuple[Any, ...], Table]]:
    return [(part.labels, table) for part in parts for table in part.document.tables if table.name == name]


def _stacked(
    name: str, varied: Sequence[str], found: Sequence[tuple[tuple[Any, ...], Table]], budget: WorkBudget
) -> Table:
    columns = list(dict.fromkeys(column for _, table in found for column in table.columns))
    labels: list[str] = []
    for index, argument in enumerate(varied):
        if argument in columns and all(
            argument in table.columns
            and {str(cell).casefold() for cell in table.column(argument)} <= {str(label[index]).casefold(), "none"}
            for label, table in found
        ):
            columns.remove(argument)
        labels.append(f"{argument} (argument)" if argument in columns else argument)
    row_count = sum(len(table.rows) for _, table in found)
    budget.reserve(parsing.rows_size(row_count, len(labels) + len(columns)))
    rows: list[tuple[Any, ...]] = []
    for values_of_labels, table in found:
        indexes = [table.columns.index(column) if column in table.columns else None for column in columns]
        for row in budget.checked(table.rows):
            rows.append((*values_of_labels, *(None if index is None else row[index] for index in indexes)))
    keys = dict.fromkeys([*labels, *(key for _, table in found for key in table.keys)])
    return Table(name, (*labels, *columns), rows, tuple(keys))


# Beside each other


def _named_by_labels(labels: tuple[Any, ...], table: Table) -> Table:
    """Return a table whose columns have the names of their call: AAPL_close, SMA_50, and 10year for a value."""
    words = [str(label) for label in labels if isinstance(label, str)]
    numbers = [str(label) for label in labels if not isinstance(label, str)]
    names = []
    for index, column in enumerate(table.columns):
        parts = [*words, *([] if column == _VALUE and (words or numbers) else [column]), *numbers]
        names.append(column if index == table.date_index else "_".join("_".join(parts).split()))
    return replace(table, name=" ".join(map(str, labels)), columns=values.unique_names(names), types={})


def _joined(name: str, tables: Sequence[Table], keys: Sequence[int], budget: WorkBudget) -> Document:
    """Return the table of the rows whose key all tables have, with a note on those that it leaves out."""
    cells = (row[key] for table, key in zip(tables, keys, strict=True) for row in table.rows)
    lengths = {len(cell) for cell in cells if values.is_date(cell)}
    # Of days and times the day is compared.
    length = _DAY if len(lengths) > 1 and min(lengths) == _DAY else None
    indexed: list[dict[Any, list[tuple[Any, ...]]]] = []
    for table, key in zip(tables, keys, strict=True):
        budget.reserve(parsing.rows_size(len(table.rows), len(table.columns)))
        indexed.append({})
        for row in budget.checked(table.rows):
            cell = row[key]
            if cell is not None and not isinstance(cell, list | dict):
                day = cell[:length] if length is not None and isinstance(cell, str) else cell
                indexed[-1].setdefault(day, []).append(_without(key, row))
    first, *others = indexed
    order = [value for value in budget.checked(first) if all(value in rows_of for rows_of in others)]
    listed = (column for table, key in zip(tables, keys, strict=True) for column in _without(key, table.columns))
    columns = values.unique_names([tables[0].columns[keys[0]], *listed])
    rows: list[tuple[Any, ...]] = []
    for value in budget.checked(order):
        combined: list[tuple[Any, ...]] = [(value,)]
        for rows_of in indexed:
            budget.reserve(parsing.rows_size(len(combined) * len(rows_of[value]), len(columns)))
            combined = [(*left, *right) for left in combined for right in rows_of[value]]
        rows += combined
    counts = [(len(rows_of) - len(order), table.name) for rows_of, table in zip(indexed, tables, strict=True)]
    left = ", ".join(f"{count:,} of {quoted_name(table_name)}" for count, table_name in counts if count)
    notes = (f"Rows without a partner are left out: {left}.",) if left else ()
    return Document((Table(name, columns, rows),), notes=notes)


def _without(index: int, cells: Sequence[Any]) -> tuple[Any, ...]:
    return (*cells[:index], *cells[index + 1 :])


def _key_index(table: Table, on: str) -> int:
    wanted, is_date = normalize(on), normalize(on) in DATE_NAMES
    found = next((index for index, column in enumerate(table.columns) if normalize(column) == wanted), None)
    found = table.date_index if found is None and is_date else found
    if found is None:
        listed = ", ".join(quoted_name(column) for column in table.columns[:_MAX_LISTED])
        next_step = f"Join by a column that all results have. It has: {listed}. Or select in SQL."
        what = "no column of dates" if is_date else f"no column {quoted_name(on)}"
        raise InvalidArguments(f"{quoted_name(table.name)} has {what}.", next_step)
    return found
