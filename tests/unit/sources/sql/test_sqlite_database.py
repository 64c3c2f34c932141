"""SQLite, read by the database itself: its layers hold without the guard, and each of them alone."""

import functools
import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import sql_attacks
from tests.support.cpu_time import cpu_within, ends_within
from tests.support.sql_databases import create_sqlite
from tests.support.tables import accepted, differences
from tests.support.threads import run_concurrently
from toolfold.sources.sql import sqlite_database
from toolfold.sources.sql.adapter import DatabaseReader
from toolfold.sources.sql.errors import DatabaseFailure, FailureKind, to_call_error
from toolfold.sources.sql.guard import check_statement
from toolfold.sources.sql.schema import Rows, SqlSettings
from toolfold.sources.sql.sqlite_database import SqliteDatabase, open_read_only, sqlite_path

TABLES = SqlSettings("sqlite", exclude=("secrets",))
STOLEN = Path("/tmp/toolfold-stolen.db")
"""What the attacks would create."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_sqlite(tmp_path_factory.mktemp("sqlite") / "a shop #1?mode=rwc%20.db")


@pytest.fixture
def database(path: Path) -> Iterator[SqliteDatabase]:
    with closing(SqliteDatabase(path, TABLES, 100_000)) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(path: Path) -> Iterator[SqliteDatabase]:
    with closing(SqliteDatabase(path, TABLES, 100_000)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def unchanged(path: Path) -> Iterator[None]:
    before = hashlib.sha256(path.read_bytes()).digest()
    yield
    assert hashlib.sha256(path.read_bytes()).digest() == before
    assert not STOLEN.exists()


def soon(seconds: float = 60) -> float:
    return time.monotonic() + seconds


def run(database: SqliteDatabase, statement: str, values: Sequence[Any] = (), limit: int = 10) -> Rows:
    return database.query(statement, values, limit, soon(), database.read_schema(soon()))


def query(database: SqliteDatabase, statement: str, *values: Any, limit: int = 100) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(database, statement, values, limit).lines]


def failure(database: SqliteDatabase, statement: str, *values: Any, seconds: float = 60) -> DatabaseFailure:
    with pytest.raises(DatabaseFailure) as caught:
        database.query(statement, values, 100, soon(seconds), database.read_schema(soon()))
    return caught.value


def test_tables_columns_and_keys_are_read(database: SqliteDatabase) -> None:
    tables = {table.name: table for table in database.read_schema(soon()).tables}
    assert list(tables) == ["customers", "guarded", "notes", "orders", "spending"]
    assert [vars(column) for column in tables["customers"].columns] == [
        {"name": "id", "type": "INTEGER", "nullable": False, "key": "primary key", "description": ""},
        {"name": "name", "type": "TEXT", "nullable": False, "key": "unique", "description": ""},
        {"name": "createdAt", "type": "TEXT", "nullable": True, "key": "", "description": ""},
    ]
    assert tables["orders"].columns[1].key == "references customers(id)"
    assert (tables["spending"].kind, [column.name for column in tables["spending"].columns]) == (
        "view",
        ["name", "spent"],
    )


@pytest.mark.parametrize("version", [-1, 0, 7])
def test_a_new_table_is_seen_at_once(tmp_path: Path, version: int) -> None:
    path = create_sqlite(tmp_path / "shop.db")
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA schema_version = {version}")
    with closing(SqliteDatabase(path, TABLES, 1000)) as database:
        assert database.read_schema(soon()).tables
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE later (id)")
        assert database.read_schema(soon()).find("later")
        assert query(database, "SELECT count(*) AS n FROM later") == [{"n": 0}]


def test_a_view_may_read_and_change_what_is_left_out(database: SqliteDatabase) -> None:
    assert query(database, "SELECT token FROM guarded") == [{"token": "CANARY-***"}]


def test_views_that_cannot_be_planned_are_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_database, "_VIEWS_S", 1.0)
    path = create_sqlite(tmp_path / "shop.db")
    levels = [f"CREATE VIEW v{i:02} AS SELECT a.id FROM v{i - 1:02} a, v{i - 1:02} b;" for i in range(1, 30)]
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE VIEW lost AS SELECT * FROM nowhere")
        other.executescript("\n".join(["CREATE VIEW v00 AS SELECT id FROM orders;", *levels]))
    reader = DatabaseReader(TABLES, 100_000)
    with ends_within(1):
        listed = json.loads(reader.list_tables(str(path), soon()))
    assert {"orders", "spending", "v00", "v03"} < {table["name"] for table in listed["tables"]}
    assert "'lost'" in listed["unusable_views"]
    assert "more" in listed["unusable_views"]
    counted = reader.query(str(path), soon(), "SELECT count(*) AS n FROM orders", [], 1)
    assert json.loads(counted)["rows"] == [{"n": 3}]
    with pytest.raises(DatabaseFailure) as caught:
        reader.query(str(path), soon(), "SELECT * FROM v29", [], 1)
    assert caught.value.kind is FailureKind.NO_TABLE


def test_full_text_search_works(tmp_path: Path) -> None:
    path, reader = create_sqlite(tmp_path / "shop.db"), DatabaseReader(TABLES, 100_000)
    search = "SELECT title FROM notes WHERE notes MATCH ? ORDER BY bm25(notes)"
    for _ in range(2):  # the second time the tables are known
        assert json.loads(reader.query(str(path), soon(), search, ["parcel"], 1)) == {"rows": [{"title": "Returns"}]}


# The layers, without the guard.


_READS = ("the schema", "tables", "a table that is left out", "a count", "nothing", "a comment", "EXPLAIN")


def test_the_database_holds_without_the_guard(database: SqliteDatabase) -> None:
    passed = []
    for what, statement in sql_attacks.SQLITE.items():
        with suppress(DatabaseFailure):
            run(database, statement, limit=10)
            passed.append(what)
    # A view is included that reads the table which is left out: SQLite does not tell a count of one from the other.
    # EXPLAIN shows a plan, and runs nothing.
    counts = ("a count of a table that is left out", "EXPLAIN")
    assert [what for what in passed if what not in counts and "EXISTS" not in what] == []


_WRITES = [what for what in sql_attacks.SQLITE if not what.startswith(_READS)]


_CONNECTION_HOLDS = (
    *("insert", "REPLACE", "WITH before a delete", "drop", "create", "a trigger", "create a virtual table"),
    *("ATTACH creates a file", "ATTACH by a URI", "VACUUM INTO", "REINDEX", "ANALYZE", "load_extension", "readfile"),
    *("writefile", "zeroblob", "randomblob"),
)


def test_the_connection_holds_without_the_authorizer(path: Path) -> None:
    """``mode=ro``, ``query_only`` and the limits, without guard and authorizer."""
    with closing(open_read_only(path, 100_000)) as connection:
        statements = [sql_attacks.SQLITE[what] for what in _CONNECTION_HOLDS]
        assert accepted(lambda one: connection.execute(one).fetchall(), statements, sqlite3.Error) == []


def test_the_authorizer_holds_alone(tmp_path: Path) -> None:
    """A connection that may write, with the authorizer and without everything else."""
    path = create_sqlite(tmp_path / "writable.db")
    with closing(SqliteDatabase(path, TABLES, 100_000)) as database, closing(sqlite3.connect(path)) as connection:
        connection.set_authorizer(sqlite_database.authorizer_of(database.read_schema(soon())))
        writes = [sql_attacks.SQLITE[what] for what in _WRITES]
        assert accepted(lambda one: connection.execute(one).fetchall(), writes, sqlite3.Error, sqlite3.Warning) == []


_WORDS = (
    *("SELECT", "*", "FROM", "orders", "customers", "secrets", "WHERE", "id", "=", "1", ";", ",", "(", ")", "'x'"),
    *("UNION", "WITH", "x", "AS", "DELETE", "INSERT", "INTO", "VALUES", "RETURNING", "ATTACH", "PRAGMA", "count", "IN"),
    *("--", "/*", "*/", "NULL", "CASE", "WHEN", "THEN", "END", "ORDER", "BY", "LIMIT", "total", "NOT", '"secrets"'),
)


@settings(max_examples=30)
@given(st.data())
def test_statements_that_the_guard_accepts_do_not_change_the_database(
    shared: SqliteDatabase, data: st.DataObject
) -> None:
    statement = "SELECT " + " ".join(data.draw(st.lists(st.sampled_from(_WORDS), max_size=12)))
    try:
        guarded = check_statement(statement, "sqlite", shared.read_schema(soon()))
        rows = run(shared, guarded, limit=10)
    except DatabaseFailure:
        return
    assert "CANARY-TOKEN" not in "".join(rows.lines)


# Limits.


def test_a_statement_ends_at_its_deadline(database: SqliteDatabase) -> None:
    endless = "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t"
    with cpu_within(1):
        assert failure(database, endless, seconds=0.1).kind is FailureKind.TIMEOUT
    assert query(database, "SELECT 1 AS one") == [{"one": 1}]


def test_rows_beyond_the_limit_are_not_read(database: SqliteDatabase) -> None:
    endless = "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t) SELECT n FROM t"
    assert run(database, endless, limit=2) == Rows(("n",), ['{"n":1}', '{"n":2}'], has_more=True)
    assert not run(database, "SELECT 1 UNION SELECT 2", limit=2).has_more


def test_an_answer_stays_within_its_bytes(path: Path) -> None:
    endless = "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t) SELECT n FROM t"
    with closing(SqliteDatabase(path, TABLES, 100)) as database:
        rows = run(database, endless, limit=1000)
        assert rows.has_more
        assert 90 < sum(map(len, rows.lines)) <= 100
        assert failure(database, "SELECT hex(zeroblob)||? FROM (SELECT 1 AS zeroblob)", "x" * 200).kind is (
            FailureKind.TOO_LARGE
        )


def test_a_text_that_grows_in_the_database_is_ended(database: SqliteDatabase) -> None:
    grows = "WITH RECURSIVE t(n, x) AS (VALUES (1, 'x') UNION ALL SELECT n + 1, x || x FROM t) SELECT max(n) FROM t"
    assert failure(database, grows).kind is FailureKind.TOO_LARGE


def test_functions_of_connections_in_threads_keep_their_own_values(path: Path) -> None:
    wrong: list[Any] = []

    def call(word: str) -> None:
        with closing(SqliteDatabase(path, TABLES, 10_000)) as database:
            for number in range(200):
                found = query(database, f"SELECT replace('{word}{number}', '{word}', 'x') AS t")
                wrong.extend(row for row in found if row != {"t": f"x{number}"})

    run_concurrently([functools.partial(call, word) for word in ("a", "bb", "ccc", "dddd")])
    assert wrong == []


def test_functions_read_bytes_that_are_no_text(database: SqliteDatabase) -> None:
    assert query(database, "SELECT replace(x'ff61', 'a', 'b') AS t") == [{"t": "\ufffdb"}]


def test_functions_return_what_those_of_sqlite_return(database: SqliteDatabase) -> None:
    rows = [
        ("instr('abcabc', 'c')", 3),
        ("instr('abc', '')", 1),
        ("instr(NULL, 'a')", None),
        ("instr(x'0102', x'02')", 2),
        ("instr(1234, 3)", 3),
        ("replace('aXbX', 'X', '--')", "a--b--"),
        ("replace('abc', '', 'x')", "abc"),
        ("replace('abc', NULL, 'x')", None),
        ("trim('xxaxx', 'x')", "a"),
        ("ltrim('  a ')", "a "),
        ("rtrim('a.,', ',.')", "a"),
        ("trim(' a ', '')", " a "),
        ("replace(1e15, 'e', ' x 10^')", "1.0 x 10^+15"),
        ("instr(123456789012345678.0, '.2')", 2),
        ("instr(-0.0, '-')", 0),
        ("replace(2.50, '.', ',') || trim(-9e999, '-')", "2,5Inf"),
    ]
    with closing(sqlite3.connect(":memory:")) as plain:
        for expression, value in rows:
            assert query(database, f"SELECT {expression} AS value") == [{"value": value}]
            assert plain.execute(f"SELECT {expression}").fetchone() == (value,)


@pytest.mark.parametrize(
    "expression",
    [
        "replace(x, 'a', x)",
        "instr(x, substr(x, 2) || 'b')",
        "replace(x, substr(x, 500) || 'b', '')",
        "trim(x, replace(x, 'a', 'b') || 'a')",
    ],
)
def test_functions_do_not_take_the_product_of_their_texts(database: SqliteDatabase, expression: str) -> None:
    long = "WITH RECURSIVE t(n, x) AS (VALUES (1, 'a') UNION ALL SELECT n + 1, x || x FROM t WHERE n < 18) "
    with cpu_within(2):
        assert failure(database, f"{long}SELECT {expression} FROM t WHERE n = 18").kind is FailureKind.TOO_LARGE
        assert query(database, f"{long}SELECT length(replace(x, 'a', 'b')) AS n FROM t WHERE n = 18") == [{"n": 2**17}]


# Errors.


def test_names_in_double_quotes_are_names(database: SqliteDatabase) -> None:
    sql = 'SELECT upper("name"), "id" AS "a ""b`c" FROM "customers" AS "x y" WHERE "x y"."id" = 1 -- "d"'
    guarded = check_statement(sql, "sqlite", database.read_schema(soon()))
    assert run(database, guarded, limit=1).columns == ('upper("name")', 'a "b`c')


@pytest.mark.parametrize(
    ("statement", "sentences"),
    [
        ("SELECT nam FROM customers", ["there is no column nam", "Did you mean name?"]),
        ('SELECT "nam" FROM customers', ["there is no column nam", "Did you mean name?"]),
        ('SELECT name FROM customers WHERE name = "Zoe"', ["no column Zoe", "A text is in single quotes: 'Zoe'."]),
        (
            'SELECT 1 FROM customers WHERE name = "namE."',
            ["Did you mean name?", "A text is in single quotes: 'namE.'."],
        ),
        ('SELECT 1 FROM customers WHERE name = "O\'Hara"', ['no column "O\'Hara"', "single quotes: 'O''Hara'."]),
        ('SELECT group_concat(name, ". ") FROM customers', ["A text is in single quotes: '. '."]),
        ('SELECT name FROM customers WHERE name = ""', ["A text is in single quotes: ''."]),
        ("SELECT o.nam FROM orders o JOIN customers USING (id)", ["there is no column o.nam", "name"]),
        ("SELECT createdat, createdBy FROM customers", ["no column createdBy", "Did you mean createdAt?"]),
        ("SELECT * FROM ordrs", ["there is no table ordrs", "Did you mean orders?"]),
        ("SELECT * FROM\norders WHER id = 1", ["cannot be read", "id"]),
        ("SELECT lenght(name) FROM customers", ["the function lenght is not available", "Did you mean length"]),
        ("SELECT year(name) FROM customers", ["the function year is not available", "strftime"]),
        ("SELECT id FROM orders JOIN customers ON true", ["ambiguous column name: id"]),
        ("SELECT total FROM orders GROUP BY 9", ["GROUP BY term out of range"]),
    ],
)
def test_an_error_names_what_is_wrong_and_what_is_right(
    database: SqliteDatabase, statement: str, sentences: list[str]
) -> None:
    schema = database.read_schema(soon())
    try:
        rows = run(database, check_statement(statement, "sqlite", schema), limit=10)
    except DatabaseFailure as caught:
        error = to_call_error(caught, title="Shop", dialect="sqlite", max_bytes=1, statement=statement, schema=schema)
        assert error.code == "INVALID_ARGUMENTS"
        assert all(sentence in f"{error.message} {error.suggestion}" for sentence in sentences), error.as_dict()
    else:
        pytest.fail(str(rows))


def test_a_locked_database_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = create_sqlite(tmp_path / "locked.db")
    with closing(SqliteDatabase(path, TABLES, 1000)) as database, closing(sqlite3.connect(path)) as other:
        schema = database.read_schema(soon())
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(DatabaseFailure) as caught:
            database.query("SELECT 1 FROM orders", [], 1, soon(0.05), schema)
        assert caught.value.kind is FailureKind.BUSY
        monkeypatch.setattr(sqlite_database, "_MAX_WAIT_FOR_LOCK_S", 60.0)
        with ends_within(0.1), pytest.raises(DatabaseFailure) as caught:
            SqliteDatabase(path, TABLES, 1000, soon(0.05)).read_schema(soon(0.05))
        assert caught.value.kind is FailureKind.BUSY


# Files.


def replace_by_another(path: Path) -> None:
    with closing(sqlite3.connect(path.with_name("new.db"))) as other:
        other.executescript("CREATE TABLE orders (id); INSERT INTO orders VALUES ('of another file')")
    path.with_name("new.db").replace(path)


def replace_by_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def leave_a_journal(path: Path) -> None:
    path.with_name(f"{path.name}-journal").write_bytes(b"x" * 4000)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced, and there are no FIFOs")
@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (replace_by_another, '{"rows":[{"id":"of another file"}]}'),
        (Path.unlink, FailureKind.NO_DATABASE),
        (replace_by_fifo, FailureKind.NOT_READABLE),
        (leave_a_journal, FailureKind.NOT_READABLE),
    ],
)
@pytest.mark.parametrize("is_open", [True, False])
def test_what_is_at_the_path_now_is_read(tmp_path: Path, change: Any, outcome: Any, is_open: bool) -> None:
    path = create_sqlite(tmp_path / "shop.db")
    reader = DatabaseReader(SqlSettings("sqlite"), 100_000)

    def query() -> str | FailureKind:
        try:
            return reader.query(str(path), soon(), "SELECT id FROM orders", [], 1)
        except DatabaseFailure as failure:
            return failure.kind

    if is_open:
        assert isinstance(query(), str)
    change(path)
    assert query() == outcome


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"x" * 200])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.db"
    path.write_bytes(content)
    with pytest.raises(DatabaseFailure) as caught, closing(SqliteDatabase(path, TABLES, 1000)) as database:
        database.read_schema(soon())
    assert caught.value.kind is FailureKind.NOT_A_DATABASE
    assert path.read_bytes() == content


def test_a_file_that_does_not_exist_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(DatabaseFailure) as caught:
        SqliteDatabase(tmp_path / "none.db", TABLES, 1000)
    assert caught.value.kind is FailureKind.NO_DATABASE
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DatabaseFailure) as caught:
        SqliteDatabase(tmp_path, TABLES, 1000)
    assert caught.value.kind is FailureKind.NOT_READABLE


def test_a_connection_string_is_a_path_or_a_url() -> None:
    rows = ["/a/b.db", "sqlite:/a/b.db", "sqlite:////a/b.db", " /a/b.db ", "file:///a/b.db"]
    assert differences(sqlite_path, [(text, Path("/a/b.db")) for text in rows]) == {}
    assert sqlite_path("file:///home/Jos%C3%A9/shop.db") == Path("/home/José/shop.db")


def test_a_connection_string_of_something_else_is_refused() -> None:
    rows = ["", ":memory:", "file:x?mode=rwc", "file:///a.db?mode=rwc", "postgresql://x/y", "a\0b", "sqlite://a/b"]
    assert accepted(sqlite_path, rows, DatabaseFailure) == []
