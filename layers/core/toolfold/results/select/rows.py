"""Choose the rows of a table: by period, by condition, in an order, and how many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from toolfold.budget import WorkBudget
from toolfold.results import values
from toolfold.results.select.names import ColumnLookup, listed_names
from toolfold.results.select.periods import Bounds
from toolfold.results.select.selection import (
    Column,
    Condition,
    Order,
    Period,
    RowLimit,
    Selection,
    invalid_select,
    top_conditions,
)
from toolfold.results.select.statements import Statements, has_aggregate
from toolfold.results.tables import positions_by_date
from toolfold.text_safety import quoted_name

_ROWS_AT_ONCE = 10_000
"""Rows between two looks at the clock: some ten milliseconds."""


@dataclass
class ChosenRows:
    """The rows that an expression selects.

    Attributes:
        positions: their positions in the table, in the order in which they are returned.
        bounds: the dates of each period that all rows must be in.
        conditions: the other conditions.
        notes: what the reader must know about the choice.
        matched: rows that meet the conditions, before their number is limited.
    """

    positions: list[int]
    bounds: list[tuple[Period, Bounds]] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    matched: int = 0


def choose_rows(
    selection: Selection, statements: Statements, budget: WorkBudget, *, limited: bool = True
) -> ChosenRows:
    """Return the rows of one table that meet the conditions, ``limited`` to the number that is wanted."""
    lookup = statements.lookup
    conditions = top_conditions(selection.condition)
    periods = [one for one in conditions if isinstance(one, Period)]
    chosen = ChosenRows([], conditions=[one for one in conditions if not isinstance(one, Period)])
    order = _row_order(selection, statements)
    budget.reserve(16 * len(statements.table.rows))
    if chosen.conditions or order:
        chosen.positions = _queried(selection, chosen.conditions, order, statements, budget)
    else:
        chosen.positions = list(range(len(statements.table.rows)))
    for period in periods:
        index = lookup.date_index
        assert index is not None  # noqa: S101 - only tables with dates come here
        bounds = statements.bounds(period, index)
        chosen.bounds.append((period, bounds))
        chosen.positions = _within(bounds, index, chosen.positions, statements, budget)
    chosen.matched = len(chosen.positions)
    if limited:
        _limit(chosen, selection, lookup, statements, is_ordered=bool(order))
    return chosen


def _row_order(selection: Selection, statements: Statements) -> list[str]:
    """Return the order as SQL, but for what sorts groups; its values are appended to the parameters later."""
    order = [one for one in selection.order if not has_aggregate(one.expression)]
    if selection.groups:
        return []
    terms = []
    if selection.row_limit is not None and selection.row_limit.which in ("top", "bottom"):
        _refuse_texts(order[:1], statements)
    for one in order:
        sql = statements.calculation(one.expression)
        terms += [f"{sql} IS NULL", f"{sql} {'DESC' if one.descending else 'ASC'}"]
    return terms


def _refuse_texts(order: Sequence[Order], statements: Statements) -> None:
    """Refuse ``largest holder``, the last of the alphabet, where there are columns of numbers.

    Raises:
        InvalidArguments: a column of texts is ranked.
    """
    for one in order:
        index = statements.index(one.expression.name) if isinstance(one.expression, Column) else None
        if index is None or statements.kind(index) != "text":
            continue
        columns = statements.table.columns
        numbers = [name for position, name in enumerate(columns) if statements.kind(position) in ("number", "digits")]
        if numbers:
            name = quoted_name(columns[index])
            form = f"top 5 by {quoted_name(numbers[0])}, or order by {name}; limit 5"
            raise invalid_select(
                f"{name} holds texts, of which none is the largest",
                one.expression.name.offset if isinstance(one.expression, Column) else None,
                f"Write {form}. Columns of numbers: {listed_names(numbers)}.",
            )


def _queried(
    selection: Selection,
    conditions: Sequence[Condition],
    order: Sequence[str],
    statements: Statements,
    budget: WorkBudget,
) -> list[int]:
    from toolfold.results.select.sql_engine import SqlTables

    statements.parameters = []
    tests = [statements.condition(condition) for condition in conditions]
    limit = selection.row_limit
    if order and limit is not None and limit.which in ("top", "bottom"):
        tests.append(f"NOT {order[0]}")
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    statement = f"SELECT rowid FROM data{where} ORDER BY {', '.join([*order, 'rowid'])}"  # noqa: S608 - no name from data
    with SqlTables([statements.shadow()], budget) as tables:
        _, rows = tables.query(statement, statements.parameters)
    return [row[0] - 1 for row in rows]


def _within(bounds: Bounds, index: int, positions: list[int], statements: Statements, budget: WorkBudget) -> list[int]:
    rows, found = statements.table.rows, []
    for start in range(0, len(positions), _ROWS_AT_ONCE):
        budget.check_time()
        for position in positions[start : start + _ROWS_AT_ONCE]:
            cell = rows[position][index]
            if cell is not None and bounds.contain(cell):
                found.append(position)
    return found


def _limit(
    chosen: ChosenRows, selection: Selection, lookup: ColumnLookup, statements: Statements, *, is_ordered: bool
) -> None:
    positions, limit = chosen.positions, selection.row_limit
    if selection.rows is not None:
        chosen.positions = positions[selection.rows.start : selection.rows.stop]
        return
    if limit is None:
        chosen.positions = positions[selection.skip :]
        return
    which, listed = _which(limit, lookup, chosen, is_ordered=is_ordered), positions[selection.skip :]
    if limit.which in ("top", "bottom") and not is_ordered and len(listed) > limit.count:
        chosen.notes += _unranked(limit, selection, statements)
    if which == "head":
        chosen.positions = listed[: limit.count]
    elif which == "tail":
        chosen.positions = listed[max(0, len(listed) - limit.count) :]
    else:
        chosen.positions = _by_date(which, limit, positions, lookup, statements, selection.skip)
        if which == "next" and positions and not chosen.positions:
            chosen.notes.append(_none_ahead(lookup, statements))
        if is_ordered and which == "newest" and _is_after_order(limit, selection, lookup):
            count = limit.count
            chosen.notes.append(f'"last {count}" took the newest rows; "limit {count}" takes the first of the order.')
        if is_ordered:
            wanted = set(chosen.positions)
            chosen.positions = [position for position in positions if position in wanted]


def _is_after_order(limit: RowLimit, selection: Selection, lookup: ColumnLookup) -> bool:
    """Return whether a number of rows is written behind an order that is not one by date."""
    first = selection.order[0].expression
    if not isinstance(first, Column):
        return True
    return limit.offset > first.name.offset and lookup.index(first.name.text) != lookup.date_index


def _unranked(limit: RowLimit, selection: Selection, statements: Statements) -> list[str]:
    """Return the note for ``top 5`` without a column, which is not that of the largest."""
    named = [statements.index(item.expression.name) for item in selection.items if isinstance(item.expression, Column)]
    indexes = [index for index in named or range(len(statements.table.columns)) if statements.kind(index) == "number"]
    if not indexes:
        return []
    name, short = quoted_name(statements.table.columns[indexes[0]]), f"{limit.which} {limit.count}"
    return [f'"{short}" took the rows as listed; "{short} by {name}" sorts them.']


def _none_ahead(lookup: ColumnLookup, statements: Statements) -> str:
    assert lookup.date_index is not None  # noqa: S101 - rows without dates are not chosen by date
    name, dates = statements.table.columns[lookup.date_index], statements.dates(lookup.date_index)
    period = "" if dates is None else f": {quoted_name(name)} runs from {dates.oldest[:10]} to {dates.newest[:10]}"
    return f"No row is of {statements.today} or later{period}."


def _which(limit: RowLimit, lookup: ColumnLookup, chosen: ChosenRows, *, is_ordered: bool) -> str:
    """Return which end of the rows is wanted: ``head``, ``tail``, or by date ``oldest``, ``newest``, ``next``."""
    which, index = limit.which, lookup.date_index
    if which in ("head", "top", "tail"):
        return which.replace("top", "head")
    if which == "bottom":
        return "head" if is_ordered else "tail"
    if index is None:
        return "tail" if which in ("last", "newest") else "head"
    if which != "first":
        return "newest" if which in ("last", "newest") else which
    if is_ordered:
        return "head"
    listed_newest_first = is_newest_first(lookup)
    if index == 0:
        if listed_newest_first:
            count = limit.count
            chosen.notes.append(
                f'"first {count}" took the oldest; "last {count}" takes the newest, "[0:{count}]" as listed.'
            )
        return "oldest"
    if listed_newest_first:
        chosen.notes.append(
            f'"first {limit.count}" took the rows as listed, newest first; "oldest {limit.count}" exists.'
        )
    return "head"


def is_newest_first(lookup: ColumnLookup) -> bool:
    """Return whether the dates of a table begin with the newest."""
    index = lookup.date_index
    dates = (
        [] if index is None else [cell for cell in lookup.table.column(lookup.table.columns[index]) if cell is not None]
    )
    return bool(dates) and dates[0] > dates[-1]


def _by_date(
    which: str, limit: RowLimit, positions: Sequence[int], lookup: ColumnLookup, statements: Statements, skip: int
) -> list[int]:
    index: int = lookup.date_index  # type: ignore[assignment]  # only with dates
    rows = [statements.table.rows[position] for position in sorted(positions)]
    ordered = sorted(positions)
    by_date = [ordered[place] for place in positions_by_date(rows, index)]
    dated = set(by_date)
    undated = [position for position in ordered if position not in dated]
    if which == "next":
        today = str(statements.today)
        by_date = [position for position in by_date if statements.table.rows[position][index][:10] >= today]
        undated = []
    ranked = (by_date[::-1] if which == "newest" else by_date) + undated
    return sorted(ranked[skip : skip + limit.count])


def key_columns(lookup: ColumnLookup) -> list[int]:
    """Return the columns that say what a row is: its date and its identifier, unless it is the same in all rows."""
    table = lookup.table
    dated, keys = lookup.date_index, []
    named = next((index for index, name in enumerate(table.columns) if name.lower() in _IDENTIFIERS), None)
    if named is not None and _varies(lookup, named):
        keys.append(named)
    if dated is not None and _varies(lookup, dated):
        keys.append(dated)
    if not keys and table.columns and _are_unique_texts(lookup):
        keys.append(0)
    return sorted(keys)


_IDENTIFIERS = {"symbol", "ticker", "contractid", "name", "isin", "cusip", "id"}
"""Names of columns that say what a row is about, in lower case."""


def _varies(lookup: ColumnLookup, index: int) -> bool:
    rows = lookup.table.rows
    return len(rows) < 2 or any(row[index] != rows[0][index] for row in rows)


def _are_unique_texts(lookup: ColumnLookup) -> bool:
    cells = [row[0] for row in lookup.table.rows]
    return all(isinstance(cell, str) and not values.is_date(cell) for cell in cells) and len(set(cells)) == len(cells)
