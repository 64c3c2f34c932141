"""What can go wrong with a database, independent of its dialect, and the error of the call that it becomes.

No text of a driver reaches a caller where it may repeat the connection string: what a connection fails with is one of
these kinds, and its sentence is here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum

from toolfold import errors
from toolfold.extras import how_to_add
from toolfold.fuzzy import did_you_mean
from toolfold.messages import SEE_LOG, TRY_AGAIN
from toolfold.sources.base import ConnectionFailed, ConnectionNotPossible, NotConnected, Retryable
from toolfold.sources.sql.functions import POSTGRESQL_FUNCTIONS, SQLITE_FUNCTIONS
from toolfold.sources.sql.schema import DatabaseSchema
from toolfold.text_safety import MAX_NAME_CHARS, escape_unsafe, quoted_name
from toolfold.wording import Text

_MAX_LISTED = 40
"""Names that an error lists."""

_MAX_COMPARED = 5_000

_OF_SQL = errors.InvalidArguments


def _for_operator(do: str) -> Text:
    return Text(f"Tell the operator to {do}", f"To end this, {do}")


class FailureKind(Enum):
    """Why a database did not answer: the error, its problem, and the next step. Those of a name have functions."""

    CONNECTION_STRING = (
        ConnectionNotPossible,
        "The connection string set for {title} is not valid for {dialect}.",
        _for_operator("set {form} in the variable that auth.environment names."),
    )
    DRIVER_MISSING = (
        ConnectionNotPossible,
        "{title} cannot be read: a package for SQL databases is not installed here.",
        _for_operator("{how_to_add}"),
    )
    NO_DATABASE = (
        ConnectionNotPossible,
        "The database of {title} does not exist.",
        _for_operator("check the name in the connection string."),
    )
    NOT_A_DATABASE = (
        ConnectionNotPossible,
        "The file set for {title} is not an SQLite database, or it is encrypted or damaged.",
        _for_operator("check the path in the connection string."),
    )
    NOT_READABLE = (
        ConnectionNotPossible,
        "The file set for {title} cannot be read.",
        _for_operator("check its permissions, and open it once with the application that writes it."),
    )
    NOT_CONNECTED = (NotConnected, "{title} cannot be reached.", TRY_AGAIN)
    TLS = (
        ConnectionNotPossible,
        "{title} does not have the encryption, or the certificate, that the connection string set here demands.",
        _for_operator("check sslmode and sslrootcert in the connection string."),
    )
    LOGIN = (
        errors.AuthRejected,
        "{title} does not accept the role or the password that is set up here.",
        _for_operator("check the connection string."),
    )
    ROLE = (
        ConnectionNotPossible,
        "The role set up for {title} may do more than read, so it is not used.",
        SEE_LOG.filled(what="what is to be revoked"),
    )
    BROKEN = (ConnectionFailed, "The connection to {title} was closed.", TRY_AGAIN)
    BUSY = (ConnectionFailed, "{title} is locked, or has too many connections, at the moment.", TRY_AGAIN)
    CANCELLED = (errors.CallCancelled, "The client cancelled this call.", Text("Call again if the answer is needed."))
    TIMEOUT = (
        errors.UpstreamTimeout,
        "{title} did not answer in the time of one statement, which was ended.",
        Text("Add a WHERE, aggregate in SQL (count, sum, GROUP BY), or lower limit."),
    )
    TOO_LARGE = (
        errors.AnswerTooLarge,
        "The rows are larger than one answer of {title} may be ({max_bytes:,} bytes).",
        Text("Name the columns that are needed, shorten long texts (substr(text, 1, 500)), or lower limit."),
    )
    DATABASE = (errors.UpstreamError, "{title} failed to run the statement.", TRY_AGAIN)
    SYNTAX = (_OF_SQL, "it cannot be read: {detail}", Text("Correct it and call again."))
    NOT_ALLOWED = (_OF_SQL, "{detail}", Text("Write one SELECT; the database cannot be changed."))
    STATEMENT = (_OF_SQL, "{detail}", Text("Correct the statement and call again."))
    NO_TABLE = "no table"
    NO_COLUMN = "no column"
    NO_FUNCTION = "no function"


class DatabaseFailure(Exception):
    """A database did not answer.

    Attributes:
        kind: why.
        detail: what it says about the statement: a name, or a sentence. Never about the connection.
    """

    def __init__(self, kind: FailureKind, detail: str = "") -> None:
        super().__init__(kind.name)
        self.kind, self.detail = kind, detail


DIALECT_NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
_FORMS = {
    "sqlite": "a path, or sqlite:/// and a path",
    "postgresql": "postgresql://role:password@host:5432/database",
}


def to_call_error(
    failure: DatabaseFailure, *, title: str, dialect: str, max_bytes: int, statement: str, schema: DatabaseSchema | None
) -> errors.CallError:
    """Return the error of the call that ended in ``failure``.

    Args:
        failure: what happened.
        title: the title of the source.
        dialect: of the source.
        max_bytes: the largest answer that was allowed.
        statement: the caller's; empty where there was none.
        schema: the tables of the source, for suggestions; None where they are not known.
    """
    if failure.kind in _NAMED:
        problem, step = _NAMED[failure.kind](failure.detail, statement, schema or DatabaseSchema())
        return errors.InvalidArguments(f"{'sql' if statement else 'table'}: {problem}.", step)
    words: tuple[type[errors.CallError], str, Text] = failure.kind.value
    kind, problem, next_step = words
    detail = failure.detail or "it does more than read the tables of this source"
    fields = {"title": title, "dialect": DIALECT_NAMES[dialect], "form": _FORMS[dialect], "max_bytes": max_bytes}
    if failure.kind is FailureKind.DRIVER_MISSING:
        fields["how_to_add"] = how_to_add("sql")
    problem = problem.format(**fields, detail=detail)
    if kind is _OF_SQL:
        problem = f"sql: {problem}."
    details = {"retryable": True} if issubclass(kind, Retryable) else {}
    return kind(problem, next_step.filled(**fields), **details)


def _no_table(name: str, statement: str, schema: DatabaseSchema) -> tuple[str, str]:
    closest = _closest(name.rpartition(".")[2], {table.name: schema.display_name(table) for table in schema.tables})
    step = f"{closest}Tables: {_listed(schema.names())}. list_tables describes them."
    return f"there is no table {quoted_name(name)}", step


def _no_column(name: str, statement: str, schema: DatabaseSchema) -> tuple[str, str]:
    last = name.rpartition(".")[2].strip('"') or name
    words = {table: rf"(?<!\w){re.escape(table.name)}(?!\w)" for table in schema.tables}
    tables = [table for table, word in words.items() if re.search(word, statement, re.IGNORECASE)] or schema.tables
    known = list(dict.fromkeys(column.name for table in tables for column in table.columns))
    closest = _closest(last, {column: schema.sql_name(column) for column in known})
    listed = f"Columns: {_listed(map(schema.sql_name, known))}." if known else ""
    meant = next((one.replace("'", "''") for one in (name, last) if f'"{one}"' in statement), None)
    text = "" if meant is None else f" A text is in single quotes: '{_shown(meant)}'."
    step = f"{closest}{listed}{text}" or "describe_table lists the columns of a table."
    return f"there is no column {quoted_name(name)}", step


def _closest(name: str, known: dict[str, str]) -> str:
    """Return a question with the names of ``known`` that ``name`` may mean, as they are shown; empty without any."""
    compared = [other for other in list(known)[:_MAX_COMPARED] if len(other) <= MAX_NAME_CHARS]
    return did_you_mean(name, compared, 3, shown=lambda match: _shown(known[match]))


def _listed(names: Iterable[str]) -> str:
    listed = [_shown(name) for name in names]
    more = f", and {len(listed) - _MAX_LISTED:,} more" if len(listed) > _MAX_LISTED else ""
    return ", ".join(listed[:_MAX_LISTED]) + more or "none"


def _shown(name: str) -> str:
    """Return a name of the database for an error: as SQL writes it, in one line and shortened."""
    return escape_unsafe(name if len(name) <= MAX_NAME_CHARS else f"{name[: MAX_NAME_CHARS - 1]}…")


def _no_function(name: str, statement: str, schema: DatabaseSchema) -> tuple[str, str]:
    known, examples = POSTGRESQL_FUNCTIONS, "date_trunc('month', date), to_char(date, 'YYYY-MM')"
    if not schema.search_path:
        known, examples = SQLITE_FUNCTIONS, "strftime('%Y-%m', date), julianday(date)"
    step = f"{_closest(name, {one: one for one in sorted(known)})}Those that only calculate are, such as {examples}."
    return f"the function {quoted_name(name)} is not available", step


_NAMED: dict[FailureKind, Callable[[str, str, DatabaseSchema], tuple[str, str]]] = {
    FailureKind.NO_TABLE: _no_table,
    FailureKind.NO_COLUMN: _no_column,
    FailureKind.NO_FUNCTION: _no_function,
}
"""Problems with a name: functions of the name that return what is wrong, and which name may be meant."""
