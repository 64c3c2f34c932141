"""Numbers about rows: the functions of a ``select``. Nulls count in none; what goes by order goes by date."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from toolfold.results import values
from toolfold.results.columns import as_number, as_text, by_date, index_of
from toolfold.results.select.parser import Aggregate, refused
from toolfold.results.tables import Table


def aggregated(
    aggregates: Sequence[Aggregate], table: Table, rows: list[Sequence[Any]], dates: int | None
) -> tuple[Table, dict[str, Any]]:
    """What the functions make of ``rows``, and which rows those were.

    A function has a row: its name, the value, and the date of it where the value is that of one row.
    """
    about: dict[str, Any] = {"rows": len(rows)}
    ordered, when = rows, lambda _row: None
    if dates is not None:
        ordered = [rows[at] for at in by_date(rows, dates)]
        when = operator.itemgetter(dates)
        if ordered:
            about |= {"from": when(ordered[0]), "to": when(ordered[-1])}
        ordered += [row for row in rows if row[dates] is None]
    made = [line for aggregate in aggregates for line in _lines(aggregate, table, ordered, when)]
    columns = ("function", "value") if dates is None else ("function", "value", table.columns[dates])
    return Table(table.name, columns, [line[: len(columns)] for line in made]), about


def _lines(
    aggregate: Aggregate, table: Table, rows: Sequence[Sequence[Any]], when: Callable[[Any], Any]
) -> list[tuple[Any, ...]]:
    function = aggregate.function
    if aggregate.column is None:
        return [("count", len(rows), None)]
    index: int = index_of(table, aggregate.column.text)  # type: ignore[assignment]  # no table without it comes here
    name = table.columns[index]
    called = f"{function}({name})"
    present = [row for row in rows if row[index] is not None]
    if function == "count":
        return [(called, len(present), None)]
    if not present:
        return [(called, None, None)]
    if function in ("first", "last"):
        row = present[0 if function == "first" else -1]
        return [(called, row[index], when(row))]
    numbers = [as_number(row[index]) for row in present]
    if function in ("min", "max"):
        keys: list[Any] = [as_text(row[index]) for row in present] if None in numbers else list(numbers)
        at = (min if function == "min" else max)(range(len(present)), key=keys.__getitem__)
        return [(called, present[at][index], when(present[at]))]
    if None in numbers:
        raise refused(f"{function} needs numbers, and {name} holds other things", aggregate.column.at)
    try:
        return _of_numbers(function, name, [number for number in numbers if number is not None])
    except ArithmeticError:  # exponents of thousands of digits
        raise refused(f"{function} cannot be told of the numbers in {name}", aggregate.column.at) from None


def _of_numbers(function: str, name: str, numbers: Sequence[Decimal]) -> list[tuple[Any, ...]]:
    if function == "change":
        difference = numbers[-1] - numbers[0]
        percent = None if not numbers[0] else _tidy(difference / abs(numbers[0]) * 100)
        return [(f"change({name})", _tidy(difference), None), (f"change_percent({name})", percent, None)]
    total = sum(numbers, Decimal())
    return [(f"{function}({name})", _tidy(total if function == "sum" else total / len(numbers)), None)]


def _tidy(number: Decimal) -> Any:
    """Twelve digits: more than any price has, and a third of a token each."""
    return values.number(f"{number:.12g}")
