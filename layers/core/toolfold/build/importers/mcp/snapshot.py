"""``snapshot.json``: the description that an MCP server gave of itself and its tools, as a person has reviewed it.

The file is JSON with sorted keys and one line for each value, so that a change shows in a review as what it is. It is
written completely or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolfold.build.importers.base import RefreshReport
from toolfold.sources.mcp.connection import NO_HTTP_SSE

SNAPSHOT = "snapshot.json"
FORMAT = 1

MAX_TOOLS = 2_000
"""Tools of one server. A catalog of thousands of tools is still searched in milliseconds; more cannot be reviewed."""

MAX_BYTES = 8 << 20
"""Of the file: four kilobytes for each tool of the largest server."""

_KEPT = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""Fields of a tool that the catalog uses. The others, such as icons, are left out."""


@dataclass(frozen=True)
class Snapshot:
    """What a server says.

    Attributes:
        fetched_at: when, in ISO 8601.
        protocol_version: the version of MCP that was spoken.
        server: ``name``, ``title`` and ``version``, as far as it says them.
        instructions: for the use of its tools.
        tools: entries of ``tools/list``, with the fields that the catalog uses.
    """

    fetched_at: str
    protocol_version: str
    server: Mapping[str, str]
    instructions: str
    tools: Sequence[Mapping[str, Any]]


def keep_fields(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry of ``tools/list`` with the fields that a snapshot has."""
    return {name: tool[name] for name in _KEPT if tool.get(name) is not None}


def parse_snapshot(text: str) -> Snapshot:
    """Return the snapshot in the text of a file.

    Raises:
        ValueError: it is not a snapshot; names the reason.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    match data:
        case {
            "format": int(version),
            "fetched_at": str(fetched_at),
            "protocol_version": str(protocol_version),
            "server": dict(server),
            "instructions": str(instructions),
            "tools": list(tools),
        }:
            pass
        case _:
            raise ValueError("it has not the fields of a snapshot")
    if data.get("transport"):  # of a version that spoke HTTP+SSE
        raise ValueError(NO_HTTP_SSE)
    if version != FORMAT:
        raise ValueError(f"it was written by another version (format {version}, not {FORMAT})")
    if not all(isinstance(value, str) for value in server.values()):
        raise ValueError("server must have texts")
    for position, tool in enumerate(tools):
        if not (isinstance(tool, dict) and isinstance(tool.get("name"), str) and tool["name"].strip()):
            raise ValueError(f"tools[{position}] has no name")
        if not isinstance(tool.get("inputSchema"), dict):
            raise ValueError(f"tool {tool['name']!r} has no inputSchema")
    return Snapshot(fetched_at, protocol_version, server, instructions, tools)


def encode_snapshot(snapshot: Snapshot) -> str:
    """Return the text of the file."""
    fields = {
        "format": FORMAT,
        "fetched_at": snapshot.fetched_at,
        "protocol_version": snapshot.protocol_version,
        "server": dict(snapshot.server),
        "instructions": snapshot.instructions,
        "tools": sorted(snapshot.tools, key=lambda tool: str(tool["name"])),
    }
    # The order of a schema's members is for people: properties stay as the server lists them.
    return json.dumps(fields, ensure_ascii=False, indent=1) + "\n"


def compare(old: Snapshot | None, new: Snapshot) -> RefreshReport:
    """Return the names of the tools that differ, and in ``changed`` also what else of the server differs."""
    before = {} if old is None else {str(tool["name"]): tool for tool in old.tools}
    after = {str(tool["name"]): tool for tool in new.tools}
    changed = [name for name in after if name in before and _canonical(after[name]) != _canonical(before[name])]
    if old is not None:
        others = [
            ("(instructions)", old.instructions, new.instructions),
            ("(server)", dict(old.server), dict(new.server)),
            ("(protocol version)", old.protocol_version, new.protocol_version),
        ]
        changed += [name for name, was, is_now in others if was != is_now]
    return RefreshReport(
        added=sorted(after.keys() - before.keys()),
        removed=sorted(before.keys() - after.keys()),
        changed=sorted(changed),
    )


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
