"""TOOL_CALL: how it may be called, what it refuses, the forms of its answers, and the upstream's bad days."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.meta_tools import call, error, tokens
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import dumps_compact
from toolfold.mock_api.server import MockApi


def test_documented_example_works(tools: MetaTools) -> None:
    result = call(tools, "GLOBAL_QUOTE", {"symbol": "AAPL", "datatype": "json"})
    assert json.loads(result.text) == result.structured["result"]
    assert list(result.structured["result"]["Global Quote"]) == [
        "01. symbol", "02. open", "03. high", "04. low", "05. price", "06. volume",
        "07. latest trading day", "08. previous close", "09. change", "10. change percent",
    ]  # fmt: skip


def test_result_without_datatype_has_typed_values(tools: MetaTools) -> None:
    quote = call(tools, "GLOBAL_QUOTE", {"symbol": "AAPL"})
    assert list(quote.structured["result"]) == [
        "symbol", "open", "high", "low", "price", "volume", "latestDay", "previousClose", "change", "changePercent",
    ]  # fmt: skip
    assert isinstance(quote.structured["result"]["price"], float)
    assert json.loads(quote.text) == quote.structured["result"]
    series = call(tools, "TIME_SERIES_WEEKLY_ADJUSTED", {"symbol": "IBM"}, select="timestamp,adjusted close; last 2")
    assert series.text.startswith("timestamp,adjusted_close\n2026-01-")
    assert [type(cell) for cell in series.structured["result"]["rows"][0]] == [str, float]


@pytest.mark.parametrize(
    ("name", "arguments", "form"),
    [
        ("GLOBAL_QUOTE", {"symbol": "AAPL", "datatype": "csv"}, str),
        ("GLOBAL_QUOTE", {"symbol": "AAPL", "datatype": "JSON"}, dict),
        ("MARKET_STATUS", {"datatype": "json"}, dict),
        ("IPO_CALENDAR", {"datatype": "csv"}, str),
    ],
)
def test_result_with_datatype_is_the_upstreams(tools: MetaTools, name: str, arguments: Any, form: type) -> None:
    result = call(tools, name, arguments)
    assert isinstance(result.structured["result"], form)
    assert "columns" not in result.structured["result"]
    assert result.text == (result.structured["result"] if form is str else dumps_compact(result.structured["result"]))


@pytest.mark.parametrize(
    "own",
    [
        {"select": "clsoe"}, {"select": 7}, {"select": "max(close"}, {"max_tokens": True}, {"fresh": "perhaps"},
    ],
)  # fmt: skip
def test_invalid_option_is_rejected_before_a_request_is_sent(tools: MetaTools, mock_api: MockApi, own: Any) -> None:
    before = len(mock_api.requests)
    assert error(call(tools, "TIME_SERIES_DAILY", {"symbol": "KO"}, **own))["code"] == "INVALID_ARGUMENTS"
    # Whether there is such a column only the answer says.
    assert (len(mock_api.requests) == before) == (own != {"select": "clsoe"})


def test_fresh_bypasses_the_cache(tools: MetaTools, mock_api: MockApi) -> None:
    arguments = {"symbol": "IBM"}
    call(tools, "GLOBAL_QUOTE", arguments)
    before = len(mock_api.requests)
    assert call(tools, "GLOBAL_QUOTE", arguments, fresh=True).structured["cached"] is False
    assert len(mock_api.requests) == before + 1


def test_answer_over_the_token_budget_is_a_preview(make_tools: Callable[..., MetaTools], tmp_path: Path) -> None:
    tools = make_tools(TOOLFOLD_MAX_TOKENS="1000", TOOLFOLD_MAX_TOKENS_CEILING="2000", TOOLFOLD_OFFLOAD=str(tmp_path))
    arguments = {"symbol": "IBM", "outputsize": "full"}
    for asked, budget in ((None, 1000), (10**6, 2000)):
        result = call(tools, "TIME_SERIES_DAILY_ADJUSTED", arguments, max_tokens=asked)
        assert 0.7 * budget < tokens(result.text) <= 1.1 * budget
        assert Path(result.structured["preview"]["full"]["path"]).stat().st_size > 300_000
    kept = list(tmp_path.iterdir())
    off = make_tools(TOOLFOLD_MAX_TOKENS="1000", TOOLFOLD_OFFLOAD="off")
    assert set(call(off, "TIME_SERIES_DAILY_ADJUSTED", arguments).structured["preview"]["full"]) == {"tokens"}
    assert list(tmp_path.iterdir()) == kept


@pytest.mark.parametrize("arguments", [None, "{}"])
def test_tool_without_parameters_needs_no_arguments(tools: MetaTools, arguments: Any) -> None:
    assert not call(tools, "MARKET_STATUS", arguments).is_error


@pytest.mark.parametrize("arguments", ['{"symbol": ', "[1]", 7, '{"a":' + "9" * 5000 + "}"])
def test_arguments_of_another_type_are_rejected_with_the_call_or_the_schema(tools: MetaTools, arguments: Any) -> None:
    found = error(call(tools, "GLOBAL_QUOTE", arguments))
    assert found["code"] == "INVALID_ARGUMENTS"
    has_schema = "symbol" in found.get("schema", {}).get("properties", {})
    assert has_schema != ("next_call" in found)


def test_invalid_arguments_are_rejected_before_a_request_is_sent(tools: MetaTools, mock_api: MockApi) -> None:
    before = len(mock_api.requests)
    found = error(call(tools, "SMA", {"symbol": "IBM", "interval": "2h"}))
    assert found["code"] == "INVALID_ARGUMENTS"
    assert [problem["parameter"] for problem in found["problems"]] == ["interval", "time_period", "series_type"]
    assert found["schema"]["required"] == ["symbol", "interval", "time_period", "series_type"]
    assert len(mock_api.requests) == before
