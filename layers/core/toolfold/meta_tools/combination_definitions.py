"""Definitions of TOOL_BATCH, TOOL_PIPE and TOOL_SCRIPT, which combine several calls in one.

``tools/list`` has them where a profile lists them; TOOL_GET describes them everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolfold.meta_tools.definitions import answer_schema, number, text

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog

__all__ = ["DEFINITIONS", "example"]

_BOOLEAN = {"type": "boolean"}

_ARGUMENTS = {"type": "object", "description": "Its own arguments"}

_CALL = {
    "tool_name": text("Name of a tool"),
    "arguments": _ARGUMENTS,
    "select": text("A part, as in TOOL_CALL"),
    "fresh": {**_BOOLEAN, "description": "Skip the cache"},
    "approval_token": text("Of APPROVAL_REQUIRED, once the user agrees"),
}

DEFINITIONS: dict[str, dict[str, Any]] = {
    "TOOL_BATCH": {
        "name": "TOOL_BATCH",
        "title": "Call several tools",
        "description": (
            "Runs up to 50 independent calls at once; answers are in the order of calls, each a result or an error. "
            "join or select (SQL, a table for each id) make one table of them."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "calls": {
                    "type": "array",
                    "maxItems": 50,
                    "description": "Each as a TOOL_CALL, with an id",
                    "items": {
                        "type": "object",
                        "properties": {"id": text("Names the call in the answer"), **_CALL},
                        "required": ["tool_name"],
                    },
                },
                "stop_on_error": {**_BOOLEAN, "description": "Start no further call after a failed one"},
                "max_parallel": {"type": "integer", "minimum": 1, "maximum": 16, "description": "Calls at once"},
                "max_tokens": number("For all answers together"),
                "join": text('Put the results side by side: "date", or a column they all have'),
                "select": text(
                    'Of the joined table, or SQL: "SELECT a.date, a.close, b.close FROM a JOIN b USING (date)"'
                ),
                "continue": text("Token of an earlier answer: performs the rest of its calls"),
            },
        },
        "outputSchema": answer_schema(results="array", summary="object", error="object"),
    },
    "TOOL_PIPE": {
        "name": "TOOL_PIPE",
        "title": "Call tools one after the other",
        "description": (
            'Runs up to 20 steps in order. {"$ref": "name.rows[0].symbol"} in arguments is a value of an earlier step: '
            "its name, prev or index, then JMESPath."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "steps": {
                    "type": "array",
                    "maxItems": 20,
                    "description": "Each as a TOOL_CALL, or a join of earlier steps",
                    "items": {
                        "type": "object",
                        "properties": {
                            "as": text("Name of the step"),
                            **_CALL,
                            "join": {"type": "array", "items": {"type": "string"}, "description": "Names of steps"},
                            "on": text('Of a join: "date", or a column they all have'),
                        },
                    },
                },
                "return": text("last (default), all, or the name of a step"),
                "max_tokens": number("For the answer"),
                "continue": text("Token of an earlier answer: performs the rest of its steps"),
                "approval_token": text("Of APPROVAL_REQUIRED, with continue"),
            },
        },
        "outputSchema": answer_schema(result="", steps="array", error="object"),
    },
    "TOOL_SCRIPT": {
        "name": "TOOL_SCRIPT",
        "title": "Run a script of calls",
        "description": (
            "Runs Python (a subset, no files, no network) whose functions are the tools: "
            'call("NAME", argument=value), or source.NAME(argument=value); gather(call(…), call(…)) runs them at once. '
            "A result has rows (objects) or its fields. The last expression is the answer."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "script": text("Python, up to 32 KB"),
                "inputs": {"type": "object", "description": "Values for the script, in inputs"},
                "max_tokens": number("For the answer"),
            },
            "required": ["script"],
        },
        "outputSchema": answer_schema(result="", printed="string", calls="array", error="object"),
    },
}
"""Name → definition, without its annotations, which follow from the catalog."""

_SEARCHED = 200
"""Tools among which those of an example are chosen."""


def example(catalog: Catalog, name: str) -> dict[str, Any]:
    """Return arguments of a call of the meta-tool ``name`` with tools of the catalog; empty where none can be shown."""
    found: list[Tool] = catalog.memoize("tools of examples", lambda: _simple_tools(catalog))
    if name == "TOOL_PIPE":
        return next((pipe for tool in found if (pipe := _pipe(catalog, tool))), {})
    if len(found) < 2:
        return {}
    first, second = found[:2]
    if name == "TOOL_BATCH":
        return {"calls": [{"id": "a", **_call_of(first)}, {"id": "b", **_call_of(second)}]}
    key = next(iter(first.example))
    others = "".join(f", {other}={value!r}" for other, value in first.example.items() if other != key)
    script = f"gather(*[call('{first.name}', {key}=value{others}) for value in inputs['values']])"
    return {"script": script, "inputs": {"values": [first.example[key]]}}


def _simple_tools(catalog: Catalog) -> list[Tool]:
    """Return tools that read, are in every plan, and have an example, the shortest first."""
    tools = [catalog.get(name) for name, _ in zip(catalog, range(_SEARCHED), strict=False)]
    simple = [tool for tool in tools if tool and tool.effect == "read" and not tool.confirm and tool.example]
    return sorted(simple, key=lambda tool: (tool.access != "free", len(str(tool.example))))


def _pipe(catalog: Catalog, tool: Tool) -> dict[str, Any]:
    """Return a pipe whose first step finds an argument of ``tool``; empty where the catalog names no tool for that."""
    for parameter, found_by in tool.hints.get("found_by", {}).items():
        first = catalog.get(found_by["tool"])
        if first is not None and first.example:
            referring = {**tool.example, parameter: {"$ref": f"found.rows[0].{parameter}"}}
            return {"steps": [{"as": "found", **_call_of(first)}, {"tool_name": tool.name, "arguments": referring}]}
    return {}


def _call_of(tool: Tool) -> dict[str, Any]:
    return {"tool_name": tool.name, "arguments": dict(tool.example)}
