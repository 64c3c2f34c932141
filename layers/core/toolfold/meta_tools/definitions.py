"""The three meta-tools as clients see them: names, titles, descriptions, schemas and hints, as MCP wants them.

Every word here is in every conversation, so the three together have a budget, held by a test: 450 tokens (o200k).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolfold.meta_tools.tool_get import MOST_NAMES

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

_READ_ONLY = {"readOnlyHint": True, "destructiveHint": False}


def instructions(catalog: Catalog | None) -> str:
    """Guidance for the model, sent once when a client connects: what is here, and the shortest way to an answer."""
    categories = () if catalog is None else catalog.categories
    here = ", ".join(f"{category.title} ({category.tools})" for category in categories)
    steps = (
        "TOOL_LIST shows each in one line; TOOL_GET gives the parameters of those you need, all in one call; TOOL_CALL "
        "runs one. For a tool you know, start with TOOL_CALL: if the arguments are wrong, the error brings the schema."
    )
    return f"Tools for {here}. {steps}" if here else steps


def definitions(catalog: Catalog | None) -> list[dict[str, Any]]:
    """The three tools of ``tools/list``, saying what the catalog holds where a model decides whether to look here.

    Without a catalog they are the same but for that: a client must be able to connect all the same.
    """
    about = "" if catalog is None else catalog.about
    first, *others = _DEFINITIONS
    return [{**first, "description": f"{first['description']} {about}".strip()}, *others]


_DEFINITIONS: tuple[dict[str, Any], ...] = (
    {
        "name": "TOOL_LIST",
        "title": "List tools",
        "description": "Start here: lists all data tools, one line each (NAME: what it returns). Then TOOL_GET.",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "object", "properties": {"tools": {"type": "array"}}},
        "annotations": {**_READ_ONLY, "openWorldHint": False},
    },
    {
        "name": "TOOL_GET",
        "title": "Get tool schemas",
        "description": "Parameters and answer shape of tools from TOOL_LIST. Get all you need at once; then TOOL_CALL.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool_name": {
                    "anyOf": [
                        {"type": "string"},
                        {"type": "array", "items": {"type": "string"}, "maxItems": MOST_NAMES},
                    ],
                    "description": "One name or a list of names",
                }
            },
            "required": ["tool_name"],
        },
        "outputSchema": {"type": "object", "properties": {"tools": {"type": "array"}}},
        "annotations": {**_READ_ONLY, "openWorldHint": False},
    },
    {
        "name": "TOOL_CALL",
        "title": "Call a tool",
        "description": "Runs one tool and returns its data. Needs the arguments that TOOL_GET describes; "
        "an error tells what to change.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool_name": {"type": "string"},
                "arguments": {
                    # A string of it, for clients that can send nothing else. Not a list of types: Gemini refuses that.
                    "anyOf": [{"type": "object"}, {"type": "string"}],
                    "description": 'The tool\'s own arguments, e.g. {"symbol":"IBM"}',
                },
            },
            "required": ["tool_name"],
        },
        "outputSchema": {"type": "object", "properties": {"result": {}, "error": {"type": "object"}}},
        "annotations": {**_READ_ONLY, "openWorldHint": True},
    },
)
