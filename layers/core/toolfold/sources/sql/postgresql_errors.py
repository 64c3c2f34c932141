"""Translate the errors of PostgreSQL and of libpq."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolfold.sources.sql.errors import DatabaseFailure, FailureKind

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

__all__ = ["connection_failure", "result_failure"]

_MAX_DETAIL_CHARS = 300

_STATES: dict[str, FailureKind] = {
    "42601": FailureKind.SYNTAX,
    "42703": FailureKind.NO_COLUMN,
    "42P01": FailureKind.NO_TABLE,
    "42501": FailureKind.NO_PRIVILEGE,
    "25006": FailureKind.NOT_ALLOWED,
    "57014": FailureKind.TIMEOUT,
    "55P03": FailureKind.BUSY,
    "53300": FailureKind.BUSY,
    "57P03": FailureKind.BUSY,
    "54000": FailureKind.TOO_LARGE,
}
"""SQLSTATE → what it means; see appendix A of PostgreSQL's documentation."""

_CLASSES: dict[str, FailureKind] = {
    "08": FailureKind.BROKEN,
    "57": FailureKind.BROKEN,
    "25": FailureKind.BROKEN,
    "53": FailureKind.DATABASE,
    "58": FailureKind.DATABASE,
    "XX": FailureKind.DATABASE,
    "F0": FailureKind.DATABASE,
}
"""Classes of SQLSTATE. Every other error is one of the statement."""

_CONNECTION_TEXTS: tuple[tuple[re.Pattern[str], FailureKind], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"too many (?:clients|connections)|remaining connection slots|starting up", FailureKind.BUSY),
        (r"database \".*\" does not exist", FailureKind.NO_DATABASE),
        (
            r"authentication failed|no password supplied|role \".*\" (?:does not exist|is not permitted)"
            r"|no pg_hba\.conf entry|permission denied for database",
            FailureKind.LOGIN,
        ),
        (r"invalid (?:connection option|port number|integer value|\w+ value)", FailureKind.CONNECTION_STRING),
    )
)
"""libpq has no SQLSTATE for a connection that failed."""

_QUOTED = re.compile(r'"((?:[^"]|"")+)"')
_COLUMN = re.compile(r'column "?((?:[^"\s]|"")+)"? does not exist')


def connection_failure(message: str) -> FailureKind:
    """Return why there is no connection. The text of libpq has host and role in it, and goes nowhere."""
    return next((kind for pattern, kind in _CONNECTION_TEXTS if pattern.search(message)), FailureKind.NOT_CONNECTED)


def result_failure(result: PGresult, statement: str) -> DatabaseFailure | None:
    """Return the failure that ``result`` is, or None for a result.

    Args:
        result: what the server returned.
        statement: what it was returned for, where that was the caller's statement as it is; empty otherwise.
    """
    from psycopg.pq import DiagnosticField, ExecStatus

    if result.status in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK, ExecStatus.SINGLE_TUPLE):
        return None
    state = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode()
    if not state:  # libpq itself: the connection is closed
        return DatabaseFailure(FailureKind.BROKEN)
    message = (result.error_field(DiagnosticField.MESSAGE_PRIMARY) or b"").decode(errors="replace")
    hint = (result.error_field(DiagnosticField.MESSAGE_HINT) or b"").decode(errors="replace")
    position = (result.error_field(DiagnosticField.STATEMENT_POSITION) or b"").decode()
    offset = int(position) - 1 if position and statement else None
    kind = _STATES.get(state) or _CLASSES.get(state[:2]) or FailureKind.STATEMENT
    return DatabaseFailure(kind, _detail(kind, message, hint), offset)


def _detail(kind: FailureKind, message: str, hint: str) -> str:
    """Return what an error says about the statement: a name, or the sentence of the server."""
    if kind is FailureKind.NO_COLUMN and (found := _COLUMN.search(message)):
        return found[1]
    quoted = _QUOTED.search(message)
    if kind in (FailureKind.NO_TABLE, FailureKind.NO_COLUMN) and quoted:
        return quoted[1]
    if kind is FailureKind.NO_PRIVILEGE:
        return message.rpartition(" ")[2]
    if kind is FailureKind.SYNTAX:
        return f"the error is at or near {quoted[1]!r}" if quoted else message[:_MAX_DETAIL_CHARS]
    said = ". ".join(part.rstrip(".") for part in (message, hint) if part)
    return f"PostgreSQL says: {said[:_MAX_DETAIL_CHARS]}"
