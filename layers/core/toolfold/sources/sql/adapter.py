"""The adapter of SQL databases: it lists the tables, describes one, and answers queries, each as JSON text.

A connection to PostgreSQL is used again by the calls of the next seconds; a file of SQLite is opened by each call. The
database binds the values of parameters; they are never put into the text of a statement.
"""

from __future__ import annotations

import importlib
import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

from toolfold import client_call
from toolfold.catalog.reader import damaged
from toolfold.models import ParsedResponse, SourceCredentials, UpstreamResponse
from toolfold.results.render import dumps_compact
from toolfold.sources.base import SourceAdapter
from toolfold.sources.sql.errors import DatabaseFailure, FailureKind, to_call_error
from toolfold.sources.sql.postgresql_database import PostgresqlDatabase
from toolfold.sources.sql.schema import MAX_BYTES, MAX_ROWS, DatabaseSchema, SqlSettings, Table
from toolfold.sources.sql.sqlite_database import SqliteDatabase, sqlite_path
from toolfold.text_safety import counted

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source, Tool
    from toolfold.sources.base import AdapterContext

    Database = SqliteDatabase | PostgresqlDatabase
    """One connection to a database, used by one thread at a time. Every method raises ``DatabaseFailure``."""

logger = logging.getLogger("toolfold")

_SCHEMA_TTL_S = 60.0
"""Seconds for which the tables are cached to check statements against."""


def open_database(settings: SqlSettings, connection_string: str, max_bytes: int, deadline: float) -> Database:
    """Open a connection, and check that its role can only read."""
    if settings.dialect == "sqlite":
        return SqliteDatabase(sqlite_path(connection_string), settings, max_bytes, deadline)
    database = PostgresqlDatabase(connection_string, settings, max_bytes, deadline)
    database.check_role(deadline)
    return database


_MAX_CONNECTIONS = 4
"""Connections of one process to one database at the same time. On Lambda there is one call at a time."""

_MAX_IDLE_S = 55.0
"""Seconds for which a connection waits for the next call: new rights of its role are seen after that. By the time of
day, as the monotonic clock may stand still while a Lambda environment is frozen."""


class DatabaseReader:
    """Answer the calls of one source. Safe to use from many threads."""

    def __init__(self, settings: SqlSettings, max_bytes: int) -> None:
        self._settings, self._max_bytes = settings, max_bytes
        self._connections = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self._idle: list[tuple[Database, str, float]] = []  # with connection string and time of the last use
        self._known: tuple[str, float, DatabaseSchema] | None = None

    @property
    def schema(self) -> DatabaseSchema | None:
        """The tables as they were read last, for the suggestions of errors."""
        return self._known[2] if self._known else None

    def list_tables(self, connection_string: str, deadline: float) -> str:
        """Return all tables with their columns."""
        with self._connected(connection_string, deadline) as database:
            schema = self._read_schema(database, connection_string, deadline)
        listed = dumps_compact([_table_entry(table, schema) for table in schema.tables])
        if len(listed.encode()) > self._max_bytes:
            raise DatabaseFailure(FailureKind.TOO_LARGE)
        return f'{{"tables":{listed}{_member("unusable_views", schema.skipped_note())}}}'

    def describe_table(self, connection_string: str, deadline: float, name: str) -> str:
        """Return the columns of one table."""
        with self._connected(connection_string, deadline) as database:
            schema = self._read_schema(database, connection_string, deadline)
        if (table := schema.find(name)) is None:
            raise DatabaseFailure(FailureKind.NO_TABLE, name)
        columns = [{**vars(column), "name": schema.sql_name(column.name)} for column in table.columns]
        return dumps_compact({**_table_entry(table, schema), "columns": columns})

    def query(
        self,
        connection_string: str,
        deadline: float,
        statement: str,
        params: Sequence[Any] | Mapping[str, Any],
        limit: int,
    ) -> str:
        """Return the first rows of a statement.

        Raises:
            DatabaseFailure: the statement is refused, or fails.
        """
        from toolfold.sources.sql.guard import check_statement

        with self._connected(connection_string, deadline) as database:
            known, dialect = self._known, self._settings.dialect
            if known and known[0] == connection_string and time.monotonic() - known[1] < _SCHEMA_TTL_S:
                schema = known[2]
            else:
                known, schema = None, self._read_schema(database, connection_string, deadline)
            try:
                guarded = check_statement(statement, dialect, schema, params)
            except DatabaseFailure as failure:
                if not known or failure.kind is not FailureKind.NO_TABLE:
                    raise
                schema = self._read_schema(database, connection_string, deadline)
                guarded = check_statement(statement, dialect, schema, params)
            if client_call.current().is_cancelled:  # before a statement of SQLite ran that could be interrupted
                raise DatabaseFailure(FailureKind.CANCELLED)
            rows = database.query(guarded, params, limit, deadline, schema)
        if not rows.lines:
            return f'{{"rows":[],"columns":{dumps_compact(rows.columns)}}}'
        count = counted(len(rows.lines), "row")
        why = f"the answer has the first {count} only; aggregate, filter, or use LIMIT and OFFSET"
        return f'{{"rows":[{",".join(rows.lines)}]{_member("more_rows", why if rows.has_more else "")}}}'

    @contextmanager
    def _connected(self, connection_string: str, deadline: float) -> Iterator[Database]:
        """Yield a connection, whose statement is ended when the client cancels the call."""
        context = client_call.current()
        if not self._connections.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise DatabaseFailure(FailureKind.BUSY)
        try:
            database = self._take_idle(connection_string)
            database = database or open_database(self._settings, connection_string, self._max_bytes, deadline)
            is_kept = False
            try:
                with context.on_cancel(database.cancel):
                    yield database
                # A cancellation that comes late would end the next statement.
                is_kept = database.is_reusable and not context.is_cancelled
            finally:
                if is_kept:
                    self._idle.append((database, connection_string, time.time()))
                else:
                    database.close()
        except DatabaseFailure:
            if context.is_cancelled:
                raise DatabaseFailure(FailureKind.CANCELLED) from None
            raise
        finally:
            self._connections.release()

    def _take_idle(self, connection_string: str) -> Database | None:
        """Return a connection that waits and can be used; close those that cannot."""
        with suppress(IndexError):  # none is left; other threads take them, too
            while True:
                database, own, used_at = self._idle.pop()
                if own == connection_string and 0 <= time.time() - used_at < _MAX_IDLE_S and database.is_reusable:
                    return database
                database.close()
        return None

    def _read_schema(self, database: Database, connection_string: str, deadline: float) -> DatabaseSchema:
        """Return the tables as they are now."""
        schema = database.read_schema(deadline)
        self._known = (connection_string, time.monotonic(), schema)
        return schema


def _table_entry(table: Table, schema: DatabaseSchema) -> dict[str, Any]:
    return {
        "name": schema.display_name(table),
        "kind": table.kind,
        "description": table.description,
        "columns": ", ".join(schema.sql_name(column.name) for column in table.columns),
    }


def _member(name: str, text: str) -> str:
    return f",{dumps_compact(name)}:{dumps_compact(text)}" if text else ""


DEFAULT_LIMIT = 100
"""Rows of a query without ``limit``: a few thousand tokens."""


class SqlAdapter(SourceAdapter):
    """Read one database. See :class:`toolfold.sources.base.SourceAdapter`.

    The key of the source is its connection string. Callers cannot bring one: it says what this process connects to.
    """

    smaller_response_hint: ClassVar[str] = "Name the columns that are needed, add a WHERE, or lower limit."

    def __init__(self, source: Source, context: AdapterContext) -> None:
        self.source = source
        self._settings = SqlSettings.from_source(source)
        if source.auth is None or source.auth.caller_key:
            raise damaged(f"source {source.id!a} is a database whose connection string is not the operator's")
        self._max_bytes = min(MAX_BYTES, context.max_bytes(source))
        self._reader = DatabaseReader(self._settings, self._max_bytes)

    @property
    def endpoint(self) -> str:
        """Where calls are sent. Which database that is, the connection string says: the key of the source."""
        return f"{self._settings.dialect}:"

    def call(
        self, tool: Tool, arguments: Mapping[str, Any], credentials: SourceCredentials, deadline: float
    ) -> UpstreamResponse:
        """Answer one call from the database before ``deadline``."""
        action, reader, connection_string = tool.call.get("action"), self._reader, credentials.api_key
        try:
            if action == "list_tables":
                text = reader.list_tables(connection_string, deadline)
            elif action == "describe_table":
                text = reader.describe_table(connection_string, deadline, str(arguments.get("table") or ""))
            elif action == "query":
                limit = min(int(arguments.get("limit") or DEFAULT_LIMIT), MAX_ROWS)
                params = arguments.get("params") or []
                text = reader.query(connection_string, deadline, str(arguments.get("sql") or ""), params, limit)
            else:
                raise damaged(f"tool {tool.name!a} has no action of a database")
            return UpstreamResponse(200, text)
        except DatabaseFailure as failure:
            if failure.kind is FailureKind.ROLE:
                logger.error("source %s is not used: %s", self.source.id, failure.detail)
            raise to_call_error(
                failure,
                title=self.source.title,
                dialect=self._settings.dialect,
                max_bytes=self._max_bytes,
                statement=str(arguments.get("sql", "")),
                schema=self._reader.schema,
            ) from None

    def parse(
        self, tool: Tool, arguments: Mapping[str, Any], response: UpstreamResponse, credentials: SourceCredentials
    ) -> ParsedResponse:
        """Return the answer, as :meth:`call` has made it."""
        return ParsedResponse("json", response.body)

    def warm_up(self) -> None:
        """Import what a query needs. Nothing is opened."""
        from toolfold.sources.sql import guard

        # sqlglot imports a dialect when it reads the first statement in it.
        guard.check_statement("SELECT 1", self._settings.dialect, DatabaseSchema())
        if self._settings.dialect != "sqlite":
            with suppress(ImportError):
                importlib.import_module("psycopg")
