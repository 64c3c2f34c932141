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


@pytest.mark.parametrize("function", JSON_FUNCTIONS)
def test_json_has_the_known_keys_and_rows(function: str) -> None:
    facts, found = EXPECTED[function], document(function)
    if facts["top_keys"]:
        assert list(found) == [key.replace("{interval}", interval(function)) for key in facts["top_keys"]]
    if facts["row_keys"]:
        rows = rows_of(function, found)
        assert rows
        assert all(set(row) == set(facts["row_keys"]) for row in rows)


@pytest.mark.parametrize("function", CSV_FUNCTIONS)
def test_csv_has_the_known_header_and_the_rows_of_json(function: str) -> None:
    facts = EXPECTED[function]
    header, *lines = csv_rows(function)
    assert lines
    assert {len(line) for line in lines} == {len(header)}
    if facts["csv_header"]:
        assert ",".join(header) == facts["csv_header"]
    elif facts["row_keys"]:
        assert set(header) == {strip_number(key) for key in facts["row_keys"]}
    is_calendar = facts["formats"] == ["csv"]
    assert (b"\r\n" in handle_query(query(function, datatype="csv")).body) == is_calendar
    if facts["row_keys"]:
        rows = rows_of(function, document(function))
        assert len(lines) == len(rows)
        assert {str(value) for value in rows[0].values() if value is not None} <= set(lines[0])


@pytest.mark.parametrize("function", [name for name, facts in EXPECTED.items() if len(facts["formats"]) == 1])
def test_functions_with_one_format_ignore_the_datatype(function: str) -> None:
    answers = [handle_query(query(function, datatype=datatype)) for datatype in ("csv", "json")]
    assert answers == [handle_query(query(function))] * 2


def test_json_is_the_default_and_is_indented() -> None:
    assert handle_query([("function", "MARKET_STATUS"), ("apikey", "x")]).body.startswith(b'{\n    "endpoint"')


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("TIME_SERIES_DAILY", "1. Information|2. Symbol|3. Outputsize|4. Last Refreshed|5. Time Zone"),
        ("SMA", "1: Information|2: Symbol|3: Interval|4: Time Period|5: Series Type|6: Last Refreshed|7: Time Zone"),
    ],
)
def test_meta_data_are_numbered(function: str, expected: str) -> None:
    assert "|".join(document(function)["Meta Data"]) == expected


def test_numbers_are_text_where_the_vendor_sends_text() -> None:
    with_numbers = {
        name
        for name in JSON_FUNCTIONS
        if any(isinstance(value, int | float) for value in values(document(name) | {"Meta Data": None}))
    }
    analytics = {"ANALYTICS_FIXED_WINDOW", "ANALYTICS_SLIDING_WINDOW"}
    assert with_numbers == {*analytics, "CRYPTO_INTRADAY", "NEWS_SENTIMENT"}
    bar = next(iter(document("CRYPTO_INTRADAY", interval="5min")["Time Series Crypto (5min)"].values()))
    assert [type(bar[key]) for key in ("4. close", "5. volume")] == [str, int]


@pytest.mark.parametrize(
    ("entitlement", "key"),
    [("delayed", "Global Quote - DATA DELAYED BY 15 MINUTES"), ("realtime", "Global Quote")],
)
def test_delayed_data_renames_the_key_of_the_quote(entitlement: str, key: str) -> None:
    assert list(document("GLOBAL_QUOTE", entitlement=entitlement)) == [key]
    assert csv_rows("GLOBAL_QUOTE", entitlement=entitlement)[1][0] == "IBM"


def test_greeks_are_included_on_request() -> None:
    rows = [document("REALTIME_OPTIONS", require_greeks=given)["data"][0] for given in ("false", "true")]
    assert set(rows[1]) - set(rows[0]) == {"implied_volatility", "delta", "gamma", "theta", "vega", "rho"}
    assert (
        ",".join(csv_rows("REALTIME_OPTIONS", require_greeks="true")[0])
        == (EXPECTED["HISTORICAL_OPTIONS"]["csv_header"])
    )


@pytest.mark.parametrize(
    ("function", "mark"),
    [
        *((name, "None") for name in ("INCOME_STATEMENT", "BALANCE_SHEET", "CASH_FLOW", "EARNINGS", "DIVIDENDS")),
        *((name, None) for name in ("EARNINGS_ESTIMATES", "CONGRESS_TRADES", "HISTORICAL_VOLUME_OPEN_INTEREST_RATIO")),
        ("ETF_PROFILE", "n/a"),
        ("HISTORICAL_OPTIONS", "-"),
        *((name, ".") for name, facts in EXPECTED.items() if facts["csv_header"] == "timestamp,value"),
    ],
)
def test_missing_values_have_the_vendors_marks(function: str, mark: str | None) -> None:
    assert mark in list(values(document(function)))


@pytest.mark.parametrize(
    ("function", "more", "column", "marks"),
    [
        ("LISTING_STATUS", {}, "delistingDate", {"null"}),
        ("EARNINGS_CALENDAR", {}, "timeOfTheDay", {"", "post-market", "pre-market"}),
    ],
)
def test_marks_in_csv(function: str, more: dict[str, str], column: str, marks: set[str]) -> None:
    header, *lines = csv_rows(function, **more)
    assert {line[header.index(column)] for line in lines} == marks
