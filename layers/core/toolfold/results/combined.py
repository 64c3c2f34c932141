"""Combine the answers of several calls, which differ in some arguments, into one document.

Answers of one thing each (a quote, an aggregate) become a table with a row per call; series with one value become one
table side by side, a column per call; all other tables are put under each other, the differing arguments first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results import limits
from toolfold.results.tables import Document, Table
from toolfold.results.values import is_date

__all__ = ["LabelledDocument", "combine", "label_text"]

_FIELDS = "fields"
"""Name of the table of what is no table in the answers, where they have a table without a name."""


@dataclass(frozen=True)
class LabelledDocument:
    """The answer of one call.

    Attributes:
        labels: the values of the arguments in which the calls differ.
        document: the answer.
    """

    labels: tuple[Any, ...]
    document: Document


def label_text(labels: Sequence[Any]) -> str:
    """Return the differing arguments of a call as words: ``AAPL 50``."""
    return " ".join(str(label) for label in labels)


def combine(varied: Sequence[str], parts: Sequence[LabelledDocument], budget: WorkBudget) -> Document:
    """Return one document of ``parts``, without their notes.

    Args:
        varied: the names of the arguments in which the calls differ.
        parts: the answers.
        budget: what the call may cost.

    Raises:
        AnswerTooLarge: the budget is used up.
    """
    names = list(dict.fromkeys(table.name for part in parts for table in part.document.tables))
    fields = [_fields(part.document.metadata) for part in parts]
    common = (
        {}
        if not names
        else {key: value for key, value in fields[0].items() if all(_has(one, key, value) for one in fields)}
    )
    own = [{key: value for key, value in one.items() if key not in common} for one in fields]
    tables: list[Table] = []
    if any(own) or not names:
        tables.append(_table_of_fields(_FIELDS if "" in names else "", varied, parts, own, budget))
    for name in names:
        found = [(part.labels, table) for part in parts for table in part.document.tables if table.name == name]
        tables.append(_side_by_side(name, found, budget) or _stacked(name, varied, found, budget))
    metadata = {key: value for key, value in common.items() if not _repeats(key, value, varied, parts)}
    return Document(tuple(tables), metadata)


def _fields(metadata: Any) -> Mapping[str, Any]:
    if isinstance(metadata, Mapping):
        return metadata
    return {} if metadata is None else {"value": metadata}


def _has(fields: Mapping[str, Any], key: str, value: Any) -> bool:
    return key in fields and fields[key] == value


def _repeats(key: str, value: Any, varied: Sequence[str], parts: Sequence[LabelledDocument]) -> bool:
    return key in varied and all(_same(value, part.labels[varied.index(key)]) for part in parts)


def _table_of_fields(
    name: str,
    varied: Sequence[str],
    parts: Sequence[LabelledDocument],
    fields: Sequence[Mapping[str, Any]],
    budget: WorkBudget,
) -> Table:
    """Return a table with a row for each call."""
    columns = tuple(dict.fromkeys(key for one in fields for key in one))
    found = [
        (part.labels, Table(name, columns, [tuple(one.get(key) for key in columns)]))
        for part, one in zip(parts, fields, strict=True)
    ]
    return _stacked(name, varied, found, budget)


def _stacked(
    name: str, varied: Sequence[str], found: Sequence[tuple[tuple[Any, ...], Table]], budget: WorkBudget
) -> Table:
    """Return the rows of all tables under each other, the differing arguments as the first columns."""
    columns = list(dict.fromkeys(column for _, table in found for column in table.columns))
    labels: list[str] = []
    for index, argument in enumerate(varied):
        if argument in columns and all(_repeats_label(table, argument, values[index]) for values, table in found):
            columns.remove(argument)
        labels.append(f"{argument} (argument)" if argument in columns else argument)
    row_count = sum(len(table.rows) for _, table in found)
    budget.reserve(limits.rows_size(row_count, len(labels) + len(columns)))
    rows: list[tuple[Any, ...]] = []
    for values, table in found:
        indexes = [table.columns.index(column) if column in table.columns else None for column in columns]
        for row in budget.checked(table.rows):
            rows.append((*values, *(None if index is None else row[index] for index in indexes)))
    return Table(name, (*labels, *columns), rows)


def _repeats_label(table: Table, column: str, label: Any) -> bool:
    return column in table.columns and all(cell is None or _same(cell, label) for cell in table.column(column))


def _same(cell: Any, label: Any) -> bool:
    return str(cell).casefold() == str(label).casefold()


def _side_by_side(name: str, found: Sequence[tuple[tuple[Any, ...], Table]], budget: WorkBudget) -> Table | None:
    """Return series of one value each as columns of one table, or None for other tables."""
    dates, value = found[0][1].columns[:2] if len(found[0][1].columns) == 2 else ("", "")
    if not dates or any(table.columns != (dates, value) or not _is_series(table) for _, table in found):
        return None
    names = tuple(_column_name(values, value) for values, _ in found)
    if len(set(names)) < len(names):
        return None
    by_date: dict[str, list[Any]] = {}
    budget.reserve(limits.rows_size(max(len(table.rows) for _, table in found), len(found) + 1))
    for position, (_, table) in enumerate(found):
        for date, cell in budget.checked(table.rows):
            row = by_date.get(date)
            if row is None:
                if position:
                    budget.reserve(limits.rows_size(1, len(found) + 1))
                row = by_date[date] = [None] * len(found)
            row[position] = cell
    order = sorted(by_date, reverse=_is_newest_first([table for _, table in found]))
    return Table(name, (dates, *names), [(date, *by_date[date]) for date in budget.checked(order)])


def _is_series(table: Table) -> bool:
    """Return whether the first column has a date in each row, each once, of one length."""
    cells = [row[0] for row in table.rows]
    return (
        bool(cells)
        and all(isinstance(cell, str) and is_date(cell) for cell in cells)
        and len(set(cells)) == len(cells)
        and len(set(map(len, cells))) == 1
    )


def _is_newest_first(tables: Sequence[Table]) -> bool:
    longest = max(tables, key=lambda table: len(table.rows))
    return bool(longest.rows[0][0] >= longest.rows[-1][0])


def _column_name(labels: Sequence[Any], column: str) -> str:
    """Return the name of a column: words before it, numbers after it: ``AAPL close``, ``SMA 50``."""
    words = [str(label) for label in labels if isinstance(label, str)]
    numbers = [str(label) for label in labels if not isinstance(label, str)]
    return " ".join([*words, column, *numbers])
