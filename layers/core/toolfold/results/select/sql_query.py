"""Answer a ``select`` that is SQL: ``SELECT max(close) FROM data``."""

from __future__ import annotations

import re
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results import values
from toolfold.results.select.sql_engine import SqlTables
from toolfold.results.select.sql_errors import invalid_sql
from toolfold.results.tables import Document, Table

MAX_LENGTH = 4_000
"""Characters of a statement: several common table expressions."""

_DATE = r"\d{4}(?:-\d\d){0,2}\b"
_SQL = re.compile(
    rf"[\s(]*+(?:select\b.+?\bfrom\s+(?!{_DATE})[\w\"'`\[(]|with\s+(?:recursive\s+)?\S+.*?\bas\s+(?:\w+\s+)*\()",
    re.I | re.S,
)


def is_sql(text: str) -> bool:
    """Return whether a ``select`` is a statement of SQL: SELECT with FROM and a table, or WITH."""
    return _SQL.match(text) is not None


def evaluate(text: str, document: Document, budget: WorkBudget) -> Document:
    """Return the result of a statement over the tables of a document as one table.

    Raises:
        InvalidArguments: it is not SQL that can be run here.
        AnswerTooLarge: it would take more time or memory than there is.
    """
    if len(text) > MAX_LENGTH:
        raise invalid_sql(f"the SQL is longer than {MAX_LENGTH} characters")
    if not document.tables:
        raise invalid_sql("this answer has no rows", None, "Name its fields, or use jmespath: and an expression.")
    with SqlTables(document.tables, budget) as tables:
        columns, rows = tables.query(text.strip().rstrip(";"))
    return Document((Table("", tuple(columns), [tuple(map(_result_cell, row)) for row in budget.checked(rows)]),))


def _result_cell(cell: Any) -> Any:
    return values.lossless(cell)
