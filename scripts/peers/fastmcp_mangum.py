"""The meta-tools on FastMCP, stateless, with JSON answers, in Lambda by way of Mangum.

FastMCP's way for stateless hosts: https://gofastmcp.com/deployment/http. Its app makes a session manager for each
lifespan, and Mangum runs one for each invocation, so that one app serves them all.
"""

from __future__ import annotations

from typing import Any

import mcp_types as types
from fastmcp import FastMCP
from fastmcp.tools import Tool, ToolResult
from mangum import Mangum
from meta_tools import call, definitions, instructions


class MetaTool(Tool):
    """A tool whose schemas are given, not derived from a function."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        # Not in a thread: Lambda sends one request at a time, and nothing else waits.
        result = call(self.name, arguments)
        return ToolResult(content=result.text, structured_content=dict(result.structured), is_error=result.is_error)


server: FastMCP[Any] = FastMCP(
    "meta-tools", version="1", instructions=instructions, cache_ttl=3600, cache_scope="public"
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


def lambda_handler(**options: Any) -> Mangum:
    return Mangum(server.http_app(path="/mcp", stateless_http=True, json_response=True, **options))


handler = lambda_handler()

if __name__ == "__main__":
    from scripts.peers.hosting import serve_events

    # With its check of Host and Origin, which API Gateway's own host name would not pass.
    serve_events(lambda_handler(host_origin_protection=True))
