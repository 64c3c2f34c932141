"""Arguments as people and models write them first: what is sent upstream, or the next call that the error names."""

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.meta_tools import call, error
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution.argument_reader import ArgumentReader, period_select, reader_of
from toolfold.execution.argument_values import bound_of, parse_pair, parse_ticker
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.mock_api.server import MockApi

CATALOG = FileStore(bundled_path())()
TODAY = date(2026, 3, 15)
QUOTE, DAILY, INTRADAY, NEWS = "GLOBAL_QUOTE", "TIME_SERIES_DAILY", "TIME_SERIES_INTRADAY", "NEWS_SENTIMENT"
CALLS = "EARNINGS_CALL_TRANSCRIPT"
BARS = {"symbol": "IBM", "interval": "daily"}
SMA = {**BARS, "time_period": 5, "series_type": "close"}


def validator(name: str) -> ArgumentReader:
    tool = CATALOG.get(name)
    assert tool is not None
    return reader_of(CATALOG, tool)


@pytest.fixture
def recorded(make_tools: Callable[..., MetaTools], mock_api: MockApi) -> MetaTools:
    """The meta-tools over the mock API, which records what is sent."""
    mock_api.clear_requests()
    return make_tools(TOOLFOLD_CACHE="off")


def test_a_number_for_any_text_is_no_date() -> None:
    [problem] = validator("SYMBOL_SEARCH").resolve({"keywords": 1700000000000}).problems
    assert (problem["parameter"], problem["problem"].startswith("must be a string")) == ("keywords", True)
    ids = {"type": "array", "items": {"type": "string"}}
    listed = ArgumentReader({"type": "object", "properties": {"ids": ids}}, {}, {})
    assert listed.resolve({"ids": [1700000000000]}).problems
    read = validator(NEWS).resolve({"tickers": "IBM", "time_from": 20260101})
    assert (read.problems, read.arguments["time_from"]) == ([], "20260101T0000")


@pytest.mark.parametrize(
    ("rule", "value", "sent"),
    [
        ({"type": "string", "format": "date"}, "July 1, 2025", "2025-07-01"),
        ({"type": "string", "format": "date"}, "03/15/2025", "2025-03-15"),
        ({"type": "string", "format": "date-time"}, "Oct 1 2025", "2025-10-01"),
        ({"type": "string", "format": "date"}, "05/06/2025", "2025-05-06 or 2025-06-05"),
        ({"type": "string", "format": "date-time"}, 1772358000, "2026-03-01T09:40:00Z"),
        ({"type": "string", "format": "date"}, "2026-02-30", "2026-02-28"),
        ({"type": "string", "format": "date"}, "2025-07", "2025-07"),
        ({"type": "string", "format": "date"}, "20250701", "20250701"),
        ({"type": "string", "format": "date"}, "today", "today"),
        ({"type": "string", "format": "date"}, "now-1h", "now-1h"),
        ({"type": "string", "format": "date", "description": "As DD/MM/YYYY"}, "31/07/2025", "31/07/2025"),
        ({"type": "string", "format": "date", "pattern": "^[0-9.]+$"}, "31.07.2025", "31.07.2025"),
        ({"type": "string"}, "July 1, 2025", "July 1, 2025"),
        ({"type": "number"}, "$1,000", 1000),
        ({"type": "number"}, "1,234.5", 1234.5),
        ({"type": "integer"}, "-€ 50", -50),
        ({"enum": [1, 15]}, -1, "1|15"),
        ({"enum": ["1m", "15"]}, 1.5, "1m|15"),
        ({"enum": ["1.5", "15"]}, 1.5, "1.5"),
        ({"type": "string", "pattern": "^[A-Z]{3}$"}, " usd", "USD"),
        ({"type": "array", "items": {"type": "string", "pattern": "^[A-Z]{3}$"}}, "usd,EUR", "array of strings"),
        ({"type": "array", "items": {"type": "string", "pattern": "^[a-z]$"}}, "a," * 50_000, "array of strings"),
        ({"type": "string", "pattern": "^(?=.*[A-Z]).{8,}$"}, "a password", "string, matching ^(?=.*[A-Z]).{8,}$"),
    ],
)
def test_value_is_sent_as_the_schema_says(rule: dict[str, Any], value: str, sent: Any) -> None:
    found = ArgumentReader({"type": "object", "properties": {"x": rule}}, {}, {}).resolve({"x": value})
    assert (found.problems[0]["expected"] if found.problems else found.arguments["x"]) == sent


SENT: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    # Names of parameters
    (QUOTE, {"Symbol": "IBM"}, {"symbol": "IBM"}),
    (QUOTE, {"ticker": "IBM"}, {"symbol": "IBM"}),
    (QUOTE, {"stock_symbol": "IBM"}, {"symbol": "IBM"}),
    (QUOTE, {"security": "IBM", "symbol": "ibm"}, {"symbol": "IBM"}),
    (QUOTE, {"symbol": "IBM", "stock": None}, {"symbol": "IBM"}),
    (DAILY, {"symbol": "IBM", "outputSize": "Full"}, {"outputsize": "full"}),
    (DAILY, {"symbol": "IBM", "output_size": "max"}, {"outputsize": "full"}),
    ("SMA", {**BARS, "window": "20", "price": "Close"}, {"time_period": "20", "series_type": "close"}),
    ("SMA", {**BARS, "length": "20 days", "source": "closing"}, {"time_period": "20", "series_type": "close"}),
    ("SMA", {**SMA, "interval": None, "period": "weekly"}, {"interval": "weekly", "time_period": "5"}),
    ("SMA", {"symbol": "IBM", "interval": "daily", "period": 9, "series_type": "low"}, {"time_period": "9"}),
    ("SYMBOL_SEARCH", {"keyword": "tesco"}, {"keywords": "tesco"}),
    ("FX_DAILY", {"from": "EUR", "to": "USD"}, {"from_symbol": "EUR", "to_symbol": "USD"}),
    ("FX_DAILY", {"from_currency": "EUR", "to_currency": "USD"}, {"from_symbol": "EUR", "to_symbol": "USD"}),
    ("CURRENCY_EXCHANGE_RATE", {"from_symbol": "BTC", "to_symbol": "EUR"}, {"from_currency": "BTC"}),
    ("CURRENCY_EXCHANGE_RATE", {"base": "usd", "quote": "JPY"}, {"from_currency": "USD", "to_currency": "JPY"}),
    ("INSIDER_TRANSACTIONS", {"ticker": "IBM", "start_date": "2025-02-01"}, {"from_date": "2025-02-01"}),
    (NEWS, {"symbol": "IBM", "since": "2025-02-01"}, {"tickers": "IBM", "time_from": "20250201T0000"}),
    # Values of enums
    ("SMA", {**SMA, "interval": "1d"}, {"interval": "daily"}),
    ("SMA", {**SMA, "interval": "D"}, {"interval": "daily"}),
    ("SMA", {**SMA, "interval": "1h"}, {"interval": "60min"}),
    ("SMA", {**SMA, "interval": "hourly"}, {"interval": "60min"}),
    ("SMA", {**SMA, "interval": "1m"}, {"interval": "1min"}),
    ("SMA", {**SMA, "interval": "1M"}, {"interval": "monthly"}),
    ("SMA", {**SMA, "interval": 5}, {"interval": "5min"}),
    ("REAL_GDP", {"frequency": "Q"}, {"interval": "quarterly"}),
    ("CPI", {"interval": "half-yearly"}, {"interval": "semiannual"}),
    ("TREASURY_YIELD", {"maturity": "10y"}, {"maturity": "10year"}),
    ("TREASURY_YIELD", {"maturity": "30-Year"}, {"maturity": "30year"}),
    ("TREASURY_YIELD", {"term": "3m"}, {"maturity": "3month"}),
    ("EARNINGS_CALENDAR", {"horizon": "1 year"}, {"horizon": "12month"}),
    (NEWS, {"tickers": "IBM", "sort": "newest first"}, {"sort": "LATEST"}),
    ("MACDEXT", {**BARS, "series_type": "close", "fastmatype": "EMA"}, {"fastmatype": "1"}),
    # Dates
    (NEWS, {"tickers": "IBM", "time_from": "2024-01-15"}, {"time_from": "20240115T0000"}),
    (NEWS, {"tickers": "IBM", "time_from": "20240115T0000", "time_to": "Jan 15, 2024"}, {"time_to": "20240115T2359"}),
    (NEWS, {"tickers": "IBM", "time_from": "2024-01-15T10:30:00+02:00"}, {"time_from": "20240115T0830"}),
    (NEWS, {"tickers": "IBM", "time_from": 1705314600}, {"time_from": "20240115T1030"}),
    (NEWS, {"tickers": "IBM", "from": "2024-02", "to": "2024-02"}, {"time_from": "20240201T0000",
                                                                     "time_to": "20240229T2359"}),
    ("HISTORICAL_OPTIONS", {"symbol": "IBM", "date": 20240115}, {"date": "2024-01-15"}),
    ("HISTORICAL_OPTIONS", {"symbol": "IBM", "date": "15 January 2024"}, {"date": "2024-01-15"}),
    ("HISTORICAL_OPTIONS", {"symbol": "IBM", "date": "25/01/2024"}, {"date": "2024-01-25"}),
    (INTRADAY, {"symbol": "IBM", "interval": "5min", "month": "January 2024"}, {"month": "2024-01"}),
    (INTRADAY, {"symbol": "IBM", "interval": "5min", "month": "2024-01-15"}, {"month": "2024-01"}),
    ("EARNINGS_CALL_TRANSCRIPT", {"symbol": "IBM", "quarter": "Q1 2024"}, {"quarter": "2024Q1"}),
    # Tickers and pairs
    (QUOTE, {"symbol": "$AAPL"}, {"symbol": "AAPL"}),
    (QUOTE, {"symbol": "NASDAQ:AAPL"}, {"symbol": "AAPL"}),
    (QUOTE, {"symbol": "TSCO.L"}, {"symbol": "TSCO.LON"}),
    (QUOTE, {"symbol": "LSE:TSCO"}, {"symbol": "TSCO.LON"}),
    (QUOTE, {"symbol": "brk.b"}, {"symbol": "BRK.B"}),
    ("REALTIME_BULK_QUOTES", {"symbols": ["ibm", "NYSE:KO"]}, {"symbol": "IBM,KO"}),
    *(("REALTIME_BULK_QUOTES", {"symbol": text}, {"symbol": "IBM,KO"})
      for text in ("IBM;KO", "IBM|KO", "ibm and ko", '["IBM", "KO"]', "['IBM', 'KO']")),
    ("FX_DAILY", {"symbol": "eurusd"}, {"from_symbol": "EUR", "to_symbol": "USD"}),
    ("FX_DAILY", {"from": "euro", "to": "yen"}, {"from_symbol": "EUR", "to_symbol": "JPY"}),
    ("DIGITAL_CURRENCY_DAILY", {"symbol": "BTC/USD"}, {"symbol": "BTC", "market": "USD"}),
    ("DIGITAL_CURRENCY_DAILY", {"symbol": "BTC-USD", "market": "usd"}, {"symbol": "BTC", "market": "USD"}),
    ("DIGITAL_CURRENCY_DAILY", {"coin": "Bitcoin", "currency": "EUR"}, {"symbol": "BTC", "market": "EUR"}),
    ("INDEX_DATA", {"symbol": "S&P 500", "interval": "1d"}, {"symbol": "SPX", "interval": "daily"}),
    ("RSI", {**SMA, "symbol": "EUR/USD"}, {"symbol": "EURUSD"}),
    # A year and a quarter
    (CALLS, {"symbol": "IBM", "year": 2024, "quarter": 1}, {"quarter": "2024Q1"}),
    (CALLS, {"symbol": "IBM", "year": 2024, "quarter": "2024Q2"}, {"quarter": "2024Q2"}),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "expected"), SENT, ids=lambda value: str(value)[:60])
def test_argument_with_one_meaning_is_read_as_the_source_takes_it(
    tool: str, arguments: dict[str, Any], expected: dict[str, str]
) -> None:
    found = validator(tool).resolve(arguments)
    assert found.problems == []
    read = {name: found.arguments.get(name) for name in expected}
    assert {name: value if value is None else str(value) for name, value in read.items()} == expected


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    (DAILY, {"symbol": "IBM", "start_date": "2025-01-01"},  # F10
     '{"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM"}, "select": "since 2025-01-01"}'),
    (DAILY, {"ticker": "ibm", "from": "Jan 1, 2025", "to": "2025-02"},
     '{"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "ibm"}, "select": "2025-01-01..2025-02-28"}'),
    (DAILY, {"symbol": "IBM", "year": 2025},
     '{"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM"}, "select": "2025-01-01..2025-12-31"}'),
    (DAILY, {"symbol": "IBM", "period": "6mo"},
     '{"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM"}, "select": "last 6 months"}'),
    (INTRADAY, {"symbol": "IBM", "interval": "5min", "start": "2024-01-02", "end": "2024-01-05"},
     '{"tool_name": "TIME_SERIES_INTRADAY", "arguments": {"symbol": "IBM", "interval": "5min"}, '
     '"select": "2024-01-02..2024-01-05"}'),
    (NEWS, {"ticker": "IBM", "date": "2025-12-01"},
     '{"tool_name": "NEWS_SENTIMENT", "arguments": {"tickers": "IBM"}, "select": "2025-12-01..2025-12-01"}'),
    ("INSIDER_TRANSACTIONS", {"symbol": "IBM", "year": 2025},
     '{"tool_name": "INSIDER_TRANSACTIONS", "arguments": {"symbol": "IBM"}, "select": "2025-01-01..2025-12-31"}'),
    (DAILY, {"symbol": ["IBM", "KO"], "month": "2025-06"},
     '{"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": ["IBM", "KO"]}, "select": "2025-06-01..2025-06-30"}'),
    ("DIGITAL_CURRENCY_DAILY", {"symbol": "BTC/USD", "to": "2025-12-31"},
     '{"tool_name": "DIGITAL_CURRENCY_DAILY", "arguments": {"symbol": "BTC", "market": "USD"}, '
     '"select": "until 2025-12-31"}'),
    ("BRENT", {"period": "1y"}, '{"tool_name": "BRENT", "arguments": {}, "select": "past year"}'),
    ("FX_DAILY", {"pair": "EURUSD", "from": "2025-12-01"},
     '{"tool_name": "FX_DAILY", "arguments": {"from_symbol": "EUR", "to_symbol": "USD"}, '
     '"select": "since 2025-12-01"}'),
    (QUOTE, {"symbol": "Apple"}, '{"tool_name": "SYMBOL_SEARCH", "arguments": {"keywords": "Apple"}}'),
    (QUOTE, {"company": "berkshire hathaway"},
     '{"tool_name": "SYMBOL_SEARCH", "arguments": {"keywords": "berkshire hathaway"}}'),
    ("INDEX_DATA", {"symbol": "Wilshire 5000", "interval": "daily"}, '{"tool_name": "INDEX_CATALOG", "arguments": {}}'),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "next_call"), REFUSED)
def test_refused_argument_names_the_next_call(
    recorded: MetaTools, mock_api: MockApi, tool: str, arguments: dict[str, Any], next_call: str
) -> None:
    found = error(call(recorded, tool, arguments))
    assert found["code"] == "INVALID_ARGUMENTS"
    named = found["suggestion"].partition("Call TOOL_CALL ")[2].partition(", then")[0]
    assert json.loads(next_call) == (found["next_call"]["TOOL_CALL"] if "next_call" in found else json.loads(named))
    assert mock_api.requests == []


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("HISTORICAL_OPTIONS", {"symbol": "IBM", "date": "01/02/2024"}, "2024-01-02 or 2024-02-01"),
        ("HISTORICAL_OPTIONS", {"symbol": "IBM", "date": "2024-01"}, "2024-01-01 or 2024-01-31"),
        (INTRADAY, {"symbol": "IBM", "interval": "5min", "month": "Q1 2024"}, "2024-01 or 2024-03"),
        (QUOTE, {"symbol": "IBM", "ticker": "AAPL"}, "is given twice, as 'IBM' and as 'AAPL' (ticker)"),
        (CALLS, {"symbol": "IBM", "year": 2024}, "is missing beside year 2024: 2024Q1 to 2024Q4"),
        (CALLS, {"symbol": "IBM", "year": 2024, "quarter": "2023Q1"}, "is '2023Q1' beside year 2024"),
        ("SMA", {**SMA, "time_period": "50 200"}, "'50 200' can be read in two ways: 50200 or [50, 200]"),
        ("BBANDS", {**SMA, "std": 3}, "std can mean more than one parameter: nbdevup or nbdevdn"),
        ("FX_DAILY", {"pair": "EUR/USD", "to_symbol": "GBP"}, "to_symbol is 'GBP', and pair 'EUR/USD' has USD"),
        ("ANALYTICS_FIXED_WINDOW", {"symbols": "IBM", "end": "2025-01-01", "interval": "1d", "calculations": "mean"},
         "range needs a start and an end"),
        ("TREASURY_YIELD", {"maturity": "1 year"}, "3month|2year|5year|7year|10year|30year"),
    ],
)  # fmt: skip
def test_argument_with_two_meanings_is_refused_with_both(
    recorded: MetaTools, tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert said in error(call(recorded, tool, arguments))["message"]


def test_what_a_caller_may_not_expect_is_noted(recorded: MetaTools) -> None:
    noted = call(recorded, "SMA", {**SMA, "interval": "1d", "symbol": "ibm"}, select="last 2")
    assert noted.text.startswith('# interval "1d" was read as "daily".\n')
    assert noted.structured["notes"] == ['interval "1d" was read as "daily".']
    raw = call(recorded, "SMA", {**SMA, "interval": "1d", "format": "csv"}, max_tokens=500)
    assert raw.structured["result"].startswith("time,SMA")
    assert raw.structured["notes"] == ['interval "1d" was read as "daily".']
    assert "notes" not in call(recorded, "SMA", {**SMA, "Interval": "Daily"}, select="last 2").structured


def test_relative_date_is_noted_with_its_meaning() -> None:
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    found = validator("HISTORICAL_OPTIONS").resolve({"symbol": "IBM", "date": "yesterday"})
    assert found.arguments["date"] == yesterday
    assert found.notes == (f'date "yesterday" was read as "{yesterday}".',)


def test_period_of_analytics_is_made_of_two_arguments() -> None:
    given = {"symbols": "aapl,MSFT", "interval": "1d", "calculations": "mean", "start": "2024-01-02"}
    found = validator("ANALYTICS_FIXED_WINDOW").resolve({**given, "end": "2024-02-29"})
    assert found.arguments["range"] == ["2024-01-02", "2024-02-29"]
    assert found.arguments["symbols"] == "AAPL,MSFT"
    del given["start"]
    assert validator("ANALYTICS_FIXED_WINDOW").resolve({**given, "range": "1month"}).arguments["range"] == ["1month"]
    assert validator("ANALYTICS_FIXED_WINDOW").resolve({**given, "range": "6 months"}).problems


def test_bounds_are_found_in_names() -> None:
    names = ["time_from", "time_to", "startDate", "until", "date", "symbol", "total"]
    assert [bound_of(name) for name in names] == ["start", "end", "start", "end", "", "", ""]


@pytest.mark.parametrize(
    ("arguments", "select"),
    [
        ({"start_date": "2025", "end_date": "2025-06"}, "2025-01-01..2025-06-30"),
        ({"until": "2025-01-03"}, "until 2025-01-03"), ({"date": "2025-01"}, "2025-01-01..2025-01-31"),
        ({"period": "2025-01-02 to Feb 2025"}, "2025-01-02..2025-02-28"), ({"range": "since 2024"}, "since 2024-01-01"),
        ({"on": "2025-01-03"}, "2025-01-03..2025-01-03"), ({"year": 2024}, "2024-01-01..2024-12-31"),
        ({"count": "3"}, "limit 3"), ({"range": "ytd"}, "ytd"),
        ({"range": ["2025-01-02", "2025-02"]}, "2025-01-02..2025-02-28"), ({"start": "2025-02", "end": "2025-01"}, ""),
        ({"period": "1mo"}, "past month"), ({"days": 5}, ""),
        ({"period": "annual"}, ""), ({"period": "quarterly"}, ""), ({"timespan": "day"}, ""),
        ({"quarter": "Q1 2025"}, "2025-01-01..2025-03-31"), ({"time": "2025-01-03"}, "2025-01-03..2025-01-03"),
        ({"start_year": 1970, "end_year": "1979"}, "1970-01-01..1979-12-31"),
        ({"from": "2025-01-03 10:00", "to": "2025-01-03 10:30"}, "2025-01-03T10:00:00..2025-01-03T10:30:00"),
        ({"from": "2025-01-03T00:00:00Z", "to": "2025-01-03T23:59:59Z"}, "2025-01-03..2025-01-03"),
        ({"from": "2025-01-03 10:00", "to": "2025-01-04 10:00"}, "2025-01-03..2025-01-04"),
        ({"days": 0}, ""), ({"period": "5 hours"}, ""), ({"span": 200}, ""),
        ({"start": "soon"}, ""), ({"apikey": "x"}, ""), ({"limit": 5, "colour": 1}, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_periods_become_a_select(arguments: dict[str, Any], select: str) -> None:
    assert period_select(arguments, TODAY) == select


def test_names_of_companies_are_told_from_tickers() -> None:
    words = ["Ibm", "googl", "GOOGL", "Tsla", "Apple", "AT&T", "microsoft", "BTC/USD", "McDonald's", "A" * 300, ""]
    found = [ticker and ticker.value for ticker in (parse_ticker(word, {}) for word in words)]
    assert found == ["IBM", "GOOGL", "GOOGL", "TSLA", None, None, None, "BTCUSD", None, "A" * 300, ""]


def test_six_letters_are_a_pair_only_with_a_currency() -> None:
    assert [parse_pair(text) for text in ("EURUSD", "BTC-USDT", "EURUSD=X", "SOLANA", "IBM", "TSCO.LON")] == [
        ("EUR", "USD"), ("BTC", "USDT"), ("EUR", "USD"), None, None, None,
    ]  # fmt: skip


def test_valid_arguments_stay_as_they_are() -> None:
    for name in CATALOG:
        tool = CATALOG.get(name)
        found = validator(name).resolve(tool.example)
        assert (found.problems, found.notes) == ([], ())
        assert found.arguments == validator(name).validate(tool.example)[0]


words = st.text(max_size=12) | st.sampled_from(
    ["1d", "10y", "yes", "EUR/USD", "Apple", "2024-01", "01/02/2024", "yesterday", "AAPL,MSFT", "20 days", "max", "3m"]
)
values = words | st.integers(-5, 3_000_000_000) | st.booleans() | st.none() | st.lists(words, max_size=3) | st.floats()


@pytest.mark.hypothesis
@given(st.sampled_from(sorted(CATALOG)), st.data())
def test_reading_twice_changes_nothing(name: str, data: st.DataObject) -> None:
    single = validator(name)
    others = ["ticker", "from", "to", "period", "pair", "start_date", "limit", "x"]
    given_ = data.draw(st.dictionaries(st.sampled_from([*single.properties, *others]), values, max_size=4))
    once = single.resolve(given_)
    if not once.problems:
        twice = single.resolve(once.arguments)
        assert (twice.arguments, twice.problems, twice.notes) == (once.arguments, [], ())
    for parameter, value in given_.items():
        if parameter in single.ticker_patterns or parameter not in single.properties or value is None:
            continue
        if single.accepts(parameter, value) and parameter in once.arguments and not once.problems:
            assert str(once.arguments[parameter]) == str(single.validate({parameter: value})[0][parameter])


@pytest.mark.parametrize("value", ["2024" * 100_000, ["x"] * 1_000, {"a": {"b": 1}}, "\ud800"])
def test_values_without_measure_are_refused_at_once(value: Any) -> None:
    for name, parameter in ((NEWS, "time_from"), ("SMA", "time_period"), ("SMA", "interval"), ("CPI", "from")):
        assert validator(name).resolve({parameter: value, "period": value}).problems


@pytest.mark.parametrize(
    ("tool", "parameter", "value", "nearest"),
    [
        ("HISTORICAL_OPTIONS", "date", "2025-06-31", "2025-06-30"),
        ("HISTORICAL_OPTIONS", "date", "June 31, 2025", "2025-06-30"),
        ("HISTORICAL_OPTIONS", "date", "20250631", "2025-06-30"),
        ("HISTORICAL_OPTIONS", "date", "2025-13-01", ""),
        (NEWS, "time_from", "20250631T0000", "2025-06-30"),
        (NEWS, "time_from", "20250630T2460", ""),
    ],
)
def test_day_that_does_not_exist_is_not_sent(
    recorded: MetaTools, mock_api: MockApi, tool: str, parameter: str, value: str, nearest: str
) -> None:
    found = error(call(recorded, tool, {"symbol": "IBM", "tickers": "IBM", parameter: value}))
    problem = next(one for one in found["problems"] if one["parameter"] == parameter)["problem"]
    assert re.search(r"is not (in the calendar|a time of day)", problem)
    assert problem.endswith(nearest)
    assert mock_api.requests == []


def test_day_that_no_calendar_has_in_an_unknown_argument_is_an_unknown_argument() -> None:
    (problem,) = validator("HISTORICAL_OPTIONS").resolve({"symbol": "IBM", "page": "2024-02-30"}).problems
    assert problem["problem"] == "is not a parameter of this tool"


def test_text_in_the_form_of_a_day_may_be_searched_for() -> None:
    assert validator("SYMBOL_SEARCH").resolve({"keywords": "2025-06-31"}).problems == []
