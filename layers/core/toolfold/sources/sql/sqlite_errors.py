"""Translate the errors of SQLite."""

from __future__ import annotations

import re
import sqlite3

from toolfold.sources.sql.errors import DatabaseFailure, FailureKind

__all__ = ["to_failure"]

_MAX_DETAIL_CHARS = 200

_CODES: dict[int, FailureKind] = {
    sqlite3.SQLITE_BUSY: FailureKind.BUSY,
    sqlite3.SQLITE_LOCKED: FailureKind.BUSY,
    sqlite3.SQLITE_INTERRUPT: FailureKind.TIMEOUT,
    sqlite3.SQLITE_TOOBIG: FailureKind.TOO_LARGE,
    sqlite3.SQLITE_NOMEM: FailureKind.TOO_LARGE,
    sqlite3.SQLITE_NOTADB: FailureKind.NOT_A_DATABASE,
    sqlite3.SQLITE_CORRUPT: FailureKind.NOT_A_DATABASE,
    sqlite3.SQLITE_CANTOPEN: FailureKind.NOT_READABLE,
    sqlite3.SQLITE_PERM: FailureKind.NOT_READABLE,
    sqlite3.SQLITE_IOERR: FailureKind.DATABASE,
    sqlite3.SQLITE_FULL: FailureKind.DATABASE,
    sqlite3.SQLITE_READONLY: FailureKind.NOT_ALLOWED,
}
"""Primary result codes of SQLite."""

_MESSAGES: tuple[tuple[re.Pattern[str], FailureKind, str], ...] = tuple(
    (re.compile(pattern, re.S), kind, detail)
    for pattern, kind, detail in (
        (r"no such table: (?:main\.)?(?P<name>.*)", FailureKind.NO_TABLE, "{name}"),
        (r'no such column: "?(?P<name>.*?)"?(?: - should this be .*)?', FailureKind.NO_COLUMN, "{name}"),
        (r"cannot join using column (?P<name>.*) - column not .*", FailureKind.NO_COLUMN, "{name}"),
        (r'near "(?P<name>.*)": syntax error', FailureKind.SYNTAX, "the error is at or near {name!r}"),
        (r"incomplete input", FailureKind.SYNTAX, "it ends too early"),
        (r"unrecognized token: (?P<name>.*)", FailureKind.SYNTAX, "{name} is not closed, or is no token"),
        (
            r"(?:no such function: |not authorized to use function: )(?P<name>.*)",
            FailureKind.NO_FUNCTION,
            "{name}",
        ),
        (r"access to (?P<name>\S+?)(?:\.\S*)? is prohibited", FailureKind.NO_PRIVILEGE, "{name}"),
        (r"not authorized|.*may not be used.*|.*prohibited.*", FailureKind.NOT_ALLOWED, ""),
        (r"You can only execute one statement.*", FailureKind.NOT_ALLOWED, "only one statement can be run"),
        (
            r"Incorrect number of bindings.* uses (?P<name>\d+).*there are (?P<given>\d+).*",
            FailureKind.STATEMENT,
            "the statement has {name} parameters and params has {given} values",
        ),
        (
            r"You did not supply a value for binding parameter :?(?P<name>.*)\.",
            FailureKind.STATEMENT,
            "params has no value for {name}",
        ),
        (r"user-defined function raised exception", FailureKind.TOO_LARGE, ""),
        (r".*too large to convert.*|integer overflow", FailureKind.STATEMENT, "a number has more than 64 bits"),
    )
)


def to_failure(error: Exception, statement: str) -> DatabaseFailure:
    """Return what ``error`` of SQLite means for ``statement``; empty: an error of opening the file."""
    message = str(error)
    for pattern, kind, detail in _MESSAGES:
        if found := pattern.fullmatch(message):
            name = found.groupdict().get("name", "")[:_MAX_DETAIL_CHARS]
            given = found.groupdict().get("given", "")
            return DatabaseFailure(kind, detail.format(name=name, given=given), _offset(name, statement))
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None and (kind_of_code := _CODES.get(code & 0xFF)):
        return DatabaseFailure(kind_of_code)
    if statement and isinstance(error, sqlite3.Error | ValueError | OverflowError):
        return DatabaseFailure(FailureKind.STATEMENT, f"SQLite says: {message[:_MAX_DETAIL_CHARS]}")
    return DatabaseFailure(FailureKind.DATABASE)


def _offset(name: str, statement: str) -> int | None:
    """Return where ``name`` is in a statement, when it is there once."""
    lowered, name = statement.lower(), name.rpartition(".")[2].lower()
    return lowered.find(name) if name and lowered.count(name) == 1 else None
