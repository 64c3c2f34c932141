"""A client with a Python SDK: list the tools, make the three calls, print the results as one line of JSON.

    python three_steps.py mcp legacy http://127.0.0.1:8080/mcp
    python three_steps.py fastmcp 2026-07-28 toolfold stdio

The second word selects the protocol version: "legacy" (the handshake), "auto", or the version itself. Runs in an
environment that has the SDK, and imports nothing else.
"""

import asyncio
import json
import os
import sys
from typing import Any


def _mcp_client(mode: str, target: str, args: list[str]) -> Any:
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    if target.startswith("http"):
        return Client(target, mode=mode)
    return Client(StdioServerParameters(command=target, args=args, env=dict(os.environ)), mode=mode)


def _fastmcp_client(mode: str, target: str, args: list[str]) -> Any:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    if target.startswith("http"):
        return Client(target, mode=mode)
    return Client(StdioTransport(target, args, env=dict(os.environ), keep_alive=False), mode=mode)


async def main(sdk: str, mode: str, target: str, *args: str) -> None:
    make = {"mcp": _mcp_client, "fastmcp": _fastmcp_client}[sdk]
    async with make(mode, target, list(args)) as client:
        listed = await client.list_tools()
        call = client.call_tool if sdk == "mcp" else client.call_tool_mcp
        steps = [
            await call("TOOL_LIST", {}),
            await call("TOOL_GET", {"tool_name": "GLOBAL_QUOTE"}),
            await call("TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "AAPL", "datatype": "json"}}),
        ]
        protocol = client.protocol_version
    tools = listed.tools if sdk == "mcp" else listed
    print(
        json.dumps(
            {
                "protocol": protocol,
                "tools": [tool.name for tool in tools],
                "steps": [step.model_dump(mode="json", by_alias=True, exclude_none=True) for step in steps],
            }
        )
    )


asyncio.run(main(*sys.argv[1:]))
