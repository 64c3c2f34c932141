"""The meta-tools on the protocol's Python SDK: its high-level server, stateless, with JSON answers, under uvicorn.

SDK's way for several replicas: https://github.com/modelcontextprotocol/python-sdk, `stateless_http` and
`json_response`. Bound to 127.0.0.1 it checks Host and Origin by itself.
"""

from __future__ import annotations

import socket
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer

from scripts.peers.meta_tools import announce, definitions, tools


class Server(MCPServer[Any]):
    """Lists the tools with toolfold's schemas; those that the SDK would derive from the functions differ in detail."""

    async def list_tools(self) -> list[types.Tool]:
        return [types.Tool.model_validate(definition) for definition in definitions.values()]


server = Server(
    "meta-tools",
    version="1",
    instructions=tools.instructions(),
    cache_hints={"tools/list": CacheHint(ttl_ms=3_600_000, scope="public")},
)


def answer(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    result = tools.call(name, arguments)
    content = [types.TextContent(type="text", text=result.text)]
    return types.CallToolResult(content=content, structured_content=dict(result.structured), is_error=result.is_error)


@server.tool("TOOL_LIST")
def tool_list() -> types.CallToolResult:
    return answer("TOOL_LIST", {})


@server.tool("TOOL_GET")
def tool_get(tool_name: str | list[str]) -> types.CallToolResult:
    return answer("TOOL_GET", {"tool_name": tool_name})


@server.tool("TOOL_CALL")
def tool_call(tool_name: str, arguments: dict[str, Any] | str | None = None) -> types.CallToolResult:
    return answer("TOOL_CALL", {"tool_name": tool_name, "arguments": arguments or {}})


if __name__ == "__main__":
    app = server.streamable_http_app(stateless_http=True, json_response=True, host="127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        announce(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
