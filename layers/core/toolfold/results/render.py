"""Render a document as data for a program and as the most compact faithful text for a model.

CSV for tables, a JSON array per line where cells hold lists, compact JSON for everything else; measured in
``docs/explanation/decisions/two-forms.md``.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from toolfold.results.tables import Document, Table


def dumps_compact(value: Any) -> str:
    """Encode ``value`` as JSON without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def to_structured(document: Document, row_counts: tuple[int, ...] | None = None) -> Any:
    """Return the document as one JSON value.

    Args:
        document: what to render.
        row_counts: rows of each table before it was shortened; by default those that it has.

    Returns:
        For one table ``{"columns": [name], "rows": [[cell]], "row_count": n, "meta": metadata}``, for several
        ``{"tables": {name: such a table}, "meta": metadata}``, without ``meta`` when it is empty; for no table the
        value itself.
    """
    if not document.tables:
        return document.metadata
    counts = row_counts or tuple(len(table.rows) for table in document.tables)
    meta = {"meta": document.metadata} if document.metadata else {}
    tables = [_table(table, count) for table, count in zip(document.tables, counts, strict=True)]
    if len(tables) == 1:
        return {**tables[0], **meta}
    by_name = {table.name: structured for table, structured in zip(document.tables, tables, strict=True)}
    return {"tables": by_name, **meta}


def _table(table: Table, row_count: int) -> dict[str, Any]:
    return {"columns": list(table.columns), "rows": [list(row) for row in table.rows], "row_count": row_count}


def to_text(document: Document) -> str:
    """Return the document as text: the metadata as one line of JSON, then each table, under its name if several."""
    if not document.tables:
        return dumps_compact(document.metadata)
    parts = [dumps_compact(document.metadata)] if document.metadata else []
    for table in document.tables:
        heading = f"# {table.name}\n" if len(document.tables) > 1 else ""
        parts.append(heading + table_to_text(table))
    return "\n".join(parts)


def table_to_text(table: Table) -> str:
    """Return a table as CSV, null as an empty cell; as lines of JSON arrays where a cell holds a list or an object."""
    if any(isinstance(cell, list | dict) for row in table.rows for cell in row):
        return "\n".join(dumps_compact(line) for line in (table.columns, *table.rows))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.columns)
    rows = table.rows
    if any(isinstance(cell, bool) for row in rows for cell in row):
        rows = [[str(cell).lower() if isinstance(cell, bool) else cell for cell in row] for row in rows]
    writer.writerows(rows)
    return buffer.getvalue().rstrip("\n")
