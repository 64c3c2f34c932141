"""Read an MCP server's tools from its snapshot."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolfold.build.importers.base import ImportedSource, ImportedTool
from toolfold.build.importers.mcp.older_schemas import to_2020_12
from toolfold.build.importers.mcp.settings import McpSettings
from toolfold.build.importers.mcp.snapshot import MAX_BYTES, SNAPSHOT, Snapshot, parse_snapshot
from toolfold.build.yaml_loader import Document
from toolfold.catalog.entries import Effect
from toolfold.sources.mcp.fingerprint import tool_fingerprint

__all__ = ["McpImporter", "connection_of", "effect_of"]

_MAX_INSTRUCTIONS = 2_000

_ROWS = "result"
"""Where frameworks put an answer that is a list. Values have the types that the server gave them: a text of digits
remains a text."""


class McpImporter:
    """Read sources of the kind ``mcp``. See :class:`toolfold.build.importers.base.Importer`."""

    @property
    def settings_model(self) -> type[McpSettings]:
        """The model of ``source.yaml``."""
        return McpSettings

    def read(
        self, folder: Path, settings: McpSettings, document: Document, problems: list[str]
    ) -> ImportedSource | None:
        """Return the source in ``folder``: what its snapshot says. No server is started or called."""
        found = _read_snapshot(folder / SNAPSHOT, settings.id, problems)
        if found is None:
            return None
        snapshot, text = found
        lines = _lines_of_tools(text)
        tools = []
        for tool in snapshot.tools:
            name = str(tool["name"])
            if settings.includes(name):
                where = f"{folder / SNAPSHOT}:{lines.get(name, 1)}"
                tools.append(_to_tool(tool, where, settings))
        if not tools:
            problems.append(f"{document.where(('include',))}: no tool of the snapshot is included")
        for pattern in settings.include:
            if not any(fnmatch.fnmatchcase(str(tool["name"]), pattern) for tool in snapshot.tools):
                problems.append(f"{document.where(('include',))}: the server has no tool {pattern!r}")
        title = snapshot.server.get("title") or snapshot.server.get("name", "")
        return ImportedSource(
            tools=tools,
            base_url=settings.url,
            connection=connection_of(settings, snapshot.protocol_version, snapshot.transport),
            description=f"Tools of the MCP server {title}." if title else "",
            version=snapshot.server.get("version", ""),
            instructions=snapshot.instructions[:_MAX_INSTRUCTIONS],
            fetched_at=snapshot.fetched_at,
        )


def effect_of(tool: Mapping[str, Any], *, trusted: bool) -> Effect:
    """Return what a call of a tool changes, by its annotations: unknown is destructive.

    Args:
        tool: an entry of ``tools/list``.
        trusted: whether the annotations are believed.
    """
    annotations = tool.get("annotations")
    if not trusted or not isinstance(annotations, dict):
        return "destructive"
    if annotations.get("readOnlyHint") is True:
        return "read"
    return "write" if annotations.get("destructiveHint") is False else "destructive"


def _read_snapshot(path: Path, source_id: str, problems: list[str]) -> tuple[Snapshot, str] | None:
    step = f"toolfold source refresh {source_id}"
    try:
        if path.stat().st_size > MAX_BYTES:
            problems.append(f"{path}:1: the snapshot is larger than {MAX_BYTES} bytes")
            return None
        text = path.read_text(encoding="utf-8")
        return parse_snapshot(text), text
    except FileNotFoundError:
        problems.append(f"{path}:1: there is no snapshot yet; run: {step}")
    except json.JSONDecodeError as error:
        problems.append(f"{path}:{error.lineno}: it is not JSON ({error.msg}); run: {step}")
    except (OSError, ValueError) as error:
        problems.append(f"{path}:1: {error}; run: {step}")
    return None


def _to_tool(tool: Mapping[str, Any], where: str, settings: McpSettings) -> ImportedTool:
    annotations = tool.get("annotations")
    title = tool.get("title") or (annotations.get("title") if isinstance(annotations, dict) else "") or ""
    return ImportedTool(
        name=str(tool["name"]),
        where=where,
        parameters=to_2020_12(tool["inputSchema"]),
        effect=effect_of(tool, trusted=settings.trust_annotations),
        title=str(title),
        description=str(tool.get("description") or ""),
        call={"fingerprint": tool_fingerprint(tool)},
        typed_rows=_ROWS,
        returns=_returns(tool.get("outputSchema")),
    )


def _returns(schema: Any) -> str:
    """Return the names of the fields of an answer, where the server says them."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not 0 < len(properties) <= 30:
        return "text or data"
    return ", ".join(str(name) for name in properties)


def connection_of(settings: McpSettings, protocol_version: str, transport: str) -> dict[str, Any]:
    """Return what the adapter needs beside the address; see :func:`toolfold.sources.mcp.connection.read_connection`.

    Args:
        settings: of the source.
        protocol_version: what the server spoke when the snapshot was written; empty: unknown.
        transport: what it spoke, as the snapshot has it.
    """
    fields = {
        "command": [settings.command, *settings.args] if settings.command else [],
        "env": dict(settings.env),
        "cwd": settings.cwd,
        "key_variable": settings.key_variable,
        "protocol_version": protocol_version,
        "transport": "sse" if settings.transport == "sse" else transport,
    }
    return {name: value for name, value in fields.items() if value}


def _lines_of_tools(text: str) -> dict[str, int]:
    """Return name of a tool → line of the snapshot with it."""
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith('   "name": '):
            try:
                lines.setdefault(json.loads(line.partition(": ")[2].rstrip(",")), number)
            except ValueError:
                continue
    return lines
