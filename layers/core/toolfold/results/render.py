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
import itertools
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results import parsing
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
    return "".join(f"# {escape_unsafe(note)}\n" for note in notes)


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
    """Return a table as CSV, null as an empty cell; as lines of JSON arrays where a cell holds a list or an object."""
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


def csv_to_text(body: str, budget: WorkBudget) -> str:
    """Return CSV of an upstream as text: unchanged, unless a cell breaks a line or could be taken for a notice.

    Args:
        body: CSV with line feeds.
        budget: what the call may cost.

    Raises:
        AnswerTooLarge: the deadline has passed.
    """

    def records() -> Iterator[list[str]]:
        return filter(None, budget.checked(csv.reader(csv_lines(body))))

    try:
        # An object in JSON has quotes in its first cell, which are doubled when it is written as CSV.
        is_plain = not body.startswith("{") and _is_safe(body)
        if is_plain and ('"' not in body or sum(1 for _ in records()) == sum(line != "\n" for line in csv_lines(body))):
            return body
        return write_csv(map(_safe_record, records()))
    except csv.Error:  # a carriage return outside of quotes
        return "\n".join(_json_string(line.rstrip("\n")) for line in budget.checked(csv_lines(body)))


def csv_lines(body: str) -> Iterator[str]:
    """Yield the lines of a text with their line feeds; a list of them would take several times its memory."""
    start = 0
    while start < len(body):
        end = body.find("\n", start) + 1 or len(body)
        yield body[start:end]
        start = end


def csv_ends(body: str, most: int, budget: WorkBudget) -> tuple[list[str], int]:
    """Return the lines of the header and of the first and last records of a CSV text, and the number of records.

    Args:
        body: CSV with line feeds. A line break inside quotes does not end a record.
        most: how many first, and how many last records are returned.
        budget: what the call may cost.

    Raises:
        UpstreamError: it is not CSV.
        AnswerTooLarge: the deadline has passed.
    """
    records: Iterator[Any]
    if '"' in body:
        records = parsing.read_records(body, budget)
    else:
        records = (line.removesuffix("\n") for line in budget.checked(csv_lines(body)) if line != "\n")
    first = list(itertools.islice(records, 1 + most))
    last: deque[Any] = deque(maxlen=most)
    total = len(first) - 1
    for total, record in enumerate(records, len(first)):  # noqa: B007 - the last number is the total
        last.append(record)
    # Cells with either sign of "\r\n" are quoted.
    lines = [record if isinstance(record, str) else write_csv([record], "\r\n") for record in (*first, *last)]
    return lines, total


def write_csv(records: Iterable[Sequence[Any]], end: str = "\n") -> str:
    """Return records as CSV, each with ``end`` after it but the last."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator=end).writerows(records)
    return buffer.getvalue().rstrip(end)


def _is_safe(text: str) -> bool:
    """Return whether nothing in CSV is escaped, and no line of it could be mistaken for a notice."""
    return not has_number_sign_line(text) and not has_unsafe(text.replace("\n", ""))


def _safe_record(record: Sequence[Any]) -> list[Any]:
    """Return a record, its cells as JSON strings with escapes where they cannot be written as they are."""
    return [
        _json_string(cell)
        if isinstance(cell, str) and (has_unsafe(cell) or (position == 0 and _NUMBER_SIGN_LINE.match(cell)))
        else cell
        for position, cell in enumerate(record)
    ]


def _json_string(text: str) -> str:
    return escape_unsafe(json.dumps(text, ensure_ascii=False))
