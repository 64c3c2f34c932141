"""What holds for all meta-tools: their definitions, their answers, and the figures of these for the log."""

import json
from types import SimpleNamespace
from typing import Any

import bpe_openai
import jsonschema
import pytest

from tests.conftest import KEY
from tests.support.meta_tools import error, tokens
from toolfold.app import build_app
from toolfold.build import writer
from toolfold.catalog.entries import META_TOOLS
from toolfold.catalog.store import bundled_path, parse_catalog
from toolfold.errors import CatalogUnavailable
from toolfold.meta_tools.definitions import definitions, detail_level_of
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.settings import Settings


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
def test_results_match_the_output_schema(tools: MetaTools, name: str, arguments: dict[str, Any]) -> None:
    schema = next(definition["outputSchema"] for definition in definitions(None) if definition["name"] == name)
    jsonschema.validate(tools.call(name, arguments).structured, schema)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("TOOL_LIST", {"query": "price of a stock"}),
        ("TOOL_LIST", {"tag": "nothing like it"}),
        ("TOOL_GET", {"tool_name": ["RSI", "NO_SUCH_TOOL"], "detail": "medium"}),
        ("TOOL_CALL", {"tool_name": "RSI", "arguments": {}}),
    ],
)
def test_a_repeated_call_has_the_same_json_result(tools: MetaTools, name: str, arguments: dict[str, Any]) -> None:
    first, repeated = (tools.call(name, arguments)._replace(errors=()) for _ in range(2))
    assert first == repeated
    assert json.loads(json.dumps(first.structured)).keys() == first.structured.keys()


def test_missing_catalog_is_an_error_of_each_meta_tool(tools: MetaTools) -> None:
    def missing() -> Any:
        raise CatalogUnavailable("The tool catalog has not been published.", "Try again in a minute.")

    for name in META_TOOLS:
        assert error(MetaTools(missing, tools.executor).call(name, {}))["code"] == "CATALOG_UNAVAILABLE"
    assert len(json.loads(MetaTools(missing, tools.executor).list_page().tools)) == 3
    assert "TOOL_LIST" in MetaTools(missing, tools.executor).instructions()


@pytest.mark.parametrize(("kind", "code"), [(RuntimeError, "INTERNAL_ERROR"), (MemoryError, "ANSWER_TOO_LARGE")])
def test_internal_error_has_no_details(
    tools: MetaTools, caplog: pytest.LogCaptureFixture, kind: type[Exception], code: str
) -> None:
    def broken() -> Any:
        raise kind(f"https://upstream/?apikey={KEY}")

    found = error(MetaTools(broken, tools.executor).call("TOOL_LIST", {}))
    assert found["code"] == code
    assert f"{kind.__name__} at broken:" in caplog.text
    assert KEY not in json.dumps(found) + caplog.text


def test_definitions_and_instructions_cost_at_most_700_tokens(tools: MetaTools) -> None:
    assert tokens(json.loads(tools.list_page().tools)) + tokens(tools.instructions()) <= 700


def test_every_definition_has_the_fields_of_the_protocol(tools: MetaTools) -> None:
    defined = json.loads(tools.list_page().tools)
    assert tuple(definition["name"] for definition in defined) == META_TOOLS
    for definition in defined:
        assert definition["title"]
        assert definition["description"]
        assert {"readOnlyHint", "openWorldHint"} <= definition["annotations"].keys()
        for schema in (definition["inputSchema"], definition["outputSchema"]):
            assert schema["type"] == "object"
            jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    ("effects", "hints"),
    [
        (["read"], {"readOnlyHint": True}),
        (["read", "write"], {"readOnlyHint": False, "destructiveHint": False}),
        (["write"], {"readOnlyHint": False, "destructiveHint": False}),
        (["read", "write", "destructive"], {"readOnlyHint": False, "destructiveHint": True}),
        (["destructive"], {"readOnlyHint": False, "destructiveHint": True}),
    ],
)
def test_executors_state_what_they_may_change(effects: list[str], hints: dict[str, bool]) -> None:
    entry = json.loads(bundled_path().read_bytes())["tools"]["GLOBAL_QUOTE"]
    tools = {f"TOOL_{effect}".upper(): entry | {"effect": effect} for effect in effects}
    empty: dict[str, Any] = {
        "sources": {},
        "categories": [],
        "index": {},
        "spellings": {},
        "synonyms": {},
    }
    catalog = parse_catalog(writer.dumps(empty | {"tools": tools}))
    tool_list, tool_get, tool_call, *writing = definitions(catalog)
    assert tool_call["annotations"] == {"readOnlyHint": True, "openWorldHint": True}
    assert [definition["name"] for definition in writing] == (["TOOL_CALL_WRITE"] if effects != ["read"] else [])
    assert all(definition["annotations"] == hints | {"openWorldHint": True} for definition in writing)
    assert tool_list["annotations"] == tool_get["annotations"] == {"readOnlyHint": True, "openWorldHint": False}


def test_tool_call_is_not_read_only_without_a_catalog() -> None:
    assert definitions(None)[2]["annotations"] == {"readOnlyHint": False, "openWorldHint": True}


def test_schemas_avoid_constructs_that_clients_refuse(tools: MetaTools) -> None:
    """A list of types, or an enum without a type: Gemini takes neither."""

    def nodes(schema: Any) -> Any:
        if isinstance(schema, dict):
            yield schema
            for value in schema.values():
                yield from nodes(value)
        elif isinstance(schema, list):
            for value in schema:
                yield from nodes(value)

    for definition in json.loads(tools.list_page().tools):
        for node in nodes(definition["inputSchema"]):
            assert not isinstance(node.get("type"), list)
            assert "enum" not in node or node["type"] == "string"


@pytest.mark.parametrize(
    ("now", "dates"),
    [
        (1_795_046_399, "Today is Wednesday 2026-11-18 (UTC), the last full weekday Tuesday 2026-11-17."),
        (1_795_219_200, "Today is Saturday 2026-11-21 (UTC), the last full weekday Friday 2026-11-20."),
        (1_795_392_000, "Today is Monday 2026-11-23 (UTC), the last full weekday Friday 2026-11-20."),
    ],
)
def test_instructions_end_with_the_date(
    tools: MetaTools, monkeypatch: pytest.MonkeyPatch, now: float, dates: str
) -> None:
    monkeypatch.setattr("toolfold.meta_tools.dispatcher.time", SimpleNamespace(time=lambda: now))
    sent = tools.instructions()
    assert sent.endswith(dates)
    assert sent.startswith("Alpha Vantage: Stocks")
    assert len(sent) <= 2048


TOOLS = build_app(Settings.from_environment({})).server.tools
DEFINITIONS = TOOLS.catalog().definition_tokens


def test_a_search_counts_what_it_shows_by_detail_level_and_what_it_saves() -> None:
    result = TOOLS.call("TOOL_LIST", {"query": "stock price"})
    levels = [detail_level_of(entry) for entry in result.structured["tools"]]
    answered = result.structured["tokens"]
    assert result.usage == {
        "searched": 1,
        "matched": result.structured["matched"],
        "schemas_full": levels.count("full"),
        "schemas_medium": levels.count("medium"),
        "tokens": answered,
        "tokens_saved": DEFINITIONS - answered,
    }


def test_a_profile_saves_in_proportion_to_its_tools() -> None:
    whole = TOOLS.catalog()
    half = whole.part(range(0, len(whole), 2), {})
    assert half.definition_tokens == pytest.approx(DEFINITIONS / 2, rel=0.02)
    assert MetaTools(lambda: half, TOOLS.executor).call("TOOL_LIST", {"query": "stock price"}).usage["tokens_saved"] > 0


RSI_HASH = TOOLS.call("TOOL_GET", {"tool_name": "RSI"}).structured["tools"][0]["hash"]


@pytest.mark.parametrize(
    ("name", "arguments", "figures"),
    [
        ("TOOL_LIST", {"query": "zzzzqqqq xxyyzz"}, {"searched": 1, "matched": 0}),
        ("TOOL_GET", {"tool_name": "RSI"}, {"schemas_full": 1}),
        ("TOOL_GET", {"tool_name": ["RSI", "WTI", "NO_SUCH_TOOL"]}, {"schemas_full": 2}),
        ("TOOL_GET", {"tool_name": "RSI", "detail": "medium"}, {"schemas_medium": 1}),
        ("TOOL_GET", {"tool_name": "RSI", "detail": "minimal"}, {"schemas_minimal": 1}),
        ("TOOL_GET", {"tool_name": "RSI", "known": {"RSI": RSI_HASH}}, {"schemas_unchanged": 1}),
        ("TOOL_CALL", {"tool_name": "NO_SUCH_TOOL"}, {}),
    ],
)
def test_searches_and_schemas_are_counted(name: str, arguments: dict[str, Any], figures: dict[str, int]) -> None:
    found = dict(TOOLS.call(name, arguments).usage)
    assert found.pop("tokens_saved", 0) == -found.pop("tokens", 0)
    assert {figure: number for figure, number in found.items() if number or figure in figures} == figures


def test_a_long_answer_is_counted_by_parts_of_it(tools: MetaTools) -> None:
    result = tools.call("TOOL_CALL", {"tool_name": "WTI", "arguments": {"interval": "daily"}})
    real = len(bpe_openai.get_encoding("o200k_base").encode(result.text))
    assert len(result.text) > 5_000
    assert abs(result.usage["tokens"] - real) <= 0.15 * real
    assert set(result.usage) == {"tokens"}
