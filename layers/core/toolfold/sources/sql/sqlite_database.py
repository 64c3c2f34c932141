"""Read an SQLite database.

Five layers keep it unchanged, and each holds alone: the file is opened with ``mode=ro``, ``query_only`` is set, the
authorizer allows reading alone, no database can be attached and no extension loaded, and :mod:`.guard` has accepted the
statement before.

Translate the errors of SQLite.

Read the tables of an SQLite database.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

from toolfold.sources.sql.errors import DatabaseFailure, FailureKind
from toolfold.sources.sql.rows import Rows, row_line, unique_names
from toolfold.sources.sql.schema import Column, DatabaseSchema, Table, TableFilter, sql_name
from toolfold.sources.sql.sqlite_authorizer import Authorizer, replace_slow_functions

_TABLES = """
SELECT name, type FROM pragma_table_list
WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
ORDER BY name COLLATE NOCASE
"""
_SHADOWS = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'"
_KINDS = {"table": "table", "virtual": "table", "view": "view"}


def read_schema(connection: sqlite3.Connection, tables: TableFilter) -> DatabaseSchema:
    """Return the tables of a database that ``tables`` accepts."""
    found, left_out = [], set()
    for name, kind in connection.execute(_TABLES).fetchall():
        if kind == "virtual":
            _connect(connection, name)
        if tables.has_table("main", name):
            found.append(Table("", name, _KINDS[kind], "", _read_columns(connection, name)))
        else:
            left_out.add(("", name))
    return DatabaseSchema(tuple(found), frozenset(left_out))


def shadow_tables(connection: sqlite3.Connection) -> list[str]:
    """Return the tables in which virtual tables, such as those of FTS5, store their data."""
    return [name for (name,) in connection.execute(_SHADOWS)]


def _connect(connection: sqlite3.Connection, table: str) -> None:
    """Let a virtual table declare itself, which it does when it is used first, and which the authorizer denies."""
    with suppress(sqlite3.Error):  # a module that is not in this SQLite
        connection.execute(f"SELECT 1 FROM {sql_name(table, folds_case=False)} LIMIT 0").close()  # noqa: S608 - quoted


def _read_columns(connection: sqlite3.Connection, table: str) -> tuple[Column, ...]:
    keys = _read_keys(connection, table)
    columns = []
    try:
        rows = connection.execute("SELECT * FROM pragma_table_xinfo(?)", (table,)).fetchall()
    except sqlite3.OperationalError:  # a view of a table that was dropped
        return ()
    # hidden: 0 a column, 1 that of a virtual table which SELECT * leaves out, 2 and 3 generated.
    for _, name, type_, not_null, _, primary, hidden in rows:
        if hidden != 1:
            key = ", ".join([*(["primary key"] if primary else []), *keys[name]])
            columns.append(Column(name, type_ or "any", not (not_null or primary), key))
    return tuple(columns)


def _read_keys(connection: sqlite3.Connection, table: str) -> defaultdict[str, list[str]]:
    keys: defaultdict[str, list[str]] = defaultdict(list)
    indexes = 'SELECT name FROM pragma_index_list(?) WHERE "unique" AND origin = ? AND NOT partial'
    for (index,) in connection.execute(indexes, (table, "u")).fetchall():
        names = connection.execute("SELECT name FROM pragma_index_info(?)", (index,)).fetchall()
        if len(names) == 1 and names[0][0]:
            keys[names[0][0]].append("unique")
    foreign = 'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)'
    for name, other, column in connection.execute(foreign, (table,)).fetchall():
        keys[name].append(f"references {other}({column})" if column else f"references {other}")
    return keys


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


_HEADER = b"SQLite format 3\0"

_PREFIX = "sqlite:///"
"""How a URL of an SQLite file begins; an absolute path follows with its own slash, as SQLAlchemy writes it."""

_SHORT = "sqlite:"
_FILE = "file:///"

_MIN_LENGTH_LIMIT = 1_000_000
"""Bytes that a text or row may have at least: the schema of a database is rows as well."""

_LIMITS = {
    "SQLITE_LIMIT_SQL_LENGTH": 200_000,
    "SQLITE_LIMIT_EXPR_DEPTH": 200,
    "SQLITE_LIMIT_COMPOUND_SELECT": 100,
    "SQLITE_LIMIT_VDBE_OP": 500_000,
    "SQLITE_LIMIT_ATTACHED": 0,
    "SQLITE_LIMIT_LIKE_PATTERN_LENGTH": 200,
    "SQLITE_LIMIT_VARIABLE_NUMBER": 2_000,
    "SQLITE_LIMIT_TRIGGER_DEPTH": 0,
    "SQLITE_LIMIT_WORKER_THREADS": 0,
}

_INSTRUCTIONS_BETWEEN_CHECKS = 5_000

_MAX_WAIT_FOR_LOCK_MS = 5_000
"""Another process that writes holds the lock for milliseconds; a longer wait is a transaction left open."""


def sqlite_path(connection_string: str) -> Path:
    """Return the file that a connection string names.

    That is a path, also behind ``sqlite:///`` or ``sqlite:``, or a URL of a file (RFC 8089), whose path may have
    characters that the key of a source cannot have: ``%C3%A9``.

    Raises:
        DatabaseFailure: it names none.
    """
    path = connection_string.strip()
    if path.startswith(_PREFIX):
        path = path.removeprefix(_PREFIX)
    elif path.startswith(_FILE) and not {"?", "#"}.intersection(path):
        path = url2pathname(path.removeprefix("file://"))
    elif path.startswith(_SHORT) and not path.startswith(f"{_SHORT}//"):
        path = path.removeprefix(_SHORT)
    elif "://" in path or path.startswith("file:"):
        raise DatabaseFailure(FailureKind.CONNECTION_STRING)
    if not path or path == ":memory:" or "\0" in path:
        raise DatabaseFailure(FailureKind.CONNECTION_STRING)
    return Path(path)


def open_read_only(path: Path, max_bytes: int) -> sqlite3.Connection:
    """Open a database that exists, for reading alone.

    Raises:
        DatabaseFailure: there is no SQLite database, or it cannot be read.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_HEADER)) != _HEADER:
                raise DatabaseFailure(FailureKind.NOT_A_DATABASE)
    except FileNotFoundError:
        raise DatabaseFailure(FailureKind.NO_DATABASE) from None
    except OSError:
        raise DatabaseFailure(FailureKind.NOT_READABLE) from None
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise to_failure(error, "") from None
    try:
        connection.text_factory = lambda text: text.decode(errors="replace")
        for pragma in ("query_only=ON", "cell_size_check=ON"):
            connection.execute(f"PRAGMA {pragma}").close()
        if sys.version_info >= (3, 12):
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        for name in ("json_each", "json_tree"):  # declare themselves when used first, which the authorizer denies
            connection.execute(f"SELECT 1 FROM {name}('[]')").close()  # noqa: S608 - a constant
        replace_slow_functions(connection, max(max_bytes, _MIN_LENGTH_LIMIT))
        for name, limit in _LIMITS.items():
            connection.setlimit(getattr(sqlite3, name), limit)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(max_bytes, _MIN_LENGTH_LIMIT))
    except sqlite3.Error as error:
        connection.close()
        raise to_failure(error, "") from None
    return connection


class SqliteDatabase:
    """One connection to an SQLite database. Used by one thread at a time.

    Args:
        path: the file.
        tables: the tables that may be read.
        max_bytes: bytes of one answer, as JSON.
    """

    def __init__(self, path: Path, tables: TableFilter, max_bytes: int) -> None:
        self._tables, self._max_bytes = tables, max_bytes
        self._connection = open_read_only(path, max_bytes)
        self._schema: DatabaseSchema | None = None
        self._schema_version = -1
        self._authorizer = Authorizer((), ())

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def cancel(self) -> None:
        """End the statement that another thread runs."""
        self._connection.interrupt()

    def read_schema(self, deadline: float) -> DatabaseSchema:
        """Return the tables as they are now.

        Raises:
            DatabaseFailure: the database cannot be read.
        """
        with self._running("", deadline):
            (version,) = self._connection.execute("PRAGMA schema_version").fetchone()
            if self._schema is None or version != self._schema_version:
                self._schema = read_schema(self._connection, self._tables)
                self._schema_version = version
                self._authorizer = Authorizer(
                    [table.name for table in self._schema.tables],
                    [name for _, name in self._schema.left_out],
                    shadow_tables(self._connection),
                    has_views=any(table.kind == "view" for table in self._schema.tables),
                )
            return self._schema

    def query(
        self,
        statement: str,
        parameters: Sequence[Any],
        limit: int,
        deadline: float,
        search_path: Sequence[str] = (),
    ) -> Rows:
        """Run a statement that :mod:`.guard` has accepted, and return its first ``limit`` rows.

        Args:
            statement: one statement.
            parameters: the values of ``:p1``, ``:p2``, ….
            limit: rows of the answer.
            deadline: when the answer must be there, by the monotonic clock.
            search_path: not used: SQLite has no schemas.

        Raises:
            DatabaseFailure: it cannot be run, takes too long or returns too much.
        """
        self.read_schema(deadline)
        with self._running(statement, deadline):
            self._connection.set_authorizer(self._authorizer)
            try:
                values = {f"p{number}": _parameter(value) for number, value in enumerate(parameters, 1)}
                cursor = self._connection.execute(statement, values)
                if cursor.description is None:
                    raise DatabaseFailure(FailureKind.NOT_ALLOWED)
                names = unique_names(column[0] for column in cursor.description)
                lines, has_more = self._fetch(cursor, names, limit)
            finally:
                self._connection.set_authorizer(None)
        return Rows(names, lines, has_more)

    def _fetch(self, cursor: sqlite3.Cursor, names: Sequence[str], limit: int) -> tuple[list[str], bool]:
        lines: list[str] = []
        size = 0
        try:
            for row in cursor:
                if len(lines) == limit:
                    return lines, True
                lines.append(row_line(names, row))
                size += len(lines[-1].encode(errors="replace"))
                if size > self._max_bytes:
                    del lines[-1]
                    if not lines:
                        raise DatabaseFailure(FailureKind.TOO_LARGE)
                    return lines, True
            return lines, False
        finally:
            cursor.close()

    @contextmanager
    def _running(self, statement: str, deadline: float) -> Iterator[None]:
        """End what runs at ``deadline``, and translate the errors of SQLite."""

        def is_late() -> bool:
            return time.monotonic() >= deadline

        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            raise DatabaseFailure(FailureKind.TIMEOUT)
        self._connection.execute(f"PRAGMA busy_timeout={min(int(remaining_s * 1000), _MAX_WAIT_FOR_LOCK_MS)}").close()
        self._connection.set_progress_handler(is_late, _INSTRUCTIONS_BETWEEN_CHECKS)
        timer = threading.Timer(remaining_s, self._connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError) as error:
            if is_late():
                raise DatabaseFailure(FailureKind.TIMEOUT) from None
            raise to_failure(error, statement) from None
        finally:
            timer.cancel()
            self._connection.set_progress_handler(None, 0)


def _parameter(value: Any) -> Any:
    """Return a JSON value as SQLite takes it: an array or object as the text that its JSON functions read."""
    return json.dumps(value) if isinstance(value, list | dict) else value
