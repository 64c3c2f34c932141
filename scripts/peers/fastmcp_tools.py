"""The meta-tools as a server of FastMCP, for each way in which it is run."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
from fastmcp import FastMCP
from fastmcp.tools import Tool, ToolResult
from meta_tools import call, definitions, instructions


class MetaTool(Tool):
    """A tool whose schemas are given, not derived from a function."""

    in_thread: bool

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Call the meta-tool, in another thread when ``in_thread`` is set."""
        given = self.name, arguments
        result = await asyncio.to_thread(call, *given) if self.in_thread else call(*given)
        return ToolResult(content=result.text, structured_content=dict(result.structured), is_error=result.is_error)


def make_server(*, in_thread: bool, **options: Any) -> FastMCP[Any]:
    """Return the server; with ``in_thread`` it responds to others while a call waits."""
    server: FastMCP[Any] = FastMCP("meta-tools", version="1", instructions=instructions, **options)
    for definition in definitions.values():
        server.add_tool(
            MetaTool(
                name=definition["name"],
                title=definition["title"],
                description=definition["description"],
                parameters=definition["inputSchema"],
                output_schema=definition["outputSchema"],
                annotations=types.ToolAnnotations.model_validate(definition["annotations"]),
                in_thread=in_thread,
            )
        )
    return server
