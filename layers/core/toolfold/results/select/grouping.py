"""Tell what of a ``select`` is about rows and what about groups: ``year, max(close)``, ``having sum(volume) > 5M``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from toolfold.results.select import functions
from toolfold.results.select.selection import (
    All,
    AnyOf,
    Arithmetic,
    Call,
    Column,
    Comparison,
    Condition,
    Expression,
    Item,
    Not,
    RowLimit,
    invalid_select,
    parts_of,
)
from toolfold.text_safety import quoted_name

COUNTED = re.compile(
    r"(?:count|how many|number of)(?: (?:of|the|with|trading|days?|rows?|dates?|times?|sessions?|weeks?|months?"
    r"|years?))* (?P<rest>.+)",
    re.I,
)
"""Words before a condition whose rows are counted."""


class Grouping(NamedTuple):
    """What is returned, by what it is grouped, and which conditions are those of rows and of groups."""

    items: list[Item]
    groups: tuple[Item, ...]
    conditions: list[Condition]
    having: tuple[Condition, ...]


def find_grouping(
    items: Sequence[Item], groups: tuple[Item, ...], conditions: Sequence[Condition], limit: RowLimit | None
) -> Grouping:
    """Return the parts of a selection, the names in which are those of the answer.

    Raises:
        InvalidArguments: functions of all rows are compared without groups, or ``first 3 by volume`` can be two things.
    """
    if not groups and any(has_function(item.expression) for item in items):  # "year, max(close)"
        groups = tuple(item for item in items if _is_time_unit(item.expression))
    listed = [item for item in items if item not in groups or has_function(item.expression)]
    if limit is not None and limit.which in ("first", "last") and groups and not listed:
        _refuse_ranking(limit, groups[0])
    having = tuple(one for one in conditions if _is_of_functions(one))
    if having and not groups:
        raise _no_groups(having[0])
    return Grouping(listed, groups, [one for one in conditions if one not in having], having)


def has_function(expression: Expression) -> bool:
    """Return whether an expression has a function of all rows."""
    return any(isinstance(part, Call) and part.function not in functions.SCALARS for part in parts_of(expression))


def _is_time_unit(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function in functions.TIME_UNITS


def _is_of_functions(condition: Condition) -> bool:
    """Return whether a condition compares functions of all rows alone, and no cell of a row."""
    if isinstance(condition, All | AnyOf):
        return any(map(_is_of_functions, condition.conditions))
    if isinstance(condition, Not):
        return _is_of_functions(condition.condition)
    if not isinstance(condition, Comparison) or not has_function(condition.left):
        return False
    compared = [operand.expression for operand in condition.operands if operand.expression is not None]
    return not any(_has_cell(one) for one in (condition.left, *compared))


def _has_cell(expression: Expression) -> bool:
    """Return whether an expression reads a column outside of functions of all rows."""
    if isinstance(expression, Column):
        return True
    if isinstance(expression, Arithmetic):
        return _has_cell(expression.left) or _has_cell(expression.right)
    return isinstance(expression, Call) and expression.function in functions.SCALARS and any(
        map(_has_cell, expression.arguments)
    )  # fmt: skip


def _no_groups(condition: Condition) -> Exception:
    while isinstance(condition, All | AnyOf | Not):
        condition = condition.condition if isinstance(condition, Not) else condition.conditions[0]
    parts = list(parts_of(condition.left)) if isinstance(condition, Comparison) else []
    call = next((part for part in parts if isinstance(part, Call)), None)
    name = quoted_name(next((part.name.text for part in parts if isinstance(part, Column)), "close"))
    text, offset, function = ("count", None, "count") if call is None else (call.text, call.offset, call.function)
    return invalid_select(
        f"{text} is a function of all rows, and no condition of each",
        offset,
        f"Write {name}>100 for rows, or {function}({name}) by year for groups.",
    )


def _refuse_ranking(limit: RowLimit, group: Item) -> None:
    """Refuse ``first 3 by volume``, which may mean the largest or the smallest.

    Raises:
        InvalidArguments: a number of rows stands before a column that nothing else groups.
    """
    if isinstance(group.expression, Column):
        name, count = quoted_name(group.text), limit.count
        raise invalid_select(
            f"{limit.which} {count} by {name} can be the largest or the smallest",
            limit.offset,
            f"Write top {count} by {name}, bottom {count} by {name} or count by {name}.",
        )
