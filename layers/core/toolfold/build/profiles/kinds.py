"""Make one tool for each kind of source: ``connector``, ``database``, ``mcp``, ``read_skill``, and ``request_tools``.

Each lists what there is by name; its calls return the schemas, and run a tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolfold.build.profiles.definitions import annotations_of

__all__ = ["REQUEST", "make_kinds"]

REQUEST = "request_tools"

_MAX_NAMED = 12
"""Tools of one source that its line names, where they are not in the schema."""

_MAX_ENUM_CHARS = 2400
"""Characters of all names in the schema of one kind: some 900 tokens. Beyond, the lines name the first of each source,
and ``discover`` the others."""

_MAX_LINES_CHARS = 4000
_MAX_STUB = 120
"""Characters of the description of a source or a skill, as agents' lists of skills have it."""

_ALWAYS_LOAD = {"anthropic/alwaysLoad": True}
"""Makes clients that defer tools show these from the start: without them nothing behind them is found."""

Member = tuple[str, Mapping[str, Any]]


def make_kinds(sources: Mapping[str, Any], tools: Sequence[Member], kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the definitions of the kinds of which there are tools, and that of ``request_tools``.

    Args:
        sources: Id → compiled entry.
        tools: The tools that are listed.
        kinds: Source → its kind; see ``catalog.profiles.kind_of``.
    """
    made: list[dict[str, Any]] = []
    for kind, define in _DEFINE.items():
        members = [member for member in tools if kinds[member[1]["source"]] == kind]
        if members:
            present = dict.fromkeys(entry["source"] for _, entry in members)
            definition = define({id_: sources[id_] for id_ in present}, members)
            definition |= {
                "annotations": annotations_of({entry["effect"] for _, entry in members}),
                "_meta": _ALWAYS_LOAD,
            }
            made.append({"kind": kind, "definition": definition})
    return [*made, {"kind": "request", "definition": _REQUEST}] if made else []


def _connector(sources: Mapping[str, Any], members: Sequence[Member]) -> dict[str, Any]:
    actions = _enum([name for name, _ in members])
    return {
        "name": "connector",
        "title": "API connectors",
        "description": f"Calls APIs: {_lines(sources, members, named=not actions)} discover returns the actions of a "
        "connector with their parameters, execute runs one.",
        "inputSchema": _schema(
            {
                "subcommand": {"type": "string", "enum": ["discover", "execute"]},
                "connector": {"type": "string", "enum": list(sources)},
                "action": {"type": "string", **actions},
                "parameters": {"type": "object", "description": "Of the action"},
            },
            "subcommand",
            "connector",
        ),
    }


def _database(sources: Mapping[str, Any], members: Sequence[Member]) -> dict[str, Any]:
    return {
        "name": "database",
        "title": "Databases",
        "description": f"Reads databases: {_lines(sources, members, named=False)} list_tables, then discover returns "
        "the columns of a table, query runs SQL.",
        "inputSchema": _schema(
            {
                "subcommand": {"type": "string", "enum": ["list_tables", "discover", "query"]},
                "database": {"type": "string", "enum": list(sources)},
                "table": {"type": "string", "description": "For discover"},
                "sql": {"type": "string", "description": "For query: one SELECT"},
                "params": {"type": "array", "items": {}, "description": "Values of its placeholders"},
                "limit": {"type": "integer", "description": "Rows"},
            },
            "subcommand",
            "database",
        ),
    }


def _mcp(sources: Mapping[str, Any], members: Sequence[Member]) -> dict[str, Any]:
    names = _enum([name for name, _ in members])
    return {
        "name": "mcp",
        "title": "MCP servers",
        "description": f"Calls MCP servers: {_lines(sources, members, named=not names)} discover returns the tools of "
        "a server with their parameters, call runs one.",
        "inputSchema": _schema(
            {
                "subcommand": {"type": "string", "enum": ["discover", "call"]},
                "server": {"type": "string", "enum": list(sources)},
                "tool": {"type": "string", **names},
                "arguments": {"type": "object", "description": "Of the tool"},
            },
            "subcommand",
            "server",
        ),
    }


def _skill(_sources: Mapping[str, Any], members: Sequence[Member]) -> dict[str, Any]:
    names = [name for name, _ in members]
    listed = _joined([f"{name}: {_stub(entry['summary'])}" for name, entry in members])
    return {
        "name": "read_skill",
        "title": "Skills",
        "description": f"Returns the instructions of a skill; read it before such work. {listed}",
        "inputSchema": _schema(
            {
                "name": {"type": "string", **_enum(names)},
                "file": {"type": "string", "description": "One of its files instead"},
            },
            "name",
        ),
    }


_DEFINE: Mapping[str, Callable[[Mapping[str, Any], Sequence[Member]], dict[str, Any]]] = {
    "connector": _connector,
    "database": _database,
    "mcp": _mcp,
    "skill": _skill,
}

_REQUEST: dict[str, Any] = {
    "name": REQUEST,
    "title": "Describe tools",
    "description": "Returns parameters, answers and an example of tools by name, or of those that fit a query.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "tool_names": {"type": "array", "items": {"type": "string"}, "description": "Up to 20"},
            "query": {"type": "string", "description": "What you need"},
        },
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
    "_meta": _ALWAYS_LOAD,
}


def _schema(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


def _enum(names: Sequence[str]) -> dict[str, Any]:
    """Return the keyword with ``names``, or nothing where they are too many."""
    return {"enum": list(names)} if sum(map(len, names)) <= _MAX_ENUM_CHARS else {}


def _lines(sources: Mapping[str, Any], members: Sequence[Member], *, named: bool) -> str:
    """Return what each source is, with the number of its tools, and the first of their names where ``named``."""
    lines = []
    for id_, source in sources.items():
        own = [name for name, entry in members if entry["source"] == id_]
        more = ", …" if len(own) > _MAX_NAMED else ""
        names = f": {', '.join(own[:_MAX_NAMED])}{more}" if named else ""
        lines.append(f"{id_}: {_stub(source['description'])} ({len(own)} tools{names})")
    return f"{_joined(lines)}."


def _joined(lines: Sequence[str]) -> str:
    text = "; ".join(lines)
    return text if len(text) <= _MAX_LINES_CHARS else f"{text[:_MAX_LINES_CHARS].rpartition(';')[0]}; and more"


def _stub(text: str) -> str:
    return text.rstrip(".") if len(text) <= _MAX_STUB else f"{text[: _MAX_STUB - 1]}…"
