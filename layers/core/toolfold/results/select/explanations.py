"""Say why no row matches, and what the rows have instead."""

from __future__ import annotations

from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results.select.periods import Dates
from toolfold.results.select.rows import ChosenRows
from toolfold.results.select.selection import All, AnyOf, Column, Comparison, Condition, IsNull, Not, Period, parts_of
from toolfold.results.select.statements import Statements
from toolfold.text_safety import quoted_name

_MAX_VALUES = 8
"""Different values of a column that are all named."""

_MAX_VALUE_CHARS = 30


def no_rows(chosen: ChosenRows, statements: Statements, budget: WorkBudget) -> list[str]:
    """Return sentences that say which condition no row meets, and what the columns in it have."""
    total = len(statements.table.rows)
    name = f" of {quoted_name(statements.table.name)}" if statements.table.name else ""
    if not total:
        return [f"The answer has no rows{name}."]
    reasons = _failing_periods(chosen, statements)
    failing = [one for one in chosen.conditions if not reasons and not _matches(one, statements, budget)]
    columns = {index: None for one in failing for index in _columns(one, statements)}
    reasons += [_described(index, statements) for index in list(columns)[:3]]
    if not reasons:
        reasons = ["each condition alone matches rows, all of them together match none"]
        indexes = {index: None for one in chosen.conditions for index in _columns(one, statements)}
        reasons += [_described(index, statements) for index in list(indexes)[:3]]
        if chosen.bounds and statements.lookup.date_index is not None:
            reasons.append(_described(statements.lookup.date_index, statements))
    return [f"0 of {total:,} rows{name} match: {'; '.join(dict.fromkeys(reasons))}."]


def _failing_periods(chosen: ChosenRows, statements: Statements) -> list[str]:
    """Return what the dates are, where no row is in one of the periods."""
    index = statements.lookup.date_index
    if index is None:
        return []
    dates = statements.dates(index)
    cells = [row[index] for row in statements.table.rows if row[index] is not None]
    for _, bounds in chosen.bounds:
        if any(map(bounds.contain, cells)):
            continue
        if dates is not None and bounds.low and dates.oldest[:10] < bounds.low <= dates.newest:
            before = max((day for day in dates.distinct if day < bounds.low), default="")
            after = min((day for day in dates.distinct if day > bounds.low), default="")
            return [f"the nearest dates are {before} and {after}{_spacing(dates)}"]
        return [_described(index, statements)]
    return []


def _spacing(dates: Dates) -> str:
    """Return the usual distance of days, in brackets; nothing for times, of which a day has many."""
    return f" ({dates.spacing})" if dates.spacing and len(dates.newest) == len("2026-01-09") else ""


def _matches(condition: Condition, statements: Statements, budget: WorkBudget) -> bool:
    from toolfold.results.select.sql_engine import SqlTables

    statements.parameters = []
    where = statements.condition(condition)
    with SqlTables([statements.shadow()], budget) as tables:
        _, rows = tables.query(f"SELECT 1 FROM data WHERE {where} LIMIT 1", statements.parameters)  # noqa: S608
    return bool(rows)


def _columns(condition: Condition, statements: Statements) -> list[int]:
    """Return the columns that a condition reads."""
    if isinstance(condition, All | AnyOf):
        return [index for one in condition.conditions for index in _columns(one, statements)]
    if isinstance(condition, Not):
        return _columns(condition.condition, statements)
    if isinstance(condition, Period):
        return [] if statements.lookup.date_index is None else [statements.lookup.date_index]
    if isinstance(condition, Comparison | IsNull):
        return [statements.index(part.name) for part in parts_of(condition.left) if isinstance(part, Column)]
    return []


def _described(index: int, statements: Statements) -> str:
    """Return what a column has: ``type has call, put``, ``strike runs from 280 to 320``."""
    name = quoted_name(statements.table.columns[index])
    cells = [row[index] for row in statements.table.rows if row[index] is not None]
    if not cells:
        return f"{name} is null in all rows"
    if statements.kind(index) == "date":
        dates = statements.dates(index)
        if dates is not None:
            return f"{name} runs from {dates.oldest[:10]} to {dates.newest[:10]}{_spacing(dates)}"
    different: dict[Any, None] = {}
    for cell in cells:
        different[cell if isinstance(cell, str | int | float) else str(cell)] = None
        if len(different) > _MAX_VALUES:
            break
    if len(different) <= _MAX_VALUES:
        return f"{name} has {', '.join(quoted_name(str(value)[:_MAX_VALUE_CHARS]) for value in different)}"
    if statements.kind(index) == "number":
        return f"{name} runs from {min(cells)} to {max(cells)}"
    listed = ", ".join(quoted_name(str(value)[:_MAX_VALUE_CHARS]) for value in list(different)[:_MAX_VALUES])
    return f"{name} has {listed}, …"
