"""Parameters of statements, names and values of columns."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sql_databases import create_sqlite
from tests.support.tables import accepted, differences
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


def test_values_of_sqlite_have_a_form_in_json(tmp_path: Path) -> None:
    path = create_sqlite(tmp_path / "shop.db")
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
