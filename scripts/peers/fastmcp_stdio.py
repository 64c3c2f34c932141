"""The meta-tools on FastMCP over stdio: https://gofastmcp.com/deployment/running-server."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
from fastmcp import FastMCP
from fastmcp.tools import Tool, ToolResult
from meta_tools import call, definitions, instructions


class MetaTool(Tool):
    """A tool whose schemas are given, not derived from a function."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        result = await asyncio.to_thread(call, self.name, arguments)
        return ToolResult(content=result.text, structured_content=dict(result.structured), is_error=result.is_error)


server: FastMCP[Any] = FastMCP("meta-tools", version="1", instructions=instructions)
for definition in definitions.values():
    server.add_tool(
        MetaTool(
            name=definition["name"],
            title=definition["title"],
            description=definition["description"],
            parameters=definition["inputSchema"],
            output_schema=definition["outputSchema"],
            annotations=types.ToolAnnotations.model_validate(definition["annotations"]),
        )
    )

if __name__ == "__main__":
    server.run(transport="stdio", show_banner=False)
