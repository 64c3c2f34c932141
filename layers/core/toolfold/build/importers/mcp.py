"""MCP servers. A refresh writes a snapshot, which a person reviews before it is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolfold.build.importers.base import SNAPSHOT, Fetched, ImportedSource, ImportedTool, Importer, read_snapshot
from toolfold.build.importers.mcp_snapshot import McpSettings, Snapshot, matches, to_2020_12
from toolfold.build.yaml_loader import Document
from toolfold.catalog.entries import Effect
from toolfold.sources.mcp.listing import tool_fingerprint

if TYPE_CHECKING:
    from toolfold.settings import Settings

_MAX_INSTRUCTIONS = 2_000

_ROWS = "result"
"""Where frameworks put an answer that is a list. Values have the types that the server gave them: a text of digits
remains a text."""


class McpImporter(Importer[McpSettings]):
    """Read sources of the kind ``mcp``. Reading starts and calls no server."""

    settings_model = McpSettings

    def read(
        self, folder: Path, settings: McpSettings, document: Document, problems: list[str]
    ) -> ImportedSource | None:
        """Return what the snapshot in ``folder`` says."""
        snapshot = read_snapshot(folder, settings.id, Snapshot.parse, problems)
        if snapshot is None:
            return None
        names = [str(tool["name"]) for tool in snapshot.tools]
        tools = [
            _to_tool(tool, f"{folder / SNAPSHOT}:{snapshot.lines.get(name, 1)}", settings)
            for name, tool in zip(names, snapshot.tools, strict=True)
            if settings.includes(name)
        ]
        where = document.where(("include",))
        if not tools:
            problems.append(f"{where}: no tool of the snapshot is included")
        unused = [pattern for pattern in settings.include if not any(matches(name, [pattern]) for name in names)]
        problems += (f"{where}: the server has no tool {pattern!r}" for pattern in unused)
        title = snapshot.server.get("title") or snapshot.server.get("name", "")
        return ImportedSource(
            tools=tools,
            base_url=settings.url,
            connection=settings.connection(snapshot.protocol_version),
            description=f"Tools of the MCP server {title}." if title else "",
            version=snapshot.server.get("version", ""),
            instructions=snapshot.instructions[:_MAX_INSTRUCTIONS],
            fetched_at=snapshot.fetched_at,
        )

    def fetch(
        self, folder: Path, settings: McpSettings, process_settings: Settings, progress: Callable[[str], None]
    ) -> Fetched:
        """Ask the server what it lists."""
        from toolfold.build.importers import mcp_fetch  # the client of MCP, which compiling does not need

        old = read_snapshot(folder, settings.id, Snapshot.parse, [])
        new = mcp_fetch.ask(settings, process_settings, progress)
        return Fetched(new.compared_with(old), new.to_json().encode())


def effect_of(tool: Mapping[str, Any], *, trusted: bool) -> Effect:
    """Return what a call of a tool of ``tools/list`` changes: unknown, or not ``trusted``, is destructive."""
    annotations = tool.get("annotations")
    if not trusted or not isinstance(annotations, dict):
        return "destructive"
    if annotations.get("readOnlyHint") is True:
        return "read"
    return "write" if annotations.get("destructiveHint") is False else "destructive"


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
