"""What ``$ref`` and scripts see of an answer: rows as objects, and the fields beside them."""

from __future__ import annotations

from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results import limits
from toolfold.results.tables import Document, Table

__all__ = ["keys_of", "view_of"]

_MAX_KEYS = 40
"""Keys that an error names."""


def view_of(document: Document, budget: WorkBudget) -> Any:
    """Return an answer as one JSON value.

    Args:
        document: the answer.
        budget: what it may cost.

    Returns:
        An answer without tables as it is. Otherwise an object: ``rows`` (one object for each row), ``columns`` and
        ``row_count`` of the first table, each named table under its name, and the fields beside the tables.

    Raises:
        AnswerTooLarge: the budget is used up.
    """
    if not document.tables:
        return document.metadata
    view: dict[str, Any] = dict(document.metadata) if isinstance(document.metadata, dict) else {}
    if not isinstance(document.metadata, dict):
        view["meta"] = document.metadata
    for position, table in enumerate(document.tables):
        rows = _objects(table, budget)
        if not position:
            view |= {"rows": rows, "columns": list(table.columns), "row_count": len(rows)}
        if table.name:
            view.setdefault(table.name, rows)
            view.setdefault(table.name.rpartition(".")[2], rows)
    return view


def _objects(table: Table, budget: WorkBudget) -> list[dict[str, Any]]:
    budget.reserve(len(table.rows) * limits.object_size(len(table.columns)))
    columns = table.columns
    return [dict(zip(columns, row, strict=True)) for row in budget.checked(table.rows)]


def keys_of(value: Any) -> list[str]:
    """Return what can follow in a path: the keys of an object, the indexes of a list."""
    if isinstance(value, dict):
        return [str(key) for key, _ in zip(value, range(_MAX_KEYS), strict=False)]
    if isinstance(value, list):
        return [f"[0] to [{len(value) - 1}]"] if value else []
    return []
