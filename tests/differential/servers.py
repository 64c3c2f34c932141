"""The SDK's server, and the responses of two servers to one request in a form that can be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
from anyio.from_thread import start_blocking_portal
from mcp.server import lowlevel
from mcp.server.caching import CacheHint
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from toolfold import __version__
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.protocol.http import Request, Response
from toolfold.protocol.public_documents import ABOUT
from toolfold.protocol.versions import CACHE_HINTS, HANDSHAKE, META_SERVER, META_VERSION

_DATA_IS_SPECIFIED = (-32021, -32022)
"""Error codes whose ``data`` is specified; for others each server chooses its own."""

_REFUSED_BY_HTTP = (405, 406, 413, 415, 421)
"""Statuses that are compared without a body; the SDK sends a JSON-RPC error with some of them."""


_DURATIONS = ("elapsed_ms", "upstream_ms")
"""Members of the result of a call that no two calls have in common."""


@dataclass(frozen=True, slots=True)
class RpcOutcome:
    """A JSON-RPC response without its wording: ``code`` and ``data`` of an error, or a ``result``."""

    code: int | None = None
    data: Any = None
    result: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOutcome(RpcOutcome):
    """An HTTP response without its headers. For a refusal by HTTP only the status counts."""

    status: int
    id: Any = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and both outcomes."""

    request: Request
    ours: HttpOutcome
    theirs: HttpOutcome

    @property
    def message(self) -> Any:
        return parse_json(self.request.body)

    @property
    def codes(self) -> tuple[int | None, int | None]:
        return self.ours.code, self.theirs.code

    @property
    def statuses(self) -> tuple[int, int]:
        return self.ours.status, self.theirs.status

    @property
    def version(self) -> str | None:
        """The value of ``MCP-Protocol-Version``."""
        return self.request.header("mcp-protocol-version")

    @property
    def media_type(self) -> str:
        """``Content-Type`` without its parameters, in lower case."""
        return (self.request.header("content-type") or "").partition(";")[0].partition(",")[0].strip().lower()

    @property
    def sdk_takes_for_handshake(self) -> bool:
        """Whether the SDK uses the handshake era: it decides by this header alone."""
        return self.version is None or self.version in HANDSHAKE

    @property
    def has_envelope(self) -> bool:
        return META_VERSION in self.member("params", "_meta")

    def member(self, *names: str) -> Mapping[str, Any]:
        """Return an object inside the message, or an empty one."""
        return member(self.message, *names)


def outcome(response: Response) -> HttpOutcome:
    """Return the comparable part of ``response``."""
    status = int(response.status)
    body = parse_json(response.body)
    if not isinstance(body, dict) or status in _REFUSED_BY_HTTP:
        return HttpOutcome(status=status)
    return HttpOutcome(status=status, id=body["id"], **rpc_fields(body))


def rpc_fields(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``RpcOutcome`` of the JSON-RPC response ``body``."""
    error = body.get("error") or {}
    data = error.get("data") if error.get("code") in _DATA_IS_SPECIFIED else None
    return {"code": error.get("code"), "data": data, "result": _without_appearance(body.get("result"))}


def _without_appearance(result: Any) -> Any:
    """Return a result without what differs between two equal calls.

    A server has a name, a title and a version: toolfold says more of itself in some of them. A call has no duration.
    """
    if not isinstance(result, dict):
        return result
    structured = result.get("structuredContent")
    if isinstance(structured, dict):
        result["structuredContent"] = {key: value for key, value in structured.items() if key not in _DURATIONS}
    for holder, name in ((result, "serverInfo"), (result.get("_meta", {}), META_SERVER)):
        if isinstance(holder, dict) and isinstance(holder.get(name), dict):
            holder[name] = {key: value for key, value in holder[name].items() if key not in ABOUT or key == "title"}
    return result


def member(message: Any, *names: str) -> Mapping[str, Any]:
    """Return the object inside ``message`` at this path of names, or an empty one."""
    for name in names:
        message = message.get(name) if isinstance(message, dict) else None
    return message if isinstance(message, dict) else {}


def parse_json(body: bytes) -> Any:
    """Return the JSON in ``body``, or None where it is not valid."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


_HINT = CacheHint(ttl_ms=int(CACHE_HINTS["ttlMs"]), scope="public")


class Peer:
    """The SDK's server in a thread of its own, as a context manager.

    Stateless and with JSON responses, like ours.
    """

    def __init__(self, tools: MetaTools) -> None:
        self._manager = StreamableHTTPSessionManager(sdk_server(tools), json_response=True, stateless=True)
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


def sdk_server(tools: MetaTools) -> lowlevel.Server[Any]:
    listed = [types.Tool.model_validate(definition) for definition in json.loads(tools.list_page().tools)]

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

    return lowlevel.Server(
        "toolfold",
        title="toolfold",
        version=__version__,
        instructions=tools.instructions(),
        cache_hints={"tools/list": _HINT, "server/discover": _HINT},
        on_list_tools=on_list_tools,
        on_call_tool=on_call_tool,
    )
