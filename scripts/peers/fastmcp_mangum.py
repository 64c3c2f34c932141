"""The meta-tools on FastMCP, stateless, with JSON answers, in Lambda by way of Mangum.

FastMCP's way for stateless hosts: https://gofastmcp.com/deployment/http. Its check of Host and Origin is switched on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio.to_thread
import mcp_types as types
from fastmcp import FastMCP
from fastmcp.tools import Tool, ToolResult
from mangum import Mangum

from scripts.peers.meta_tools import definitions, serve_events, tools


class MetaTool(Tool):
    """A tool whose schemas are given, not derived from a function."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        result = await anyio.to_thread.run_sync(tools.call, self.name, arguments)
        return ToolResult(content=result.text, structured_content=dict(result.structured), is_error=result.is_error)


def make() -> Callable[[Mapping[str, Any], Any], Any]:
    server: FastMCP[Any] = FastMCP(
        "meta-tools", version="1", instructions=tools.instructions(), cache_ttl=3600, cache_scope="public"
    )
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
    app = server.http_app(path="/mcp", stateless_http=True, json_response=True, host_origin_protection=True)
    return Mangum(app)


if __name__ == "__main__":
    serve_events(make)
