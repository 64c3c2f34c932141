"""The meta-tools on awslabs.mcp-lambda-handler, without sessions (its default).

https://github.com/awslabs/mcp/tree/main/src/mcp-lambda-handler
"""

from __future__ import annotations

from typing import Any

from awslabs.mcp_lambda_handler import MCPLambdaHandler
from meta_tools import call, definitions

server = MCPLambdaHandler("meta-tools", "1")


def offer(name: str) -> None:
    """Register the meta-tool called ``name``."""

    def run(**arguments: Any) -> str:
        return str(call(name, arguments).text)

    run.__name__ = name  # the library takes the tool's name from the function
    server.tool()(run)
    # Instead of what the library derives. No output schema: it has no way to send structured content.
    server.tools[name] = {key: value for key, value in definitions[name].items() if key != "outputSchema"}


for name in definitions:
    offer(name)

handler = server.handle_request
