"""Find out which part of a series a ``select`` requests: its bounds on dates, how many rows, and which end of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from toolfold.results.coverage import Requested
from toolfold.results.select import resolver, sql_periods
from toolfold.results.select.periods import Bounds
from toolfold.results.select.selection import (
    AnyOf,
    Call,
    Column,
    Comparison,
    Condition,
    Period,
    Selection,
    parts_of,
    top_conditions,
)
from toolfold.results.select.statements import Statements, is_aggregate
from toolfold.results.tables import Document

_SQL_FUNCTION = re.compile(r"\b(min|max|avg|sum|count|total|group_concat|median|stddev|variance)\s*\(", re.I)
_SQL_ORDER = re.compile(r"\b(?:order|group)\s+by\b|\bdistinct\b|\bover\s*\(", re.I)


def requested_of(selection: Selection, document: Document, today: date) -> Requested:
    """Return what a ``select`` requests of the series in a document.

    Raises:
        InvalidArguments: a name does not exist in the document.
    """
    if selection.sql:
        return _requested_by_sql(selection.sql, document)
    resolved = resolver.resolve(selection, document)
    selected = resolved.selection
    bounds = [
        bound
        for lookup in resolved.lookups
        if lookup.date_index is not None
        for bound in _wanted_periods(selected.condition, Statements(lookup, today), lookup.date_index)
    ]
    limit, functions, columns = selected.row_limit, *_functions_and_columns(selected)
    is_ranked = bool(selected.order) or (limit is not None and limit.which in ("top", "bottom"))
    count = limit.count if limit is not None and not is_ranked else 0
    if selected.rows is not None and not is_ranked:
        count = max(count, selected.rows.stop or 0)
    return Requested(
        max((low for low, _ in bounds), default=""),
        min((high for _, high in bounds if high), default=""),
        row_count=0 if selected.groups or selected.distinct else count,
        is_oldest_first=not is_ranked and limit is not None and limit.which in ("first", "oldest"),
        is_summary=bool(functions) or is_ranked or bool(selected.groups) or selected.distinct,
        functions=functions,
        columns=columns,
        table="" if selection.table is None else selection.table.text,
    )


def _functions_and_columns(selection: Selection) -> tuple[frozenset[str], frozenset[str]]:
    """Return the functions of rows that a selection applies, and the columns that it names."""
    expressions = [item.expression for item in (*selection.items, *selection.groups)]
    parts = [part for one in (*expressions, *(order.expression for order in selection.order)) for part in parts_of(one)]
    return (
        frozenset(part.function for part in parts if isinstance(part, Call) and is_aggregate(part)),
        frozenset(part.name.text.lower() for part in parts if isinstance(part, Column)),
    )


def _wanted_periods(condition: Condition | None, statements: Statements, index: int) -> Iterator[tuple[str, str]]:
    """Yield the first and the last date of each period that all rows must be in."""
    for one in top_conditions(condition):
        if isinstance(one, Period):
            bounds = statements.bounds(one, index)
            yield bounds.low, "" if one.relative else bounds.high
        elif isinstance(one, AnyOf) and all(isinstance(part, Period) for part in one.conditions):
            every = [statements.bounds(part, index) for part in one.conditions if isinstance(part, Period)]
            yield (
                min(bounds.low for bounds in every),
                max((bounds.high for bounds in every), key=lambda high: high or "9"),
            )
        elif isinstance(one, Comparison) and isinstance(one.left, Column) and statements.index(one.left.name) == index:
            yield from _compared(one, statements, index)


def _compared(comparison: Comparison, statements: Statements, index: int) -> Iterator[tuple[str, str]]:
    if comparison.operator not in ("=", ">", ">=", "<", "<=", "between"):
        return
    every: list[Bounds] = [statements.date_operand(operand, index) for operand in comparison.operands]
    low = min(bounds.low for bounds in every) if comparison.operator in ("=", ">", ">=", "between") else ""
    high = max(bounds.high for bounds in every) if comparison.operator in ("=", "<", "<=", "between") else ""
    yield low, high


def _requested_by_sql(statement: str, document: Document) -> Requested:
    low, high, row_count, is_oldest_first, is_summary = sql_periods.requested_period(statement, document)
    return Requested(
        low,
        high,
        row_count=row_count,
        is_oldest_first=is_oldest_first,
        is_summary=is_summary or (not row_count and _SQL_ORDER.search(statement) is not None),
        functions=frozenset(name.lower() for name in _SQL_FUNCTION.findall(statement)),
        columns=frozenset(word.lower() for word in re.findall(r"\w+", statement)),
    )
