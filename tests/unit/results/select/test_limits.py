"""Hostile steps and statements: they end within the time and memory of a call, and harm no other caller."""

# ruff: noqa: E501 - a line for each statement

import contextlib
import datetime
import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.timing import memory_mb
from tests.support.cpu_time import cpu_within, ends_within, thread_s
from tests.unit.results.select.answers import ANSWERS, document
from tests.unit.results.select.outcomes import run
from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge, CallError, InvalidArguments, InvalidSelect
from toolfold.results.select.engine import evaluate
from toolfold.results.select.grammar import MAX_CHARS, MAX_STEPS, parse_select
from toolfold.results.select.sandbox import Statements
from toolfold.results.tables import Document, Table
from toolfold.results.types import Kind

TODAY = datetime.date(2026, 1, 14)
COUNT = 12_000
ROWS = [(f"2024-{n // 28 % 12 + 1:02}-{n % 28 + 1:02}", n, n % 7, f"w{n % 5}", [n, "x"]) for n in range(COUNT)]
TABLE = Table("", ("date", "n", "digit", "word", "tags"), ROWS)
DOCUMENT = Document((TABLE,))
SMALL = Document((Table("", ("date", "n", "b c"), [(f"2026-01-{n + 1:02d}", n, f"x{n}") for n in range(9)]),))

ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) "
LONG = "WITH RECURSIVE t(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM t WHERE length(x) < 400000) "
EXPONENTIAL = ", ".join(f"t{n} AS (SELECT p.x FROM t{n - 1} p, t{n - 1} q)" for n in range(1, 60))
MANY_ROWS = f"WITH t0 AS (SELECT 1 AS x UNION SELECT 2), {EXPONENTIAL} SELECT * FROM t59"
LOOPING_JOIN = "SELECT count(*) FROM data p, data q, data r WHERE p.n + q.n < r.n"


def select(text: Any, answer: Document = DOCUMENT, seconds: float = 10, max_bytes: int = 448 << 20) -> Document:
    selection = parse_select(text)
    assert selection is not None
    return evaluate(selection, answer, WorkBudget(time.monotonic() + seconds, max_bytes), TODAY)


def error_of(text: str, answer: Document = SMALL) -> CallError | None:
    try:
        select(text, answer, 5)
    except CallError as error:
        return error
    return None


# Time and memory


@pytest.mark.parametrize(
    "text",
    [
        f"{ENDLESS} SELECT x FROM r",
        f"{ENDLESS} SELECT x FROM r ORDER BY x",
        "SELECT p.n FROM data p, data q",
        "SELECT p.n FROM data p, data q ORDER BY p.n * q.digit",
        "SELECT median(p.n) FROM data p, data q",
        "SELECT count(DISTINCT p.n * q.n) FROM data p, data q",
        "SELECT p.n * q.n AS g, median(q.n) FROM data p, data q GROUP BY g",
        "SELECT count(*) FROM data p JOIN data q ON p.word LIKE '%' || q.word || '%'",
        "SELECT count(*) FROM data, json_each((SELECT json_group_array(n) FROM data))",
        "SELECT median(n) OVER (ORDER BY n) FROM data",
        "SELECT " + ", ".join(["hex(hex(hex(p.word || q.n)))"] * 80) + " FROM data p, data q",
        "avg(n) over 10000 as a, median(n) over 10000 as m; max(m)",
        LOOPING_JOIN,
    ],
)
def test_selects_end_at_the_deadline(text: str) -> None:
    with cpu_within(1), pytest.raises(AnswerTooLarge):
        select(text, seconds=0.1)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (MANY_ROWS, AnswerTooLarge),
        (f"{LONG} SELECT group_concat(x) FROM t, data", AnswerTooLarge),
        ("SELECT printf('%1000000000d', 1) FROM data", InvalidSelect),
        ("SELECT zeroblob(1000000000) FROM data", InvalidSelect),
        ("SELECT randomblob(1000000000) FROM data", InvalidSelect),
        (f"{LONG} SELECT max(length(replace(x, 'a', x))) FROM t", AnswerTooLarge),
        (f"{LONG} SELECT instr(max(x), substr(max(x), 2) || 'b') FROM t", AnswerTooLarge),
        (f"{LONG} SELECT length(max(trim(x, x || 'b'))) FROM t", AnswerTooLarge),
        ("SELECT count(*) FROM data WHERE word LIKE '" + "%a" * 300 + "'", InvalidSelect),
        ("SELECT " + "(" * 1_900 + "1" + ")" * 1_900 + " FROM data", InvalidSelect),
        ("SELECT " + "- " * 1_900 + "1 FROM data", InvalidSelect),
        ("SELECT * FROM " + "(SELECT * FROM " * 100 + "data" + ")" * 100, InvalidSelect),
        ("n > " + "(" * 1_900 + "1" + ")" * 1_900, InvalidSelect),
        ("SELECT " + "date(" * 20 + "day" + ")" * 20 + " FROM data", InvalidSelect),
        ("SELECT " + "date[" * 20 + "day" + "]" * 20 + " FROM data", InvalidSelect),
        ("n > " + "text(" * 20 + "n" + ")" * 20, InvalidSelect),
        ("n > " + "- " * 1_900 + "1", InvalidSelect),
        ("n" + " + n" * 990, InvalidSelect),
        ("not " * 900 + "n > 1", InvalidSelect),
        ("n > 1 and " * 390 + "n > 1", InvalidSelect),
        (" UNION ".join(["SELECT n FROM x"] * 200), InvalidSelect),
        ("SELECT count(*) FROM " + ", ".join(f"data d{n}" for n in range(65)), InvalidSelect),
        ("SELECT sum(9223372036854775807) FROM data", InvalidSelect),
        ("n > 1;" * (MAX_STEPS + 1), InvalidSelect),
        ("first 999999999 weeks", InvalidSelect),
        (", ".join(f"n + {n}" for n in range(300)), InvalidSelect),
    ],
)  # fmt: skip
def test_selects_that_grow_are_errors(text: str, error: type[CallError]) -> None:
    with cpu_within(6), pytest.raises(error):
        select(text, seconds=5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT count(*) FROM (SELECT n * 10 + digit AS g, median(n) FROM data GROUP BY g)", COUNT),
        (f"{LONG} SELECT count(*) FROM t WHERE x LIKE '" + "%a" * 90 + "b'", 0),
        (f"{LONG} SELECT instr(max(x), 'ab') FROM t", 0),
        ("SELECT max(round(n, 1000000000)) FROM data", COUNT - 1),
        ("SELECT count(strftime('" + "%Y" * 1_000 + "', 'now')) FROM data", COUNT),
        ("SELECT count(date_format(date, '%999999999Y')) FROM data", 0),
        ("SELECT count(date_add('day', 9e999, '2026-01-01')) FROM data", 0),
        ("SELECT max(substr(word, -9223372036854775807, 9223372036854775807)) FROM data", ""),
        ("last 999999999; count", COUNT),
        ("top 999999999 by n; count", COUNT),
        ("[0:999999999]; count", COUNT),
    ],
)
def test_costly_selects_are_answered(text: str, expected: Any) -> None:
    assert [tuple(row) for row in select(text).tables[0].rows] == [(expected,)]


@pytest.mark.parametrize("text", ["n > 1", "since 2024-02", "top 5 by n", "max(n)", "last 5", "n", "avg(n) by word",
                                  "change(n)", "order by word", "distinct word", "SELECT n FROM data"])  # fmt: skip
def test_every_step_stops_at_the_deadline_and_the_memory(text: str) -> None:
    with pytest.raises(AnswerTooLarge):
        select(text, seconds=0)
    with pytest.raises(AnswerTooLarge):
        select(text, max_bytes=1000)


def test_reserved_memory_is_released() -> None:
    budget = WorkBudget(max_bytes=8 << 20)
    for _ in range(3):
        selection = parse_select("SELECT median(n) FROM data GROUP BY digit")
        assert selection is not None
        evaluate(selection, DOCUMENT, budget, TODAY)
    assert budget.left >= 7 << 20


@pytest.mark.parametrize(
    "text",
    [
        "; ".join(["n > 1"] * 30),
        "n in (" + ", ".join(map(str, range(120))) + ")",
        "word in (" + ", ".join(f"a{n}" for n in range(90)) + ")",
        " or ".join(f"date = 2024-01-{n:02}" for n in range(1, 29)),
        ", ".join(["n"] * 200),
        ", ".join(f"avg(n) as a{n}" for n in range(40)),
        "order by word desc; limit 20000",
        "; ".join(["2024.."] * 10),
        "pct_change(n) as c; avg(c) over 20",
        "median(n) by month",
        "SELECT word, stddev(n) FROM data GROUP BY word",
    ],
)
def test_every_step_is_linear_in_rows(text: str) -> None:
    few, many = Document((Table("", TABLE.columns, ROWS[: COUNT // 8]),)), DOCUMENT
    assert thread_s(lambda: select(text, many)) < 24 * max(thread_s(lambda: select(text, few)), 0.005)


UNITS = ["a", " ", "a ", "a=", "a(", "(", ")", "=", "1", "2024-01", "..", "'", '"', "a contains ", ";", ",", "%", "\t",
         "a.", "|", "!=", "last ", "top 1 by ", "between 2024 ", "columns ", "and ", "in (", "&", "x by ", "over ", "/*",
         "--", "[", "1,", "jmespath:", "\x00", "\ud800", "é"]  # fmt: skip


def test_parsing_takes_time_in_proportion_to_the_length() -> None:
    rng = random.Random(11)
    texts = [(first, second, end) for first in UNITS for second in UNITS for end in ("", ";", "x", ")", "=")]
    for first, second, end in rng.sample(texts, 40):
        for text in ((first * 500 + second * 500 + end)[-MAX_CHARS:], ((first + second) * 500)[:MAX_CHARS]):
            with cpu_within(1.5), contextlib.suppress(InvalidArguments):
                select(text, SMALL)


FIELDS = {f"t{number}": [{"v": 1, "w": 2}] * 2 for number in range(59)}
CURRENCIES = [{f"c{number}_currency": "EU"[row % 2] for number in range(900)} | {"v": row} for row in range(60)]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (None, json.dumps(FIELDS | {"of": {f"total{number}": number for number in range(20_000)}})),
        (None, json.dumps(FIELDS | {"of": {f"{number}.total": 90 for number in range(20_000)}})),
        ("sum(v)", json.dumps(CURRENCIES)),
        *((None, body) for body in ("a,b\n1,2\nq" + "\n " * 90_000 + "x,1\n", " \n" * 90_000 + "a,b\n1,2\n")),
        *((None, body) for body in (" " * 90_000 + "a,b\n1,2\n", "a" + " " * 90_000 + "\n" + " " * 90_000 + ",\n1,2")),
    ],
    ids=range(7),
)
def test_notes_take_time_in_proportion_to_the_answer(text: str | None, body: str) -> None:
    with cpu_within(2), contextlib.suppress(CallError):
        run(text, body)


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "SELECT " + "a," * 50_000 + "b FROM data", "(" * 100_000, "a;" * 3_000, ["n"] * 3_000]
)
def test_very_long_select_is_refused_at_once(text: Any) -> None:
    with cpu_within(0.1), pytest.raises(InvalidSelect, match="are the most"):
        parse_select(text)


# Many and odd things


def test_many_groups_columns_and_tables() -> None:
    rows = [(f"k{n}", n) for n in range(20_000)]
    groups = select(
        "sum(n) as s by key; s > 19997; SELECT count(*) FROM data", Document((Table("", ("key", "n"), rows),))
    )
    assert groups.tables[0].rows == [(2,)]
    assert len(select("SELECT * FROM data").tables[0].rows) == COUNT
    wide = Document((Table("", tuple(f"c{n}" for n in range(10_000)), [tuple(range(10_000))] * 3),))
    for text, expected in (
        ("c4321", [(4321,)] * 3),
        ("SELECT sum(c4321) FROM data", [(3 * 4321,)]),
        ("c9999 > 1; count", [(3,)]),
        ("SELECT count(*) FROM data", [(3,)]),
    ):
        assert [tuple(row) for row in select(text, wide).tables[0].rows] == expected
    tables = Document(
        tuple(Table(f"t{n}", tuple(f"c{n}_{m}" for m in range(20)), [tuple(range(20))]) for n in range(60))
    )
    for text in (",".join(f"x{n}" for n in range(30)), "from nothing", "c1_1"):
        with cpu_within(3), contextlib.suppress(InvalidArguments):
            select(text, tables)


@pytest.mark.parametrize("name", ["a]b", 'c"d', "e'f", "g`h", "--", ";", "/*", "select", "(", "a, b", "last", "count",
                                  "c0", "x1", "_r", "_n", "t0", "rowid", "日", "10year", " "])  # fmt: skip
def test_names_with_signs_of_sql_are_names(name: str) -> None:
    answer = Document((Table("x; DROP TABLE y", ("n", name), [(1, 7), (2, 9)]),))
    quoted = '"' + name.replace('"', '""') + '"'
    for text, expected in (
        (quoted, [(7,), (9,)]),
        (f"n, {quoted}; {quoted} > 8", [(2, 9)]),
        (f"top 1 by {quoted}; {quoted}", [(9,)]),
        (f"max({quoted}) as m", [(9,)]),
        (f"SELECT {quoted} FROM data ORDER BY {quoted} DESC", [(9,), (7,)]),
        ("SELECT * FROM data", [(1, 7), (2, 9)]),
    ):
        assert [tuple(row) for row in select(text, answer).tables[0].rows] == expected, text


@pytest.mark.parametrize("name", ["", "\0", "a\0b", "\ud800"])
def test_names_that_sqlite_cannot_hold_harm_nothing(name: str) -> None:
    answer = Document((Table("", ("n", name), [(1, 7), (2, 9)]),))
    assert [tuple(row) for row in select("n > 1", answer).tables[0].rows] == [(2, 9)]
    for text in ("SELECT * FROM data", "SELECT max(n) FROM data", f'"{name}" > 8'):
        assert isinstance(error_of(text, answer), InvalidSelect | None)


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (("date", "n"), []),
        (("date", "n"), [("2026-01-01", 1)]),
        (("date", "n"), [(None, None)] * 3),
        (("date", "n"), [("2026-01-01", None), (None, 1)]),
        (("date", "n"), [("", "-"), ("None", "N/A")]),
        (("n",), [(True,), (None,)]),
        (("n",), [([1],), ({"a": 1},), ("x",)]),
        (("n",), [(10**30,), (1.5,), (-(10**20),)]),
        (("n",), [(2**63,), (2**53 + 1,), (1,)]),
        (("n",), [("9" * 5000,), ("1e999999999",), ("NaN",), ("Infinity",)]),
        (("n",), [("1e999",), ("-1e-999999999",), ("٣",), ("²",), ("1_000",)]),
        (("n",), [("\x00",), ("\ud800",), ("é\ud83d\0x",), ("2026-02-30",)]),
        (("n",), [("x" * 200_000,), ("y",)]),
        (("n", *(f"c{at}" for at in range(2_000))), [(1,) * 2_001]),
    ],
)
def test_odd_cells_are_selected_or_refused(columns: tuple[str, ...], rows: list[Any]) -> None:
    answer = Document((Table("", columns, rows),))
    for text in (
        "last 1", "top 1 by n", "n > 1", "n = x", "max(n), avg(n), count(n)", "change(n)", "avg(n) over 2",
        "sum(n) by year", "median(n) by n", "since 2025", "n / sum(n)", "distinct n", "n is null", "SELECT n FROM data",
        "SELECT * FROM data", "SELECT max(n), median(n), first(n) FROM data", "SELECT n, lag(n) OVER (ORDER BY n) FROM data", "[0:1]",
    ):  # fmt: skip
        with contextlib.suppress(InvalidSelect, AnswerTooLarge):
            found = select(text, answer)
            json.dumps([[table.columns, table.rows] for table in found.tables], allow_nan=False)


# Nothing but the rows


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM sqlite_master", "SELECT count(*) FROM sqlite_schema", "SELECT * FROM pragma_table_info('data')",
        "PRAGMA hard_heap_limit=0", "ATTACH ':memory:' AS other", "DROP TABLE data", "DELETE FROM data",
        "INSERT INTO data VALUES (1)", "CREATE TABLE x (a)", "CREATE VIRTUAL TABLE x USING fts5(a)",
        "VACUUM INTO '/tmp/x'", "SELECT load_extension('x') FROM data", "SELECT readfile('/etc/passwd') FROM data",
        "SELECT writefile('/tmp/x', 'x') FROM data", "SELECT zeroblob(1000000000) FROM data",
        "SELECT printf('%.*c', 1000000000, 'x') FROM data", "SELECT sqlite_version() FROM data", "BEGIN",
        "SELECT 1; SELECT 2", "SELECT '\0' FROM data", "SELECT '\ud800' FROM data",
    ],
)  # fmt: skip
def test_nothing_but_reading_the_rows_is_run(statement: str) -> None:
    if not statement.startswith("SELECT") or "FROM data" in statement:
        assert isinstance(error_of(statement, DOCUMENT), InvalidSelect)
    with Statements(WorkBudget()) as statements:
        statements.load("data", [("n", [1, 2], Kind.INTEGER)], 2)
        with pytest.raises((sqlite3.Error, sqlite3.Warning)):
            statements.query(statement)
        assert statements.query("SELECT sum(n) FROM data")[1] == [(3,)]


def test_errors_do_not_repeat_what_sqlite_says() -> None:
    rng = random.Random(13)
    tokens = [
        *"(),;'\"[]*=<>~!|&$@:?-/.%",
        *["SELECT", "FROM", "data", "n", "WHERE", "1", "''", "UNION", "x'"],
        "GROUP BY",
    ]
    for _ in range(80):
        error = error_of(" ".join(["SELECT", *rng.choices(tokens, k=rng.randrange(1, 12))]))
        if isinstance(error, InvalidSelect):
            assert "sqlite" not in str(error).lower()
            assert "syntax error" not in str(error)
            assert error.suggestion


def test_names_from_data_in_errors_are_quoted_and_short() -> None:
    hostile = ("# Preview: all of it: https://example.com", "a\nb\x1b[2J", "y" * 5000, "\u202e", "ok")
    answer = Document((Table("t\nt", hostile, [("x",) * 5]), Table("u" * 5000, ("ok",), [(1,)])))
    for text in ("nothing", "from nothing", "ok, nothing", "2024", "avg('a\nb\x1b[2J')", "SELECT nothing FROM data"):
        error = error_of(text, answer)
        assert isinstance(error, InvalidSelect), text
        assert error.suggestion.isprintable()
        assert error.message.isprintable()
        assert len(error.suggestion) < 1500
        assert len(json.dumps(dict(error.details))) < 1500


# Other callers


def test_a_caller_does_not_wait_for_eight_looping_joins_of_another() -> None:
    started = threading.Barrier(9)
    errors: list[CallError | None] = []

    def loop() -> None:
        started.wait()
        try:
            select(LOOPING_JOIN, seconds=4)
        except CallError as error:
            errors.append(error)

    threads = [threading.Thread(target=loop) for _ in range(8)]
    for thread in threads:
        thread.start()
    started.wait()
    select("last 30; n > 2; count")
    assert not errors  # they loop on
    with ends_within(4):
        for thread in threads:
            thread.join()
    assert len(errors) == 8
    assert all(isinstance(error, AnswerTooLarge) for error in errors)


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
        select(MANY_ROWS)
    ended.set()
    writer.join()
    assert {type(failure) for failure in failures} <= {MemoryError}
    assert written.is_set()


# Any text and any rows

PARTS = [
    "select ", "from ", "data ", "n", '"b c"', "where ", "group by ", "order by ", "limit 3", "max(", ")", "(",
    ",", "*", "/", "'x'", "'", '"', "1", "2026-01-05", ">", "=", "between ", "and ", "over (", "interval ",
    "'3 days'", "::date", "cast(", " as ", "date ", "top 3 ", "union ", "with r as (", "extract(year from ", ";",
    "--", "/*", "first(", "in (", "like ", "offset 1 rows ", "fetch first 2 rows only", "join ", "using (", ".",
    "[", "`", "\0", "\ud800", "é", "percentile_cont(0.5) within group (order by ", "date_trunc(", "case when ",
    "end ", "~", "?", "close", "type = call", "strike", "last ", "5 ", "days", "ytd", "since ", "by ", "top 5 by ",
    "is null", "contains ", "not ", "distinct ", "count", "change(", "pct_change(", "avg(n) over 3", "..", ":",
    "* except ", "holdings: ", "from feed", "1.5M", "10%", "$99", "2024Q1", "[0:", "]", "desc", "newest first",
]  # fmt: skip
DOCUMENTS = {name: document(name) for name in ANSWERS}


@given(
    st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PARTS), max_size=25).map("".join)),
    st.sampled_from(sorted(DOCUMENTS)),
)
@settings(max_examples=150)
def test_any_text_is_answered_or_an_error_of_the_call(text: str, name: str) -> None:
    for written in (text, f"select {text}", f"select n from data where {text}"):
        with contextlib.suppress(InvalidSelect, AnswerTooLarge):
            selection = parse_select(written)
            if selection is not None and not selection.jmespath:
                for answer in (SMALL, DOCUMENTS[name]):
                    evaluate(selection, answer, WorkBudget(time.monotonic() + 5), TODAY)


# The memory of a process

GROWING = (
    MANY_ROWS,
    "SELECT p.*, q.* FROM data p, data q",
    "SELECT p.n FROM data p, data q ORDER BY p.n * q.digit",
    "SELECT " + ", ".join(["hex(hex(hex(p.word || q.n)))"] * 80) + " FROM data p, data q",
    "SELECT p.n * q.n AS g, median(q.digit) FROM data p, data q GROUP BY g",
)


def print_growth() -> None:
    """Print by how many MB this process grows; called in a process of its own."""

    select("SELECT max(n) FROM data")
    before = memory_mb(field="VmRSS")
    for statement in GROWING:
        with contextlib.suppress(AnswerTooLarge):
            select(statement, seconds=3)
    print(int(memory_mb() - before))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_grows_by_less_than_512_mb() -> None:
    script = f"from {__name__} import print_growth; print_growth()"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[4]
    )
    assert int(run.stdout) < 512
