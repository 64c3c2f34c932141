"""Render a document as data for a program and as the most compact faithful text for a model.

CSV for tables, a JSON array per line where cells hold lists, compact JSON for everything else; measured in
``docs/explanation/decisions/answers.md``.

A line of the text that begins with ``#`` is toolfold's own, and so are the keys ``error`` and ``preview`` of an object
at the top. Data cannot forge either: no value breaks a line, a cell that would begin such a line is written as a JSON
string, an object with such a key is written as ``{"result": object}``, and plain text that could be mistaken stands
below a line of toolfold that states it. The structured data is exact.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from toolfold.results.tables import Document, Table
from toolfold.text_safety import escape_terminal, escape_unsafe, has_unsafe, quoted_name

OWN_KEYS = frozenset(("error", "preview"))
"""Keys of an object that say, in the text of a result, that it is toolfold's."""

_NUMBER_SIGN_LINE = re.compile("^[^\\S\n]*+[#\uff03\ufe5f]", re.MULTILINE)
"""A line that looks as if it were toolfold's, with the wide and the small form of the sign."""


def dumps_compact(value: Any) -> str:
    """Encode ``value`` as JSON without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def to_structured(document: Document, row_counts: Sequence[int] = ()) -> Any:
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
    meta = {"meta": document.metadata} if document.metadata else {}
    counts = row_counts or [len(table.rows) for table in document.tables]
    tables = [
        {"columns": list(table.columns), "rows": [list(row) for row in table.rows], "row_count": count}
        for table, count in zip(document.tables, counts, strict=False)
    ]
    if len(tables) == 1:
        return {**tables[0], **meta}
    return {"tables": dict(zip([table.name for table in document.tables], tables, strict=True)), **meta}


def to_text(document: Document) -> str:
    """Return the document as text: the metadata as one line of JSON, then each table, under its name if several."""
    if document.is_text:
        return plain_to_text(str(document.metadata))
    if not document.tables:
        return value_to_text(document.metadata)
    parts = [value_to_text(document.metadata)] if document.metadata else []
    for table in document.tables:
        heading = f"# {quoted_name(table.name)}\n" if len(document.tables) > 1 else ""
        parts.append(heading + table_to_text(table))
    return "\n".join(parts)


def notes_to_text(notes: Sequence[str]) -> str:
    """Return notes about an answer as lines above its text."""
    return "".join([f"# {escape_unsafe(note)}\n" for note in notes])


def value_to_text(value: Any) -> str:
    """Return a JSON value from data as one line of JSON; see the top of this module."""
    if isinstance(value, dict) and not OWN_KEYS.isdisjoint(value):
        value = {"result": value}
    return escape_unsafe(dumps_compact(value))


def plain_to_text(text: str) -> str:
    """Return text of a source, its control characters as escapes; see the top of this module."""
    shown = escape_terminal(text)
    is_ambiguous = has_number_sign_line(shown) or shown.lstrip()[:1] == "{"
    return f"# All that follows is text of the source.\n{shown}" if is_ambiguous else shown


def has_number_sign_line(text: str) -> bool:
    """Return whether a line of ``text`` looks as if it were toolfold's."""
    return ("#" in text or not text.isascii()) and _NUMBER_SIGN_LINE.search(text) is not None


def table_to_text(table: Table) -> str:
    """Return a table as CSV, null as an empty cell; as lines of JSON arrays where a cell holds a list or an object.

    A table without columns has no rows, and is ``[]``.
    """
    if not table.columns:
        return "[]"
    types = {type(cell) for row in table.rows for cell in row}
    if not types.isdisjoint((list, dict)):
        return "\n".join(escape_unsafe(dumps_compact(line)) for line in (table.columns, *table.rows))
    rows = table.rows
    if bool in types:
        rows = [[str(cell).lower() if isinstance(cell, bool) else cell for cell in row] for row in rows]
    text = write_csv([table.columns, *rows])
    if _is_safe(text) and text.count("\n") == len(rows):
        return text
    return write_csv(map(_safe_record, (table.columns, *rows)))


def write_csv(records: Iterable[Sequence[Any]]) -> str:
    """Return records as CSV, each with a line feed after it but the last."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(records)
    return buffer.getvalue().rstrip("\n")


def _is_safe(text: str) -> bool:
    """Return whether nothing in CSV is escaped, and no line of it could be mistaken for a notice."""
    return not has_number_sign_line(text) and not has_unsafe(text.replace("\n", ""))


def _safe_record(record: Sequence[Any]) -> list[Any]:
    """Return a record, its cells as JSON strings with escapes where they cannot be written as they are."""
    return [
        escape_unsafe(json.dumps(cell, ensure_ascii=False))
        if isinstance(cell, str) and (has_unsafe(cell) or (position == 0 and _NUMBER_SIGN_LINE.match(cell)))
        else cell
        for position, cell in enumerate(record)
    ]
