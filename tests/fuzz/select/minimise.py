"""Shorten a case while it still disagrees in the same way."""

import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tests.fuzz.select import pipeline as p
from tests.fuzz.select.pipeline import Case, Expression
from tests.fuzz.select.table import Table

MAX_S = 4.0
"""Seconds after which the shortest case so far is good enough."""


def minimise(case: Case, fails: Callable[[Case], bool], max_s: float = MAX_S) -> Case:
    """Return a case like ``case`` for which ``fails`` is still true, with as little in it as can be found."""
    end = time.monotonic() + max_s
    progressed = True
    while progressed and time.monotonic() < end:
        progressed = False
        for shorter in _shorter(case):
            if time.monotonic() >= end:
                break
            if shorter != case and _is_well_formed(shorter) and fails(shorter):
                case, progressed = shorter, True
                break
    return case


def _is_well_formed(case: Case) -> bool:
    """Return whether a case is one that the generator could make: the reference has no others."""
    return all(table.columns for table in case.tables) and all(_fits(step.action) for step in case.steps)


def _fits(action: Any) -> bool:
    if isinstance(action, p.Condition):
        return _is_truth(action.expression)
    if isinstance(action, p.Columns):
        return not any(_is_aggregate(item.expression) or _is_truth(item.expression) for item in action.items)
    if isinstance(action, p.Summary):
        return all(_is_aggregate(item.expression) or isinstance(item.expression, p.Neighbour) for item in action.items)
    if isinstance(action, p.Sql):
        return action.where is None or _is_truth(action.where)
    return True


def _is_truth(expression: Any) -> bool:
    if isinstance(expression, p.Logic):
        return all(map(_is_truth, expression.operands))
    if isinstance(expression, p.Not):
        return _is_truth(expression.operand)
    return isinstance(expression, p.Compare | p.Between | p.Among | p.Matches | p.IsNull)


def _is_aggregate(expression: Any) -> bool:
    """Return whether an expression is one of aggregates and numbers, with one aggregate at least."""
    if isinstance(expression, p.Arithmetic):
        sides = (expression.left, expression.right)
        return any(map(_is_aggregate, sides)) and all(_is_aggregate(s) or isinstance(s, p.Number) for s in sides)
    return isinstance(expression, p.Aggregate) and not isinstance(expression.operand, p.Aggregate)


def _shorter(case: Case) -> Iterator[Case]:
    for index in range(len(case.steps)):
        yield replace(case, steps=(*case.steps[:index], *case.steps[index + 1 :]))
    yield replace(case, is_list=False)
    yield replace(case, route="cells")
    for at, table in enumerate(case.tables):
        for smaller in _smaller_table(table):
            yield replace(case, tables=(*case.tables[:at], smaller, *case.tables[at + 1 :]))
    for at, step in enumerate(case.steps):
        if step.spelling:
            yield replace(case, steps=(*case.steps[:at], replace(step, spelling=0), *case.steps[at + 1 :]))
        for action in _simpler(step.action):
            yield replace(case, steps=(*case.steps[:at], replace(step, action=action), *case.steps[at + 1 :]))


def _smaller_table(table: Table) -> Iterator[Table]:
    size = len(table.rows) // 2
    while size:
        for at in range(0, len(table.rows), size):
            yield replace(table, rows=(*table.rows[:at], *table.rows[at + size :]))
        size //= 2
    for at, name in enumerate(table.columns):
        if name not in table.keys:
            yield replace(
                table,
                columns=(*table.columns[:at], *table.columns[at + 1 :]),
                rows=tuple((*row[:at], *row[at + 1 :]) for row in table.rows),
            )


def _simpler(node: Any) -> Iterator[Any]:
    """Yield a node of a pipeline with one part less: an operand in its place, a shorter list, a simpler part."""
    if not is_dataclass(node) or isinstance(node, type):
        return
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(node, Expression) and isinstance(value, Expression):
            yield value
        if isinstance(value, tuple):
            if len(value) > 1:
                for at in range(len(value)):
                    yield replace(node, **{field.name: (*value[:at], *value[at + 1 :])})
            for at, part in enumerate(value):
                if isinstance(node, Expression) and isinstance(part, Expression):
                    yield part
                for simpler in _simpler(part):
                    yield replace(node, **{field.name: (*value[:at], simpler, *value[at + 1 :])})
        for simpler in _simpler(value):
            yield replace(node, **{field.name: simpler})
