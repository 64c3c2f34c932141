"""A tool at each detail level, also with schemas that other sources may have."""

from typing import Any

import pytest

from toolfold.catalog.entries import Effect, ToolSummary
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.meta_tools import tool_get

QUOTE = FileStore(bundled_path())().get("GLOBAL_QUOTE")


@pytest.mark.parametrize(
    ("rule", "medium", "line"),
    [
        ({"type": "string", "description": "A."}, "x?", "- x: A."),
        ({"type": ["string", "null"]}, "x?: string|null", "- x (string|null): "),
        ({"type": "array", "items": {"type": "integer"}}, "x?: array", "- x (array of integers): "),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
            "x?: array",
            "- x (array of 1 to 3 strings): ",
        ),
        ({"type": "array"}, "x?: array", "- x (array of values): "),
        ({"type": "object", "properties": {}}, "x?: object", "- x (object): "),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "x?: string|integer", "- x (string|integer): "),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "x?: array", "- x (array of a|b): "),
        ({"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]}, "x?: string|null", "- x (a|b|null): "),
        ({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "string"}]}, "x?", "- x (a|string): "),
        ({"$ref": "#/$defs/x"}, "x?: any", "- x (any): "),
        (True, "x?: any", "- x (any): "),
        ({"type": "integer", "exclusiveMaximum": 5, "default": 1}, "x?: integer", "- x (integer, <5, default 1): "),
    ],
)
def test_any_json_schema_of_a_parameter_can_be_rendered(rule: Any, medium: str, line: str) -> None:
    assert QUOTE is not None
    tool = QUOTE._replace(parameters={"type": "object", "properties": {"x": rule}}, example={})
    assert tool_get.medium(tool)[1].startswith(f"GLOBAL_QUOTE({medium}): ")
    assert line in tool_get.full(tool)[1].splitlines()


@pytest.mark.parametrize(("effect", "word"), [("write", "writes"), ("destructive", "destructive")])
def test_every_level_states_an_effect_that_is_not_read(effect: Effect, word: str) -> None:
    assert QUOTE is not None
    tool = QUOTE._replace(effect=effect)
    summary = ToolSummary(tool.name, tool.summary, tool.category, tool.access, effect)
    for entry, text in (tool_get.minimal(summary), tool_get.medium(tool), tool_get.full(tool)):
        assert entry["effect"] == word
        assert f" ({word})" in text.splitlines()[0]


def test_no_level_mentions_that_a_tool_reads() -> None:
    assert QUOTE is not None
    summary = ToolSummary(QUOTE.name, QUOTE.summary, QUOTE.category, QUOTE.access)
    for entry, text in (tool_get.minimal(summary), tool_get.medium(QUOTE), tool_get.full(QUOTE)):
        assert "effect" not in entry
        assert "read" not in text.splitlines()[0]


def test_a_schema_without_properties_can_be_rendered() -> None:
    assert QUOTE is not None
    tool = QUOTE._replace(parameters={"type": "object", "anyOf": [{"type": "object"}]}, example={})
    assert tool_get.medium(tool)[1].startswith("GLOBAL_QUOTE(): ")
    assert tool_get.full(tool)[0]["parameters"] == tool.parameters
