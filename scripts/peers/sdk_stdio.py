"""The meta-tools on the protocol's Python SDK over stdio: its low-level server, the lighter of its two."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from meta_tools import instructions
from sdk_tools import TOOLS, answer


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    """Answer ``tools/list``."""
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Answer ``tools/call``, in another thread."""
    return await anyio.to_thread.run_sync(answer, params.name, params.arguments or {})


async def serve() -> None:
    """Serve over stdio until stdin ends."""
    server: Server[Any] = Server(
        "meta-tools", version="1", instructions=instructions, on_list_tools=list_tools, on_call_tool=call_tool
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve)
