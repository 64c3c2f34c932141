"""Read a PostgreSQL database.

Every call is a read-only transaction that is rolled back. In it the server parses a statement as one statement (the
extended protocol allows no second one), and runs it as the query of a cursor, which the grammar of PostgreSQL limits to
``SELECT`` and ``VALUES``. :mod:`.guard` has accepted it before.

A read-only transaction is not enough: a superuser reads and writes files of the server by functions, and what
ends the transaction ends its protection. So a role that could write is not used at all.

The server writes each row as JSON: so every type has a value, also those that Python cannot represent (``infinity``,
``numeric`` of any length, dates before year 1), and the size of the answer is limited before it is sent.

Encode the values of parameters as PostgreSQL reads them as text, by the types that it inferred for them.

So ``"5"`` fits a parameter that is a number, and ``5`` one that is a text: the caller may not know which is needed.

Translate the errors of PostgreSQL and of libpq.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import socket
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from toolfold.results.values import sql_identifier
from toolfold.sources.sql.errors import DatabaseFailure, FailureKind
from toolfold.sources.sql.schema import Column, DatabaseSchema, Rows, SqlSettings, Table, column_names
from toolfold.text_safety import counted

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.pq.abc import PGresult

_MAX_DETAIL_CHARS = 300

_STATES: dict[str, FailureKind] = {
    "42601": FailureKind.SYNTAX,
    "42703": FailureKind.NO_COLUMN,
    "42P01": FailureKind.NO_TABLE,
    "25006": FailureKind.NOT_ALLOWED,
    "57014": FailureKind.TIMEOUT,
    **dict.fromkeys(("55P03", "53300", "57P03"), FailureKind.BUSY),
    "54000": FailureKind.TOO_LARGE,
}
"""SQLSTATE → what it means; see appendix A of PostgreSQL's documentation."""

_NO_PRIVILEGE = "42501"

_CLASSES: dict[str, FailureKind] = {
    **dict.fromkeys(("08", "57", "25"), FailureKind.BROKEN),
    **dict.fromkeys(("53", "58", "XX", "F0"), FailureKind.DATABASE),
}
"""Classes of SQLSTATE. Every other error is one of the statement."""

_CONNECTION_TEXTS = (
    (r"too many (?:clients|connections)|remaining connection slots|starting up", FailureKind.BUSY),
    (r"database \".*\" does not exist", FailureKind.NO_DATABASE),
    (
        r"authentication failed|no password supplied|role \".*\" (?:does not exist|is not permitted)"
        r"|no pg_hba\.conf entry|permission denied for database",
        FailureKind.LOGIN,
    ),
    (r"does not support SSL|root certificate|SSL error|server certificate|weak sslmode", FailureKind.TLS),
    (r"invalid (?:connection option|port number|integer value|\w+ value)|of service", FailureKind.CONNECTION_STRING),
)
"""libpq has no SQLSTATE for a connection that failed."""

_QUOTED = re.compile(r'"((?:[^"]|"")+)"')
_COLUMN = re.compile(r'column "?((?:[^"\s]|"")+)"? does not exist')


def _checked(result: PGresult) -> PGresult:
    """Return ``result``; raise the failure that it is."""
    from psycopg.pq import DiagnosticField, ExecStatus

    if result.status in (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK, ExecStatus.SINGLE_TUPLE):
        return result

    def field(name: DiagnosticField) -> str:
        return (result.error_field(name) or b"").decode(errors="replace")

    state = field(DiagnosticField.SQLSTATE)
    if not state:  # libpq itself: the connection is closed
        raise DatabaseFailure(FailureKind.BROKEN)
    message, hint = field(DiagnosticField.MESSAGE_PRIMARY), field(DiagnosticField.MESSAGE_HINT)
    kind = _STATES.get(state) or _CLASSES.get(state[:2]) or FailureKind.STATEMENT
    quoted = _QUOTED.search(message)
    if kind is FailureKind.NO_COLUMN and (found := _COLUMN.search(message)):
        detail = found[1]
    elif kind in (FailureKind.NO_TABLE, FailureKind.NO_COLUMN) and quoted:
        detail = quoted[1]
    elif state == _NO_PRIVILEGE:
        detail = f"the role set up here may not read all of {message.rpartition(' ')[2]}; name columns, instead of *"
    elif kind is FailureKind.SYNTAX:
        detail = f"the error is at or near {quoted[1]!r}" if quoted else message[:_MAX_DETAIL_CHARS]
    else:
        said = ". ".join(part.rstrip(".") for part in (message, hint) if part)
        detail = f"PostgreSQL says: {said[:_MAX_DETAIL_CHARS]}"
    raise DatabaseFailure(kind, detail)


_JSON_TYPES = frozenset((114, 3802))
"""OIDs of json and jsonb."""


def encode_parameters(values: Sequence[Any], types: Sequence[int]) -> list[bytes | None]:
    """Return ``values`` in the text format of PostgreSQL.

    Raises:
        DatabaseFailure: there are more or fewer values than parameters, or a text has a null character.
    """
    if len(values) != len(types):
        given = f"the statement has {counted(len(types), 'parameter')} and params has {counted(len(values), 'value')}"
        raise DatabaseFailure(FailureKind.STATEMENT, given)
    texts = [
        json.dumps(value) if type_ in _JSON_TYPES and not isinstance(value, str | None) else _as_text(value)
        for value, type_ in zip(values, types, strict=True)
    ]
    if any(text is not None and "\0" in text for text in texts):
        raise DatabaseFailure(FailureKind.STATEMENT, "a value of params has a null character")
    return [None if text is None else text.encode(errors="replace") for text in texts]


def _as_text(value: Any, *, is_element: bool = False) -> str | None:
    if value is None:
        return "NULL" if is_element else None
    if isinstance(value, list):
        return "{" + ",".join(str(_as_text(one, is_element=True)) for one in value) + "}"
    text = json.dumps(value) if isinstance(value, dict | bool) else str(value)
    if not is_element:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_CURSOR = "toolfold_rows"
_NAME_BYTES = 59
"""Of the name of a column: PostgreSQL cuts longer ones than 63, also where a number makes them different."""

_GRACE_S = 1.0
"""Seconds after the deadline for the server to say that it has ended a statement. Then the connection is closed."""

_CANCEL_TIMEOUT_S, _CANCEL_AGAIN_S = 5.0, 0.2

_MAX_CONNECT_S = 10

_SETTINGS = (
    "SET LOCAL lock_timeout = {ms}",
    "SET LOCAL idle_in_transaction_session_timeout = {idle_ms}",
    # With it off, a backslash could end a text for the server that goes on for the guard.
    "SET LOCAL standard_conforming_strings = on",
    "SET LOCAL client_min_messages = error",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL extra_float_digits = 3",  # the digits that read as the same number
)

_ROWS = """DECLARE {cursor} NO SCROLL CURSOR FOR
SELECT CASE WHEN sum(octet_length(line)) OVER (ROWS UNBOUNDED PRECEDING) <= {max_bytes} THEN line END
FROM (SELECT row_to_json(answer)::text AS line FROM (
{statement}
) AS answer({names}) OFFSET 0) AS lines LIMIT {limit}"""
"""OFFSET 0 keeps the planner from computing a line twice."""


_SCHEMAS = """
SELECT nspname FROM pg_catalog.pg_namespace
WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'USAGE')
ORDER BY nspname
"""

# One row for each table, its columns as JSON. Partitions cannot be named: they are read through their table.
_TABLES = """
SELECT n.nspname, c.relname, c.relkind, coalesce(obj_description(c.oid, 'pg_class'), ''),
  NOT c.relispartition AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT')),
  (SELECT json_agg(json_build_array(
      a.attname,
      format_type(a.atttypid, a.atttypmod) || coalesce(
        (SELECT ' (' || string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder) || ')'
         FROM (SELECT * FROM pg_catalog.pg_enum WHERE enumtypid = a.atttypid ORDER BY enumsortorder LIMIT 30) e), ''),
      NOT a.attnotnull,
      coalesce(
        (SELECT string_agg(CASE k.contype WHEN 'p' THEN 'primary key' WHEN 'u' THEN 'unique' ELSE
           format('references %s%s(%s)', CASE WHEN {several} OR m.nspname <> n.nspname THEN m.nspname || '.' END,
                  f.relname, b.attname) END, ', ' ORDER BY k.contype DESC, k.conname)
         FROM pg_catalog.pg_constraint k
         LEFT JOIN pg_catalog.pg_class f ON f.oid = k.confrelid
         LEFT JOIN pg_catalog.pg_namespace m ON m.oid = f.relnamespace
         LEFT JOIN pg_catalog.pg_attribute b ON b.attrelid = k.confrelid
           AND b.attnum = k.confkey[array_position(k.conkey, a.attnum)]
         WHERE k.conrelid = c.oid AND a.attnum = ANY(k.conkey)
           AND (k.contype IN ('p', 'f') OR (k.contype = 'u' AND cardinality(k.conkey) = 1))), ''),
      coalesce(col_description(c.oid, a.attnum), '')) ORDER BY a.attnum)
   FROM pg_catalog.pg_attribute a
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     AND has_column_privilege(c.oid, a.attnum, 'SELECT'))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND has_schema_privilege(n.oid, 'USAGE')
ORDER BY n.nspname, c.relname
"""

# Functions of one argument. Those of PostgreSQL that have the name of a type convert to it, and three do no harm.
_FUNCTIONS = """
SELECT DISTINCT p.proname FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_type t ON t.oid = p.prorettype
WHERE p.pronargs > 0 AND (p.pronargs - p.pronargdefaults < 2 OR p.provariadic <> 0)
  AND (p.pronamespace <> 'pg_catalog'::regnamespace
    OR p.prokind = 'f' AND p.proname NOT IN (t.typname, 'bernoulli', 'format', 'system'))
"""

_KINDS = {"r": "table", "p": "table", "v": "view", "m": "materialized view", "f": "foreign table"}

_DANGEROUS_ROLES = (
    "pg_read_server_files pg_write_server_files pg_execute_server_program pg_write_all_data pg_signal_backend"
    " pg_maintain pg_checkpoint pg_create_subscription pg_use_reserved_connections rds_superuser rds_replication"
    " rdsadmin cloudsqlsuperuser alloydbsuperuser azure_pg_admin"
)
"""Roles of PostgreSQL and of its managed services that do more than read tables."""

# What the role may do, or one that it may become: what it owns, and what it and PUBLIC were granted.
_RIGHTS = f"""
WITH me AS (
  SELECT * FROM pg_catalog.pg_roles
  WHERE pg_has_role(session_user, oid, 'MEMBER') OR pg_has_role(current_user, oid, 'MEMBER')
)
SELECT concat_ws(', ', CASE WHEN rolsuper THEN 'SUPERUSER' END, CASE WHEN rolcreaterole THEN 'CREATEROLE' END,
  CASE WHEN rolcreatedb THEN 'CREATEDB' END, CASE WHEN rolreplication THEN 'REPLICATION' END,
  'the rights of ' || quote_ident(rolname)) FROM me
WHERE rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication
  OR rolname = ANY(string_to_array('{_DANGEROUS_ROLES}', ' '))
UNION SELECT format('changing %I.%I', n.nspname, c.relname)
FROM me, pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND (c.relowner = me.oid OR CASE c.relkind
    WHEN 'S' THEN has_sequence_privilege(me.oid, c.oid, 'USAGE, UPDATE')
    ELSE has_table_privilege(me.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
      OR has_any_column_privilege(me.oid, c.oid, 'INSERT, UPDATE') END)
UNION SELECT format('CREATE in the schema %I', n.nspname) FROM me, pg_catalog.pg_namespace n
WHERE has_schema_privilege(me.oid, n.oid, 'CREATE') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
UNION SELECT format('CREATE in the database %I', current_database()) FROM me
WHERE has_database_privilege(me.oid, current_database(), 'CREATE')
ORDER BY 1 DESC LIMIT 3
"""  # noqa: S608 - constants


class PostgresqlDatabase:
    """One connection to a PostgreSQL database. Used by one thread at a time.

    Args:
        connection_string: a URL, or ``name=value`` pairs, as libpq reads them.
        tables: the tables that may be read.
        max_bytes: bytes of one answer, as JSON.
        deadline: when the connection must be there, by the monotonic clock.
    """

    def __init__(self, connection_string: str, tables: SqlSettings, max_bytes: int, deadline: float) -> None:
        self._tables, self._max_bytes = tables, max_bytes
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise DatabaseFailure(FailureKind.DRIVER_MISSING) from None
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            raise DatabaseFailure(FailureKind.TIMEOUT)
        try:
            # SQLAlchemy names a driver in a URL (``postgresql+psycopg://``), which libpq does not know.
            scheme, separator, rest = connection_string.strip().partition("://")
            conninfo = f"{scheme.partition('+')[0]}{separator}{rest}"
            values: dict[str, Any] = conninfo_to_dict(conninfo)
        except (psycopg.Error, ValueError):
            raise DatabaseFailure(FailureKind.CONNECTION_STRING) from None
        values.update(client_encoding="utf8", connect_timeout=max(2, int(min(remaining_s, _MAX_CONNECT_S))))
        values.setdefault("application_name", "toolfold")
        try:
            self._connection: Connection[Any] = psycopg.connect(**values, autocommit=True, prepare_threshold=None)
        except (psycopg.Error, OSError, UnicodeError) as error:
            # The text has host and role in it, and goes nowhere.
            kinds = (kind for pattern, kind in _CONNECTION_TEXTS if re.search(pattern, str(error)))
            raise DatabaseFailure(next(kinds, FailureKind.NOT_CONNECTED)) from None
        self._process = os.getpid()
        weakref.finalize(self, self._connection.close)  # one that waits for a call, when its source is dropped

    @property
    def is_reusable(self) -> bool:
        """Whether another call of this process can use the connection: it is open and idle, and the server silent."""
        from psycopg.pq import TransactionStatus

        pgconn = self._connection.pgconn
        if self._process != os.getpid() or pgconn.transaction_status != TransactionStatus.IDLE:
            return False
        return not select.select([pgconn.socket], [], [], 0)[0]

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(Exception):
            self._connection.close()

    def cancel(self) -> None:
        """End the statement that another thread runs. Return at once: another connection carries the request."""

        def cancel() -> None:
            while not self._connection.closed:  # between two statements the server ignores it
                with contextlib.suppress(Exception):
                    self._connection.cancel_safe(timeout=_CANCEL_TIMEOUT_S)
                time.sleep(_CANCEL_AGAIN_S)

        threading.Thread(target=cancel, daemon=True).start()

    def check_role(self, deadline: float) -> None:
        """Close the connection and raise what is wrong, unless its role can only read."""
        try:
            with self._transaction(deadline):
                ((role, *_),) = self._fetch("SELECT session_user")
                rights = ", ".join(str(right) for (right,) in self._fetch(_RIGHTS))
            if rights:
                problem = (
                    f"The role {role} may do more than read: {rights}. Revoke that from it, its groups and PUBLIC,"
                )
                remedy = "or make a role that can only read, as docs/how-to/add-a-database.md shows"
                raise DatabaseFailure(FailureKind.ROLE, f"{problem} {remedy}")
        except DatabaseFailure:
            self.close()
            raise

    def read_schema(self, deadline: float) -> DatabaseSchema:
        """Return the tables as they are now."""
        tables = self._tables
        with self._transaction(deadline):
            schemas = [name for (name,) in self._fetch(_SCHEMAS) if name is not None and tables.has_schema(name)]
            given = tables.schemas  # in this order; those of patterns after them
            schemas.sort(key=lambda name: (given.index(name) if name in given else len(given), name))
            found, left_out = [], set()
            for *texts, columns in self._fetch(_TABLES.format(several=len(schemas) > 1)):
                schema, name, kind, description, is_readable = map(str, texts)
                if schema not in schemas:
                    continue
                if is_readable == "t" and tables.has_table(schema, name):
                    read = tuple(Column(*column) for column in json.loads(columns or "[]"))
                    found.append(Table(schema, name, _KINDS[kind], description, read))
                else:
                    left_out.add((schema, name))
            functions = frozenset(name for (name,) in self._fetch(_FUNCTIONS) if name)
            path = tuple(schemas) or ("public",)
            return DatabaseSchema(tuple(found), frozenset(left_out), path, functions=functions)

    def query(
        self,
        statement: str,
        parameters: Sequence[Any] | Mapping[str, Any],
        limit: int,
        deadline: float,
        schema: DatabaseSchema,
    ) -> Rows:
        """Run a statement that :mod:`.guard` has accepted, and return its first ``limit`` rows."""
        with self._transaction(deadline, schema.search_path):
            pgconn = self._connection.pgconn
            _checked(pgconn.prepare(b"", statement.encode()))
            described = _checked(pgconn.describe_prepared(b""))
            given = ((described.fname(index) or b"")[:_NAME_BYTES] for index in range(described.nfields))
            names = column_names(name.decode(errors="ignore") for name in given)
            if not names:
                raise DatabaseFailure(FailureKind.NOT_ALLOWED, "it returns no columns")
            types = [described.param_type(index) for index in range(described.nparams)]
            declaration = _ROWS.format(
                cursor=_CURSOR,
                max_bytes=int(self._max_bytes),
                statement=statement,
                names=", ".join(map(sql_identifier, names)),
                limit=int(limit) + 1,
            )
            _checked(pgconn.exec_params(declaration.encode(), encode_parameters([*parameters], types)))
            lines = [row[0] for row in self._fetch(f"FETCH ALL FROM {_CURSOR}")]
        whole = [line for line in lines if line is not None]
        if lines and not whole:
            raise DatabaseFailure(FailureKind.TOO_LARGE)
        return Rows(names, whole[:limit], len(lines) > limit or len(whole) < len(lines))

    def _fetch(self, statement: str) -> list[list[str | None]]:
        result = _checked(self._connection.pgconn.exec_(statement.encode()))
        return [
            [
                None if (value := result.get_value(row, column)) is None else value.decode(errors="replace")
                for column in range(result.nfields)
            ]
            for row in range(result.ntuples)
        ]

    @contextmanager
    def _transaction(self, deadline: float, search_path: Sequence[str] = ()) -> Iterator[None]:
        import psycopg

        remaining_ms = int((deadline - time.monotonic()) * 1000)
        if remaining_ms <= 0:
            raise DatabaseFailure(FailureKind.TIMEOUT)
        settings = [f"SET LOCAL statement_timeout = {remaining_ms}"]
        settings += [one.format(ms=remaining_ms, idle_ms=remaining_ms + 5_000) for one in _SETTINGS]
        if search_path:
            settings.append(f"SET LOCAL search_path = {', '.join(map(sql_identifier, search_path))}")
        # A server that does not answer would keep this thread for hours.
        timer = threading.Timer(remaining_ms / 1000 + _GRACE_S, _shut_down, (self._connection.pgconn.socket,))
        timer.daemon = True
        timer.start()
        try:
            self._fetch(f"BEGIN READ ONLY; {'; '.join(settings)}")
            yield
        except (psycopg.Error, DatabaseFailure) as failure:
            if isinstance(failure, DatabaseFailure) and failure.kind is not FailureKind.BROKEN:
                raise
            is_late = time.monotonic() >= deadline  # then the connection was closed here
            raise DatabaseFailure(FailureKind.TIMEOUT if is_late else FailureKind.BROKEN) from None
        finally:
            with contextlib.suppress(psycopg.Error, DatabaseFailure):
                self._fetch("ROLLBACK")
            timer.cancel()


def _shut_down(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        connection = socket.socket(fileno=socket.dup(descriptor))
        try:
            connection.shutdown(socket.SHUT_RDWR)
        finally:
            connection.close()
