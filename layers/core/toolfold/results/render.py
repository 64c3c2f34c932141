"""Render a document as data for a program and as the most compact faithful text for a model.

CSV for tables, a JSON array per line where cells hold lists, compact JSON for everything else; measured in
``docs/explanation/decisions/two-forms.md``.

A line of the text that begins with ``#`` is toolfold's own, and so are the keys ``error`` and ``preview`` of an object
at the top. Data cannot forge either: no value breaks a line, a cell that would begin such a line is written as a JSON
string, and an object with such a key is written as ``{"result": object}``. The structured data is exact.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results.tables import Document, Table
from toolfold.text_safety import escape_unsafe, has_unsafe, quoted_name

OWN_KEYS = frozenset(("error", "preview"))
"""Keys of an object that say, in the text of a result, that it is toolfold's."""

_NUMBER_SIGN_LINE = re.compile("^[^\\S\n]*+[#\uff03\ufe5f]", re.MULTILINE)
"""A line that looks as if it were toolfold's, with the wide and the small form of the sign."""


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
        return value_to_text(document.metadata)
    parts = [value_to_text(document.metadata)] if document.metadata else []
    for table in document.tables:
        heading = f"# {quoted_name(table.name)}\n" if len(document.tables) > 1 else ""
        parts.append(heading + table_to_text(table))
    return "\n".join(parts)


def notes_to_text(notes: Sequence[str]) -> str:
    """Return notes about an answer as lines above its text."""
    return "".join(f"# {escape_unsafe(note)}\n" for note in notes)


def value_to_text(value: Any) -> str:
    """Return a JSON value from data as one line of JSON; see the top of this module."""
    if isinstance(value, dict) and not OWN_KEYS.isdisjoint(value):
        value = {"result": value}
    return escape_unsafe(dumps_compact(value))


def has_number_sign_line(text: str) -> bool:
    """Return whether a line of ``text`` looks as if it were toolfold's."""
    return ("#" in text or not text.isascii()) and _NUMBER_SIGN_LINE.search(text) is not None


def table_to_text(table: Table) -> str:
    """Return a table as CSV, null as an empty cell; as lines of JSON arrays where a cell holds a list or an object."""
    types = {type(cell) for row in table.rows for cell in row}
    if not types.isdisjoint((list, dict)):
        return "\n".join(escape_unsafe(dumps_compact(line)) for line in (table.columns, *table.rows))
    rows = table.rows
    if bool in types:
        rows = [[str(cell).lower() if isinstance(cell, bool) else cell for cell in row] for row in rows]
    text = _write_csv([table.columns, *rows])
    if _is_safe(text, len(rows)):
        return text
    return _write_csv(map(_safe_record, (table.columns, *rows)))


def csv_to_text(body: str, budget: WorkBudget) -> str:
    """Return CSV of an upstream as text: unchanged, unless a cell breaks a line or could be taken for a notice.

    Args:
        body: CSV with line feeds.
        budget: what the call may cost.

    Raises:
        AnswerTooLarge: the deadline has passed.
    """
    # An object in JSON has quotes in its first cell, which are doubled when it is written as CSV.
    is_plain = not body.startswith("{") and _is_safe(body, body.count("\n"))
    try:
        if is_plain and ('"' not in body or not _spans_lines(body, budget)):
            return body
        return _write_csv(map(_safe_record, _records(body, budget)))
    except csv.Error:  # a cell of more than 131,072 characters
        return "\n".join(_json_string(line.rstrip("\n")) for line in budget.checked(_lines(body)))


def _spans_lines(body: str, budget: WorkBudget) -> bool:
    """Return whether a record has more than one line."""
    return sum(1 for _ in _records(body, budget)) != sum(line != "\n" for line in _lines(body))


def _records(body: str, budget: WorkBudget) -> Iterator[list[str]]:
    return filter(None, budget.checked(csv.reader(_lines(body))))


def _lines(body: str) -> Iterator[str]:
    """Yield the lines of a text with their line feeds; a list of them would take several times its memory."""
    start = 0
    while start < len(body):
        end = body.find("\n", start) + 1 or len(body)
        yield body[start:end]
        start = end


def _write_csv(records: Iterable[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(records)
    return buffer.getvalue().rstrip("\n")


def _is_safe(text: str, lines: int) -> bool:
    """Return whether CSV has as many line feeds as ``lines``, and nothing that a notice could be mistaken for."""
    if has_number_sign_line(text):
        return False
    return text.count("\n") == lines and not has_unsafe(text.replace("\n", ""))


def _safe_record(record: Sequence[Any]) -> list[Any]:
    return [_safe_cell(cell, is_first=position == 0) for position, cell in enumerate(record)]


def _safe_cell(cell: Any, *, is_first: bool) -> Any:
    """Return a cell, as a JSON string with escapes where it cannot be written as it is."""
    if not isinstance(cell, str):
        return cell
    begins_line = is_first and _NUMBER_SIGN_LINE.match(cell)
    return _json_string(cell) if begins_line or has_unsafe(cell) else cell


def _json_string(text: str) -> str:
    return escape_unsafe(json.dumps(text, ensure_ascii=False))
