"""A document as the two things a call returns: data for a program, and the most compact faithful text for a model.

Measured in ``docs/explanation/decisions/two-forms.md``: CSV for tables, JSON arrays by the line where cells hold lists, compact
JSON for all else.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from toolfold.results.tables import Document, Table


def compact(value: Any) -> str:
    """JSON without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def structured(document: Document, totals: tuple[int, ...] | None = None) -> Any:
    """The document as one JSON value.

    One table: ``{"columns": [name], "rows": [[cell]], "row_count": n, "meta": what stands beside it}``; several:
    ``{"tables": {name: such a table}, "meta": …}``; none: the value itself. No ``meta`` where there is nothing.

    Args:
        totals: rows of each table before any were left out; default: none were.
    """
    if not document.tables:
        return document.rest
    counts = totals or tuple(len(table.rows) for table in document.tables)
    meta = {"meta": document.rest} if document.rest else {}
    tables = [_table(table, count) for table, count in zip(document.tables, counts, strict=True)]
    if len(tables) == 1:
        return {**tables[0], **meta}
    return {"tables": {table.name: made for table, made in zip(document.tables, tables, strict=True)}, **meta}


def _table(table: Table, count: int) -> dict[str, Any]:
    return {"columns": list(table.columns), "rows": [list(row) for row in table.rows], "row_count": count}


def text(document: Document) -> str:
    """The document for a model: what stands beside the tables in one line of JSON, then each table under its name."""
    if not document.tables:
        return compact(document.rest)
    parts = [compact(document.rest)] if document.rest else []
    for table in document.tables:
        heading = f"# {table.name}\n" if len(document.tables) > 1 else ""
        parts.append(heading + table_text(table))
    return "\n".join(parts)


def table_text(table: Table) -> str:
    """A table as CSV, null an empty cell; as lines of JSON arrays where a cell holds a list or an object."""
    if any(isinstance(cell, list | dict) for row in table.rows for cell in row):
        return "\n".join(compact(line) for line in (table.columns, *table.rows))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    rows = table.rows
    if any(isinstance(cell, bool) for row in rows for cell in row):
        rows = [[str(cell).lower() if isinstance(cell, bool) else cell for cell in row] for row in rows]
    writer.writerows(rows)
    return out.getvalue().rstrip("\n")
