"""Apply a ``select`` to a document: rows by condition and date, then columns, calculations and functions of the rows.

Periods, columns and numbers of rows are applied to the cells as they are; conditions, orders, calculations, functions
and groups run as SQL over the rows (``statements`` writes it, ``sql_engine`` runs it), from which only positions and
new values are taken: a selected cell is exactly that of the answer.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results.select import explanations, resolver
from toolfold.results.select import names as names_of
from toolfold.results.select.names import ColumnLookup, DocumentNames
from toolfold.results.select.resolver import Resolved
from toolfold.results.select.rows import ChosenRows, choose_rows, key_columns
from toolfold.results.select.selection import (
    All,
    AnyOf,
    Call,
    Column,
    Comparison,
    Condition,
    IsNull,
    Item,
    Name,
    Not,
    Period,
    Selection,
    invalid_select,
    parts_of,
    top_conditions,
)
from toolfold.results.select.statements import Statements, has_aggregate, has_rows
from toolfold.results.tables import Document, Table
from toolfold.text_safety import quoted_name

_ROWS_AT_ONCE = 10_000
"""Rows between two looks at the clock."""


def evaluate(selection: Selection, document: Document, budget: WorkBudget, today: datetime.date) -> Document:
    """Return the selected part of ``document``. Metadata is left out unless a name selects it.

    With several tables and no name of one, the result has every table that has all of the selected columns.

    Args:
        selection: what is selected.
        document: the answer.
        budget: what the call may cost.
        today: the day from which ``today`` and the future count.

    Raises:
        InvalidArguments: a name does not exist, or a comparison or function does not fit the values.
        AnswerTooLarge: evaluating it would exceed the budget.
    """
    budget.check_time()
    if selection.sql:
        from toolfold.results.select import sql_query

        return sql_query.evaluate(selection.sql, document, budget)
    if not document.tables:
        return _evaluate_fields(selection, document)
    resolved = resolver.resolve(selection, document)
    selection = resolved.selection
    if resolved.fields and selection == Selection():
        return Document(metadata=resolved.fields, notes=(*document.notes, *resolved.notes))
    matching = _matching_tables(resolved, document, budget)
    parts = [_evaluate_table(selection, lookup, budget, today) for lookup in matching]
    notes = [*document.notes, *resolved.notes, *(note for _, _, part in parts for note in part)]
    joined = _join_parts(parts, resolved.fields, [lookup.table for lookup in matching])
    return Document(joined.tables, joined.metadata, tuple(dict.fromkeys(notes)))


def _matching_tables(resolved: Resolved, document: Document, budget: WorkBudget) -> list[ColumnLookup]:
    """Return the tables that have all columns of the selection, and dates where a period is selected."""
    selection, names = resolved.selection, list(_names(resolved.selection))
    lookups = [
        one for one in budget.checked(resolved.lookups) if all(one.index(name.text) is not None for name in names)
    ]
    if not lookups:
        raise invalid_select(
            "no table has all of these columns",
            names[0].offset if names else None,
            f"Select from one of them, as in from {quoted_name(document.tables[0].name)}; first 5.",  # noqa: S608
            tables=names_of.first_names(table.name for table in document.tables),
        )
    if any(_has_period(condition) for condition in top_conditions(selection.condition)):
        dated = [one for one in budget.checked(lookups) if one.date_index is not None or not one.table.rows]
        if not dated:
            listed = names_of.listed_names(lookups[0].table.columns)
            raise invalid_select("there is no column of dates here", None, f'Write e.g. "[0:5]". Columns: {listed}.')
        lookups = [one for one in dated if one.date_index is not None] or dated[:1]
    return lookups


def _names(selection: Selection) -> list[Name]:
    expressions = [
        *(item.expression for item in (*selection.items, *selection.groups)),
        *(order.expression for order in selection.order),
    ]
    names = [part.name for one in expressions for part in parts_of(one) if isinstance(part, Column)]
    for condition in top_conditions(selection.condition):
        names += _condition_names(condition)
    return names


def _condition_names(condition: Condition) -> list[Name]:
    if isinstance(condition, All | AnyOf):
        return [name for one in condition.conditions for name in _condition_names(one)]
    if isinstance(condition, Not):
        return _condition_names(condition.condition)
    if isinstance(condition, Comparison | IsNull):
        return [part.name for part in parts_of(condition.left) if isinstance(part, Column)]
    return []


def _has_period(condition: Condition) -> bool:
    if isinstance(condition, All | AnyOf):
        return any(map(_has_period, condition.conditions))
    return _has_period(condition.condition) if isinstance(condition, Not) else isinstance(condition, Period)


def _join_parts(
    parts: list[tuple[Table, dict[str, Any], list[str]]], fields: dict[str, Any], tables: Sequence[Table]
) -> Document:
    """Return one document of the parts; the metadata of several parts is listed by the tables' names."""
    by_table = {table.name: metadata for table, (_, metadata, _) in zip(tables, parts, strict=True) if metadata}
    metadata = next(iter(by_table.values())) if len(parts) == 1 and by_table else by_table
    return Document(tuple(table for table, _, _ in parts), {**fields, **metadata})


# One table


def _evaluate_table(
    selection: Selection, lookup: ColumnLookup, budget: WorkBudget, today: datetime.date
) -> tuple[Table, dict[str, Any], list[str]]:
    """Return the selected part of one table, metadata about the rows of functions, and notes."""
    if not lookup.table.rows:
        return Table(lookup.table.name, lookup.table.columns, []), {}, []
    budget.check_time(len(lookup.table.rows))
    statements = Statements(lookup, today)
    is_listed = bool(selection.groups) or selection.distinct
    chosen = choose_rows(selection, statements, budget, limited=not is_listed)
    if not chosen.positions and not chosen.matched:
        chosen.notes += explanations.no_rows(chosen, statements, budget)
    table, metadata = _calculated(selection, statements, chosen, budget)
    return table, metadata, [*statements.notes, *chosen.notes]


def _calculated(
    selection: Selection, statements: Statements, chosen: ChosenRows, budget: WorkBudget
) -> tuple[Table, dict[str, Any]]:
    selection = _grouped_by_texts(selection, statements, chosen)
    items, lookup = selection.items, statements.lookup
    excluded = {lookup.index(name.text) for name in selection.excluded}
    is_function = any(has_aggregate(item.expression) and not has_rows(item.expression) for item in items)
    if selection.groups or selection.distinct or is_function:
        from toolfold.results.select.calculations import Calculation

        calculation = Calculation(selection, statements, chosen, budget)
        if selection.groups:
            return calculation.groups(items), {}
        if is_function:
            return calculation.aggregates(items)
        return calculation.distinct(items or _all_columns(lookup, excluded)), {}
    if not items and not excluded:
        rows = lookup.table.rows
        return Table(lookup.table.name, lookup.table.columns, [rows[position] for position in chosen.positions]), {}
    items = _with_keys(items, lookup, excluded, exactly=selection.exactly) if items else _all_columns(lookup, excluded)
    if all(isinstance(item.expression, Column) for item in items):
        return _columns(items, statements, chosen, budget), {}
    from toolfold.results.select.calculations import Calculation

    return Calculation(selection, statements, chosen, budget).rows(items), {}


def _grouped_by_texts(selection: Selection, statements: Statements, chosen: ChosenRows) -> Selection:
    """Return ``type, sum(volume)`` as groups: one number beside a column of texts is that of each of them."""
    plain = [item for item in selection.items if isinstance(item.expression, Column)]
    called = [item.expression for item in selection.items if isinstance(item.expression, Call)]
    if selection.groups or not plain or len(plain) + len(called) < len(selection.items) or not called:
        return selection
    if any(not has_aggregate(one) or one.function in ("min", "max", "first", "last") for one in called):
        return selection
    keys = []
    for item in plain:
        index = statements.index(item.expression.name) if isinstance(item.expression, Column) else 0
        cells = {str(statements.table.rows[position][index]) for position in chosen.positions}
        if statements.kind(index) == "text" and len(cells) < len(chosen.positions):
            keys.append(item)
    if not keys:
        return selection
    chosen.notes.append(f"Grouped by {', '.join(quoted_name(item.text) for item in keys)}.")
    items = tuple(item for item in selection.items if item not in plain or item in keys)
    return replace(selection, items=items, groups=tuple(keys))


def _all_columns(lookup: ColumnLookup, excluded: set[int | None]) -> tuple[Item, ...]:
    return tuple(_item(lookup, index) for index in range(len(lookup.table.columns)) if index not in excluded)


def _with_keys(
    items: Sequence[Item], lookup: ColumnLookup, excluded: set[int | None], *, exactly: bool
) -> tuple[Item, ...]:
    """Return the items behind the columns that say what a row is, where these are neither listed nor left out."""
    listed = [lookup.index(one.expression.name.text) for one in items if isinstance(one.expression, Column)]
    keys = [] if exactly else [index for index in key_columns(lookup) if index not in listed and index not in excluded]
    if any(index == lookup.date_index or index in key_columns(lookup) for index in listed):
        keys = [index for index in keys if index == lookup.date_index]
    kept = [one for one in items if not isinstance(one.expression, Column)
            or lookup.index(one.expression.name.text) not in excluded]  # fmt: skip
    return (*(_item(lookup, index) for index in keys), *kept)


def _item(lookup: ColumnLookup, index: int) -> Item:
    name = lookup.table.columns[index]
    return Item(Column(Name(name, 0)), name)


def _columns(items: Sequence[Item], statements: Statements, chosen: ChosenRows, budget: WorkBudget) -> Table:
    """Return columns with the cells of the answer."""
    table = statements.table
    by_index: dict[int, str] = {}
    for item in items:
        if isinstance(item.expression, Column):
            index = statements.index(item.expression.name)
            by_index.setdefault(index, item.alias or table.columns[index])
    indexes = list(by_index)
    budget.reserve((56 + 8 * len(indexes)) * len(chosen.positions))
    cells: list[tuple[Any, ...]] = []
    for start in range(0, len(chosen.positions), _ROWS_AT_ONCE):
        budget.check_time()
        rows = [table.rows[position] for position in chosen.positions[start : start + _ROWS_AT_ONCE]]
        cells += [tuple([row[index] for index in indexes]) for row in rows]
    return Table(table.name, tuple(by_index.values()), cells)


# An answer without tables


def _evaluate_fields(selection: Selection, document: Document) -> Document:
    """Select fields of an answer without tables."""
    value = document.metadata
    is_plain = selection.condition is None and not selection.groups and not any(
        isinstance(part, Call) for item in selection.items for part in parts_of(item.expression)
    )  # fmt: skip
    known = names_of.first_names(value) if isinstance(value, dict) else []
    names = DocumentNames(document, [])
    limit = selection.row_limit
    if not isinstance(value, dict) or not is_plain or (limit is not None and limit.count != 1):
        example = ",".join(quoted_name(name) for name in known[:2]) or "name"
        problem = (
            "this answer is one object, which has no rows" if isinstance(value, dict) else "this answer has no rows"
        )
        suggestion = f"Name its fields, as in {example}, or use jmespath: and an expression."
        raise invalid_select(problem, None, suggestion, **({"columns": known} if known else {}))
    resolved = resolver.resolve(selection, document)
    if resolved.selection.items:
        item = resolved.selection.items[0]
        offset = item.expression.name.offset if isinstance(item.expression, Column) else None
        raise names.no_column(Name(item.text, offset or 0))
    excluded = {names.field(name.text) for name in selection.excluded}
    fields = resolved.fields or {key: one for key, one in value.items() if key not in excluded}
    return Document(metadata=fields, notes=(*document.notes, *resolved.notes))
