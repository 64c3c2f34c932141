"""When an MCP server counts as changed: by what decides about calls, not by words for people."""

from typing import Any

from toolfold.sources.mcp.listing import tool_fingerprint

TOOL: dict[str, Any] = {
    "name": "now",
    "description": "Tell the time.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "zone": {"type": "string", "description": "As 'Europe/Oslo'; here it is UTC."},
            "description": {"type": ["string", "null"], "title": "Words", "enum": ["short", "long", None]},
        },
        "required": ["zone", "description"],
    },
    "outputSchema": {"type": "object", "properties": {"time": {"type": "string"}}},
    "annotations": {"readOnlyHint": True, "title": "Time"},
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**TOOL, **fields}


def schema(**fields: Any) -> dict[str, Any]:
    return {**TOOL["inputSchema"], **fields}


def test_words_and_order_do_not_count() -> None:
    rows = [
        changed(description="Tell the time, politely."),
        changed(title="Clock"),
        changed(annotations={"readOnlyHint": True, "title": "Clock", "openWorldHint": False}),
        changed(inputSchema=schema(title="Now", description="For the time", **{"$comment": "x", "examples": [{}]})),
        changed(
            inputSchema=schema(
                properties={
                    "description": {
                        "title": "Other words",
                        "type": ["null", "string"],
                        "enum": [None, "long", "short"],
                    },
                    "zone": {"type": "string", "description": "As 'Europe/Oslo'; here it is America/Lima."},
                },
                required=["description", "zone"],
            )
        ),
    ]
    assert [tool for tool in rows if tool_fingerprint(tool) != tool_fingerprint(TOOL)] == []


def test_schemas_and_hints_about_effects_count() -> None:
    rows = [
        changed(inputSchema=schema(required=[])),
        changed(inputSchema=schema(properties={"zone": {"type": "string"}})),  # a parameter that is called description
        changed(inputSchema=schema(properties={**TOOL["inputSchema"]["properties"], "zone": {"type": "integer"}})),
        changed(inputSchema=schema(additionalProperties=False)),
        changed(outputSchema={"type": "object"}),
        changed(outputSchema=None),
        changed(annotations={"readOnlyHint": False}),
        changed(annotations=None),
    ]
    assert [tool for tool in rows if tool_fingerprint(tool) == tool_fingerprint(TOOL)] == []


def test_values_that_look_like_keywords_count() -> None:
    one = changed(inputSchema={"type": "object", "properties": {"a": {"const": {"title": "x"}}}})
    other = changed(inputSchema={"type": "object", "properties": {"a": {"const": {"title": "y"}}}})
    assert tool_fingerprint(one) != tool_fingerprint(other)


def test_a_schema_of_any_depth_has_a_fingerprint() -> None:
    nested: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        nested = {"type": "object", "properties": {"inner": nested}}
    assert len(tool_fingerprint(changed(inputSchema=nested))) == 16
