"""Every function returns each of its formats with the known keys and columns of the vendor's responses."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from tests.unit.mock_api.expected_responses import EXPECTED, document, interval, query, rows_of
from toolfold.mock_api import handle_query
from toolfold.mock_api.endpoint import strip_number
from toolfold.mock_api.router import ENDPOINTS

JSON_FUNCTIONS = [name for name, facts in EXPECTED.items() if "json" in facts["formats"]]
CSV_FUNCTIONS = [name for name, facts in EXPECTED.items() if "csv" in facts["formats"]]


def test_the_registry_has_exactly_the_known_functions() -> None:
    assert set(ENDPOINTS) == set(EXPECTED)
    assert len(EXPECTED) == 129


@pytest.mark.parametrize("function", JSON_FUNCTIONS)
def test_json_has_the_known_keys_and_rows(function: str) -> None:
    facts = EXPECTED[function]
    found = document(function)
    if facts["top_keys"]:
        assert list(found) == [key.replace("{interval}", interval(function)) for key in facts["top_keys"]]
    if facts["row_keys"]:
        rows = rows_of(function, found)
        assert rows
        assert all(set(row) == set(facts["row_keys"]) for row in rows)


@pytest.mark.parametrize("function", CSV_FUNCTIONS)
def test_csv_has_the_known_header_and_full_rows(function: str) -> None:
    facts = EXPECTED[function]
    response = handle_query(query(function, datatype="csv"))
    assert response.content_type == "application/x-download"
    text = response.body.decode()
    lines = list(csv.reader(io.StringIO(text, newline="")))
    assert len(lines) > 1
    assert {len(line) for line in lines} == {len(lines[0])}
    if facts["csv_header"]:
        assert ",".join(lines[0]) == facts["csv_header"]
    elif facts["row_keys"]:
        assert set(lines[0]) == {strip_number(key) for key in facts["row_keys"]}
    calendar = facts["formats"] == ["csv"]
    assert text.endswith("\r\n") == calendar
    assert ("\r" in text) == calendar


@pytest.mark.parametrize("function", [name for name in CSV_FUNCTIONS if EXPECTED[name]["row_keys"]])
def test_csv_and_json_have_the_same_rows(function: str) -> None:
    lines = list(csv.reader(handle_query(query(function, datatype="csv")).body.decode().splitlines()))
    rows = rows_of(function, document(function))
    assert len(lines) - 1 == len(rows)
    values = [str(value) for value in rows[0].values() if value is not None]
    assert set(values) <= set(lines[1])


@pytest.mark.parametrize("function", [name for name in EXPECTED if name not in CSV_FUNCTIONS])
def test_functions_without_csv_ignore_the_datatype(function: str) -> None:
    assert handle_query(query(function, datatype="csv")) == handle_query(query(function))


@pytest.mark.parametrize("function", ["LISTING_STATUS", "EARNINGS_CALENDAR", "IPO_CALENDAR"])
def test_calendars_are_always_csv(function: str) -> None:
    response = handle_query(query(function, datatype="json"))
    assert response.body.decode().split("\r\n")[0] == EXPECTED[function]["csv_header"]


def test_json_is_the_default_and_is_indented() -> None:
    response = handle_query([("function", "MARKET_STATUS"), ("apikey", "any")])
    assert response.body.startswith(b'{\n    "endpoint"')


def test_meta_data_is_numbered_as_the_vendor_numbers_it() -> None:
    daily = document("TIME_SERIES_DAILY")["Meta Data"]
    assert list(daily) == ["1. Information", "2. Symbol", "3. Last Refreshed", "4. Output Size", "5. Time Zone"]
    bands = document("BBANDS", interval="daily", nbdevup="3")["Meta Data"]
    assert list(bands.items())[4:] == [
        ("5: Time Period", 10),
        ("6.1: Deviation multiplier for upper band", 3),
        ("6.2: Deviation multiplier for lower band", 2),
        ("6.3: MA Type", 0),
        ("7: Series Type", bands["7: Series Type"]),
        ("8: Time Zone", "US/Eastern Time"),
    ]
    assert document("T3")["Meta Data"]["6: Volume Factor (vFactor)"] == 0.7


def test_numbers_are_text_where_the_vendor_sends_text() -> None:
    def numbers(value: Any) -> bool:
        if isinstance(value, dict):
            return any(map(numbers, value.values()))
        if isinstance(value, list):
            return any(map(numbers, value))
        return isinstance(value, int | float)

    with_numbers = {name for name in JSON_FUNCTIONS if numbers(document(name) | {"Meta Data": None})}
    assert with_numbers == {
        "ANALYTICS_FIXED_WINDOW",
        "ANALYTICS_SLIDING_WINDOW",
        "CRYPTO_INTRADAY",
        "NEWS_SENTIMENT",  # overall_sentiment_score
    }
    bar = next(iter(document("CRYPTO_INTRADAY", interval="5min")["Time Series Crypto (5min)"].values()))
    assert isinstance(bar["5. volume"], int)
    assert isinstance(bar["4. close"], str)


def test_delayed_data_renames_the_key_of_the_quote() -> None:
    assert list(document("GLOBAL_QUOTE", entitlement="delayed")) == ["Global Quote - DATA DELAYED BY 15 MINUTES"]
    assert list(document("GLOBAL_QUOTE", entitlement="realtime")) == ["Global Quote"]


def test_greeks_are_included_on_request() -> None:
    plain_row = document("REALTIME_OPTIONS")["data"][0]
    full_row = document("REALTIME_OPTIONS", require_greeks="true")["data"][0]
    assert set(full_row) - set(plain_row) == {"implied_volatility", "delta", "gamma", "theta", "vega", "rho"}
    header = (
        handle_query(query("REALTIME_OPTIONS", require_greeks="true", datatype="csv")).body.decode().splitlines()[0]
    )
    assert header == EXPECTED["HISTORICAL_OPTIONS"]["csv_header"]


def missing_marks(function: str, mark: str | None, **more: str) -> int:
    def count(value: Any) -> int:
        if isinstance(value, dict):
            return sum(map(count, value.values()))
        if isinstance(value, list):
            return sum(map(count, value))
        return value == mark

    return count(document(function, **more))


@pytest.mark.parametrize(
    ("function", "mark"),
    [
        ("INCOME_STATEMENT", "None"),
        ("BALANCE_SHEET", "None"),
        ("CASH_FLOW", "None"),
        ("EARNINGS", "None"),
        ("EARNINGS_ESTIMATES", None),
        ("DIVIDENDS", "None"),
        ("ETF_PROFILE", "n/a"),
        ("HISTORICAL_OPTIONS", "-"),
        ("CONGRESS_TRADES", None),
        ("HISTORICAL_VOLUME_OPEN_INTEREST_RATIO", None),
        *((name, ".") for name, facts in EXPECTED.items() if facts["csv_header"] == "timestamp,value"),
    ],
)
def test_missing_values_have_the_vendors_marks(function: str, mark: str | None) -> None:
    assert missing_marks(function, mark) > 0


def test_other_marks_of_missing_values() -> None:
    assert missing_marks("OVERVIEW", "None", symbol="AMZN") >= 4  # pays no dividend
    assert sum(missing_marks("OVERVIEW", "-", symbol=symbol) for symbol in ("IBM", "AAPL", "MSFT", "KO", "T")) > 0
    assert ",null,Active\r\n" in handle_query(query("LISTING_STATUS")).body.decode()
    calendar = list(csv.DictReader(io.StringIO(handle_query(query("EARNINGS_CALENDAR")).body.decode())))
    assert {"", "post-market", "pre-market"} == {row["timeOfTheDay"] for row in calendar}
    assert any(row["estimate"] == "" for row in calendar)
    assert missing_marks("WTI", ".", interval="daily") > 50
