"""Read one database: its tables, the description of one, and the rows of a query, each as JSON text."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from toolfold import call_context
from toolfold.sources.sql.errors import DatabaseFailure, FailureKind
from toolfold.sources.sql.pool import ConnectionPool
from toolfold.sources.sql.rows import Rows
from toolfold.sources.sql.schema import DatabaseSchema, Table
from toolfold.sources.sql.source_settings import SqlSettings
from toolfold.sources.sql.statement_parameters import bind_parameters

__all__ = ["Database", "DatabaseReader", "open_database"]

T = TypeVar("T")

_SCHEMA_TTL_S = 60.0
"""Seconds for which the tables are cached to check statements against."""

_MIN_SCHEMA_AGE_S = 1.0
"""Seconds after which they are read again for a table that is not among them."""


class Database(Protocol):
    """One connection to a database, used by one thread at a time. Every method raises ``DatabaseFailure``."""

    def close(self) -> None:
        """Close the connection."""

    def cancel(self) -> None:
        """End the statement that another thread runs."""

    def read_schema(self, deadline: float) -> DatabaseSchema:
        """Return the tables as they are now."""

    def query(
        self, statement: str, parameters: Sequence[Any], limit: int, deadline: float, search_path: Sequence[str]
    ) -> Rows:
        """Run a statement that the guard has accepted."""


def open_database(settings: SqlSettings, connection_string: str, max_bytes: int, deadline: float) -> Database:
    """Open a connection, and check that its role can only read.

    Args:
        settings: of the source.
        connection_string: names the database.
        max_bytes: bytes of one answer.
        deadline: when the connection must be there, by the monotonic clock.

    Raises:
        DatabaseFailure: there is no connection, or its role may do more than read.
    """
    if settings.dialect == "sqlite":
        from toolfold.sources.sql.sqlite_database import SqliteDatabase, sqlite_path

        return SqliteDatabase(sqlite_path(connection_string), settings.tables, max_bytes)
    from toolfold.sources.sql.postgresql_database import PostgresqlDatabase

    database = PostgresqlDatabase(connection_string, settings.tables, max_bytes, deadline)
    try:
        refusal = database.probe_role(deadline)
    except DatabaseFailure:
        database.close()
        raise
    if refusal is not None:
        database.close()
        raise DatabaseFailure(FailureKind.ROLE, str(refusal))
    return database


class DatabaseReader:
    """Answer the calls of one source. Safe to use from many threads.

    Args:
        settings: of the source.
        max_bytes: bytes of one answer.
    """

    def __init__(self, settings: SqlSettings, max_bytes: int) -> None:
        self._settings, self._max_bytes = settings, max_bytes
        self._pool: ConnectionPool[Database] = ConnectionPool(
            lambda connection_string, deadline: open_database(settings, connection_string, max_bytes, deadline)
        )
        self._lock = threading.Lock()
        self._known: tuple[str, float, DatabaseSchema] | None = None

    @property
    def schema(self) -> DatabaseSchema | None:
        """The tables as they were read last, for the suggestions of errors."""
        return self._known[2] if self._known else None

    def list_tables(self, connection_string: str, deadline: float, contains: str = "") -> str:
        """Return the tables in whose name, description or columns ``contains`` is: all, by default.

        What is beyond the bytes of one answer is left out, and counted in it.
        """
        schema = self._read_schema(connection_string, deadline)
        entries = [_json(_table_entry(table, schema)) for table in schema.tables]
        entries = [entry for entry in entries if contains.casefold() in entry.casefold()]
        sizes = itertools.accumulate(len(entry.encode()) + 1 for entry in entries)
        shown = sum(size <= self._max_bytes for size in sizes)
        more = "" if shown == len(entries) else f"{len(entries) - shown:,} tables are not listed; use contains"
        return f'{{"tables":[{",".join(entries[:shown])}]{_member("more_tables", more)}}}'

    def describe_table(self, connection_string: str, deadline: float, name: str) -> str:
        """Return the columns of one table.

        Raises:
            DatabaseFailure: there is no such table.
        """
        schema = self._read_schema(connection_string, deadline)
        table = schema.find(name)
        if table is None:
            raise DatabaseFailure(FailureKind.NO_TABLE, name)
        entry = _table_entry(table, schema)
        columns = [{**vars(column), "name": schema.sql_name(column.name)} for column in table.columns]
        return _json({**entry, "columns": columns})

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
            DatabaseFailure: the statement is refused, or fails. ``offset`` is the character of ``statement``.
        """
        try:
            from toolfold.sources.sql.guard import check_statement
        except ImportError:
            raise DatabaseFailure(FailureKind.DRIVER_MISSING) from None
        dialect = self._settings.dialect
        bound = bind_parameters(statement, params, dialect)
        schema = self._recent_schema(connection_string, deadline, _SCHEMA_TTL_S)
        try:
            try:
                guarded = check_statement(bound.text, dialect, schema)
            except DatabaseFailure as failure:
                if failure.kind is not FailureKind.NO_TABLE:
                    raise
                schema = self._recent_schema(connection_string, deadline, _MIN_SCHEMA_AGE_S)
                guarded = check_statement(bound.text, dialect, schema)
            rows = self._run(
                connection_string,
                deadline,
                lambda database: database.query(guarded.text, bound.values, limit, deadline, schema.search_path),
            )
        except DatabaseFailure as failure:
            if failure.offset is not None:
                failure.offset = bound.original_offset(failure.offset)
            raise
        return _rows_json(rows)

    def _run(self, connection_string: str, deadline: float, work: Callable[[Database], T]) -> T:
        """Return what ``work`` returns for a connection; end its statement when the client cancels the call."""
        context = call_context.current() or call_context.CallContext()

        def cancellable(database: Database) -> T:
            try:
                with context.on_cancel(database.cancel):
                    return work(database)
            finally:
                if context.is_cancelled:  # also one that came too late: it may hit the next statement
                    raise DatabaseFailure(FailureKind.CANCELLED)

        return self._pool.run(connection_string, deadline, cancellable)

    def _read_schema(self, connection_string: str, deadline: float) -> DatabaseSchema:
        read_at = time.monotonic()
        schema = self._run(connection_string, deadline, lambda database: database.read_schema(deadline))
        with self._lock:
            self._known = (connection_string, read_at, schema)
        return schema

    def _recent_schema(self, connection_string: str, deadline: float, max_age_s: float) -> DatabaseSchema:
        with self._lock:
            known = self._known
        if known and known[0] == connection_string and time.monotonic() - known[1] < max_age_s:
            return known[2]
        return self._read_schema(connection_string, deadline)


def _table_entry(table: Table, schema: DatabaseSchema) -> dict[str, Any]:
    rows = {} if table.rows is None else {"rows": table.rows}
    return {
        "name": schema.display_name(table),
        "kind": table.kind,
        "description": table.description,
        **rows,
        "columns": ", ".join(schema.sql_name(column.name) for column in table.columns),
    }


def _rows_json(rows: Rows) -> str:
    """Return rows as a JSON object: the lines, and what there is to say about them."""
    body = ",".join(rows.lines)
    if not rows.lines:
        return f'{{"rows":[],"columns":{_json(rows.columns)}}}'
    why = f"the answer has the first {len(rows.lines):,} rows only; aggregate, filter, or use LIMIT and OFFSET"
    return f'{{"rows":[{body}]{_member("more_rows", why if rows.has_more else "")}}}'


def _member(name: str, text: str) -> str:
    """Return a further member of a JSON object; none for an empty text."""
    return f",{_json(name)}:{_json(text)}" if text else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
