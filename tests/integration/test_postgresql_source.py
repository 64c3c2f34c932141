"""PostgreSQL as a source, against a real server: attacks on each layer alone, roles, types, errors and limits."""

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import postgresql, sql_attacks
from tests.support.catalogs import refresh
from tests.support.cpu_time import ends_within
from tests.support.postgresql import PASSWORD, READER_STATEMENTS, PostgresqlServer
from tests.support.sql_databases import postgresql_statements
from tests.support.tables import differences
from tests.support.threads import run_concurrently
from tests.support.waiting import wait_until
from toolfold import client_call
from toolfold.build.importers.base import RefreshReport
from toolfold.errors import CallError, SourceError
from toolfold.sources.sql import adapter
from toolfold.sources.sql.adapter import DatabaseReader, open_database
from toolfold.sources.sql.errors import DatabaseFailure, FailureKind, to_call_error
from toolfold.sources.sql.postgresql_database import PostgresqlDatabase
from toolfold.sources.sql.schema import DatabaseSchema, SqlSettings

pytestmark = pytest.mark.slow

TABLES = SqlSettings("postgresql", exclude=("secrets",))
PUBLIC = DatabaseSchema(search_path=("public",))
STOLEN = Path("/tmp/toolfold-stolen")
MAX_BYTES = 200_000
_SHARED: dict[int, Any] = {}
"""Port of a server → calls to it, for tests with many statements."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    with postgresql.serve() as running:
        running.execute("CREATE DATABASE shop", "REVOKE ALL ON SCHEMA public FROM PUBLIC")
        running.execute(
            *postgresql_statements(),
            "CREATE SEQUENCE numbers",
            "CREATE FUNCTION wipe_all() RETURNS int LANGUAGE sql AS 'DELETE FROM orders; SELECT 1'",
            "CREATE FUNCTION wipe_all(customers) RETURNS int LANGUAGE sql AS 'DELETE FROM orders; SELECT 1'",
            "CREATE AGGREGATE all_of(customers) (SFUNC = array_append, STYPE = customers[])",
            "CREATE PROCEDURE wipe() LANGUAGE sql AS 'DELETE FROM orders'",
            *READER_STATEMENTS,
            database="shop",
        )
        yield running
        _SHARED.clear()


@pytest.fixture
def reader(server: PostgresqlServer) -> DatabaseReader:
    return DatabaseReader(TABLES, MAX_BYTES)


@pytest.fixture(autouse=True)
def unchanged(server: PostgresqlServer) -> Iterator[None]:
    def state() -> Any:
        (rows,) = server.execute("SELECT string_agg(o::text, ';' ORDER BY id) FROM orders o", database="shop")
        tables = server.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
                                database="shop")  # fmt: skip
        files = server.execute("SELECT count(*) FROM pg_largeobject_metadata", database="shop")
        return rows, tables, files, server.execute("SELECT last_value, is_called FROM numbers", database="shop")

    before = state()
    yield
    assert state() == before
    assert not STOLEN.exists()


def soon(seconds: float = 60) -> float:
    return time.monotonic() + seconds


def open_as(server: PostgresqlServer, role: str, max_bytes: int = MAX_BYTES) -> Any:
    """Return a connection of the adapter without the guard, and without a look at the role."""
    return closing(PostgresqlDatabase(server.url(role, "shop"), TABLES, max_bytes, soon()))


class Calls:
    """Queries of one source, as a caller sees them."""

    def __init__(self, server: PostgresqlServer, reader: DatabaseReader) -> None:
        self.url, self._reader = server.url("reader", "shop"), reader

    def rows(self, statement: str, params: Any = (), limit: int = 100, seconds: float = 10) -> list[dict[str, Any]]:
        answer = json.loads(self._reader.query(self.url, soon(seconds), statement, params, limit))
        rows: list[dict[str, Any]] = answer["rows"]
        return rows

    def error(self, statement: str, params: Any = (), limit: int = 100, seconds: float = 10) -> CallError:
        with pytest.raises(DatabaseFailure) as caught:
            self.rows(statement, params, limit, seconds)
        error = to_call_error(
            caught.value, title="Shop", dialect="postgresql", max_bytes=MAX_BYTES, statement=statement,
            schema=self._reader.schema,
        )  # fmt: skip
        assert PASSWORD not in repr((error.as_dict(), caught.value.detail))
        return error


@pytest.fixture
def calls(server: PostgresqlServer, reader: DatabaseReader) -> Calls:
    return Calls(server, reader)


# Attacks.


_READ_ONLY_FOR_A_SUPERUSER = {
    *(what for what in sql_attacks.POSTGRESQL if what.startswith(("pg_read_file", "a table that is left out"))),
    *("pg_read_binary_file", "pg_ls_dir", "pg_stat_file", "current_setting", "pg_notify", "pg_advisory_lock"),
    *("pg_reload_conf", "pg_logical_emit_message", "txid_current", "SQL in a text of ts_stat", "a table in XML"),
    *("the database in XML", "version", "current_user", "session_user", "passwords", "passwords with a schema"),
    *("statements of others", "settings", "files of settings", "information_schema", "XMLTABLE", "set_config"),
    *(what for what in sql_attacks.POSTGRESQL if what.startswith(("a row of a table", "a type by", "a function as"))),
    *(what for what in sql_attacks.POSTGRESQL if what.startswith("the role")),
    *("a very long text", "a very long text by an expression", "repeat", "pg_terminate_backend", "a comment"),
}
"""What a superuser reads, or does without changing data, when neither the guard nor the look at the role is there."""


def test_no_attack_writes_without_the_guard_even_as_a_superuser(server: PostgresqlServer) -> None:
    """One statement by the protocol, a cursor by the grammar, and a read-only transaction that is rolled back."""
    passed = []
    for what, statement in sql_attacks.POSTGRESQL.items():
        if what in _READ_ONLY_FOR_A_SUPERUSER:
            continue
        with open_as(server, "postgres") as database:
            try:
                database.query(statement, [], 1, soon(1 if "sleep" in what else 10), PUBLIC)
            except DatabaseFailure:
                continue
            passed.append(what)
    # PostgreSQL 15 lets a read-only transaction make large objects; they are rolled back with it.
    assert set(passed) <= {"lo_import", "lo_from_bytea"}


def test_settings_of_a_session_do_not_survive_a_call(server: PostgresqlServer) -> None:
    with open_as(server, "reader") as database:
        database.query("SELECT set_config('statement_timeout', '0', false), set_config('search_path', 'x', false)", [],
                       1, soon(), PUBLIC)  # fmt: skip
        settings = "SELECT current_setting('statement_timeout') AS t, count(*) FROM orders"
        rows = database.query(settings, [], 1, soon(5), PUBLIC)
    assert json.loads(rows.lines[0])["t"] not in ("0", "")


_WORDS = (
    *("*", "id", "total", "FROM", "orders", "customers", "secrets", "WHERE", "=", "1", ";", ",", "(", ")", "'x'", "AS"),
    *("UNION", "WITH", "x", "DELETE", "UPDATE", "INSERT", "INTO", "VALUES", "RETURNING", "SELECT", "count", "$$", "--"),
    *("/*", "*/", "pg_read_file('/etc/passwd')", "FOR UPDATE", "LATERAL", "ORDER BY", "LIMIT", "::text", "E'\\'", "'"),
    *('"secrets"', "TABLE", "nextval('numbers')", "COMMIT", "ARRAY[1]", "CASE WHEN", "THEN", "END", "GROUP BY", "NULL"),
)


@settings(max_examples=100)
@given(st.lists(st.sampled_from(_WORDS), max_size=14))
def test_generated_statements_are_refused_or_harmless(server: PostgresqlServer, words: list[str]) -> None:
    calls = _SHARED.setdefault(server.port, Calls(server, DatabaseReader(TABLES, MAX_BYTES)))
    kind, rows = None, []
    try:
        rows = calls.rows("SELECT " + " ".join(words), limit=5)
    except DatabaseFailure as failure:
        kind = failure.kind
    assert kind not in (FailureKind.BROKEN, FailureKind.DATABASE, FailureKind.NOT_CONNECTED)
    assert "CANARY" not in str(rows)
    assert "root:" not in str(rows)


# Roles.


_RIGHTS = {
    "superuser": "ALTER ROLE {} SUPERUSER",
    "createrole": "ALTER ROLE {} CREATEROLE",
    "createdb": "ALTER ROLE {} CREATEDB",
    "replication": "ALTER ROLE {} REPLICATION",
    "files": "GRANT pg_read_server_files TO {}",
    "programs": "GRANT pg_execute_server_program TO {}",
    "all data": "GRANT pg_write_all_data TO {}",
    "a superuser's group": "GRANT postgres TO {}",
    "insert": "GRANT INSERT ON orders TO {}",
    "delete and truncate": "GRANT DELETE, TRUNCATE ON customers TO {}",
    "update of a column": "GRANT UPDATE (note) ON orders TO {}",
    "insert through a group": "GRANT writers TO {}",
    "insert of everybody": "GRANT INSERT ON orders TO PUBLIC",
    "create in a schema": "GRANT CREATE ON SCHEMA public TO {}",
    "create in a database": "GRANT CREATE ON DATABASE shop TO {}",
    "a sequence": "GRANT USAGE ON SEQUENCE numbers TO {}",
    "everything": "GRANT ALL ON ALL TABLES IN SCHEMA public TO {}",
    "a table of its own": "ALTER TABLE secrets OWNER TO {}",
}


@pytest.fixture
def admin(server: PostgresqlServer) -> Iterator[Callable[[str], None]]:
    """Return what runs a statement as the superuser in the database; undo what tests of roles do."""

    def run(statement: str) -> None:
        server.execute(statement, database="shop")

    run(f"CREATE ROLE \"an App\" LOGIN PASSWORD '{PASSWORD}'")
    run("CREATE ROLE writers")
    run("GRANT INSERT ON orders TO writers")
    run('GRANT USAGE ON SCHEMA public TO "an App"')
    run('GRANT SELECT ON orders, customers TO "an App"')
    try:
        yield run
    finally:
        run("REVOKE INSERT ON orders FROM PUBLIC")
        run("ALTER TABLE secrets OWNER TO postgres")
        for role in ('"an App"', "writers"):
            run(f"DROP OWNED BY {role}")
            run(f"DROP ROLE {role}")


@pytest.mark.parametrize("right", _RIGHTS)
def test_a_role_that_may_do_more_than_read_is_refused(
    server: PostgresqlServer, admin: Callable[[str], None], right: str
) -> None:
    url = server.url("an%20App", "shop")
    settings_ = TABLES
    open_database(settings_, url, 1000, soon()).close()
    admin(_RIGHTS[right].format('"an App"'))
    with pytest.raises(DatabaseFailure) as caught:
        open_database(settings_, url, 1000, soon())
    assert caught.value.kind is FailureKind.ROLE
    what, _, remedy = caught.value.detail.partition(". Revoke that from it, its groups and PUBLIC, ")
    words = [*{"orders", "customers", "secrets", "public", "shop", "numbers"}.intersection(_RIGHTS[right].split())]
    assert any(word in what for word in (words or ["the rights of", "changing public.orders"])), what
    assert "add-a-database.md" in remedy


def test_a_refused_role_is_named_in_the_log_alone(
    server: PostgresqlServer, calls: Calls, caplog: pytest.LogCaptureFixture
) -> None:
    calls.url = server.url("postgres", "shop")
    error = calls.error("SELECT 1")
    assert "postgres" not in str(error.as_dict()).lower().replace("postgresql", "")
    assert "the log" in error.suggestion or "whose log" in error.suggestion
    assert PASSWORD not in caplog.text


# Reading.


def test_tables_columns_keys_and_comments_are_read(server: PostgresqlServer, reader: DatabaseReader) -> None:
    server.execute(
        "CREATE SCHEMA sales",
        "CREATE TYPE sales.state AS ENUM ('new', 'paid, sent')",
        "CREATE TABLE sales.visits (day date, page text, state sales.state, order_id int REFERENCES public.orders,"
        " PRIMARY KEY (day, page)) PARTITION BY RANGE (day)",
        "CREATE TABLE sales.visits_2024 PARTITION OF sales.visits FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')",
        "CREATE MATERIALIZED VIEW sales.totals AS SELECT 1 AS one",
        "CREATE TABLE sales.hidden (id int)",
        "CREATE TABLE sales.half (id int, password text)",
        "GRANT USAGE ON SCHEMA sales TO reader",
        "GRANT SELECT ON sales.visits, sales.totals TO reader",
        "GRANT SELECT (id) ON sales.half TO reader",
        database="shop",
    )
    try:
        tables = SqlSettings("postgresql", ("public", "sales"), exclude=("secrets",))
        both = DatabaseReader(tables, MAX_BYTES)
        url = server.url("reader", "shop")
        listed = json.loads(both.list_tables(url, soon()))["tables"]
        assert [(table["name"], table["kind"]) for table in listed] == [
            ("public.customers", "table"),
            ("public.orders", "table"),
            ("public.spending", "view"),
            ("sales.half", "table"),
            ("sales.totals", "materialized view"),
            ("sales.visits", "table"),
        ]
        assert next(one for one in listed if one["name"] == "sales.half")["columns"] == "id"
        found = json.loads(both.describe_table(url, soon(), "sales.visits"))
        assert [(column["name"], column["type"], column["key"]) for column in found["columns"]] == [
            ("day", "date", "primary key"),
            ("page", "text", "primary key"),
            ("state", "sales.state (new, paid, sent)", ""),
            ("order_id", "integer", "references public.orders(id)"),
        ]
        answer = both.query(url, soon(), "SELECT count(*) AS n FROM visits", [], 1)
        assert both.schema
        assert ("sales", "visits_2024") in both.schema.left_out  # it would hide one of a later schema
        with pytest.raises(DatabaseFailure, match="STATEMENT"):
            both.query(url, soon(), "SELECT t.wipe_all FROM public.customers AS t", [], 1)
        assert json.loads(answer) == {"rows": [{"n": 0}]}
        orders = json.loads(reader.describe_table(url, soon(), '"ORDERS"'))
        assert orders["description"] == "One row for each order"
        assert orders["columns"][2] == {
            "name": "total", "type": "numeric(12,2)", "nullable": True, "key": "", "description": "In euro, with tax",
        }  # fmt: skip
    finally:
        server.execute("DROP SCHEMA sales CASCADE", database="shop")


def test_every_type_has_a_value(calls: Calls) -> None:
    rows = [
        ("1.50::numeric", 1.5),
        ("12345678901234567890.123::numeric", 12345678901234567890.123),
        ("'NaN'::numeric", "NaN"),
        ("'-Infinity'::float8", "-Infinity"),
        ("0.1::float8 + 0.2::float8", 0.30000000000000004),
        ("9007199254740993::int8", 9007199254740993),
        ("true", True),
        ("NULL::int", None),
        ("'infinity'::timestamptz", "infinity"),
        ("'2024-02-29 12:00+02'::timestamptz", "2024-02-29T10:00:00+00:00"),
        ("'0044-03-15 BC'::date", "0044-03-15 BC"),
        ("'1 year 2 days'::interval", "1 year 2 days"),
        ("ARRAY[[1, 2], [3, NULL]]", [[1, 2], [3, None]]),
        ("""'{"a": [1, {"b": null}]}'::jsonb""", {"a": [1, {"b": None}]}),
        (r"'\x00ff'::bytea", r"\x00ff"),
        ("'[1,5)'::int4range", "[1,5)"),
        ("'é\u2028 \" \\ line'", 'é\u2028 " \\ line'),
        ("ROW(1, 'a')", {"f1": 1, "f2": "a"}),
        ("'192.0.2.1/24'::inet", "192.0.2.1/24"),
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("'$1.50'::money", "$1.50"),
    ]
    long = "é" * 31
    assert calls.rows(f"SELECT 1 AS {long}, 2 AS {long}, 3, 4") == [
        {"é" * 29: 1, f"{'é' * 29}_2": 2, "column_3": 3, "column_4": 4}
    ]
    assert differences(lambda expression: calls.rows(f"SELECT {expression} AS value")[0]["value"], rows) == {}


def test_parameters_are_bound_by_the_driver(calls: Calls) -> None:
    rows = [
        ("SELECT id FROM orders WHERE id = $1", [2], [2]),
        ("SELECT id FROM orders WHERE id = $1 AND note IS NULL", ["2"], [2]),
        ("SELECT id FROM orders WHERE total > $2 AND total < $1 ORDER BY id", ["11", 7], [1, 3]),
        ("SELECT id FROM orders WHERE id = ANY($1) ORDER BY id", [[3, 1]], [1, 3]),
        ("SELECT id FROM orders WHERE note LIKE '%s' || $1", ["x"], []),
        ("SELECT id FROM orders WHERE note = $1", ["'; DROP TABLE orders; --"], []),
        ("SELECT id FROM orders WHERE note = $1", [None], []),
    ]
    for statement, params, ids in rows:
        assert [row["id"] for row in calls.rows(statement, params)] == ids


def test_an_error_names_what_is_wrong_and_what_is_right(calls: Calls) -> None:
    rows = [
        ("SELECT nam FROM customers", ["there is no column nam", "Did you mean name?"]),
        ("SELECT createdAt FROM customers", ["no column createdat", 'Did you mean "createdAt"?']),
        ("SELECT c.nam FROM customers c", ["no column c.nam", "Did you mean name?"]),
        ("SELECT *\nFROM ordrs", ["there is no table ordrs", "Did you mean orders?"]),
        ("SELECT id FROM orders WHERE note = \"Bob\"", ["no column Bob", "A text is in single quotes: 'Bob'."]),
        ("SELECT * FORM orders", ["cannot be read", "orders"]),
        ("SELECT lenght(name) FROM customers", ["the function lenght is not available", "length"]),
        ("SELECT name + 1 FROM customers", ["operator does not exist: text + integer", "explicit type casts"]),
        ("SELECT id FROM orders WHERE id = 'x'", ['invalid input syntax for type integer: "x"']),
        ("SELECT 1 / 0", ["division by zero"]),
        ("SELECT (c).name FROM customers c", ["name a column of a table", "Correct the statement"]),
        ("SELECT * FROM user", ['a table or column of this name is "user"']),
        ("SELECT id, count(*) FROM orders", ['"orders.id" must appear in the GROUP BY clause']),
        ("SELECT id FROM orders WHERE id = $1", ["the statement has 1 parameter and params has 0 values"]),
        ("SELECT FROM orders", ["it returns no columns"]),
    ]  # fmt: skip
    for statement, sentences in rows:
        error = calls.error(statement)
        assert error.code == "INVALID_ARGUMENTS"
        text = f"{error.message} {error.suggestion}"
        assert [sentence for sentence in sentences if sentence not in text] == [], text


def test_a_right_to_some_columns_is_named(server: PostgresqlServer, calls: Calls) -> None:
    server.execute("CREATE TABLE staff (id int, pay int)", "GRANT SELECT (id) ON staff TO reader", database="shop")
    try:
        assert calls.rows("SELECT id FROM staff") == []
        error = calls.error("SELECT * FROM staff")
        assert error.message == "sql: the role set up here may not read all of staff; name columns, instead of *."
    finally:
        server.execute("DROP TABLE staff", database="shop")


def test_a_table_that_was_made_just_now_can_be_read(server: PostgresqlServer, calls: Calls) -> None:
    calls.rows("SELECT 1")
    time.sleep(1)
    server.execute("CREATE TABLE late (id int)", "GRANT SELECT ON late TO reader", database="shop")
    try:
        assert calls.rows("SELECT * FROM late") == []
    finally:
        server.execute("DROP TABLE late", database="shop")
    assert "late" in calls.error("SELECT * FROM late").message


# Limits.


def test_a_statement_is_ended_at_its_deadline(server: PostgresqlServer, calls: Calls) -> None:
    endless = "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"
    calls.rows("SELECT 1")
    assert calls.error(endless, seconds=0.5).code == "UPSTREAM_TIMEOUT"
    _wait_until_idle(server)
    assert calls.rows("SELECT 1 AS one") == [{"one": 1}]


def test_a_cancelled_call_ends_its_statement(server: PostgresqlServer, calls: Calls) -> None:
    endless = "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"
    calls.rows("SELECT 1")
    for delay_s in (0.0, 0.05, 0.1, 0.3):  # while it connects, between two statements, and in one
        context = client_call.ClientCall()
        timer = threading.Timer(delay_s, context.cancel)
        timer.start()
        with client_call.running(context), ends_within(5):
            assert calls.error(endless, seconds=60).code == "CANCELLED"
        timer.join()
    _wait_until_idle(server)
    assert calls.rows("SELECT 1 AS one") == [{"one": 1}]


def _wait_until_idle(server: PostgresqlServer) -> None:
    active = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader' AND state = 'active'"
    wait_until(lambda: server.execute(active) == [(0,)])


def test_an_answer_stays_within_its_rows_and_bytes(server: PostgresqlServer, calls: Calls) -> None:
    answer = json.loads(_query(calls, "SELECT n FROM generate_series(1, 1000000) n", limit=1000))
    assert (len(answer["rows"]), "first 1,000 rows" in answer["more_rows"]) == (1000, True)
    long = "(SELECT string_agg('x', '') FROM generate_series(1, 9000))"
    wide = f"SELECT n, {long} AS x FROM generate_series(1, 1000) n"
    answer = json.loads(_query(calls, wide, limit=1000))
    assert 20 <= len(answer["rows"]) < MAX_BYTES / 9000
    assert "more_rows" in answer
    huge = f"SELECT string_agg({long}, '') AS x FROM generate_series(1, 1000)"
    assert calls.error(huge).code == "ANSWER_TOO_LARGE"
    assert "more_rows" not in json.loads(_query(calls, "SELECT 1 UNION ALL SELECT 2", limit=2))
    assert json.loads(_query(calls, "SELECT id, note FROM orders WHERE false", limit=2)) == {
        "rows": [],
        "columns": ["id", "note"],
    }


def _query(calls: Calls, statement: str, limit: int) -> str:
    return calls._reader.query(calls.url, soon(30), statement, [], limit)


# Connections.


def test_a_connection_is_used_again_until_the_server_closes_it(
    server: PostgresqlServer, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[DatabaseReader] = []
    monkeypatch.setattr(adapter, "open_database", lambda *given: opened.append(calls._reader) or open_database(*given))
    of_reader = "FROM pg_stat_activity WHERE usename = 'reader'"
    for count, is_closed, url in ((1, False, ""), (1, False, ""), (2, True, ""), (3, False, "?application_name=other")):
        if is_closed:
            server.execute(f"SELECT pg_terminate_backend(pid) {of_reader}")
            wait_until(lambda: not server.execute(f"SELECT pid {of_reader}"))
        calls.url += url
        assert calls.rows("SELECT 1 AS one") == [{"one": 1}]
        assert len(opened) == count
    assert calls.error("SELECT missing").code == "INVALID_ARGUMENTS"
    assert calls.rows("SELECT 1 AS one") == [{"one": 1}]


def test_threads_share_a_few_connections(server: PostgresqlServer, calls: Calls) -> None:
    results: list[Any] = []

    def work(number: int) -> None:
        results.append(calls.rows("SELECT $1::int AS n FROM generate_series(1, 10000) ORDER BY 1 LIMIT 1", [number]))

    run_concurrently(partial(work, number) for number in range(16))
    assert sorted(rows[0]["n"] for rows in results) == list(range(16))


@pytest.mark.parametrize(
    ("url", "code", "words"),
    [
        ("postgresql://reader:wrong-CANARY@127.0.0.1:{port}/shop", "AUTH_REJECTED", "does not accept"),
        ("postgresql://nobody:x@127.0.0.1:{port}/shop", "AUTH_REJECTED", "does not accept"),
        ("postgresql://reader:{password}@127.0.0.1:{port}/none", "UPSTREAM_ERROR", "does not exist"),
        ("postgresql://reader:{password}@127.0.0.1:1/shop", "UPSTREAM_ERROR", "cannot be reached"),
        ("postgresql://reader:{password}@nowhere.invalid/shop", "UPSTREAM_ERROR", "cannot be reached"),
        ("host=127.0.0.1 port={port} user=reader password=wrong dbname=shop", "AUTH_REJECTED", "does not accept"),
        ("postgresql://reader:{password}@127.0.0.1:x/shop", "UPSTREAM_ERROR", "is not valid for PostgreSQL"),
        ("mysql://reader:{password}@127.0.0.1/shop", "UPSTREAM_ERROR", "is not valid for PostgreSQL"),
        ("{password}", "UPSTREAM_ERROR", "is not valid for PostgreSQL"),
        ("postgresql://reader:{password}@127.0.0.1:{port}/shop?nonsense=1", "UPSTREAM_ERROR", "is not valid for"),
        ("postgresql://reader:{password}@127.0.0.1:{port}/shop?service=nowhere", "UPSTREAM_ERROR", "is not valid for"),
        ("postgresql://reader:{password}@127.0.0.1:{port}/shop?sslmode=require", "UPSTREAM_ERROR", "the encryption"),
        ("{url}?sslmode=verify-full&sslrootcert=/nowhere.pem", "UPSTREAM_ERROR", "the certificate"),
    ],
)
def test_a_connection_that_fails_says_why_without_the_connection_string(
    server: PostgresqlServer, calls: Calls, caplog: pytest.LogCaptureFixture, url: str, code: str, words: str
) -> None:
    caplog.set_level(logging.DEBUG)
    calls.url = url.format(port=server.port, password=PASSWORD, url=calls.url)
    error = calls.error("SELECT 1")
    assert (error.code, words in error.message) == (code, True), error.message
    texts = f"{error.as_dict()} {error!r} {caplog.text}"
    assert not any(secret in texts for secret in (PASSWORD, "CANARY", "nobody", "127.0.0.1", "nowhere.invalid"))


def test_a_url_of_sqlalchemy_is_understood(server: PostgresqlServer, calls: Calls) -> None:
    calls.url = calls.url.replace("postgresql://", "postgresql+psycopg://")
    assert calls.rows("SELECT 1 AS one") == [{"one": 1}]


def test_a_server_that_does_not_answer_is_given_up(calls: Calls) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        calls.url = f"postgresql://reader:{PASSWORD}@127.0.0.1:{silent.getsockname()[1]}/shop"
        started = time.monotonic()
        assert calls.error("SELECT 1", seconds=2).code in ("UPSTREAM_ERROR", "UPSTREAM_TIMEOUT")
        assert time.monotonic() - started < 30


def test_a_server_that_stops_answering_is_given_up(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    stopped: list[int] = []
    query = PostgresqlDatabase.query

    def stop_and_query(database: PostgresqlDatabase, *arguments: Any) -> Any:
        stopped.append(database._connection.pgconn.backend_pid)
        os.kill(stopped[0], signal.SIGSTOP)
        return query(database, *arguments)

    calls.rows("SELECT 1")
    try:
        with monkeypatch.context() as patch:
            patch.setattr(PostgresqlDatabase, "query", stop_and_query)
            assert calls.error("SELECT 1", seconds=2).code == "UPSTREAM_TIMEOUT"
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    assert calls.rows("SELECT 1 AS one") == [{"one": 1}]


def test_the_schema_says_nothing_of_what_is_left_out(server: PostgresqlServer) -> None:
    with open_as(server, "reader") as database:
        schema: DatabaseSchema = database.read_schema(soon())
    assert schema.left_out == {("public", "secrets")}
    assert [table.name for table in schema.tables] == ["customers", "orders", "spending"]


def test_the_day_and_the_time_are_those_of_utc(server: PostgresqlServer, reader: DatabaseReader) -> None:
    server.execute("ALTER ROLE reader SET TimeZone = 'Pacific/Kiritimati'")  # 14 hours ahead
    try:
        answer = reader.query(server.url("reader", "shop"), soon(), "SELECT now() AS now, CURRENT_DATE AS today", [], 1)
    finally:
        server.execute("ALTER ROLE reader RESET TimeZone")
    (row,) = json.loads(answer)["rows"]
    assert row["now"].endswith("+00:00")
    assert row["today"] == row["now"][:10]
    assert abs((datetime.fromisoformat(row["now"]) - datetime.now(UTC)).total_seconds()) < 3600


def test_a_refresh_reads_the_schemas_of_the_source_alone(
    server: PostgresqlServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.execute("CREATE DATABASE depot")
    server.execute(
        "CREATE SCHEMA sales",
        "CREATE TABLE sales.orders (id int)",
        "CREATE ROLE clerk LOGIN PASSWORD '" + PASSWORD + "'",
        "GRANT USAGE ON SCHEMA sales TO clerk",
        "GRANT SELECT ON sales.orders TO clerk",
        database="depot",
    )
    monkeypatch.setenv("TOOLFOLD_SOURCE_DEPOT_KEY", server.url("clerk", "depot"))
    with pytest.raises(SourceError, match="the role may read no table that"):
        refresh_depot(tmp_path, [])
    assert list(refresh_depot(tmp_path, ["sales"]).added) == ["sales.orders"]


def refresh_depot(folder: Path, schemas: list[str]) -> RefreshReport:
    given = {"id": "depot", "kind": "sql", "dialect": "postgresql", **({"schemas": schemas} if schemas else {})}
    (folder / "source.yaml").write_text(json.dumps(given))
    return refresh(folder)
