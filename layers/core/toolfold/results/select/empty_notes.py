"""Say what there is when a ``select`` finds nothing: the period of the data, and the values of the columns it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results import values
from toolfold.results.tables import Table
from toolfold.text_safety import quoted_name

_MAX_COLUMNS = 4
_MAX_VALUES = 8
"""Values that are listed: more are data, and not kinds of rows."""


def empty_note(table: Table, columns: Iterable[str], budget: WorkBudget, what: str = "0 rows match") -> str:
    """Return a note for a selection without rows.

    Args:
        table: the table that it was made from.
        columns: the columns in its conditions.
        budget: what the call may cost.
        what: what was found.

    Example:
        >>> empty_note(Table("", ("date", "type"), [("2026-01-05", "call")]), ["date", "type"], WorkBudget())
        '0 rows match. date runs 2026-01-05..2026-01-05. type holds call.'
    """
    if not table.rows:
        return f"{what}: the answer has no rows."
    names = [name for name in dict.fromkeys(columns) if name in table.columns][:_MAX_COLUMNS]
    parts = [_column_note(name, [cell for cell in table.column(name) if cell is not None], budget) for name in names]
    return " ".join([f"{what}.", *filter(None, parts)])


def _column_note(name: str, cells: Sequence[Any], budget: WorkBudget) -> str:
    if not cells:
        return f"{quoted_name(name)} is empty in all rows."
    kinds = set(map(type, budget.checked(cells)))
    is_period = kinds == {str} and all(map(values.is_date, budget.checked(cells)))
    if is_period or kinds <= {int, float}:
        return f"{quoted_name(name)} runs {min(cells)}..{max(cells)}."
    if not kinds <= {str, bool}:
        return ""
    found: dict[Any, None] = {}
    for cell in budget.checked(cells):
        found[cell] = None
        if len(found) > _MAX_VALUES:
            return f"{quoted_name(name)} holds many values, as {_listed(list(found)[:2])}."
    return f"{quoted_name(name)} holds {_listed(found)}."


def _listed(found: Iterable[Any]) -> str:
    return ", ".join(str(cell).lower() if isinstance(cell, bool) else quoted_name(str(cell)) for cell in found)
