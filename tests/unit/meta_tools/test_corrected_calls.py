"""Wrong calls of tools: the call that an error proposes has every value that was given, and invents nothing.

The answer of a proposed call is compared with that of the call that was meant, made in the documented form.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.conftest import KEY
from tests.support.catalogs import compiled
from tests.support.meta_tools import call, error
from toolfold import messages
from toolfold.catalog.store import FileStore
from toolfold.errors import NoData
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.corrections import with_next_call
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.wording import CallText

MSFT = {"symbol": "MSFT"}
SMA = {"symbol": "MSFT", "interval": "monthly", "time_period": 20, "series_type": "close"}
MEAN = {"symbols": "MSFT", "interval": "DAILY", "calculations": "MEAN"}

Row = tuple[str, Mapping[str, Any], Mapping[str, Any], str]
"""Tool, the arguments of a wrong call, those that were meant, and the ``select`` that was meant."""

CORRECTED: tuple[Row, ...] = (
    ("SYMBOL_SEARCH", {"k": "tesco"}, {"keywords": "tesco"}, ""),  # the only parameter that is required
    ("NEWS_SENTIMENT", {"ticker": "TSLA", "sort": "RELEVANCEE"}, {"tickers": "TSLA", "sort": "RELEVANCE"}, ""),
    ("NEWS_SENTIMENT", {"tickers": "TSLA", "topics": "tech"}, {"tickers": "TSLA", "topics": "technology"}, ""),
    ("NEWS_SENTIMENT", {"tickers": "TSLA", "language": "en"}, {"tickers": "TSLA"}, ""),
    ("REALTIME_OPTIONS", {"symbol": "AAPL", "type": "put"}, {"symbol": "AAPL"}, "type = put"),
    ("HISTORICAL_OPTIONS", {"symbol": "AAPL", "type": "call", "date": "2025-12-01"},
     {"symbol": "AAPL", "date": "2025-12-01"}, "type = call"),
    *(("HISTORICAL_OPTIONS", {**MSFT, "date": day}, {**MSFT, "date": "2025-09-30"}, "")
      for day in ("2025-09-31", "September 31, 2025")),
    ("FX_DAILY", {"symbol": "EUR/JPY", "outputsize": "ful"},
     {"from_symbol": "EUR", "to_symbol": "JPY", "outputsize": "full"}, ""),
    ("DIGITAL_CURRENCY_DAILY", {"symbol": "ETH", "markt": "EUR"}, {"symbol": "ETH", "market": "EUR"}, ""),
    ("CPI", {"country": "Germany"}, {}, ""),
    ("CPI", {"interval": "montly"}, {"interval": "monthly"}, ""),
    ("TREASURY_YIELD", {"mat": "2year", "interval": "monthly"}, {"maturity": "2year", "interval": "monthly"}, ""),
    ("TREASURY_YIELD", {"maturity": "10year, 2year", "interval": "monthly"},
     {"maturity": ["10year", "2year"], "interval": "monthly"}, ""),
    ("TIME_SERIES_DAILY", {"symbl": "MSFT"}, MSFT, ""),
    ("TIME_SERIES_DAILY", {"stock": "MSFT", "colour": "red"}, MSFT, ""),
    ("TIME_SERIES_DAILY", {**MSFT, "outputsize": "ful", "nonsense": 1}, {**MSFT, "outputsize": "full"}, ""),
    ("TIME_SERIES_WEEKLY", {**MSFT, "adjusted": True}, MSFT, ""),
    ("TIME_SERIES_DAILY", {"symbol": "MSFT;AAPL"}, {"symbol": ["MSFT", "AAPL"]}, ""),
    ("TIME_SERIES_INTRADAY", {**MSFT, "interval": "15mn"}, {**MSFT, "interval": "15min"}, ""),
    ("TIME_SERIES_INTRADAY", {**MSFT, "interval": "5min", "colour": "red"}, {**MSFT, "interval": "5min"}, ""),
    ("GLOBAL_QUOTE", {"symbol": "MSFT, AAPL"}, {"symbol": ["MSFT", "AAPL"]}, ""),
    ("GLOBAL_QUOTE", {"symbol": '["MSFT"]'}, MSFT, ""),
    ("GLOBAL_QUOTE", {"symbol": "MSFT and AAPL"}, {"symbol": ["MSFT", "AAPL"]}, ""),
    ("GLOBAL_QUOTE", {**MSFT, "currency": "EUR"}, MSFT, ""),
    ("GLOBAL_QOUTE", MSFT, MSFT, ""),
    ("GLOBAL_QUOTES_ALL", {"ticker": "MSFT"}, MSFT, ""),
    ("SMA", {**SMA, "time_perid": 20, "time_period": None}, SMA, ""),
    ("SMA", {**SMA, "time_period": "20, 50"}, {**SMA, "time_period": [20, 50]}, ""),
    ("SMA", {**SMA, "time_period": "20,100"}, {**SMA, "time_period": [20, 100]}, ""),
    ("EARNINGS_CALENDAR", {**MSFT, "horizon": "6mnth"}, {**MSFT, "horizon": "6month"}, ""),
    ("SYMBOL_SEARCH", {"query": "micro", "region": "United States"}, {"keywords": "micro"}, "region = 'United States'"),
    ("LISTING_STATUS", {"exchange": "NYSE"}, {}, "exchange = NYSE"),
    ("INSIDER_TRANSACTIONS", {**MSFT, "security_type": "Common Stock"}, MSFT, "security_type = 'Common Stock'"),
    ("COMPANY_OVERVIEW", {"symbol": "MSFT|AAPL"}, {"symbol": ["MSFT", "AAPL"]}, ""),
    # Rows are counted off after a condition, and no more than there can be; a word of a parameter's value, of a column
    ("NEWS_SENTIMENT", {"tickers": "TSLA", "source": "Placeholder Post", "max_results": 3}, {"tickers": "TSLA"},
     "source = 'Placeholder Post'; limit 3"),
    ("NEWS_SENTIMENT", {"tickers": "TSLA", "source": "Placeholder Post", "limit": 200},
     {"tickers": "TSLA", "limit": 200}, "source = 'Placeholder Post'"),
    ("NEWS_SENTIMENT", {"tickers": "TSLA", "limit": 5000}, {"tickers": "TSLA", "limit": 1000}, ""),
    ("HISTORICAL_OPTIONS", {**MSFT, "option_type": "CALL", "strike": 480}, MSFT, "type = call and strike = 480"),
    ("INCOME_STATEMENT", {**MSFT, "period": "annual"}, MSFT, ""),
    # A period beside arguments that the tool does not have
    ("INFLATION", {"start_year": 1970, "end_year": 1979, "country": "US"}, {}, "1970..1979"),
    ("TIME_SERIES_DAILY", {**MSFT, "period": "1y", "interval": "1d"}, MSFT, "past year"),
    ("TIME_SERIES_DAILY", {**MSFT, "since": "2025-12-01", "top": 5, "colour": 1}, MSFT, "since 2025-12-01; limit 5"),
    ("CPI", {"country": "US", "year": 2024}, {}, "2024-01-01..2024-12-31"),
    ("RSI", {**MSFT, "interval": "monthly", "period": "1y"}, {**SMA, "time_period": 14}, "past year"),
    ("CONGRESS_TRADES", {"symbol": "NVDA", "state": "CA", "since": "2025-06-01"}, {"symbol": "NVDA"},
     "state = CA; since 2025-06-01"),
    # A day is no period
    ("HISTORICAL_OPTIONS", {**MSFT, "start_date": "2025-12-01", "end_date": "2025-12-05"}, MSFT, ""),
    ("LISTING_STATUS", {"state": "delisted", "end_date": "2020-12-31"}, {"state": "delisted"}, ""),
    # Conditions in a value
    ("HISTORICAL_OPTIONS", {**MSFT, "strike": ">= 480"}, MSFT, "strike >= 480"),
    ("HISTORICAL_OPTIONS", {**MSFT, "strike": [460, 480], "type": "put"}, MSFT, "strike in (460, 480) and type = put"),
    ("POLITICIAN_METADATA", {"state": "CA"}, {}, "state = CA"),
    ("HISTORICAL_OPTIONS", {"symbol": ["MSFT", "AAPL"], "type": "put", "strike": 250}, {"symbol": ["MSFT", "AAPL"]},
     "type = put and strike = 250"),
)  # fmt: skip

INCOMPLETE: tuple[tuple[str, Mapping[str, Any], str], ...] = (
    ("GLOBAL_QUOTE", {}, "symbol"),
    ("GLOBAL_QUOTE", {"symbol": " "}, "symbol"),
    ("TIME_SERIES_DAILY", {"outputsize": "full"}, "symbol"),
    ("FX_DAILY", {"from_symbol": "EUR"}, "to_symbol"),
    ("CURRENCY_EXCHANGE_RATE", {"to_currency": "JPY"}, "from_currency"),
    ("DIGITAL_CURRENCY_DAILY", {"symbol": "ETH"}, "market"),
    ("EARNINGS_CALL_TRANSCRIPT", MSFT, "quarter"),
    ("EARNINGS_CALL_TRANSCRIPT", {**MSFT, "quarter": "2024Q5"}, "quarter"),
    ("HISTORICAL_OPTIONS", {"symbol": "AAPL", "date": "someday"}, "date"),
    ("NEWS_SENTIMENT", {"tickers": "TSLA", "time_from": "2026-13-40"}, "time_from"),
    ("SMA", {**SMA, "time_period": -5}, "time_period"),
    ("SMA", {**SMA, "time_period": "2 weeks"}, "time_period"),
    ("SMA", {**SMA, "time_period": "50%"}, "time_period"),
    ("SMA", {**SMA, "symbol": None, "from_symbol": "EUR", "to_symbol": "USD"}, "symbol"),
    ("SMA", {**SMA, "period": 14}, "interval"),
    ("TIME_SERIES_DAILY", {"firm": "MSFT"}, "symbol"),
    ("TIME_SERIES_INTRADAY", {**MSFT, "interval": "5min", "adjusted": 0}, "adjusted"),
    ("ANALYTICS_FIXED_WINDOW", {**MEAN, "start_date": ["2025-06-01"], "end_date": "2025-07-01"}, "range"),
    ("NEWS_SENTIMENT", {"topics": "technology,M&A"}, "topics"),
    ("REALTIME_BULK_QUOTES", {"symbol": ",".join(f"A{number}" for number in range(101))}, "symbol"),
)
"""Tool, arguments, and the parameter whose value is unknown."""


@pytest.fixture(scope="module")
def shared(catalog_store: FileStore, mock_api: MockApi) -> MetaTools:
    """Return meta-tools of which all tests use the cache: many call for the same series."""
    settings = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_CACHE": "memory"}
    return MetaTools(catalog_store, ToolExecutor(Settings.from_environment(settings)))


@pytest.fixture
def tools(shared: MetaTools, monkeypatch: pytest.MonkeyPatch) -> MetaTools:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    return shared


@pytest.mark.parametrize(("tool", "wrong", "meant", "select"), CORRECTED, ids=lambda value: json.dumps(value)[:50])
def test_proposed_call_asks_what_was_asked(
    tools: MetaTools, tool: str, wrong: dict[str, Any], meant: dict[str, Any], select: str
) -> None:
    refused = error(call(tools, tool, wrong))
    assert "schema" not in refused
    ((name, given),) = refused["next_call"].items()
    answer = tools.call(name, given)
    assert not answer.is_error, answer.text
    right = call(tools, given["tool_name"], meant, **({"select": select} if select else {}))
    assert answer.structured["result"] == right.structured["result"]


@pytest.mark.parametrize(("tool", "arguments", "parameter"), INCOMPLETE, ids=lambda value: json.dumps(value)[:50])
def test_value_that_nobody_knows_is_named_and_never_made_up(
    tools: MetaTools, tool: str, arguments: dict[str, Any], parameter: str
) -> None:
    refused = error(call(tools, tool, arguments))
    assert "next_call" not in refused
    assert parameter in [problem["parameter"] for problem in refused["problems"]]
    assert parameter in refused["schema"]["properties"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("CPI", {"country": "Germany"}, "leaves out country"),
        ("CPI", {"country": "Germany"}, "US consumer price index"),
        ("TIME_SERIES_DAILY", {**MSFT, "outputsize": 30}, "leaves out outputsize 30, which"),
        ("GLOBAL_QUOTE", {**MSFT, "date": "2025-12-01"}, "leaves out date"),  # its answer has no rows
        ("RSI", {**MSFT, "time_period": 14}, "In next_call interval, series_type are examples."),
        ("TIME_SERIES_INTRADAY", {**MSFT, "interval": "7min"}, "In next_call interval is an example."),
    ],
)
def test_what_the_proposed_call_leaves_out_or_adds_is_named(
    tools: MetaTools, tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert said in error(call(tools, tool, arguments))["suggestion"]


def test_column_that_needs_a_parameter_sets_it(tools: MetaTools) -> None:
    refused = error(call(tools, "REALTIME_OPTIONS", {"symbol": "AAPL", "delta": 0.5}))
    assert refused["next_call"]["TOOL_CALL"]["arguments"] == {"symbol": "AAPL", "require_greeks": True}
    assert refused["next_call"]["TOOL_CALL"]["select"] == "delta = 0.5"


@pytest.mark.parametrize("name", ["TIME_SERIES_DALY", "TIME_SERIES_DAILY"])
def test_the_options_of_a_refused_call_are_in_the_proposed_one(tools: MetaTools, name: str) -> None:
    options = {"select": "close; last 2", "max_tokens": 900, "fresh": True, "inspect": True}
    refused = error(call(tools, name, {"symbl": "MSFT"} if name.endswith("DAILY") else MSFT, **options))
    assert refused["next_call"] == {"TOOL_CALL": {"tool_name": "TIME_SERIES_DAILY", "arguments": MSFT, **options}}
    assert "leaves out" not in refused["suggestion"]


@pytest.mark.parametrize(
    ("tool", "given", "select", "right"),
    [
        ("TIME_SERIES_DAILY", {"since": "2025-12-01"}, "close; last 2", "since 2025-12-01; close; last 2"),
        ("HISTORICAL_OPTIONS", {"type": "put"}, "strike; last 2", "type = put; strike; last 2"),
        ("HISTORICAL_OPTIONS", {"strike": "460-480", "min_strike": 9}, "last 2", "strike between 460 and 480; last 2"),
        ("INCOME_STATEMENT", {"year": 2023}, "annualReports; totalRevenue",
         "annualReports; 2023-01-01..2023-12-31; totalRevenue"),
    ],
)  # fmt: skip
def test_what_is_selected_by_an_argument_comes_before_the_select_that_was_given(
    tools: MetaTools, tool: str, given: dict[str, Any], select: str, right: str
) -> None:
    proposed = error(call(tools, tool, {**MSFT, **given}, select=select))["next_call"]["TOOL_CALL"]
    assert proposed == {"tool_name": tool, "arguments": MSFT, "select": right}
    assert not tools.call("TOOL_CALL", proposed).is_error


FIND: Mapping[str, Any] = {
    "id": {"type": "string"},
    "share": {"type": "number"},
    "day": {"type": "string", "format": "date"},
    "unit": {"enum": ["celsius", "fahrenheit"]},
    "state": {"type": "array", "items": {"enum": ["OPEN", "CLOSED", "LATE"]}},
    "ward": {"schema": {"anyOf": [{"type": "string", "enum": ["Cardiology", "Radiology"]}, {"type": "null"}]}},
}


MARKS = {"type": "array", "items": {"type": "string"}, "style": "spaceDelimited", "explode": False}
"""Its source refuses an item with a space."""


@pytest.fixture(scope="module")
def finder(tmp_path_factory: pytest.TempPathFactory) -> MetaTools:
    """Return meta-tools with one tool, whose parameters are ``FIND``."""
    folder = tmp_path_factory.mktemp("catalog") / "desk"
    folder.mkdir()
    tool = {
        "name": "find",
        "path": "/find",
        "summary": "Visits of a patient by ward",
        "parameters": {**FIND, "marks": MARKS},
    }
    source = {"kind": "http_api", "base_url": "https://desk.test", "tools": [tool]}
    (folder / "source.yaml").write_text(json.dumps(source))
    catalog = compiled(folder.parent)
    return MetaTools(lambda: catalog, ToolExecutor(Settings.from_environment({"TOOLFOLD_ALLOWED_HOSTS": "desk.test"})))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"id": 42}, {"id": "42"}),
        ({"id": 1.5}, None),
        ({"day": 42}, None),
        ({"share": "1,5"}, {"share": 1.5}),
        ({"share": "0,125"}, {"share": 0.125}),
        ({"share": "-1.234,25"}, {"share": -1234.25}),
        ({"share": "1, 2, 3"}, {"share": ["1", "2", "3"]}),
        ({"unit": "F"}, {"unit": "fahrenheit"}),
        ({"state": "opn, late"}, {"state": ["OPEN", "LATE"]}),
        ({"state": ["close"]}, {"state": ["CLOSED"]}),
        ({"state": ["close", "x"]}, None),
        ({"state": ["close"] * 60_000}, None),
        ({"ward": "cardio"}, {"ward": "Cardiology"}),
        ({"WARD": "Cardiology", "marks": ["a", "b c"]}, None),
    ],
)
def test_value_that_is_written_otherwise_is_proposed(finder: MetaTools, given: Any, meant: Any) -> None:
    refused = error(call(finder, "desk__find", given))
    assert refused.get("next_call", {}).get("TOOL_CALL", {}).get("arguments") == meant


def test_values_of_a_list_are_in_the_error(finder: MetaTools) -> None:
    refused = error(call(finder, "desk__find", {"state": ["x"]}))
    assert refused["problems"][0]["expected"] == "array of OPEN|CLOSED|LATE"


def test_period_with_two_readings_is_not_left_out(tools: MetaTools) -> None:
    refused = error(call(tools, "TIME_SERIES_DAILY", {**MSFT, "start_date": "01/02/2025"}))
    assert "next_call" not in refused


def test_period_without_data_is_one_of_the_reasons(tools: MetaTools) -> None:
    refused = error(call(tools, "NEWS_SENTIMENT", {"tickers": "TSLA", "time_from": "20990101T0000"}))
    step = refused["suggestion"].partition("call again without time_from: TOOL_CALL ")[2]
    assert not tools.call("TOOL_CALL", json.loads(step.rstrip("."))).is_error


@pytest.mark.parametrize(
    ("tool", "arguments", "select", "most"),
    [
        ("HISTORICAL_OPTIONS", {"symbol": "IBM"}, "type = put", 250),
        ("TIME_SERIES_MONTHLY", MSFT, "SELECT timestamp, close / open AS ratio FROM data WHERE close > open", 320),
        ("TIME_SERIES_WEEKLY", {"symbol": ["MSFT", "IBM"]}, "since 2024", 220),
        ("TREASURY_YIELD", {"maturity": ["10year", "2year"], "interval": "monthly"}, "since 2000; last 200", 400),
    ],
)
def test_what_a_preview_proposes_continues_the_select(
    tools: MetaTools, tool: str, arguments: dict[str, Any], select: str, most: int
) -> None:
    shortened = call(tools, tool, arguments, select=select, max_tokens=500)
    batch = tools.call("TOOL_BATCH", {"calls": [{"tool_name": tool, "arguments": arguments, "select": select}],
                                      "max_tokens": 500})  # fmt: skip
    for answer in (shortened.structured, batch.structured["results"][0]):
        assert answer["preview"]["rows_total"] <= most
        proposed = [json.loads(one) for one in re.findall(r'select=("(?:[^"\\]|\\.)*")', answer["preview"]["ask_less"])]
        assert proposed
        assert all(one.startswith(f"{select}; ") for one in proposed)
        for one in proposed:
            assert not call(tools, tool, arguments, select=one).is_error


def test_step_that_describes_the_tool_needs_no_options_of_the_caller(tools: MetaTools) -> None:
    step = messages.CHECK_ARGUMENTS.filled(description=CallText({"tool_name": "COPPER"}, "TOOL_GET"))
    given = {"tool_name": "COPPER", "arguments": {"interval": "monthly"}, "select": "last 3"}
    found = with_next_call(tools.catalog(), given, NoData("There are no data.", step))
    assert found.as_dict()["suggestion"] == NoData("", step).as_dict()["suggestion"]
