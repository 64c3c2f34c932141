"""Find out which part of a series a ``select`` requests: its bounds on dates, how many rows, and which end of them.

``sql_periods`` does so for SQL, ``jmespath`` for JMESPath.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from itertools import chain

from toolfold.results.coverage import Requested
from toolfold.results.select import resolver
from toolfold.results.select.names import ColumnLookup
from toolfold.results.select.periods import Dates
from toolfold.results.select.resolver import Resolved
from toolfold.results.select.rows import is_newest_first
from toolfold.results.select.selection import (
    All,
    AnyOf,
    Call,
    Column,
    Comparison,
    Condition,
    Expression,
    IsNull,
    Not,
    Period,
    Selection,
    parts_of,
    top_conditions,
)
from toolfold.results.select.statements import Statements, is_aggregate
from toolfold.results.tables import Document

_DAYS_OF_WEEK, _TRADING_DAYS = 7, 5

_NAMED_PERIOD = re.compile(r"(?:19|20)\d\d(?:-\d\d){0,2}")
"""What ``year(date)`` or ``month`` is compared with, where that is a period of dates."""


def requested_of(selection: Selection, document: Document, today: date) -> Requested:
    """Return what a ``select`` requests of the series in a document.

    Raises:
        InvalidArguments: a name does not exist in the document, or an expression cannot be parsed.
    """
    if selection.sql:
        from toolfold.results.select import sql_periods

        return sql_periods.requested_by_sql(selection.sql, document)
    if selection.jmespath:
        from toolfold.results.select import jmespath

        return jmespath.requested_by_jmespath(selection.jmespath, document)
    resolved = resolver.resolve(selection, document)
    dated = [lookup for lookup in resolved.lookups if lookup.date_index is not None]
    found = list(chain.from_iterable(_bounds(resolved.selection.condition, lookup, today) for lookup in dated))
    bounds = [one for one in found if one is not None]
    requested = _requested_rows(resolved, dated)
    if any(isinstance(one, Period) and one.relative == "first" for one in top_conditions(resolved.selection.condition)):
        requested = replace(requested, is_oldest_first=True)
    return replace(
        requested,
        low=max((low for low, _ in bounds), default=""),
        high=min((high for _, high in bounds if high), default=""),
        is_filtered=len(bounds) < len(found),
        table="" if selection.table is None else selection.table.text,
    )


def _requested_rows(resolved: Resolved, dated: list[ColumnLookup]) -> Requested:
    """Return how many rows are requested and which, and the functions and columns that are named."""
    selection = resolved.selection
    functions, columns = _functions_and_columns(selection)
    is_listed = bool(selection.groups) or selection.distinct
    order = [one for one in selection.order if not _is_date(one.expression, dated)]
    requested = Requested(
        is_summary=bool(functions - {"last"}) or bool(order) or is_listed, functions=functions, columns=columns
    )
    if is_listed or order:
        return requested
    newest_first = any(is_newest_first(lookup) for lookup in dated)
    if selection.order:
        newest_first = selection.order[0].descending
    count, from_end = _listed_rows(selection, newest_first=newest_first, dated=dated)
    return replace(requested, row_count=count, is_oldest_first=bool(count) and from_end == newest_first)


def _listed_rows(selection: Selection, *, newest_first: bool, dated: list[ColumnLookup]) -> tuple[int, bool]:
    """Return how many rows are requested, and whether they are counted from the end of the list."""
    rows, limit = selection.rows, selection.row_limit
    if rows is not None:
        return rows.needed_rows
    if limit is None or limit.which == "next":
        return 0, False
    count = limit.count + selection.skip
    if limit.which in ("last", "newest"):
        return count, not newest_first
    is_by_date = not selection.order and any(lookup.date_index == 0 for lookup in dated)
    if limit.which == "oldest" or (limit.which == "first" and is_by_date):
        return count, newest_first
    return count, limit.which in ("tail", "bottom")


def _is_date(expression: Expression, dated: list[ColumnLookup]) -> bool:
    return isinstance(expression, Column) and any(
        lookup.index(expression.name.text) == lookup.date_index for lookup in dated
    )


def _functions_and_columns(selection: Selection) -> tuple[frozenset[str], frozenset[str]]:
    """Return the functions of rows that a selection applies, and the columns that it names."""
    expressions = [
        *(item.expression for item in (*selection.items, *selection.groups)),
        *(order.expression for order in selection.order),
        *_compared_expressions(selection.condition),
    ]
    parts = [part for one in expressions for part in parts_of(one)]
    return (
        frozenset(part.function for part in parts if isinstance(part, Call) and is_aggregate(part)),
        frozenset(part.name.text.lower() for part in parts if isinstance(part, Column)),
    )


def _compared_expressions(condition: Condition | None) -> Iterator[Expression]:
    """Yield the calculations in a condition; columns alone are not what is selected."""
    pending = [] if condition is None else [condition]
    while pending:
        one = pending.pop()
        if isinstance(one, All | AnyOf):
            pending += one.conditions
        elif isinstance(one, Not):
            pending.append(one.condition)
        elif isinstance(one, Comparison | IsNull):
            operands = one.operands if isinstance(one, Comparison) else ()
            expressions = [one.left, *(operand.expression for operand in operands)]
            yield from (each for each in expressions if each is not None and not isinstance(each, Column))


def _bounds(condition: Condition | None, lookup: ColumnLookup, today: date) -> Iterator[tuple[str, str] | None]:
    """Yield the first and the last date of each period that all rows must be in; None for another condition."""
    index, statements = lookup.date_index, Statements(lookup, today)
    assert index is not None  # noqa: S101 - the caller's tables have dates
    for one in top_conditions(condition):
        if isinstance(one, Period):
            yield _period_bounds(one, statements, index)
        elif isinstance(one, AnyOf) and all(isinstance(part, Period) for part in one.conditions):
            every = [_period_bounds(part, statements, index) for part in one.conditions if isinstance(part, Period)]
            yield min(low for low, _ in every), max((high for _, high in every), key=lambda high: high or "9")
        elif isinstance(one, Comparison) and _is_of_dates(one, statements, index):
            yield _compared_bounds(one, statements, index)
        else:
            yield None


def _period_bounds(period: Period, statements: Statements, index: int) -> tuple[str, str]:
    bounds, dates = statements.bounds(period, index), statements.dates(index)
    if period.relative == "first":  # of the whole series, not of the rows that are here
        return "", ""
    if period.unit == "day" and period.relative in ("last", "last rows") and dates is not None:
        return _low_of_days(period, bounds.low, dates), ""
    return bounds.low, "" if period.relative else bounds.high


def _low_of_days(period: Period, low: str, dates: Dates) -> str:
    """Return the first of the last days with data: before the oldest row where there are fewer days than that."""
    if low != dates.distinct[0] or len(dates.distinct) >= period.count:
        return low
    days = period.count * _DAYS_OF_WEEK // _TRADING_DAYS
    return str(dates.anchor - timedelta(min(days, dates.anchor.toordinal() - 1)))


def _is_of_dates(comparison: Comparison, statements: Statements, index: int) -> bool:
    """Return whether dates are compared, or the year or month of dates with one of the calendar."""
    left = comparison.left
    if comparison.operator not in ("=", ">", ">=", "<", "<=", "between"):
        return False
    if isinstance(left, Column):
        return statements.index(left.name) == index
    return (
        isinstance(left, Call)
        and left.function in ("year", "month", "day")
        and isinstance(left.arguments[0], Column)
        and statements.index(left.arguments[0].name) == index
        and all(_NAMED_PERIOD.fullmatch(operand.text) for operand in comparison.operands)
    )


def _compared_bounds(comparison: Comparison, statements: Statements, index: int) -> tuple[str, str]:
    every = [statements.date_operand(operand, index) for operand in comparison.operands]
    low = min(bounds.low for bounds in every) if comparison.operator in ("=", ">", ">=", "between") else ""
    high = max(bounds.high for bounds in every) if comparison.operator in ("=", "<", "<=", "between") else ""
    return low, high
