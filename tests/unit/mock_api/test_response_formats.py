"""Every function returns each of its formats with the known keys and columns of the vendor's responses."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.mock_api.expected_responses import EXPECTED, document, handle_query, interval, query, rows_of
from toolfold.mock_api.endpoint import strip_number
from toolfold.mock_api.router import open_api

JSON_FUNCTIONS = [name for name, facts in EXPECTED.items() if "json" in facts["formats"]]
CSV_FUNCTIONS = [name for name, facts in EXPECTED.items() if "csv" in facts["formats"]]


def csv_rows(function: str, **more: str) -> list[list[str]]:
    response = handle_query(query(function, datatype="csv", **more))
    assert response.content_type == "application/x-download"
    return list(csv.reader(io.StringIO(response.body.decode(), newline="")))


def values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from values(one)
    else:
        yield value


def test_every_known_function_has_an_endpoint() -> None:
    assert set(open_api().endpoints) >= set(EXPECTED)


def some_and_all(functions: list[str]) -> list[Any]:
    """Return each tenth of the functions, and all of them for ``make test-slow``."""
    return [pytest.param(functions[::10], id="some"), pytest.param(functions, id="all", marks=pytest.mark.slow)]


@pytest.mark.parametrize("functions", some_and_all(JSON_FUNCTIONS))
def test_json_has_the_known_keys_and_rows(functions: list[str]) -> None:
    for function in functions:
        facts, found = EXPECTED[function], document(function)
        if facts["top_keys"]:
            assert list(found) == [key.replace("{interval}", interval(function)) for key in facts["top_keys"]], function
        if facts["row_keys"]:
            rows = rows_of(function, found)
            assert rows, function
            assert all(set(row) == set(facts["row_keys"]) for row in rows), function


@pytest.mark.parametrize("functions", some_and_all(CSV_FUNCTIONS))
def test_csv_has_the_known_header_and_the_rows_of_json(functions: list[str]) -> None:
    for function in functions:
        facts = EXPECTED[function]
        header, *lines = csv_rows(function)
        assert lines, function
        assert {len(line) for line in lines} == {len(header)}, function
        if facts["csv_header"]:
            assert ",".join(header) == facts["csv_header"]
        elif facts["row_keys"]:
            assert set(header) == {strip_number(key) for key in facts["row_keys"]}
        is_calendar = facts["formats"] == ["csv"]
        assert (b"\r\n" in handle_query(query(function, datatype="csv")).body) == is_calendar, function
        if facts["row_keys"]:
            rows = rows_of(function, document(function))
            assert len(lines) == len(rows), function
            assert {str(value) for value in rows[0].values() if value is not None} <= set(lines[0]), function
            named = {name.replace(" ", "_"): value for name, value in zip(header, lines[0], strict=True)}
            by_name = {strip_number(key).replace(" ", "_"): str(value) for key, value in rows[0].items() if value}
            assert all(named.get(name, value) == value for name, value in by_name.items()), function


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("TIME_SERIES_DAILY", "1. Information|2. Symbol|3. Outputsize|4. Last Refreshed|5. Time Zone"),
        ("SMA", "1: Information|2: Symbol|3: Interval|4: Time Period|5: Series Type|6: Last Refreshed|7: Time Zone"),
    ],
)
def test_meta_data_are_numbered(function: str, expected: str) -> None:
    assert "|".join(document(function)["Meta Data"]) == expected


@pytest.mark.parametrize(
    ("function", "name", "expected"),
    [
        ("RETAIL_SALES", "interval", "monthly"),
        ("INFLATION", "interval", "annual"),
        ("REAL_GDP_PER_CAPITA", "interval", "quarterly"),
        ("OVERVIEW", "LatestQuarter", "2025-09-30"),
    ],
)
def test_texts_beside_the_rows_say_which_time_they_are_about(function: str, name: str, expected: str) -> None:
    assert document(function)[name] == expected


@pytest.mark.slow
def test_numbers_are_text_where_the_vendor_sends_text() -> None:
    with_numbers = {
        name
        for name in JSON_FUNCTIONS
        if any(isinstance(value, int | float) for value in values(document(name) | {"Meta Data": None}))
    }
    analytics = {"ANALYTICS_FIXED_WINDOW", "ANALYTICS_SLIDING_WINDOW"}
    assert with_numbers == {*analytics, "NEWS_SENTIMENT"}


def test_missing_values_have_the_vendors_marks() -> None:
    marks = {
        "None": "INCOME_STATEMENT DIVIDENDS",
        None: "CONGRESS_TRADES",
        "n/a": "ETF_PROFILE",
        "-": "HISTORICAL_OPTIONS",
    }
    rows = [(function, mark) for mark, functions in {**marks, ".": "CPI"}.items() for function in functions.split()]
    assert [function for function, mark in rows if mark not in list(values(document(function)))] == []
