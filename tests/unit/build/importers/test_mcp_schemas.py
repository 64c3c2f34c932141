"""What schemas of MCP servers become: of 2020-12, without required defaults, closed; names of what is returned."""

from pathlib import Path
from typing import Any

import pytest

from toolfold.build import yaml_loader
from toolfold.build.importers.mcp import McpImporter, McpSettings, closed, returns_of, to_2020_12

STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"items": [STRING]}, {"prefixItems": [STRING]}),
        ({"items": [STRING], "additionalItems": {"items": [STRING]}},
         {"prefixItems": [STRING], "items": {"prefixItems": [STRING]}}),
        ({"items": STRING, "additionalItems": False}, {"items": STRING}),
        ({"properties": {"a": {"default": 1}}, "required": ["a", {}]},
         {"properties": {"a": {"default": 1}}, "required": [{}]}),
        ({"properties": {"items": {"items": [STRING]}}}, {"properties": {"items": {"prefixItems": [STRING]}}}),
        ({"anyOf": [{"items": [STRING]}]}, {"anyOf": [{"prefixItems": [STRING]}]}),
        ({"default": {"items": [1]}, "enum": [{"items": [1]}]}, {"default": {"items": [1]}, "enum": [{"items": [1]}]}),
        ({"propertyNames": STRING, "additionalProperties": False}, {"propertyNames": STRING}),
        ({"properties": {"a": STRING}, "propertyNames": STRING, "additionalProperties": False},
         {"properties": {"a": STRING}, "propertyNames": STRING, "additionalProperties": False}),
        ({"properties": {"a": {"default": 1}, "b": STRING}, "required": ["a", "b", "c"]},
         {"properties": {"a": {"default": 1}, "b": STRING}, "required": ["b", "c"]}),
        ({"items": {"properties": {"a": {"default": None}, "b": True}, "required": ["a", "b"]}},
         {"items": {"properties": {"a": {"default": None}, "b": True}, "required": ["b"]}}),
    ],
)  # fmt: skip
def test_what_libraries_write_is_read_as_it_is_meant(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert to_2020_12(given) == expected


@pytest.mark.parametrize(
    ("more", "is_closed"),
    [
        ({}, True),
        ({"properties": {}}, False),
        ({"additionalProperties": True}, False),
        ({"patternProperties": {"^x-": {}}}, False),
        ({"anyOf": [{"properties": {"other": {}}}]}, False),
    ],
)
def test_schema_that_does_not_speak_of_unknown_arguments_refuses_them(more: dict[str, Any], is_closed: bool) -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, **more}
    assert closed(schema) == ({**schema, "additionalProperties": False} if is_closed else schema)


@pytest.mark.parametrize(
    ("required", "names"),
    [
        (["sent", "body"], ["title", "sent", "body"]),
        *((wrong, ["title", "sent"]) for wrong in (True, 5, None, "body", {"body": 1}, [{"body": 1}, 3, "title"])),
    ],
)
def test_required_argument_that_is_not_described_can_be_given(required: Any, names: list[str]) -> None:
    made = closed({"properties": {"title": STRING, "sent": STRING}, "required": required})
    assert list(made["properties"]) == names


CITY = {"type": "object", "properties": {"city": STRING, "people": {"type": "integer"}}}


def wrapped(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"result": part}, "$defs": {"City": CITY}}


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        (None, "text or data"),
        (CITY, "city, people"),
        (wrapped(STRING), "text or data"),
        (wrapped({"type": "array", "items": STRING}), "text or data"),
        (wrapped({"type": "array", "items": {"$ref": "#/$defs/City"}}), "city, people"),
        (wrapped({"anyOf": [{"$ref": "#/$defs/City"}, {"type": "null"}]}), "city, people"),
        ({"properties": {"count": {"type": "integer"}}}, "count"),
        ({"properties": {"cities": {"items": CITY}}}, "city, people"),
    ],
)
def test_what_is_returned_is_named_without_what_a_framework_wraps_it_in(schema: Any, names: str) -> None:
    assert returns_of(schema) == names


@pytest.mark.parametrize(
    ("text", "begin", "problem"),
    [
        ("Adds", "\ufeff", ""),
        ("Adds", "# as YAML\n", ""),
        ("\\ud800", "", "snapshot.json:1: has values nested too deeply, or half of a surrogate pair; run: toolfold"),
        ('", "x": ' + "[" * 250 + "]" * 250 + ', "y": "', "", "snapshot.json:1: has values nested too deeply"),
    ],
)
def test_snapshot_is_read_or_refused_with_its_line(text: str, begin: str, problem: str, tmp_path: Path) -> None:
    settings = McpSettings(id="a", kind="mcp", transport="http", url="https://a.example/mcp")
    tool = f'{{"name": "add", "inputSchema": {{"description": "{text}"}}}}'
    known = '"fetched_at": "", "protocol_version": "", "server": {}, "instructions": ""'
    (tmp_path / "snapshot.json").write_text(f'{begin}{{{known}, "tools": [\n{tool}]}}', encoding="utf-8")
    problems: list[str] = []
    found = McpImporter(tmp_path, settings, yaml_loader.parse("source.yaml", "")).read(problems)
    assert problem in "".join(problems)
    assert [tool.name for tool in found.tools] == ["add"] if found else problem
