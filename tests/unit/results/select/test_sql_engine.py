"""SQL over the tables of an answer: values, names, and what a statement may not do."""

from __future__ import annotations

import pytest

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, InvalidArguments
from toolfold.results.select.sql_engine import SqlTables
from toolfold.results.tables import Table

PRICES = Table(
    "",
    ("date", "close", "volume", "Adj Close", "tags", "open"),
    [(f"2026-01-{day:02d}", day * 1.5, day * 10, day, [f"tag{day}", day], day > 2) for day in range(1, 6)],
)


def query(statement: str, *parameters: object, tables: tuple[Table, ...] = (PRICES,)) -> list[tuple[object, ...]]:
    with SqlTables(tables, WorkBudget()) as sql:
        return sql.query(statement, parameters)[1]


@pytest.mark.parametrize("name", ["data", "rows", "t", "result", "table_", '"table"', "prices", "[my prices]"])
def test_any_name_means_the_only_table(name: str) -> None:
    assert query(f"SELECT max(close) FROM {name}") == [(7.5,)]


def test_cells_keep_their_values() -> None:
    table = Table("", ("n", "text", "yes", "list", "nothing"), [(2**62, "é\ud83d\0x", True, {"a": [1]}, None)])
    assert query("SELECT * FROM data", tables=(table,)) == [(2**62, "é?\0x", 1, '{"a":[1]}', None)]


def test_row_number_is_the_index_of_the_row_plus_one() -> None:
    assert query("SELECT rowid FROM data WHERE close > ? ORDER BY close DESC", 4) == [(5,), (4,), (3,)]


def test_division_of_whole_numbers_is_exact() -> None:
    assert query("SELECT volume / 4, 7 / 2, 8 / 2 / 2 * 3, '/', 1 /* a/b */ FROM data LIMIT 1") == [
        (2.5, 3.5, 6.0, "/", 1)
    ]


def test_only_columns_that_a_statement_reads_are_loaded() -> None:
    wide = Table("", tuple(f"c{index}" for index in range(5000)), [tuple(range(5000))] * 3)
    assert query("SELECT sum(c4321) FROM data", tables=(wide,)) == [(3 * 4321,)]
    assert query("SELECT count(*) FROM data", tables=(wide,)) == [(3,)]


def test_tables_of_one_answer_are_joined() -> None:
    other = Table("a.names", ("day", "name"), [("2026-01-02", "two")])
    assert query("SELECT name, close FROM names JOIN data ON data.date = names.day", tables=(other, PRICES)) == [
        ("two", 3.0)
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM sqlite_master",
        "SELECT count(*) FROM sqlite_schema",
        "SELECT * FROM pragma_table_info('data')",
        "PRAGMA hard_heap_limit=0",
        "ATTACH ':memory:' AS other",
        "DROP TABLE data",
        "DELETE FROM data",
        "INSERT INTO data VALUES (1)",
        "CREATE VIRTUAL TABLE x USING fts5(a)",
        "VACUUM INTO '/tmp/x'",
        "SELECT load_extension('x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('/tmp/x', 'x')",
        "SELECT randomblob(1000000000)",
        "SELECT zeroblob(1000000000)",
        "SELECT printf('%.*c', 1000000000, 'x')",
        "SELECT sqlite_version()",
        "EXPLAIN SELECT 1",
        "BEGIN",
        "SELECT 1; SELECT 2",
        "SELECT '\0'",
        "SELECT '\ud800'",
        "",
    ],
)
def test_other_statements_are_refused(statement: str) -> None:
    with pytest.raises(CallError) as raised:
        query(statement)
    assert isinstance(raised.value, InvalidArguments)
