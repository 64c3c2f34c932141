"""The meta-tools on the high-level server of the protocol's Python SDK, stateless, with JSON answers.

In Lambda it runs in Mangum. `stateless_http` and `json_response` are the SDK's configuration for several replicas:
https://github.com/modelcontextprotocol/python-sdk
"""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mangum import Mangum
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from meta_tools import instructions
from sdk_tools import TOOLS, answer


class Server(MCPServer[Any]):
    """Lists the tools with toolfold's schemas; those that the SDK would derive from the functions differ in detail."""

    async def list_tools(self) -> list[types.Tool]:
        """Return toolfold's definitions."""
        return TOOLS


server = Server(
    "meta-tools",
    version="1",
    instructions=instructions,
    cache_hints={"tools/list": CacheHint(ttl_ms=3_600_000, scope="public")},
)


def given(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that a call has, without those that are None."""
    return {name: value for name, value in parameters.items() if value is not None}


@server.tool("TOOL_LIST")
def tool_list(
    query: str | None = None,
    category: str | None = None,
    tag: list[str] | None = None,
    tag_mode: str | None = None,
    access: str | None = None,
    limit: int | None = None,
    offset: int | None = None,
    token_budget: int | None = None,
    detail: str | None = None,
) -> types.CallToolResult:
    """Call ``TOOL_LIST``."""
    return answer("TOOL_LIST", given(locals()))


@server.tool("TOOL_GET")
def tool_get(
    tool_name: str | list[str], detail: str | None = None, known: dict[str, Any] | None = None
) -> types.CallToolResult:
    """Call ``TOOL_GET``."""
    return answer("TOOL_GET", given(locals()))


@server.tool("TOOL_CALL")
def tool_call(
    tool_name: str,
    arguments: dict[str, Any] | str | None = None,
    select: str | None = None,
    max_tokens: int | None = None,
    fresh: bool | None = None,
) -> types.CallToolResult:
    """Call ``TOOL_CALL``."""
    return answer("TOOL_CALL", given(locals()))


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer an event of API Gateway.

    An app for each: Mangum runs the lifespan at each invocation, and the SDK's session manager runs once in its life
    (https://github.com/modelcontextprotocol/python-sdk/issues/3121). The server, with its tools, is made once. The
    check of Host, meant for servers on a developer's machine, would refuse the name of the API.
    """
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=unchecked)
    return Mangum(app)(event, context)
