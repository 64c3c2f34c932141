"""Values and names of columns in JSON."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from toolfold.sources.sql.schema import DatabaseSchema, Table, TableFilter, json_value, row_line, sql_name, unique_names


def test_values_of_sqlite_have_a_form_in_json() -> None:
    values = [None, 1, 2**53 + 1, 1.5, float("inf"), -float("inf"), "é\u2028", b"\x00\xff"]
    assert json.loads(row_line("abcdefgh", values)) == {
        "a": None,
        "b": 1,
        "c": "9007199254740993",
        "d": 1.5,
        "e": "Infinity",
        "f": "-Infinity",
        "g": "é\u2028",
        "h": "\\x00ff",
    }
    assert json_value(-(2**53)) == -(2**53)


def test_columns_without_a_name_and_repeated_ones_get_names() -> None:
    assert unique_names(["id", "?column?", "id", "", "id_2"]) == ("id", "column_2", "id_3", "column_4", "id_2")


@settings(max_examples=40)
@given(st.lists(st.text("ab_2?", max_size=4), max_size=12))
def test_names_of_columns_are_different(names: list[str]) -> None:
    unique = unique_names(names)
    assert len(set(unique)) == len(names)
    assert all(len(name.encode()) <= 63 for name in unique)


def test_long_repeated_names_stay_within_what_postgresql_keeps() -> None:
    names = unique_names(["é" * 31] * 12)
    assert len({name.encode()[:63] for name in names}) == 12


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
