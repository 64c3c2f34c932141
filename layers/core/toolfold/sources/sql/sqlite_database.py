"""Read an SQLite database.

Five layers keep it unchanged, and each holds alone: the file is opened with ``mode=ro``, ``query_only`` is set, the
authorizer allows reading alone, no database can be attached and no extension loaded, and :mod:`.guard` has accepted the
statement before. Time, memory and what a statement may do are bounded by :mod:`toolfold.sqlite_sandbox`.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

from toolfold.results.render import dumps_compact
from toolfold.results.values import MAX_SAFE_INTEGER
from toolfold.sources.sql.errors import DatabaseFailure, FailureKind
from toolfold.sources.sql.functions import SQLITE_FUNCTIONS
from toolfold.sources.sql.schema import (
    Column,
    DatabaseSchema,
    Rows,
    SqlSettings,
    Table,
    column_names,
    sql_name,
)
from toolfold.sqlite_sandbox import Authorizer, bound_slow_functions, bounded, is_internal, limit_connection

_TABLES = """
SELECT name, type FROM sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name COLLATE NOCASE
"""
"""``pragma_table_list`` would plan all views."""

_UNIQUE = """
SELECT i.name FROM pragma_index_list(?) AS l, pragma_index_info(l.name) AS i
WHERE l."unique" AND l.origin = 'u' AND NOT l.partial GROUP BY l.name HAVING count(*) = 1
"""
_COLUMNS = 'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1'
"""Without those of a virtual table that ``SELECT *`` leaves out."""

_SHADOWS = frozenset(
    ("data", "idx", "content", "docsize", "config", "segments", "segdir", "stat", "node", "parent", "rowid")
)
"""What follows the name of a virtual table of FTS or R*Tree in those of the tables that store its data."""

_VIEW_S, _VIEWS_S = 0.25, 2.0
"""Seconds for planning one view and all of them: views of views of views take a time that doubles with each."""


def _read_schema(connection: sqlite3.Connection, tables: SqlSettings, deadline: float) -> DatabaseSchema:
    """Return the tables that ``tables`` accepts; views that cannot be planned are skipped."""
    found, left_out, skipped, virtual = [], set(), [], _declare_virtual_tables(connection)
    views_deadline = min(deadline, time.monotonic() + _VIEWS_S)
    for name, kind in connection.execute(_TABLES).fetchall():
        table = None
        if tables.has_table("main", name) and not _is_shadow(name.lower(), virtual):
            end = min(views_deadline, time.monotonic() + _VIEW_S) if kind == "view" else deadline
            if time.monotonic() < end:
                with bounded(connection, end), suppress(sqlite3.Error, MemoryError):
                    table = _read_table(connection, name, kind)
            if table is None:
                skipped.append(name)
        if table is None:
            left_out.add(("", name))
        else:
            found.append(table)
    found.sort(key=lambda table: table.name.lower())
    return DatabaseSchema(tuple(found), frozenset(left_out), skipped=tuple(skipped))


def _declare_virtual_tables(connection: sqlite3.Connection) -> set[str]:
    """Let each virtual table declare itself, which the authorizer denies later, and return their names."""
    found = connection.execute("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'").fetchall()
    for (name,) in found:
        with suppress(sqlite3.Error):  # no value: the name of a table, in quotes
            connection.execute(f"SELECT 1 FROM {sql_name(name, folds_case=False)} LIMIT 0").close()  # noqa: S608
    return {name.lower() for (name,) in found}


def _is_shadow(name: str, virtual: Collection[str]) -> bool:
    owner, _, suffix = name.rpartition("_")
    return suffix in _SHADOWS and owner in virtual


def _read_table(connection: sqlite3.Connection, name: str, kind: str) -> Table | None:
    """Return a table; None for one without columns: what SQLite cannot plan."""
    keys: defaultdict[str, list[str]] = defaultdict(list)
    if kind == "table":
        for (column,) in connection.execute(_UNIQUE, (name,)).fetchall():
            keys[column].append("unique")
        foreign = 'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)'
        for own, other, column in connection.execute(foreign, (name,)).fetchall():
            keys[own].append(f"references {other}({column})" if column else f"references {other}")
    columns = []
    for column, type_, not_null, primary in connection.execute(_COLUMNS, (name,)).fetchall():
        key = ", ".join([*(["primary key"] if primary else []), *keys[column]])
        columns.append(Column(column, type_ or "any", not (not_null or primary), key))
    return Table("", name, kind, "", tuple(columns)) if columns else None


_MAX_DETAIL_CHARS = 200

_CODES: dict[int, FailureKind] = {
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), FailureKind.BUSY),
    **dict.fromkeys((sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM), FailureKind.TOO_LARGE),
    **dict.fromkeys((sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT), FailureKind.NOT_A_DATABASE),
    **dict.fromkeys(
        # of a database that was left in the middle of a write
        (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY),
        FailureKind.NOT_READABLE,
    ),
    **dict.fromkeys((sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL), FailureKind.DATABASE),
    sqlite3.SQLITE_INTERRUPT: FailureKind.TIMEOUT,
}
"""Primary result codes of SQLite."""

_MESSAGES: tuple[tuple[re.Pattern[str], FailureKind, str], ...] = tuple(
    (re.compile(pattern, re.S), kind, detail)
    for pattern, kind, detail in (
        (r'no such column: "?(?P<name>.*?)"?(?: - should this be .*)?', FailureKind.NO_COLUMN, "{name}"),
        (r'near "(?P<name>.*)": syntax error', FailureKind.SYNTAX, "the error is at or near {name!r}"),
        (r"not authorized.*|.*may not be used.*|.*prohibited.*", FailureKind.NOT_ALLOWED, ""),
        (r"user-defined function raised exception", FailureKind.TOO_LARGE, ""),
    )
)
"""What the guard cannot know. Other messages are passed on as they are."""


def to_failure(error: Exception, statement: str) -> DatabaseFailure:
    """Return what ``error`` of SQLite means for ``statement``; empty: an error of opening the file."""
    message = str(error)
    for pattern, kind, detail in _MESSAGES:
        if found := pattern.fullmatch(message):
            name = found.groupdict().get("name", "")[:_MAX_DETAIL_CHARS]
            return DatabaseFailure(kind, detail.format(name=name))
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None and (kind_of_code := _CODES.get(code & 0xFF)):
        return DatabaseFailure(kind_of_code)
    if isinstance(error, MemoryError):
        return DatabaseFailure(FailureKind.TOO_LARGE)
    if statement and isinstance(error, sqlite3.Error | ValueError | OverflowError):
        return DatabaseFailure(FailureKind.STATEMENT, f"SQLite says: {message[:_MAX_DETAIL_CHARS]}")
    return DatabaseFailure(FailureKind.DATABASE)


def _as_value(value: Any) -> Any:
    """Return the value of a parameter: the JSON functions of SQLite read an array or object as text."""
    return json.dumps(value) if isinstance(value, list | dict) else value


def _json_value(value: Any) -> Any:
    """Return a value as JSON has it: numbers that a double cannot hold as text, bytes as PostgreSQL writes them."""
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return str(value) if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER else value


_PRAGMAS = frozenset({"data_version", "page_size"})
"""What full-text search reads of its file. Without a value, a pragma of these changes nothing."""

_PREFIX = "sqlite:///"
"""How a URL of an SQLite file begins; an absolute path follows with its own slash, as SQLAlchemy writes it."""

_SHORT = "sqlite:"
_FILE = "file:///"

_MIN_LENGTH_LIMIT = 1_000_000
"""Bytes that a text or row may have at least: the schema of a database is rows as well."""

_LIMITS = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 500_000,
}
"""Of statements, and of the views that they read."""

_MAX_WAIT_FOR_LOCK_S = 5.0
"""Another process that writes holds the lock for milliseconds; a longer wait is a transaction left open."""


def sqlite_path(connection_string: str) -> Path:
    """Return the file that a connection string names.

    That is a path, also behind ``sqlite:///`` or ``sqlite:``, or a URL of a file (RFC 8089), whose path may have
    characters that the key of a source cannot have: ``%C3%A9``.
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


def open_read_only(path: Path, max_bytes: int, deadline: float = math.inf) -> sqlite3.Connection:
    """Open a database that exists, for reading alone.

    The file is not opened beside SQLite: closing it would end the locks of the other connections of this process.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError)
        raise DatabaseFailure(FailureKind.NO_DATABASE if is_missing else FailureKind.NOT_READABLE) from None
    if not size or not path.is_file():
        raise DatabaseFailure(FailureKind.NOT_A_DATABASE if path.is_file() else FailureKind.NOT_READABLE)
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        wait_s = max(0.0, min(deadline - time.monotonic(), _MAX_WAIT_FOR_LOCK_S))
        connection = sqlite3.connect(uri, timeout=wait_s, uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise to_failure(error, "") from None
    try:
        connection.text_factory = lambda text: text.decode(errors="replace")
        for pragma in ("query_only=ON", "cell_size_check=ON", "schema_version"):  # the last one reads the file
            connection.execute(f"PRAGMA {pragma}").close()
        max_length = max(max_bytes, _MIN_LENGTH_LIMIT)
        bound_slow_functions(connection, max_length)
        limit_connection(connection, {**_LIMITS, sqlite3.SQLITE_LIMIT_LENGTH: max_length})
    except sqlite3.Error as error:
        connection.close()
        raise to_failure(error, "") from None
    return connection


class SqliteDatabase:
    """One connection to an SQLite database. Used by one thread at a time."""

    is_reusable = False  # opening is cheap, and another file may take the place of this one

    def __init__(self, path: Path, tables: SqlSettings, max_bytes: int, deadline: float = math.inf) -> None:
        self._tables, self._max_bytes = tables, max_bytes
        self._connection = open_read_only(path, max_bytes, deadline)

    def close(self) -> None:
        """Close the connection."""
        with suppress(sqlite3.Error):
            self._connection.close()

    def cancel(self) -> None:
        """End the statement that another thread runs."""
        self._connection.interrupt()

    def read_schema(self, deadline: float) -> DatabaseSchema:
        """Return the tables as they are now."""
        with self._running("", deadline):
            return _read_schema(self._connection, self._tables, deadline)

    def query(
        self,
        statement: str,
        parameters: Sequence[Any] | Mapping[str, Any],
        limit: int,
        deadline: float,
        schema: DatabaseSchema,
    ) -> Rows:
        """Run a statement that :mod:`.guard` has accepted, and return its first ``limit`` rows."""
        with self._running("", deadline):
            _declare_virtual_tables(self._connection)
        values: Any = [*map(_as_value, parameters)]
        if isinstance(parameters, Mapping):
            values = {name: _as_value(value) for name, value in parameters.items()}
        lines = list[str]()
        size = 0
        with (
            self._running(statement, deadline, authorizer_of(schema)),
            closing(self._connection.execute(statement, values)) as cursor,
        ):
            if cursor.description is None:
                raise DatabaseFailure(FailureKind.NOT_ALLOWED)
            # Of an expression it is its text, in which the guard has put names into backticks.
            named = [column[0] for column in cursor.description]
            names = column_names(name.replace("`", '"') if name in statement else name for name in named)
            for row in cursor:
                line = dumps_compact(dict(zip(names, map(_json_value, row), strict=True)))
                size += len(line.encode(errors="replace"))
                if size > self._max_bytes and not lines:
                    raise DatabaseFailure(FailureKind.TOO_LARGE)
                if size > self._max_bytes or len(lines) == limit:
                    return Rows(names, lines, has_more=True)
                lines.append(line)
        return Rows(names, lines)

    @contextmanager
    def _running(self, statement: str, deadline: float, authorizer: Authorizer | None = None) -> Iterator[None]:
        if time.monotonic() >= deadline:
            raise DatabaseFailure(FailureKind.TIMEOUT)
        try:
            with bounded(self._connection, deadline, authorizer):
                yield
        except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError, MemoryError) as error:
            failure = to_failure(error, statement)
            is_late = time.monotonic() >= deadline and failure.kind is not FailureKind.BUSY
            raise (DatabaseFailure(FailureKind.TIMEOUT) if is_late else failure) from None


def authorizer_of(schema: DatabaseSchema) -> Authorizer:
    """Return what a statement may do. A view may read any table: its definition is the operator's."""
    readable = {table.name.lower() for table in schema.tables}
    left_out = {name.lower() for _, name in schema.left_out}
    has_views = any(table.kind == "view" for table in schema.tables)

    def may_read(table: str, column: str, view: str) -> bool:
        if table in readable or (_is_shadow(table, readable) and table in left_out):
            return True
        if is_internal(table):
            return False
        # Without a column: the rows of a subquery, a common table expression or a view are counted, and SQLite
        # does not say of which view.
        return view in readable or (not column and (has_views or table not in left_out))

    return Authorizer(may_read, SQLITE_FUNCTIONS, _PRAGMAS)
