"""Filter rows by the conditions and dates of a ``select``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from toolfold.budget import WorkBudget
from toolfold.results import values
from toolfold.results.columns import as_number, as_text
from toolfold.results.select.parser import Condition, invalid_select

T = TypeVar("T")

Rows = list[Sequence[Any]]

ROWS_AT_ONCE = 10_000
"""Rows between two looks at the clock: some ten milliseconds."""

NUMBER_BYTES = 112
"""Memory of a Decimal and its place in a list."""

_NULLS = {"null", "none"}

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def chunks(items: Sequence[T], budget: WorkBudget) -> Iterator[Sequence[T]]:
    """Yield ``items`` in parts, checking the time before each.

    Raises:
        AnswerTooLarge: the deadline has passed.
    """
    for start in range(0, len(items), ROWS_AT_ONCE):
        budget.check_time()
        yield items[start : start + ROWS_AT_ONCE]


def filter_rows(condition: Condition, index: int, rows: Rows, budget: WorkBudget) -> Rows:
    """Return the rows whose cell at ``index`` meets a condition.

    Raises:
        InvalidArguments: the condition does not fit the cells.
        AnswerTooLarge: the budget is used up.
    """
    if condition.value.lower() in _NULLS and condition.operator in ("=", "!="):
        is_null = condition.operator == "="
        return [row for part in chunks(rows, budget) for row in part if (row[index] is None) is is_null]
    size = (NUMBER_BYTES + 16) * len(rows)
    budget.reserve(size)
    present = [row for part in chunks(rows, budget) for row in part if row[index] is not None]
    if condition.operator == "~":
        substring = condition.value.lower()
        matching = [row for part in chunks(present, budget) for row in part if substring in as_text(row[index]).lower()]
    else:
        matching = _compare(condition, present, [row[index] for row in present], budget)
    budget.release(size)
    return matching


def filter_dates(ranges: Sequence[tuple[str, str]], index: int, rows: Rows, budget: WorkBudget) -> Rows:
    """Return the rows whose date is in all ranges."""
    for low, high in ranges:
        rows = [
            row
            for part in chunks(rows, budget)
            for row in part
            if row[index] is not None and _is_within(row[index], low, high)
        ]
    return rows


def _is_within(date: str, low: str, high: str) -> bool:
    """Return whether a date is in a range, ends included, each as precise as written: 2024-03 is the whole month."""
    return date >= low and (not high or date[: len(high)] <= high)


def _compare(condition: Condition, rows: Rows, cells: Sequence[Any], budget: WorkBudget) -> Rows:
    """Return the rows whose cell meets a condition: as a number where all are numbers, as a date, or as text."""
    is_equality = condition.operator in ("=", "!=")
    alternatives = [part.strip() for part in condition.value.split("|")] if is_equality else [condition.value.strip()]
    thresholds = [as_number(alternative.removesuffix("%")) for alternative in alternatives]
    numbers = None if None in thresholds else _numbers(cells, budget)
    if numbers is not None:
        return _matching(condition, rows, numbers, set(thresholds), budget)
    if any(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells):
        problem = f"{condition.column.text} holds numbers, and {condition.value[:40]!r} is none"
        raise invalid_select(problem, condition.column.offset)
    texts = {alternative.lower() for alternative in alternatives}
    if not all(map(values.is_date, cells)):
        lowered = (as_text(cell).lower() for part in chunks(cells, budget) for cell in part)
        return _matching(condition, rows, lowered, texts, budget)
    dates = {text.upper().replace(" ", "T") for text in texts}
    if not is_equality:
        (date,) = dates
        return _matching(condition, rows, (cell[: len(date)] for cell in cells), dates, budget)
    lengths = {len(date) for date in dates}
    select = condition.operator == "="
    return [
        row
        for row, cell in zip(rows, (cell for part in chunks(cells, budget) for cell in part), strict=True)
        if any(cell[:length] in dates for length in lengths) is select
    ]


def _matching(condition: Condition, rows: Rows, cells: Any, wanted: set[Any], budget: WorkBudget) -> Rows:
    budget.check_time()
    pairs = zip(rows, cells, strict=True)
    if condition.operator == "=":
        return [row for row, cell in pairs if cell in wanted]
    if condition.operator == "!=":
        return [row for row, cell in pairs if cell not in wanted]
    compare = _COMPARISONS[condition.operator]
    (threshold,) = wanted
    return [row for row, cell in pairs if compare(cell, threshold)]


def _numbers(cells: Sequence[Any], budget: WorkBudget) -> list[Any] | None:
    """Return the cells as numbers, or None when one of them is not a number."""
    numbers: list[Any] = []
    for part in chunks(cells, budget):
        numbers += map(as_number, part)
        if None in numbers[-len(part) :]:
            return None
    return numbers
