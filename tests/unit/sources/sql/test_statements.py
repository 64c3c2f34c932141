"""Parameters of statements, names and values of columns, and notes on texts that are compared."""

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tables import accepted, differences
from toolfold.sources.sql import adapter
from toolfold.sources.sql.adapter import DatabaseReader, bind_parameters
from toolfold.sources.sql.errors import DatabaseFailure
from toolfold.sources.sql.postgresql_database import encode_parameters
from toolfold.sources.sql.schema import (
    DatabaseSchema,
    SqlSettings,
    Table,
    TableFilter,
    column_names,
    sql_name,
)


def test_each_style_of_placeholder_is_understood() -> None:
    rows = [
        ("postgresql", "a = $1 AND b = $2", [1, 2], "a = $1 AND b = $2", [1, 2]),
        ("postgresql", "a = ? AND b = ?", [1, 2], "a = $1 AND b = $2", [1, 2]),
        ("postgresql", "a = :x AND b = :y AND c = :x", {"x": 1, "y": 2}, "a = $1 AND b = $2 AND c = $1", [1, 2]),
        ("postgresql", "doc ? 'a' AND b = $1", [1], "doc ? 'a' AND b = $1", [1]),
        ("postgresql", "doc ? 'a'", [], "doc ? 'a'", []),
        ("postgresql", "a::int = :a AND t[1:a] = '?'", {"a": 1}, "a::int = $1 AND t[1:a] = '?'", [1]),
        ("postgresql", "a LIKE '50%s' AND b = $1", [1], "a LIKE '50%s' AND b = $1", [1]),
        ("postgresql", "$$ ? $$ || $t$ :x $t$ || :x", {"x": 1}, "$$ ? $$ || $t$ :x $t$ || $1", [1]),
        ("postgresql", r"E'it\'s ?' || ?", ["v"], r"E'it\'s ?' || $1", ["v"]),
        ("postgresql", "a IN ($1,$2)", [1, 2], "a IN ($1 ,$2 )", [1, 2]),
        ("postgresql", "a = ? OR t[:b] = :b", [1], "a = $1 OR t[:b] = :b", [1]),
        ("postgresql", "a = $2 AND b = :c", {"2": 1, "c": 3}, "a = $1 AND b = $2", [1, 3]),
        ("postgresql", "a = @b AND t[:b] = $1", {"1": 5}, "a = @b AND t[:b] = $1", [5]),
        ("sqlite", "a = ? AND b = ?", [1, 2], "a = :p1 AND b = :p2", [1, 2]),
        ("postgresql", f"a = ${'1' * 5_000} AND b = $1", [1], f"a = ${'1' * 5_000} AND b = $1", [1]),
        ("sqlite", "a = ?2 AND b = ?1", [1, 2], "a = :p1 AND b = :p2", [2, 1]),
        ("sqlite", "a = $1 AND b = %s", [1], "a = :p1 AND b = %s", [1]),
        ("sqlite", "a = :x AND b = :y AND c = :x", {"x": 1, "y": 2}, "a = :p1 AND b = :p2 AND c = :p1", [1, 2]),
        ("sqlite", """'?' "?" -- ?\n/* ? */ = ?""", [1], """'?' "?" -- ?\n/* ? */ = :p1""", [1]),
        ("sqlite", "SELECT 1", [], "SELECT 1", []),
    ]

    def bound(dialect: str, statement: str, params: Any) -> tuple[str, list[Any]]:
        text, values = bind_parameters(statement, params, dialect)
        return text, list(values)

    assert differences(bound, [(*given, (text, values)) for *given, text, values in rows]) == {}


def test_a_value_without_a_place_and_a_missing_one_are_named() -> None:
    rows = [
        ("sqlite", "a = ? AND b = ?", [1], "params has no value for 2"),
        ("sqlite", "a = ?", [1, 2], "the statement has 1 parameter and params has 2 values"),
        ("sqlite", "a = :x", {"y": 1}, "params has no value for x"),
        ("sqlite", "a = :x", [], "params has no value for x"),
        ("sqlite", "a IN (?)", [[1, 2]], "a list is no value of IN (…); write IN (SELECT value FROM json_each(?))"),
        ("postgresql", "a = :x", {"X": 1}, "params has no value for x"),
        ("postgresql", "a = $2", {"1": 1}, "params has no value for 2"),
        ("postgresql", "a in ( $1 )", [[1, 2]], "a list is no value of IN (…); write = ANY(?), or <> ALL(?)"),
        (
            "postgresql",
            "doc ? 'a' AND b = ?",
            [1],
            "the statement has 0 parameters and params has 1 value; ? is an operator as well, so write them as $1, $2",
        ),
    ]

    def refused(dialect: str, statement: str, params: Any) -> str:
        with pytest.raises(DatabaseFailure) as caught:
            bind_parameters(statement, params, dialect)
        return caught.value.detail

    assert differences(refused, rows) == {}


@settings(max_examples=40)
@given(st.text("'\"?$:%s(x)1-/*\\ab\n", max_size=60), st.lists(st.text(max_size=5), max_size=4))
def test_the_text_of_a_statement_does_not_depend_on_the_values(statement: str, values: list[str]) -> None:
    for dialect in ("sqlite", "postgresql"):
        try:
            text, _ = bind_parameters(statement, values, dialect)
        except DatabaseFailure:
            continue
        assert text == bind_parameters(statement, [0] * len(values), dialect)[0]


def test_values_are_encoded_by_the_type_that_the_server_inferred() -> None:
    rows = [
        (None, 25, None),
        (5, 25, b"5"),
        ("5", 23, b"5"),
        (True, 16, b"true"),
        (1.5, 701, b"1.5"),
        ({"a": [1]}, 3802, b'{"a": [1]}'),
        ([1, None, "a,b"], 1009, b'{"1",NULL,"a,b"}'),
        (['"\\', [True]], 1009, rb'{"\"\\",{"true"}}'),
        ([1], 3802, b"[1]"),
    ]
    assert differences(lambda value, type_: encode_parameters([value], [type_])[0], rows) == {}


def test_values_that_do_not_fit_are_refused() -> None:
    rows = [[], [1, 2], ["a\0"]]
    assert accepted(lambda values: encode_parameters(values, [25]), rows, DatabaseFailure) == []


def test_values_of_sqlite_have_a_form_in_json(path: Path) -> None:
    statement = "SELECT NULL AS a, 1 AS b, 9007199254740993 AS c, 1.5 AS d, 9e999 AS e, -9e999 AS f, 'é\u2028' AS g,"
    statement += " x'00ff' AS h, -9007199254740992 AS i"
    answer = DatabaseReader(SqlSettings("sqlite"), 1000).query(str(path), time.monotonic() + 60, statement, [], 1)
    values = [None, 1, "9007199254740993", 1.5, "Infinity", "-Infinity", "é\u2028", "\\x00ff", -(2**53)]
    assert json.loads(answer.body)["rows"] == [dict(zip("abcdefghi", values, strict=True))]


def test_columns_without_a_name_and_repeated_ones_get_names() -> None:
    assert column_names(["id", "?column?", "id", "", "id_2"]) == ("id", "column_2", "id_3", "column_4", "id_2")


def test_names_are_written_as_sql_needs_them() -> None:
    written = [sql_name(name) for name in ("total", "createdAt", "order", "a b", 'say "hi"')]
    assert written == ["total", '"createdAt"', '"order"', '"a b"', '"say ""hi"""']
    assert sql_name("createdAt", folds_case=False) == "createdAt"


def test_patterns_choose_tables() -> None:
    tables = TableFilter(("public", "s*"), ("orders*", "sales.*"), ("*_old", "sales.secret"))
    assert [tables.has_schema(name) for name in ("public", "sales", "other")] == [True, True, False]
    named = [("public", "orders"), ("public", "ORDERS_2"), ("public", "orders_old"), ("sales", "x"), ("public", "x")]
    assert [tables.has_table(*one) for one in named] == [True, True, False, True, False]
    assert not tables.has_table("sales", "secret")


def test_a_table_is_found_by_the_name_that_a_caller_writes() -> None:
    schema = DatabaseSchema((Table("a", "Orders"), Table("b", "orders")), frozenset(), ("a", "b"))
    found = [schema.find(name) for name in ("orders", "Orders", "ORDERS", '"a"."Orders"', "b.orders", "c.orders")]
    assert [None if one is None else one.schema for one in found] == ["b", "a", "a", "a", "b", None]
    assert schema.names() == ['a."Orders"', "b.orders"]


VALUES = {
    "amount": ("9", "10", "100"),
    "price": ("$9", "$1,200", "free"),
    "comma": ("9,50", "10,00", "1.200,00"),
    "code": ("A9", "A10", "A2"),
    "day": ("2025-01-31", "2025-02-01", "2025-12-01"),
    "slashed": ("1/13/2025", "2025-02-02", "2025-03-03"),
    "name": ("Ann", "Bob", "Cem"),
    "same": ("10", "20", "30"),
    "hash": ("1234ab", "12bcde", "908172"),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database whose columns are declared as TEXT."""
    found = tmp_path_factory.mktemp("texts") / "texts.db"
    with sqlite3.connect(found) as database:
        database.execute(f"CREATE TABLE t ({', '.join(f'{name} TEXT' for name in VALUES)}, n INTEGER)")
        database.execute("CREATE TABLE other (amount INTEGER, name TEXT)")
        for number, row in enumerate(zip(*VALUES.values(), strict=True)):
            database.execute(f"INSERT INTO t VALUES ({', '.join('?' * (len(row) + 1))})", (*row, number))
    database.close()
    return found


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("SELECT * FROM t WHERE amount > 20", "the texts of amount as texts, in which 100 is before 9. CAST(amount AS"),
        ("SELECT * FROM t WHERE amount BETWEEN 5 AND 50", "in which 100 is before 9"),
        ("SELECT * FROM t ORDER BY amount DESC LIMIT 1", "in which 100 is before 9"),
        ("SELECT amount AS a FROM t ORDER BY a", "in which 100 is before 9"),
        ("SELECT n, amount FROM t ORDER BY 2", "in which 100 is before 9"),
        ("WITH x AS (SELECT amount FROM t) SELECT max(amount) FROM x", "in which 100 is before 9"),
        ("SELECT max(code) FROM t", "in which A10 is before A2"),
        ("SELECT max(price) FROM t", 'in which "$1,200" is before'),
        ("SELECT * FROM t WHERE slashed >= '2025-02-01'", "slashed"),
        ("SELECT sum(comma) FROM t", 'SQLite adds up the digits at the beginning of a text: comma has "9,50".'),
        ("SELECT n FROM t WHERE strftime('%Y', day) = 2025", "write '2025' for 2025"),
        ("SELECT n FROM t WHERE strftime('%Y', day) > 2030", "strftime(…) is a text"),
        ("SELECT sum(amount), avg(same) FROM t", ""),
        ("SELECT sum(n) / count(*) FROM t", "Whole numbers are divided without decimals"),
        ("SELECT round(n / 2, 1) FROM t", "Whole numbers are divided without decimals"),
        ("SELECT 1.0 * sum(n) / count(*), CAST(n AS REAL) / 2, avg(n) / 2, 7 / 2 FROM t", ""),
        ("SELECT n / 2., n / 1e1, n / .5, total(n) / 2, sqrt(n) / 2, julianday(day) / 7 FROM t", ""),
        ("WITH x AS (SELECT avg(n) AS m FROM t) SELECT m / 2, y.k / 2 FROM x, (SELECT n * 1.0 AS k FROM t) AS y", ""),
        ("SELECT t1.n / 2 FROM t AS t1", "Whole numbers are divided without decimals"),
        ("SELECT * FROM t WHERE CAST(amount AS REAL) > 20 ORDER BY CAST(amount AS REAL)", ""),
        ("WITH x AS (SELECT CAST(amount AS REAL) AS amount FROM t) SELECT * FROM x ORDER BY amount", ""),
        ("SELECT * FROM t WHERE amount = 10 AND amount IN (9, 10)", ""),
        ("SELECT * FROM t WHERE day >= '2025-02-01' ORDER BY day, name, n, same", ""),
        ("SELECT name, count(*) FROM t WHERE n > 1 GROUP BY name ORDER BY 2 DESC", ""),
        ("SELECT n FROM t WHERE strftime('%Y', day) = '2025' ORDER BY 1", ""),
        ("SELECT n FROM t WHERE substr(code, 2) * 1 > 5 OR replace(code, 'A', '') + 0 = 10", ""),
        ("SELECT hash FROM t ORDER BY hash", ""),
        ("SELECT t.n FROM t JOIN other AS o ON t.n = o.amount ORDER BY o.amount, o.name", ""),
        ("SELECT t.n FROM t JOIN other AS o ON t.n = o.amount ORDER BY t.amount", "in which 100 is before 9"),
        ("WITH x AS (SELECT amount FROM t) SELECT max(x.amount) FROM x", "in which 100 is before 9"),
    ],
)
def test_note_on_texts_that_are_compared(path: Path, statement: str, says: str) -> None:
    reader = DatabaseReader(SqlSettings("sqlite"), 100_000)
    note = reader.query(str(path), time.monotonic() + 60, statement, [], 10).note
    assert says in note if says else not note


@pytest.mark.parametrize(
    ("where", "params", "says"),
    [
        ("at >= '2024-01-15'", [], "at has numbers such as 1706745600, not texts or dates: datetime(at,"),
        ("at >= ?", ["2024-01-15"], "at has numbers"),
        ("at BETWEEN :low AND :high", {"low": 5, "high": "2024-01-15"}, "at has numbers"),
        ("at > date('now', '-7 days')", [], "at has numbers"),
        ("at > CURRENT_DATE", [], "at has numbers"),
        ("strftime('%Y', at) = '2024'", [], "at has numbers"),
        ("date(o.at) = '2024-01-15' AND at > 0", [], "at has numbers"),
        ("ms > '2024-01-15'", [], "ms has numbers such as 13351219200000000,"),
        ("at = 'yesterday'", [], "at has numbers"),
        ("at IN ('7', 'a')", [], "at has numbers"),
        ("compact > '2024-01-15'", [], "compact has numbers such as 20240201, not texts or dates."),
        ("at != '' OR at = ?", [""], ""),
        ("at > '1704067200' OR at = ? OR julian > 1", ["9"], ""),
        ("at > strftime('%s', '2024-01-15')", [], ""),
        ("date(at, 'unixepoch') > '2024-01-15' AND strftime('%Y', at, 'auto') = '2024'", [], ""),
        ("date(at + 0, 'unixepoch') > ? AND day = ?", ["2024-01-15", "2024-01-01"], ""),
        ("date(julian) > '2024-01-15' AND day > '2024-01-15' AND date(day) = '2024-02-01'", [], ""),
    ],
)  # fmt: skip
def test_note_on_numbers_that_are_read_as_dates(tmp_path: Path, where: str, params: object, says: str) -> None:
    with sqlite3.connect(tmp_path / "visits.db") as database:
        database.execute("CREATE TABLE visits (at INTEGER, julian REAL, day TEXT, ms INTEGER, compact INTEGER)")
        database.execute("INSERT INTO visits VALUES (1704067200, 2460310.5, '2024-01-01', 13348540800000000, 20240101)")
        database.execute("INSERT INTO visits VALUES (1706745600, 2460341.5, '2024-02-01', 13351219200000000, 20240201)")
    database.close()
    reader = DatabaseReader(SqlSettings("sqlite"), 100_000)
    statement = f"SELECT count(*) FROM visits AS o WHERE {where}"
    note = reader.query(str(tmp_path / "visits.db"), time.monotonic() + 60, statement, params, 10).note
    assert says in note if says else not note


def test_answer_does_not_wait_for_a_slow_sample(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "_SAMPLING_S", 0.0)
    reader = DatabaseReader(SqlSettings("sqlite"), 100_000)
    found = reader.query(str(path), time.monotonic() + 60, "SELECT max(amount) FROM t", [], 1)
    assert (found.body, found.note) == ('{"rows":[{"max(amount)":"9"}]}', "")
