"""The MCP SDK's HTTP server, called through ASGI: no socket, the same three tools, the same cache hints."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import anyio
import mcp_types as types
from anyio.from_thread import start_blocking_portal
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from toolfold import __version__
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.protocol.http import Request, Response
from toolfold.protocol.versions import CACHE_HINTS

_HINT = CacheHint(ttl_ms=int(CACHE_HINTS["ttlMs"]), scope="public")


class Peer:
    """The SDK's server in a thread of its own, as a context manager.

    Stateless and with JSON responses, like ours.
    """

    def __init__(self, tools: MetaTools) -> None:
        self._manager = StreamableHTTPSessionManager(server(tools), json_response=True, stateless=True)
        self._open = ExitStack()

    def __enter__(self) -> Peer:
        self._portal = self._open.enter_context(start_blocking_portal())
        self._open.enter_context(self._portal.wrap_async_context_manager(self._manager.run()))
        return self

    def __exit__(self, *raised: Any) -> None:
        self._open.__exit__(*raised)

    def send(self, request: Request) -> Response:
        """Return the SDK's response; 500 where it raises, like the HTTP server in front of it."""
        try:
            return self._portal.call(_send_request, self._manager.handle_request, request)
        except Exception:  # noqa: BLE001 - every exception of the SDK
            return Response(500)


async def _send_request(app: Any, request: Request) -> Response:
    status, headers, body, received = 0, (), bytearray(), False

    async def receive() -> dict[str, Any]:
        nonlocal received
        if received:
            await anyio.sleep_forever()
        received = True
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def send(event: dict[str, Any]) -> None:
        nonlocal status, headers
        if event["type"] == "http.response.start":
            status = event["status"]
            headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in event["headers"])
            if ("text/event-stream" in dict(headers).get("content-type", "")) and request.method == "GET":
                scope.cancel()  # a stream that never ends
        else:
            body.extend(event.get("body", b""))

    with anyio.CancelScope() as scope:
        await app(_asgi_scope(request), receive, send)
    return Response(status, headers, bytes(body))


def _asgi_scope(request: Request) -> dict[str, Any]:
    # HTTP parsers strip white space around a value before an ASGI application sees it.
    headers = [(name.encode("latin-1"), value.strip(" \t").encode("latin-1")) for name, value in request.headers]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


def server(tools: MetaTools) -> Server[Any]:
    listed = [types.Tool.model_validate(definition) for definition in tools.definitions()]

    async def on_list_tools(_context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        if params is not None and params.cursor is not None:
            raise MCPError(types.INVALID_PARAMS, "There is one page.")
        return types.ListToolsResult(tools=listed)

    async def on_call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        call = tools.resolve(params.name, params.arguments or {})
        if call is None:
            raise MCPError(types.INVALID_PARAMS, "There is no such tool.")
        result = tools.call(call.name, call.arguments)
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
        cache_hints={"tools/list": _HINT, "server/discover": _HINT},
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )
