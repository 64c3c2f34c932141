"""The functions of a ``select``, applied to rows. They ignore nulls; those that depend on the order use the date."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results import values
from toolfold.results.columns import as_number, as_text, positions_by_date
from toolfold.results.select.conditions import NUMBER_BYTES, Rows, chunks
from toolfold.results.select.names import ColumnLookup
from toolfold.results.select.parser import Aggregate, invalid_select
from toolfold.results.tables import Table
from toolfold.text_safety import quoted_name


def aggregate_rows(
    aggregates: Sequence[Aggregate], lookup: ColumnLookup, rows: Rows, budget: WorkBudget
) -> tuple[Table, dict[str, Any]]:
    """Apply functions to rows.

    Returns:
        A table with a row for each function (its name, the value, and the date where the value is that of one row),
        and the number of rows with their first and last date.
    """
    table, date_index = lookup.table, lookup.date_index
    metadata: dict[str, Any] = {"rows": len(rows)}
    ordered, date_of = rows, lambda _row: None
    if date_index is not None:
        ordered = [rows[position] for position in positions_by_date(rows, date_index)]
        date_of = operator.itemgetter(date_index)
        if ordered:
            metadata |= {"from": date_of(ordered[0]), "to": date_of(ordered[-1])}
        ordered += [row for row in rows if row[date_index] is None]
    results = [line for aggregate in aggregates for line in _aggregate(aggregate, lookup, ordered, date_of, budget)]
    columns = ("function", "value") if date_index is None else ("function", "value", table.columns[date_index])
    return Table(table.name, columns, [line[: len(columns)] for line in results]), metadata


def _aggregate(
    aggregate: Aggregate, lookup: ColumnLookup, rows: Rows, date_of: Callable[[Any], Any], budget: WorkBudget
) -> list[tuple[Any, ...]]:
    function = aggregate.function
    if aggregate.column is None:
        return [("count", len(rows), None)]
    index: int = lookup.index(aggregate.column.text)  # type: ignore[assignment]  # only tables that have the column come here
    name = lookup.table.columns[index]
    label = f"{function}({name})"
    present = [row for part in chunks(rows, budget) for row in part if row[index] is not None]
    if function == "count":
        return [(label, len(present), None)]
    if not present:
        return [(label, None, None)]
    if function in ("first", "last"):
        row = present[0 if function == "first" else -1]
        return [(label, row[index], date_of(row))]
    size = NUMBER_BYTES * len(present)
    budget.reserve(size)
    numbers = [as_number(row[index]) for part in chunks(present, budget) for row in part]
    budget.release(size)  # they are freed before the next function
    if function in ("min", "max"):
        keys: list[Any] = [as_text(row[index]) for row in present] if None in numbers else list(numbers)
        position = (min if function == "min" else max)(range(len(present)), key=keys.__getitem__)
        return [(label, present[position][index], date_of(present[position]))]
    if None in numbers:
        raise invalid_select(
            f"{function} needs numbers, and {quoted_name(name)} holds other things", aggregate.column.offset
        )
    try:
        return _calculate(function, name, [number for number in numbers if number is not None])
    except ArithmeticError:  # exponents of thousands of digits
        raise invalid_select(
            f"{function} cannot be calculated from the numbers in {quoted_name(name)}", aggregate.column.offset
        ) from None


def _calculate(function: str, name: str, numbers: Sequence[Decimal]) -> list[tuple[Any, ...]]:
    if function == "change":
        difference = numbers[-1] - numbers[0]
        percent = None if not numbers[0] else _rounded(difference / abs(numbers[0]) * 100)
        return [(f"change({name})", _rounded(difference), None), (f"change_percent({name})", percent, None)]
    total = sum(numbers, Decimal())
    return [(f"{function}({name})", _rounded(total if function == "sum" else total / len(numbers)), None)]


def _rounded(number: Decimal) -> Any:
    """Round to twelve digits: more than any price has, and a third of a token each."""
    return values.parse_number(f"{number:.12g}")
