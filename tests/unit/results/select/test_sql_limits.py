"""Hostile SQL: it ends within the time and memory of a call, and harms neither the process nor other callers."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import string
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge, CallError, InvalidArguments
from toolfold.results.select import sql_guard, sql_query
from toolfold.results.select.sql_engine import SqlTables
from toolfold.results.tables import Document, Table

TABLE = Table("", ("a", "b", "word", "tags"), [(n, n % 7, f"w{n % 5}", [n, "x"]) for n in range(10_000)])
DOCUMENT = Document((TABLE,))
SMALL = Document((Table("", ("a", "b c", "date"), [(n, f"x{n}", f"2026-01-{n + 1:02d}") for n in range(9)]),))

ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) "
LONG = "WITH RECURSIVE t(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM t WHERE length(x) < 400000) "
EXPONENTIAL = ", ".join(f"t{n} AS (SELECT p.x FROM t{n - 1} p, t{n - 1} q)" for n in range(1, 60))


def evaluate(statement: str, seconds: float = 10, document: Document = DOCUMENT) -> Document:
    return sql_query.evaluate(statement, document, WorkBudget(time.monotonic() + seconds))


def error_of(statement: str) -> CallError | None:
    try:
        evaluate(statement, 5, SMALL)
    except CallError as error:
        return error
    return None


@pytest.mark.parametrize(
    "statement",
    [
        f"{ENDLESS} SELECT x FROM r",
        f"{ENDLESS} SELECT count(*) FROM r",
        f"{ENDLESS} SELECT x FROM r ORDER BY x",
        "SELECT p.a FROM data p, data q",
        "SELECT p.a FROM data p, data q ORDER BY p.a * q.b",
        "SELECT count(DISTINCT p.a * q.a) FROM data p, data q",
        "SELECT p.a * q.a AS g, median(q.b) FROM data p, data q GROUP BY g",
        "SELECT group_concat(p.word) FROM data p, data q",
        "SELECT median(p.a) FROM data p, data q",
        "SELECT count(*) FROM data p JOIN data q ON p.word LIKE '%' || q.word || '%'",
        "SELECT count(*) FROM data, json_each((SELECT json_group_array(a) FROM data))",
        "SELECT " + ", ".join(["hex(hex(hex(p.word || q.a)))"] * 100) + " FROM data p, data q",
    ],
)
def test_statements_end_at_the_deadline(statement: str) -> None:
    started_s = time.thread_time()
    with pytest.raises(AnswerTooLarge):
        evaluate(statement, 0.1)
    assert time.thread_time() - started_s < 1


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        (f"WITH t0 AS (SELECT 1 AS x UNION SELECT 2), {EXPONENTIAL} SELECT * FROM t59", AnswerTooLarge),
        (f"{LONG} SELECT group_concat(x) FROM t, data", AnswerTooLarge),
        ("SELECT printf('%1000000000d', 1)", InvalidArguments),
        ("SELECT printf('%.*c', 1000000000, 'x')", InvalidArguments),
        (f"{LONG} SELECT max(length(replace(x, 'a', x))) FROM t", InvalidArguments),
        ("SELECT count(*) FROM data WHERE word LIKE '" + "%a" * 300 + "'", InvalidArguments),
        ("SELECT " + "(" * 1_900 + "1" + ")" * 1_900, InvalidArguments),
        ("SELECT " + "- " * 1_900 + "1 FROM data", InvalidArguments),
        ("SELECT * FROM " + "(SELECT * FROM " * 100 + "data" + ")" * 100, InvalidArguments),
        (" UNION ".join(["SELECT a FROM x"] * 200), InvalidArguments),
        ("SELECT count(*) FROM " + ", ".join(f"data d{n}" for n in range(65)), InvalidArguments),
        ("SELECT '" + "x" * 100_000 + "' FROM data", InvalidArguments),
        ("SELECT sum(9223372036854775807) FROM data", InvalidArguments),
        ("SELECT 1 FROM data -- " + "x" * 4_000, InvalidArguments),
        ("SELECT a FROM data\0", InvalidArguments),
        ("SELECT '\ud800' FROM data", InvalidArguments),
    ],
)  # fmt: skip
def test_statements_that_grow_are_errors(statement: str, error: type[CallError]) -> None:
    with pytest.raises(error):
        evaluate(statement, 5)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT count(*) FROM (SELECT a * 10 + b AS g, median(a) FROM data GROUP BY g)", 10_000),
        (f"{LONG} SELECT count(*) FROM t WHERE x LIKE '" + "%a" * 90 + "b'", 0),
        (f"{LONG} SELECT instr(max(x), substr(max(x), 2) || 'b') FROM t", 0),
        ("SELECT max(round(a, 1000000000)) FROM data", 9_999),
        ("SELECT count(strftime('" + "%Y" * 1_000 + "', 'now')) FROM data", 10_000),
        ("SELECT count(date_add('day', 9e999, '2026-01-01')) FROM data", 0),
        ("SELECT max(substr(word, -9223372036854775807, 9223372036854775807)) FROM data", ""),
    ],
)
def test_costly_statements_are_answered(statement: str, expected: Any) -> None:
    assert evaluate(statement).tables[0].rows == [(expected,)]


def test_names_with_signs_of_sql_are_names() -> None:
    names = ("a]b", 'c"d', "e'f", "g`h", "--", ";", "/*", "select", "%", "(", "", "\0", "A]B", "\ud800", "é", "ROWID")
    table = Table("x; DROP TABLE y", names, [tuple(range(len(names)))])
    assert evaluate("SELECT * FROM data", document=Document((table,))).tables[0].rows == table.rows
    for index, name in enumerate(names[:9]):
        quoted = name.replace('"', '""')
        assert evaluate(f'SELECT "{quoted}" FROM data', document=Document((table,))).tables[0].rows == [(index,)]


def test_errors_do_not_repeat_what_sqlite_says() -> None:
    rng = random.Random(13)
    tokens = [
        *"(),;'\"[]*=<>~!|&$@:?-/.%",
        "SELECT",
        "FROM",
        "data",
        "a",
        "WHERE",
        "1",
        "''",
        "GROUP BY",
        "UNION",
        "x'",
    ]
    for _ in range(300):
        statement = " ".join(["SELECT", *rng.choices(tokens, k=rng.randrange(1, 12))])
        error = error_of(statement)
        if isinstance(error, InvalidArguments):
            assert "sqlite" not in str(error).lower()
            assert "syntax error" not in str(error)
            assert error.suggestion


def test_a_second_database_goes_on_beside_a_statement(tmp_path: Path) -> None:
    """SQLite bounds its memory for the whole process: at the bound the response cache misses, and then it goes on."""
    failures: list[BaseException] = []
    ended, written = threading.Event(), threading.Event()
    replace = "REPLACE INTO entries VALUES (abs(random() % 50), randomblob(20000))"

    def write() -> None:
        connection = sqlite3.connect(tmp_path / "cache", isolation_level=None)
        connection.execute("CREATE TABLE entries (key PRIMARY KEY, value)")
        while not ended.is_set():
            try:
                connection.execute(replace).close()
            except (sqlite3.Error, MemoryError) as error:
                failures.append(error)
        connection.execute(replace).close()
        written.set()
        connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(AnswerTooLarge):
        evaluate(f"WITH t0 AS (SELECT 1 AS x UNION SELECT 2), {EXPONENTIAL} SELECT * FROM t59")
    ended.set()
    writer.join()
    assert {type(failure) for failure in failures} <= {MemoryError}
    assert written.is_set()


def test_a_statement_waits_for_another_until_its_deadline() -> None:
    lock = threading.Lock()
    with (
        sql_guard.turn(lock, WorkBudget()),
        pytest.raises(AnswerTooLarge, match="Other statements"),
        sql_guard.turn(lock, WorkBudget(time.monotonic() + 0.02)),
    ):
        pass
    with sql_guard.turn(lock, WorkBudget()):
        assert lock.locked()
    assert not lock.locked()


def test_reserved_memory_is_released() -> None:
    budget = WorkBudget(max_bytes=8 << 20)
    for _ in range(3):
        with SqlTables([TABLE], budget) as tables:
            tables.query("SELECT median(a) FROM data GROUP BY b")
    assert budget.has(7 << 20)
    with SqlTables([TABLE], WorkBudget(max_bytes=50_000)) as tables, pytest.raises(AnswerTooLarge):
        tables.query("SELECT max(word) FROM data")


PARTS = [
    "select ", "from ", "data ", "a", '"b c"', "where ", "group by ", "order by ", "limit 3", "max(", ")", "(",
    ",", "*", "/", "'x'", "'", '"', "1", "2026-01-05", ">", "=", "between ", "and ", "over (", "interval ",
    "'3 days'", "::date", "cast(", " as ", "date ", "top 3 ", "union ", "with r as (", "extract(year from ", ";",
    "--", "/*", "first(", "in (", "like ", "offset 1 rows ", "fetch first 2 rows only", "join ", "using (", ".",
    "[", "`", "\0", "\ud800", "é", "percentile_cont(0.5) within group (order by ", "date_trunc(", "case when ",
    "end ", "~", "?",
]  # fmt: skip


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PARTS), max_size=25).map("".join)))
def test_any_text_is_answered_or_an_error_of_the_call(text: str) -> None:
    sql_query.is_sql(text)
    for statement in (text, f"select {text}", f"select a from data where {text}"):
        assert isinstance(error_of(statement), InvalidArguments | AnswerTooLarge | None)


CELLS = st.one_of(st.none(), st.integers(-(2**53), 2**53), st.floats(-1e6, 1e6), st.text(string.printable, max_size=4))


@given(st.lists(st.tuples(CELLS, st.integers(-50, 50), st.sampled_from("xyz")), max_size=30), st.integers(-50, 50))
def test_statements_agree_with_python(rows: list[tuple[Any, int, str]], bound: int) -> None:
    table = Table("", ("any", "n", "word"), rows)
    with SqlTables([table], WorkBudget()) as tables:
        larger = tables.query("SELECT rowid - 1 FROM data WHERE n > ? ORDER BY n, rowid", [bound])[1]
        groups = dict(tables.query("SELECT word, sum(n) FROM data GROUP BY word")[1])
        figures = tables.query("SELECT sum(n) / count(*), max(n), count(any), median(n) FROM data")[1][0]
        back = tables.query("SELECT any FROM data")[1]
    by_size = sorted((i for i, row in enumerate(rows) if row[1] > bound), key=lambda i: (rows[i][1], i))
    assert [index for (index,) in larger] == by_size
    assert groups == {word: sum(n for _, n, w in rows if w == word) for word in {row[2] for row in rows}}
    assert [cell for (cell,) in back] == [row[0] for row in rows]
    if rows:
        numbers = sorted(row[1] for row in rows)
        middle = (numbers[(len(numbers) - 1) // 2] + numbers[len(numbers) // 2]) / 2
        given_cells = sum(row[0] is not None for row in rows)
        assert figures == (pytest.approx(sum(numbers) / len(rows)), numbers[-1], given_cells, middle)


GROWING = (
    f"WITH t0 AS (SELECT 1 AS x UNION SELECT 2), {EXPONENTIAL} SELECT * FROM t59",
    "SELECT p.*, q.* FROM data p, data q",
    "SELECT p.a FROM data p, data q ORDER BY p.a * q.b",
    "SELECT " + ", ".join(["hex(hex(hex(p.word || q.a)))"] * 100) + " FROM data p, data q",
    "SELECT p.a * q.a AS g, median(q.b) FROM data p, data q GROUP BY g",
)


def print_growth() -> None:
    """Print by how many MB this process grows; called in a process of its own."""

    def memory(field: str) -> int:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field))

    evaluate("SELECT max(a) FROM data")
    before = memory("VmRSS")
    for statement in GROWING:
        with contextlib.suppress(AnswerTooLarge):
            evaluate(statement, 3)
    print((memory("VmHWM") - before) // 1024)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_grows_by_less_than_512_mb() -> None:
    script = f"from {__name__} import print_growth; print_growth()"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[4]
    )
    assert int(run.stdout) < 512
