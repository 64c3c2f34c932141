"""What the three meta-tools answer, and what they cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpe_openai
import jsonschema
import pytest

from tests.conftest import KEY
from toolfold.errors import CALL_ERRORS, CatalogUnavailable
from toolfold.meta_tools.definitions import definitions
from toolfold.meta_tools.dispatch import NAMES, MetaTools
from toolfold.meta_tools.result import Result, compact
from toolfold.sandbox.server import Sandbox


def tokens(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return len(bpe_openai.get_encoding("o200k_base").encode(text))


def get(tools: MetaTools, tool_name: Any) -> list[dict[str, Any]]:
    result = tools.call("TOOL_GET", {"tool_name": tool_name})
    assert not result.is_error
    return list(result.structured["tools"])


def error(result: Result) -> dict[str, Any]:
    assert result.is_error
    assert json.loads(result.text) == result.structured
    found = result.structured["error"]
    assert found["code"] in CALL_ERRORS
    assert found["message"]
    assert found["suggestion"]
    return dict(found)


def call(tools: MetaTools, tool_name: Any, arguments: Any = None, **more: Any) -> Result:
    given = {"tool_name": tool_name, **more}
    return tools.call("TOOL_CALL", given if arguments is None else {**given, "arguments": arguments})


# Definitions


def test_the_three_definitions_cost_at_most_450_tokens(tools: MetaTools) -> None:
    assert tokens(tools.definitions()) <= 450


def test_every_definition_carries_what_the_protocol_wants(tools: MetaTools) -> None:
    defined = tools.definitions()
    assert tuple(definition["name"] for definition in defined) == NAMES
    for definition in defined:
        assert definition["title"]
        assert definition["description"]
        assert {"readOnlyHint", "openWorldHint"} <= definition["annotations"].keys()
        for schema in (definition["inputSchema"], definition["outputSchema"]):
            assert schema["type"] == "object"
            jsonschema.Draft202012Validator.check_schema(schema)


def test_a_model_learns_from_the_first_definition_what_is_in_here(tools: MetaTools) -> None:
    assert "Stocks" in tools.definitions()[0]["description"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("TOOL_LIST", {}),
        ("TOOL_LIST", {"query": "price", "category": "forex"}),
        ("TOOL_LIST", {"limit": 0}),
        ("TOOL_GET", {"tool_name": ["GLOBAL_QUOTE", "NO_SUCH_TOOL"]}),
        ("TOOL_GET", {"tool_name": "GLOBAL_QUOTE", "known": {"GLOBAL_QUOTE": "0"}, "detail": "minimal"}),
        ("TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}),
        ("TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {}}),
    ],
)
def test_what_comes_back_fits_the_output_schema(tools: MetaTools, name: str, arguments: dict[str, Any]) -> None:
    schema = next(definition["outputSchema"] for definition in definitions(None) if definition["name"] == name)
    jsonschema.validate(tools.call(name, arguments).structured, schema)


def test_the_instructions_tell_what_is_here_in_at_most_200_tokens(tools: MetaTools) -> None:
    assert "Technical Indicators (53)" in tools.instructions()
    assert tokens(tools.instructions()) <= 200


def test_of_many_categories_the_instructions_name_some(tools: MetaTools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolfold.meta_tools.definitions._MOST_NAMED", 3)
    assert "Market Intelligence (7) and 8 more. " in tools.instructions()


def test_a_model_is_told_to_search_first(tools: MetaTools) -> None:
    assert "with query" in tools.definitions()[0]["description"]
    assert "TOOL_LIST(query)" in tools.instructions()


def test_no_schema_has_what_clients_refuse(tools: MetaTools) -> None:
    """A list of types, or an enum without a type: Gemini takes neither."""

    def nodes(schema: Any) -> Any:
        if isinstance(schema, dict):
            yield schema
            for value in schema.values():
                yield from nodes(value)
        elif isinstance(schema, list):
            for value in schema:
                yield from nodes(value)

    for definition in tools.definitions():
        for node in nodes(definition["inputSchema"]):
            assert not isinstance(node.get("type"), list)
            assert "enum" not in node or node["type"] == "string"


# TOOL_LIST


def test_tool_list_has_every_tool_with_name_description_and_category(tools: MetaTools) -> None:
    listed = tools.call("TOOL_LIST", {}).structured
    assert len(listed["tools"]) == listed["total"] == 129
    assert listed["tools"][7] == {
        "name": "GLOBAL_QUOTE",
        "tier": 3,
        "description": "Latest price, volume and day change of one stock",
        "category": "core_stock_apis",
        "access": "mixed",
    }
    assert sum(listed["categories"].values()) == 129


def test_the_text_of_tool_list_is_no_json_object_per_tool(tools: MetaTools) -> None:
    result = tools.call("TOOL_LIST", {})
    assert tokens(result.text) <= 3000
    assert tokens(result.text) < 0.7 * tokens(result.structured)


# TOOL_GET


def test_tool_get_answers_one_name_with_its_entry_alone(tools: MetaTools) -> None:
    text = json.loads(tools.call("TOOL_GET", {"tool_name": "GLOBAL_QUOTE"}).text)
    assert text["name"] == "GLOBAL_QUOTE"
    assert text["found"] is True
    assert text["parameters"]["required"] == ["symbol"]
    assert "05. price" in text["returns"]


def test_tool_get_keeps_the_order_asked(tools: MetaTools) -> None:
    asked = ["SMA", "GLOBAL_QUOTE", "CPI"]
    assert [entry["name"] for entry in get(tools, asked)] == asked


@pytest.mark.parametrize("spelled", ["global_quote", "Global_Quote", " GLOBAL_QUOTE "])
def test_names_are_matched_without_regard_to_case(tools: MetaTools, spelled: str) -> None:
    assert get(tools, spelled)[0]["name"] == "GLOBAL_QUOTE"


@pytest.mark.parametrize("spelled", ["SMA,CPI", '["SMA", "CPI"]', ["SMA", "CPI"]])
def test_a_list_may_come_as_text(tools: MetaTools, spelled: Any) -> None:
    assert [entry["name"] for entry in get(tools, spelled)] == ["SMA", "CPI"]


def test_an_unknown_name_does_not_fail_its_neighbours(tools: MetaTools) -> None:
    first, second, third = get(tools, ["GLOBAL_QUOTE", "GLOBAL_QOUTE", "SMA"])
    assert (first["found"], second["found"], third["found"]) == (True, False, True)
    assert second["error"]["code"] == "TOOL_NOT_FOUND"
    assert second["error"]["closest"][0] == "GLOBAL_QUOTE"


@pytest.mark.parametrize(
    ("meant", "closest"),
    [("STOCK_DIVIDENDS", "DIVIDENDS"), ("TREASURY_YIELDS", "TREASURY_YIELD"), ("oil_price", "BRENT")],
)
def test_closest_names_are_found_by_words_too(tools: MetaTools, meant: str, closest: str) -> None:
    assert closest in get(tools, meant)[0]["error"]["closest"]


@pytest.mark.parametrize("tool_name", [None, "", 7, [], [7], ["SMA", ""], ["SMA"] * 21, "[broken", {"a": 1}])
def test_tool_get_says_what_it_takes(tools: MetaTools, tool_name: Any) -> None:
    assert error(tools.call("TOOL_GET", {"tool_name": tool_name}))["code"] == "INVALID_ARGUMENTS"


def test_every_tool_can_be_got_twenty_at_a_time(tools: MetaTools) -> None:
    names = list(tools.catalog())
    for start in range(0, len(names), 20):
        entries = get(tools, names[start : start + 20])
        assert all(entry["found"] and entry["returns"] and entry["description"] for entry in entries)


# TOOL_CALL


def test_the_example_of_the_documents_works_word_for_word(tools: MetaTools) -> None:
    result = call(tools, "GLOBAL_QUOTE", {"symbol": "AAPL", "datatype": "json"})
    assert json.loads(result.text) == result.structured["result"]
    assert list(result.structured["result"]["Global Quote"]) == [
        "01. symbol", "02. open", "03. high", "04. low", "05. price", "06. volume",
        "07. latest trading day", "08. previous close", "09. change", "10. change percent",
    ]  # fmt: skip


def test_typed_values_are_what_comes_when_no_form_is_asked(tools: MetaTools) -> None:
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
def test_a_form_that_is_named_comes_untouched(tools: MetaTools, name: str, arguments: Any, form: type) -> None:
    result = call(tools, name, arguments)
    assert isinstance(result.structured["result"], form)
    assert "columns" not in result.structured["result"]
    assert result.text == (result.structured["result"] if form is str else compact(result.structured["result"]))


@pytest.mark.parametrize(
    "given",
    [
        {"arguments": {"symbol": "IBM"}, "select": "close; last 1", "max_tokens": "900", "fresh": True},
        {"arguments": {"symbol": "IBM", "select": "close; last 1", "max_tokens": 900, "fresh": "false"}},
        {"arguments": '{"symbol": "IBM", "select": ["close", "last 1"]}'},
        {"symbol": "IBM", "select": "close; last 1", "max_tokens": 900.0},
    ],
)
def test_what_is_tool_call_s_own_may_stand_beside_the_arguments_or_among_them(tools: MetaTools, given: Any) -> None:
    result = call(tools, "TIME_SERIES_DAILY", **given)
    assert result.structured["result"]["columns"] == ["close"]
    assert result.structured["result"]["row_count"] == 1
    assert result.structured["cached"] in (True, False)


@pytest.mark.parametrize(
    "own",
    [
        {"select": "clsoe"}, {"select": 7}, {"select": "max(close"}, {"max_tokens": 0}, {"max_tokens": "many"},
        {"max_tokens": True}, {"max_tokens": 1.5}, {"fresh": "perhaps"},
    ],
)  # fmt: skip
def test_what_is_tool_call_s_own_is_checked(tools: MetaTools, own: Any) -> None:
    assert error(call(tools, "TIME_SERIES_DAILY", {"symbol": "IBM"}, **own))["code"] == "INVALID_ARGUMENTS"


def test_a_select_that_cannot_be_read_is_refused_before_anything_is_sent(tools: MetaTools, sandbox: Sandbox) -> None:
    before = len(sandbox.requests)
    assert error(call(tools, "TIME_SERIES_DAILY", {"symbol": "IBM"}, select="max(close"))["position"] == 0
    assert len(sandbox.requests) == before


def test_a_fresh_answer_is_asked_for_again(tools: MetaTools, sandbox: Sandbox) -> None:
    arguments = {"symbol": "IBM"}
    call(tools, "GLOBAL_QUOTE", arguments)
    before = len(sandbox.requests)
    assert call(tools, "GLOBAL_QUOTE", arguments, fresh=True).structured["cached"] is False
    assert len(sandbox.requests) == before + 1


def test_an_answer_beyond_the_budget_is_a_preview(make_tools: Callable[..., MetaTools], tmp_path: Path) -> None:
    tools = make_tools(TOOLFOLD_MAX_TOKENS="1000", TOOLFOLD_MAX_TOKENS_CEILING="2000", TOOLFOLD_OFFLOAD=str(tmp_path))
    arguments = {"symbol": "IBM", "outputsize": "full"}
    for asked, budget in ((None, 1000), (1, 500), (1500, 1500), (10**6, 2000)):
        result = call(tools, "TIME_SERIES_DAILY_ADJUSTED", arguments, max_tokens=asked)
        assert 0.7 * budget < tokens(result.text) <= 1.1 * budget
        assert Path(result.structured["preview"]["full"]["path"]).stat().st_size > 300_000
    kept = list(tmp_path.iterdir())
    off = make_tools(TOOLFOLD_MAX_TOKENS="1000", TOOLFOLD_OFFLOAD="off")
    assert set(call(off, "TIME_SERIES_DAILY_ADJUSTED", arguments).structured["preview"]["full"]) == {"tokens"}
    assert list(tmp_path.iterdir()) == kept


@pytest.mark.parametrize("arguments", ['{"symbol": "AAPL"}', {"symbol": "AAPL"}])
def test_arguments_may_be_an_object_or_its_json(tools: MetaTools, arguments: Any) -> None:
    assert "AAPL" in call(tools, "global_quote", arguments).text


def test_arguments_one_level_up_are_understood(tools: MetaTools) -> None:
    assert "AAPL" in call(tools, "GLOBAL_QUOTE", symbol="AAPL").text


@pytest.mark.parametrize("arguments", [None, {}, "", "{}"])
def test_a_tool_without_parameters_needs_no_arguments(tools: MetaTools, arguments: Any) -> None:
    assert not call(tools, "MARKET_STATUS", arguments).is_error


@pytest.mark.parametrize(
    "arguments", ['{"symbol": ', '"IBM"', "[1]", [1], 7, "{" * 100_000, '{"a":' + "9" * 5000 + "}"]
)
def test_arguments_that_are_no_object_come_back_with_the_schema(tools: MetaTools, arguments: Any) -> None:
    found = error(call(tools, "GLOBAL_QUOTE", arguments))
    assert found["code"] == "INVALID_ARGUMENTS"
    assert "symbol" in found["schema"]["properties"]


@pytest.mark.parametrize("tool_name", [None, "", 7, ["SMA"]])
def test_tool_call_needs_a_name(tools: MetaTools, tool_name: Any) -> None:
    assert error(call(tools, tool_name, {}))["code"] == "INVALID_ARGUMENTS"


def test_an_unknown_tool_is_answered_with_the_closest_names(tools: MetaTools) -> None:
    found = error(call(tools, "GLOBAL_QUOT", {"symbol": "IBM"}))
    assert found["code"] == "TOOL_NOT_FOUND"
    assert "GLOBAL_QUOTE" in found["suggestion"]


def test_wrong_arguments_are_refused_before_anything_is_sent(tools: MetaTools, sandbox: Sandbox) -> None:
    before = len(sandbox.requests)
    found = error(call(tools, "SMA", {"symbol": "IBM", "interval": "hourly"}))
    assert found["code"] == "INVALID_ARGUMENTS"
    assert [problem["parameter"] for problem in found["problems"]] == ["interval", "time_period", "series_type"]
    assert found["schema"]["required"] == ["symbol", "interval", "time_period", "series_type"]
    assert len(sandbox.requests) == before


def test_without_a_key_nothing_is_sent(tools: MetaTools, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALPHA_VANTAGE_API_KEY")
    before = len(sandbox.requests)
    found = error(call(tools, "GLOBAL_QUOTE", {"symbol": "IBM"}))
    assert found["code"] == "AUTH_REQUIRED"
    assert "ALPHA_VANTAGE_API_KEY" in found["suggestion"]
    assert len(sandbox.requests) == before


def test_a_missing_catalog_is_an_answer_for_each_meta_tool(tools: MetaTools) -> None:
    def missing() -> Any:
        raise CatalogUnavailable("The tool catalog has not been published.", "Try again in a minute.")

    for name in NAMES:
        assert error(MetaTools(missing, tools.caller).call(name, {}))["code"] == "CATALOG_UNAVAILABLE"
    assert len(MetaTools(missing, tools.caller).definitions()) == 3
    assert "TOOL_LIST" in MetaTools(missing, tools.caller).instructions()


def test_a_defect_of_ours_is_an_answer_without_internals(tools: MetaTools, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> Any:
        raise RuntimeError(f"https://upstream/?apikey={KEY}")

    found = error(MetaTools(broken, tools.caller).call("TOOL_LIST", {}))
    assert found["code"] == "INTERNAL_ERROR"
    assert "RuntimeError at broken:" in caplog.text
    assert KEY not in json.dumps(found) + caplog.text


# The upstream's bad days, over real HTTP


@pytest.mark.parametrize(
    ("symbol", "code", "next_step"),
    [
        ("NOSUCHTICKER", "INVALID_ARGUMENTS", "SYMBOL_SEARCH"),
        ("FAULT.INVALID_API_KEY", "AUTH_REJECTED", "check the key"),
        ("FAULT.DEMO_KEY_ONLY", "AUTH_REJECTED", "key of their own"),
        ("FAULT.UNKNOWN_FUNCTION", "UPSTREAM_ERROR", "TOOL_LIST"),
        ("FAULT.DAILY_QUOTA", "RATE_LIMITED", "tomorrow"),
        ("FAULT.FREE_BURST", "RATE_LIMITED", "Wait two seconds"),
        ("FAULT.PREMIUM_ENDPOINT", "PREMIUM_ONLY", "premium"),
        ("FAULT.NOT_ENTITLED", "PREMIUM_ONLY", "without entitlement"),
        ("FAULT.EMPTY_OBJECT", "NO_DATA", "SYMBOL_SEARCH"),
        ("FAULT.HTTP503", "UPSTREAM_ERROR", "Try again"),
        ("FAULT.HTTP429", "RATE_LIMITED", "Wait"),
        ("FAULT.HTTP404", "UPSTREAM_ERROR", "Do not repeat"),
        ("FAULT.EMPTY", "UPSTREAM_ERROR", "Try again"),
        ("FAULT.HTML", "UPSTREAM_ERROR", "Try again"),
        ("FAULT.BADJSON", "UPSTREAM_ERROR", "Try again"),
        ("FAULT.TRUNCATED", "UPSTREAM_ERROR", "Try again"),
        ("FAULT.RESET", "UPSTREAM_ERROR", "Try again"),
        ("FAULT.NOTICE", "UPSTREAM_ERROR", "upstream_says"),
        ("FAULT.HUGE", "UPSTREAM_ERROR", "Ask for less"),
        ("FAULT.REDIRECT", "UPSTREAM_ERROR", "Do not repeat"),
        ("FAULT.SLOW.9", "UPSTREAM_TIMEOUT", "Try again"),
        ("FAULT.DRIP.9", "UPSTREAM_TIMEOUT", "Try again"),
    ],
)
def test_a_failing_upstream_has_its_code_and_next_step(
    make_tools: Callable[..., MetaTools], caplog: pytest.LogCaptureFixture, symbol: str, code: str, next_step: str
) -> None:
    tools = make_tools(TOOLFOLD_TIMEOUT_S="2.5")  # ample for all but those that are slow on purpose
    result = call(tools, "TIME_SERIES_DAILY", {"symbol": symbol})
    found = error(result)
    assert found["code"] == code
    assert next_step in found["suggestion"]
    assert KEY not in result.text + caplog.text


def test_an_upstream_that_is_down_is_said_to_be(make_tools: Callable[..., MetaTools]) -> None:
    tools = make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL="http://127.0.0.1:9/query")
    assert error(call(tools, "GLOBAL_QUOTE", {"symbol": "IBM"}))["code"] == "UPSTREAM_ERROR"


@pytest.mark.parametrize("address", ["http://example.com/query", "ftp://127.0.0.1/query", "127.0.0.1:8787"])
def test_the_key_is_not_sent_in_clear_to_another_machine(make_tools: Callable[..., MetaTools], address: str) -> None:
    found = error(call(make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=address), "GLOBAL_QUOTE", {"symbol": "IBM"}))
    assert "https" in found["message"]


# Results as JSON


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("TOOL_LIST", {}),
        ("TOOL_LIST", {"query": "price of a stock"}),
        ("TOOL_LIST", {"query": "price", "limit": 1, "detail": "minimal"}),
        ("TOOL_LIST", {"category": "forex"}),
        ("TOOL_LIST", {"query": "???"}),
        ("TOOL_LIST", {"tag": "nothing like it"}),
        ("TOOL_GET", {"tool_name": "global_quote"}),
        ("TOOL_GET", {"tool_name": ["RSI", "NO_SUCH_TOOL"], "detail": "medium"}),
        ("TOOL_GET", {"tool_name": "RSI", "known": {"RSI": "0"}}),
        ("TOOL_CALL", {"tool_name": "RSI", "arguments": {}}),
    ],
)
def test_what_is_put_together_as_json_is_what_it_holds(tools: MetaTools, name: str, arguments: dict[str, Any]) -> None:
    for _ in range(2):  # the second time it may be one that was kept
        result = tools.call(name, arguments)
        structured, text = map(json.loads, result.as_json())
        assert structured == json.loads(json.dumps(result.structured))
        assert text == result.text
