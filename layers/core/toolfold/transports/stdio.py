"""MCP over stdio, by the protocol's own SDK: for agents on the same machine.

Stdout carries nothing but protocol; whatever is logged goes to stderr. The SDK is imported here and nowhere else.
"""

from __future__ import annotations

import logging
import signal
import sys
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from toolfold import __version__
from toolfold.calling.caller import Caller
from toolfold.calling.places import at_home
from toolfold.catalog.store import open_store
from toolfold.meta_tools import dispatch
from toolfold.settings import Settings
from toolfold.transports.last_words import LastWords, Reader, Writer


def make_server(settings: Settings) -> Server[Any]:
    """An SDK server with the three meta-tools."""
    tools = dispatch.MetaTools(open_store(settings), Caller(settings))
    listed = [types.Tool.model_validate(definition) for definition in tools.definitions()]

    async def on_list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def on_call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in dispatch.NAMES:
            known = ", ".join(dispatch.NAMES)
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool {params.name[:64]!r}. There are {known}.")
        # A call waits for the upstream; in a thread it keeps nobody else waiting.
        result = await anyio.to_thread.run_sync(tools.call, params.name, params.arguments or {})
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=result.text)],
            structured_content=dict(result.structured),
            is_error=result.is_error,
        )

    return Server(
        "toolfold",
        title="toolfold",
        version=__version__,
        instructions=tools.instructions(),
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )


def run(settings: Settings) -> None:
    """Serve stdin and stdout until stdin ends."""
    # The SDK reads stdin in a thread that nothing interrupts: left to Python, Ctrl-C would wait for the next line.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="toolfold: %(levelname)s: %(message)s")
    server = make_server(at_home(settings))

    async def serve() -> None:
        # A call ends within its own time-out; what is older than that has been given up.
        words = LastWords(settings.connect_timeout_s + settings.timeout_s)
        async with stdio_server() as (incoming, outgoing):
            reader, writer = Reader(incoming, words), Writer(outgoing, words)
            await server.run(reader, writer, server.create_initialization_options())

    anyio.run(serve)
