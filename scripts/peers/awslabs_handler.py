"""The meta-tools on awslabs.mcp-lambda-handler, without sessions (its default).

https://github.com/awslabs/mcp/tree/main/src/mcp-lambda-handler
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from awslabs.mcp_lambda_handler import MCPLambdaHandler

from scripts.peers.meta_tools import definitions, serve_events, tools


def make() -> Callable[[Mapping[str, Any], Any], Any]:
    server = MCPLambdaHandler("meta-tools", "1")

    @server.tool()
    def TOOL_LIST() -> str:  # noqa: N802 - the library takes the tool's name from the function
        return tools.call("TOOL_LIST", {}).text

    @server.tool()
    def TOOL_GET(tool_name: Any) -> str:  # noqa: N802
        return tools.call("TOOL_GET", {"tool_name": tool_name}).text

    @server.tool()
    def TOOL_CALL(tool_name: str, arguments: Any = None) -> str:  # noqa: N802
        return tools.call("TOOL_CALL", {"tool_name": tool_name, "arguments": arguments or {}}).text

    for name, definition in definitions.items():
        # Instead of what the library derives. No output schema: it has no way to send structured content.
        server.tools[name] = {key: value for key, value in definition.items() if key != "outputSchema"}
    return server.handle_request


if __name__ == "__main__":
    serve_events(make)
