"""What a model reads before its first call, and what that costs: the three definitions and the instructions."""

import json
from typing import Any

import jsonschema
import pytest

from tests.support.meta_tools import tokens
from toolfold.build import writer
from toolfold.catalog.entries import META_TOOLS
from toolfold.catalog.store import bundled_path, parse_catalog
from toolfold.meta_tools.definitions import definitions
from toolfold.meta_tools.dispatcher import MetaTools


def test_definitions_and_instructions_cost_at_most_700_tokens(tools: MetaTools) -> None:
    assert tokens(tools.definitions()) + tokens(tools.instructions()) <= 700


def test_every_definition_has_the_fields_of_the_protocol(tools: MetaTools) -> None:
    defined = tools.definitions()
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
        "listing": "",
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

    for definition in tools.definitions():
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
def test_instructions_end_with_the_date(tools: MetaTools, now: float, dates: str) -> None:
    sent = MetaTools(tools.catalog, tools.executor, now=lambda: now).instructions()
    assert sent.endswith(dates)
    assert sent.startswith("Alpha Vantage: Stocks")
    assert len(sent) <= 2048
