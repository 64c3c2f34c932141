"""Doing what a ``select`` asks for: rows by condition and date, columns, numbers about them.

``first`` and ``last`` go by the first column of dates, whichever way the upstream lists its rows; among equal dates the
order of the list decides. A null meets no condition but ``=null``, and counts in no function.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolfold.errors import InvalidArguments
from toolfold.fuzzy import closest_matches, normalize
from toolfold.results import values
from toolfold.results.columns import as_number, as_text, by_date, dates_of, index_of
from toolfold.results.select.aggregates import aggregated
from toolfold.results.select.parser import Condition, Name, RowLimit, Selection, refused
from toolfold.results.tables import Document, Table

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NULLS = {"null", "none"}
_SHOWN = 60
"""Columns named in an error: all of any statement."""


def evaluate(selection: Selection, document: Document) -> Document:
    """The selected part of ``document``. What stands beside the tables is left out unless it is asked for by name.

    With several tables and no ``from``, every table that has all the columns asked for is answered from.

    Raises:
        InvalidArguments: a name that is not there, or a comparison or function that its values do not allow.
    """
    if not document.tables:
        return _fields(selection, document.rest)
    tables = document.tables if selection.table is None else (_named(document, selection.table),)
    beside = document.rest if isinstance(document.rest, dict) else {}
    asked = _whole_names(selection.columns, tables)
    columns, kept = _split(asked, tables, beside)
    if kept and not columns and selection == Selection(columns=selection.columns):
        return Document(rest=kept)
    for name in (*columns, *selection.names):
        if not _known(name, tables):
            raise _no_column(name, tables, beside)
    able = [table for table in tables if _has(table, (*columns, *selection.names))]
    if not able:
        name = (*columns, *selection.names)[0]
        raise refused("no table has all of these columns; ask for one table with from", name.at, tables=_listed(tables))
    if selection.dates and not (able := [table for table in able if dates_of(table) is not None]):
        raise refused("there is no column of dates here", None, f"Columns: {', '.join(tables[0].columns[:_SHOWN])}.")
    return _joined([_rows(selection, columns, table) for table in able], kept, able)


def _joined(parts: list[tuple[Table, dict[str, Any]]], kept: dict[str, Any], able: list[Table]) -> Document:
    abouts = {table.name: about for table, (_, about) in zip(able, parts, strict=True) if about}
    about = next(iter(abouts.values())) if len(parts) == 1 and abouts else abouts
    return Document(tuple(table for table, _ in parts), {**kept, **about})


def _whole_names(names: Sequence[Name], tables: Sequence[Table]) -> list[Name]:
    """The names, where words without a comma between them are one column's name joined: ``adjusted close``."""
    whole: list[Name] = []
    for name in names:
        before = whole[-1] if whole else None
        if before is not None and not _known(before, tables) and name.at == before.at + len(before.text) + 1:
            joined = Name(f"{before.text} {name.text}", before.at)
            if _known(joined, tables):
                whole[-1] = joined
                continue
        whole.append(name)
    return whole


def _known(name: Name, tables: Sequence[Table]) -> bool:
    return any(index_of(table, name.text) is not None for table in tables)


def _fields(selection: Selection, rest: Any) -> Document:
    if selection != Selection(columns=selection.columns) or not isinstance(rest, dict):
        raise refused(
            "this answer has no rows",
            None,
            f"Name its fields, as in {_example(rest)}, or use jmespath: and an expression.",
            **({"columns": list(rest)[:_SHOWN]} if isinstance(rest, dict) else {}),
        )
    return Document(rest=_split(selection.columns, (), rest, strict=True)[1])


def _example(rest: Any) -> str:
    return ",".join(list(rest)[:2]) if isinstance(rest, dict) else "name"


def _split(
    columns: Sequence[Name], tables: Sequence[Table], beside: Mapping[str, Any], strict: bool = False
) -> tuple[tuple[Name, ...], dict[str, Any]]:
    """Which names are columns, and the values of those that stand beside the tables."""
    fields = {normalize(key): key for key in reversed(list(beside))}
    of_tables, kept = [], {}
    for name in columns:
        field = name.text if name.text in beside else fields.get(normalize(name.text))
        if field is not None and not _known(name, tables):
            kept[field] = beside[field]
        elif strict:
            raise _no_column(name, tables, beside)
        else:
            of_tables.append(name)
    return tuple(of_tables), kept


# Names


def _has(table: Table, names: Sequence[Name]) -> bool:
    return all(index_of(table, name.text) is not None for name in names)


def _named(document: Document, name: Name) -> Table:
    wanted = normalize(name.text)
    for whole in (True, False):
        for table in document.tables:
            if normalize(table.name if whole else table.name.rpartition(".")[2]) == wanted:
                return table
    raise refused(f"there is no table {name.text[:40]!r}", name.at, f"Tables: {', '.join(_listed(document.tables))}.")


def _listed(tables: Sequence[Table]) -> list[str]:
    return [table.name for table in tables]


def _no_column(name: Name, tables: Sequence[Table], beside: Mapping[str, Any]) -> InvalidArguments:
    there = list(dict.fromkeys([column for table in tables for column in table.columns] + list(beside)))
    meant = "".join(f"Did you mean {column}? " for column in closest_matches(name.text, there))
    listed = ", ".join(there[:_SHOWN])
    return refused(f"there is no column {name.text[:40]!r}", name.at, f"{meant}Columns: {listed}.")


def _at(table: Table, name: Name) -> int:
    return index_of(table, name.text)  # type: ignore[return-value]  # only tables that have every name are worked on


# Rows


def _rows(selection: Selection, columns: Sequence[Name], table: Table) -> tuple[Table, dict[str, Any]]:
    dates = dates_of(table)
    rows: list[Sequence[Any]] = list(table.rows)
    for condition in selection.conditions:
        rows = _meeting(condition, table, rows)
    for low, high in selection.dates:
        at: int = dates  # type: ignore[assignment]  # only tables that have dates are worked on
        rows = [row for row in rows if row[at] is not None and _within(row[at], low, high)]
    if selection.take is not None:
        rows = _taken(selection.take, table, rows, dates)
    if selection.aggregates:
        return aggregated(selection.aggregates, table, rows, dates)
    if not columns:
        return Table(table.name, table.columns, rows), {}
    wanted = list(dict.fromkeys(_at(table, name) for name in columns))
    picked = [tuple(row[index] for index in wanted) for row in rows]
    return Table(table.name, tuple(table.columns[index] for index in wanted), picked), {}


def _within(date: str, low: str, high: str) -> bool:
    """Both ends included, each as exact as it is written: 2024-03 is the whole month."""
    return date >= low and (not high or date[: len(high)] <= high)


def _meeting(condition: Condition, table: Table, rows: list[Sequence[Any]]) -> list[Sequence[Any]]:
    index = _at(table, condition.column)
    if condition.value.lower() in _NULLS and condition.operator in ("=", "!="):
        wanted = condition.operator == "="
        return [row for row in rows if (row[index] is None) is wanted]
    present = [row for row in rows if row[index] is not None]
    if condition.operator == "~":
        needle = condition.value.lower()
        return [row for row in present if needle in as_text(row[index]).lower()]
    holds = _test(condition, [row[index] for row in present])
    return [row for row in present if holds(row[index])]


def _test(condition: Condition, cells: Sequence[Any]) -> Callable[[Any], bool]:
    """What a cell must pass: compared as a number where all cells are numbers, as a date, or as text."""
    alternatives = condition.value.split("|") if condition.operator in ("=", "!=") else [condition.value]
    compare = _COMPARE["=" if condition.operator == "!=" else condition.operator]
    numbers = [as_number(alternative.strip().removesuffix("%")) for alternative in alternatives]
    if all(as_number(cell) is not None for cell in cells) and None not in numbers:
        return _any(condition, lambda cell: any(compare(as_number(cell), number) for number in numbers))
    if any(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells):
        problem = f"{condition.column.text} holds numbers, and {condition.value[:40]!r} is none"
        raise refused(problem, condition.column.at)
    wanted = [alternative.strip().lower() for alternative in alternatives]
    if all(map(values.is_date, cells)):
        wanted = [text.upper().replace(" ", "T") for text in wanted]
        return _any(condition, lambda cell: any(compare(cell[: len(text)], text) for text in wanted))
    return _any(condition, lambda cell: any(compare(as_text(cell).lower(), text) for text in wanted))


def _any(condition: Condition, holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return (lambda cell: not holds(cell)) if condition.operator == "!=" else holds


def _taken(take: RowLimit, table: Table, rows: list[Sequence[Any]], dates: int | None) -> list[Sequence[Any]]:
    if take.by is not None:
        index = _at(table, take.by)
        present = [row for row in rows if row[index] is not None]
        ranks = [as_number(row[index]) for row in present]
        keys: list[Any] = [as_text(row[index]) for row in present] if None in ranks else ranks
        order = sorted(range(len(present)), key=keys.__getitem__, reverse=take.which == "top")
        return [present[at] for at in order[: take.count]]
    if dates is None or take.which == "limit":
        return rows[: take.count] if take.which in ("first", "limit") else rows[max(0, len(rows) - take.count) :]
    order = by_date(rows, dates)
    without = [at for at in range(len(rows)) if rows[at][dates] is None]
    ranked = (order if take.which == "first" else order[::-1]) + without
    return [rows[at] for at in sorted(ranked[: take.count])]
