"""Parameters of statements, names and values of columns."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.sql_databases import create_sqlite
from tests.support.tables import accepted, differences
from toolfold.sources.sql.adapter import DatabaseReader
from toolfold.sources.sql.errors import DatabaseFailure
from toolfold.sources.sql.guard import check_statement
from toolfold.sources.sql.postgresql_database import encode_parameters
from toolfold.sources.sql.schema import (
    DatabaseSchema,
    SqlSettings,
    Table,
    column_names,
    sql_name,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_sqlite(tmp_path_factory.mktemp("statements") / "shop.db")


def rows_of(path: Path, statement: str, params: Any = ()) -> list[dict[str, Any]]:
    reader = DatabaseReader(SqlSettings("sqlite"), 1000)
    answer = json.loads(reader.query(str(path), time.monotonic() + 60, statement, params, 10))
    rows: list[dict[str, Any]] = answer["rows"]
    return rows


def test_sqlite_binds_what_it_knows(path: Path) -> None:
    rows: list[tuple[str, Any, list[Any]]] = [
        ("? AS a, ? AS b", ["x", 2], ["x", 2]),
        (":x AS a, :y AS b, :x AS c", {"x": 1, "y": None}, [1, None, 1]),
        ("""'?' AS a, [?] AS b, /* ? */ ? AS c FROM (SELECT 5 AS "?") -- ?""", [True], ["?", 5, 1]),
        ("(SELECT sum(value) FROM json_each(?)) AS a", [[1, 2]], [3]),
        ("1 AS a", [], [1]),
        ("? AS a", ["'; DROP TABLE orders; --"], ["'; DROP TABLE orders; --"]),
    ]
    assert differences(lambda *one: [*rows_of(path, f"SELECT {one[0]}", one[1])[0].values()], rows) == {}


def test_parameters_and_values_that_do_not_fit_are_refused() -> None:
    in_sqlite = "parameters are written as ?, with a list as params, or as :name, with an object"
    in_postgresql = "parameters are written as $1, $2, and params is a list of their values"
    rows = [
        *(("sqlite", one, [1], in_sqlite) for one in ("SELECT :x", "SELECT $1", "SELECT @x", "SELECT $x")),
        ("sqlite", "SELECT ?", {"x": 1}, in_sqlite),
        ("sqlite", "SELECT 1 IN (?)", [[1]], "a list is no value of IN (…); write IN (SELECT value FROM json_each(?))"),
        *(("postgresql", one, [1], in_postgresql) for one in ("SELECT :x", "SELECT ?", "SELECT ARRAY[1][:b]")),
        ("postgresql", "SELECT $1", {"1": 1}, in_postgresql),
        ("postgresql", "SELECT 1 in ( $1 )", [[1]], "a list is no value of IN (…); write = ANY($1), or <> ALL($1)"),
        (
            "postgresql",
            "SELECT 1 IN ($1,$2)",
            [1, 2],
            "a text, a quoted name or a comment is not closed; a space is needed after a parameter such as $1",
        ),
    ]

    def refused(dialect: str, statement: str, params: Any) -> str:
        with pytest.raises(DatabaseFailure) as caught:
            check_statement(statement, dialect, DatabaseSchema(search_path=("public",)), params)
        return caught.value.detail

    assert differences(refused, rows) == {}


def test_a_value_without_a_place_and_a_missing_one_are_named(path: Path) -> None:
    rows: list[tuple[str, Any, str]] = [
        ("SELECT ?", [], "uses 1, and there are 0 supplied"),
        ("SELECT ?", [1, 2], "uses 1, and there are 2 supplied"),
        ("SELECT :x", {"y": 1}, "a value for binding parameter :x"),
    ]
    for statement, params, problem in rows:
        with pytest.raises(DatabaseFailure) as caught:
            rows_of(path, statement, params)
        assert problem in caught.value.detail


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
    values = [None, 1, "9007199254740993", 1.5, "Infinity", "-Infinity", "é\u2028", "\\x00ff", -(2**53)]
    assert rows_of(path, statement) == [dict(zip("abcdefghi", values, strict=True))]


def test_columns_without_a_name_and_repeated_ones_get_names() -> None:
    assert column_names(["id", "?column?", "id", "", "id_2"]) == ("id", "column_2", "id_3", "column_4", "id_2")


def test_names_are_written_as_sql_needs_them() -> None:
    written = [sql_name(name) for name in ("total", "createdAt", "order", "a b", 'say "hi"')]
    assert written == ["total", '"createdAt"', '"order"', '"a b"', '"say ""hi"""']
    assert sql_name("createdAt", folds_case=False) == "createdAt"


def test_patterns_choose_tables() -> None:
    tables = SqlSettings("postgresql", ("public", "s*"), ("orders*", "sales.*"), ("*_old", "sales.secret"))
    assert [tables.has_schema(name) for name in ("public", "sales", "other")] == [True, True, False]
    named = [("public", "orders"), ("public", "ORDERS_2"), ("public", "orders_old"), ("sales", "x"), ("public", "x")]
    assert [tables.has_table(*one) for one in named] == [True, True, False, True, False]
    assert not tables.has_table("sales", "secret")


def test_a_table_is_found_by_the_name_that_a_caller_writes() -> None:
    schema = DatabaseSchema((Table("a", "Orders"), Table("b", "orders")), frozenset(), ("a", "b"))
    found = [schema.find(name) for name in ("orders", "Orders", "ORDERS", '"a"."Orders"', "b.orders", "c.orders")]
    assert [None if one is None else one.schema for one in found] == ["b", "a", "a", "a", "b", None]
    assert schema.names() == ['a."Orders"', "b.orders"]
