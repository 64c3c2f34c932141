"""Join tables by their dates or by a column that all of them have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.errors import InvalidArguments
from toolfold.fuzzy import normalize
from toolfold.results import limits, values
from toolfold.results.tables import DATE_NAMES, Document, Table, date_column, unique_names
from toolfold.text_safety import quoted_name

__all__ = ["HOW", "join"]

HOW = ("inner", "left", "outer")
"""Which rows stay: those with a partner in every table, those of the first, or all."""

_MAX_LISTED = 20
_DAY, _MONTH = 10, 7
"""Characters of an ISO 8601 day and month."""


def join(tables: Sequence[Table], on: str, how: str, budget: WorkBudget) -> Document:
    """Return tables side by side, the rows with the same key in one row.

    Args:
        tables: at least two, with names of their own.
        on: ``date`` for the dates of each table, or the name of a column.
        how: one of :data:`HOW`.
        budget: what it may cost.

    Returns:
        A table whose first column is the key. A column that several tables have gets the name of its table before it.
        Dates of different precision are compared by the days that both have. The rows are in the order of the first
        table that has them.

    Raises:
        InvalidArguments: there is one table only, or one without that column.
        AnswerTooLarge: the budget is used up.
    """
    if len(tables) < 2:
        raise InvalidArguments(
            "A join needs the results of at least two calls that succeeded.", "Name two or more, or leave join out."
        )
    keys = [_key_index(table, on) for table in tables]
    length = _date_length(tables, keys) if _is_date_name(on) else None
    indexed = [_by_key(table, key, length, budget) for table, key in zip(tables, keys, strict=True)]
    order = _order(indexed, how, budget)
    columns = _columns(tables, keys)
    widths = [len(table.columns) - 1 for table in tables]
    rows: list[tuple[Any, ...]] = []
    for key in budget.checked(order):
        combined: list[tuple[Any, ...]] = [(key,)]
        for rows_of, width in zip(indexed, widths, strict=True):
            partners = rows_of.get(key) or [(None,) * width]
            budget.reserve(limits.rows_size(len(combined) * len(partners), len(columns)))
            combined = [(*left, *right) for left in combined for right in partners]
        rows += combined
    return Document((Table("", columns, rows),), notes=tuple(_notes(tables, indexed, order, how)))


def _is_date_name(on: str) -> bool:
    return normalize(on) in DATE_NAMES


def _key_index(table: Table, on: str) -> int:
    """Return the index of the column by which a table is joined.

    Raises:
        InvalidArguments: it has none.
    """
    wanted = normalize(on)
    for index, column in enumerate(table.columns):
        if normalize(column) == wanted:
            return index
    found = date_column(table) if _is_date_name(on) else None
    if found is None:
        what = "no column of dates" if _is_date_name(on) else f"no column {quoted_name(on)}"
        listed = ", ".join(quoted_name(column) for column in table.columns[:_MAX_LISTED])
        raise InvalidArguments(
            f"{quoted_name(table.name)} has {what}.", f"Join by a column that all results have. It has: {listed}."
        )
    return found


def _date_length(tables: Sequence[Table], keys: Sequence[int]) -> int | None:
    """Return how many characters of dates are compared: of days and times the day; None: all."""
    lengths = {
        len(row[key]) for table, key in zip(tables, keys, strict=True) for row in table.rows if values.is_date(row[key])
    }
    return _DAY if len(lengths) > 1 and min(lengths, default=0) == _DAY else None


def _by_key(table: Table, key: int, length: int | None, budget: WorkBudget) -> dict[Any, list[tuple[Any, ...]]]:
    budget.reserve(limits.rows_size(len(table.rows), len(table.columns)))
    found: dict[Any, list[tuple[Any, ...]]] = {}
    for row in budget.checked(table.rows):
        cell = row[key]
        if cell is None or isinstance(cell, list | dict):
            continue
        name = cell[:length] if length is not None and isinstance(cell, str) else cell
        found.setdefault(name, []).append((*row[:key], *row[key + 1 :]))
    return found


def _order(indexed: Sequence[dict[Any, Any]], how: str, budget: WorkBudget) -> list[Any]:
    """Return the keys of the result."""
    if how == "inner":
        return [key for key in budget.checked(indexed[0]) if all(key in rows_of for rows_of in indexed[1:])]
    keys = dict.fromkeys(indexed[0])
    if how == "outer":
        for rows_of in indexed[1:]:
            keys.update(dict.fromkeys(budget.checked(rows_of)))
        if all(values.is_date(key) for key in keys):
            first = list(indexed[0])
            return sorted(keys, reverse=len(first) > 1 and first[0] > first[-1])
    return list(keys)


def _columns(tables: Sequence[Table], keys: Sequence[int]) -> tuple[str, ...]:
    """Return the names of the result's columns."""
    others = [
        [(table.name, column) for index, column in enumerate(table.columns) if index != key]
        for table, key in zip(tables, keys, strict=True)
    ]
    count: dict[str, int] = {}
    for listed in others:
        for _, column in listed:
            count[column.lower()] = count.get(column.lower(), 0) + 1
    first = tables[0].columns[keys[0]]
    names = [
        f"{name}_{column}" if count[column.lower()] > 1 or column.lower() == first.lower() else column
        for listed in others
        for name, column in listed
    ]
    return unique_names([first, *names])


def _notes(tables: Sequence[Table], indexed: Sequence[dict[Any, Any]], order: Sequence[Any], how: str) -> list[str]:
    """Return what was left out, and why nothing was found."""
    if order or how != "inner":
        known = set(order)
        left = [
            f"{len(rows_of) - len(known.intersection(rows_of)):,} of {quoted_name(table.name)}"
            for table, rows_of in zip(tables, indexed, strict=True)
            if len(rows_of) > len(known.intersection(rows_of))
        ]
        return [f"Rows without a partner are left out: {', '.join(left)}."] if left else []
    ranges = [
        f"{quoted_name(table.name)} from {min(map(str, rows_of))[:40]} to {max(map(str, rows_of))[:40]}"
        for table, rows_of in zip(tables, indexed, strict=True)
        if rows_of
    ]
    return [f"No row has a partner in every result: {', '.join(ranges)}."]
