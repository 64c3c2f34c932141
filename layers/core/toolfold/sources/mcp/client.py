"""Open the SDK's client for a server, and turn what can go wrong with a request into the faults of this package.

toolfold is a client that calls tools and nothing else: it has no model to sample from, no user to ask, and no folders
to show. It states this when it connects; some servers send such requests nevertheless, which the SDK refuses and the
error of their call names. Since 2026-07-28 servers return a result that requires input instead.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from toolfold.network.errors import TransportError
from toolfold.sources.mcp.child_process import child_environment, child_process
from toolfold.sources.mcp.faults import (
    MAX_NOTIFICATIONS,
    NOTIFICATIONS_S,
    CallRefused,
    Exchange,
    ServerFault,
    StreamState,
    TooManyNotifications,
    current_exchange,
)
from toolfold.version import __version__

if TYPE_CHECKING:
    from mcp.client import Client, Transport
    from mcp.client.session import MessageHandlerFnT
    from mcp.shared.exceptions import MCPError

    from toolfold.sources.mcp.connection import Connection, SessionLimits

T = TypeVar("T")

_HANDSHAKE_ERAS = ("2024-", "2025-")
_CONNECTION_CLOSED = -32000
_UNREADABLE = {-32700: "Failed to parse ", -32600: "Unexpected content type: "}
"""Code → how the message begins of an error that the SDK or :mod:`child_process` makes of such a response."""

_OK, _BAD_REQUEST = 200, 400
_REFUSED_SESSION = (-32000, -32600, -32603)
"""Codes with which status 400 means an unknown session: those of servers, and what the SDK makes of other bodies."""


async def ask(send: Callable[[], Awaitable[T]], stream: StreamState, *, is_call: bool) -> T:
    """Send one request and return its result."""
    from mcp.shared.exceptions import MCPError

    if stream.is_ended:
        raise ServerFault("closed", was_sent=False, cause=stream.fault)
    exchange = Exchange()
    token = current_exchange.set(exchange)
    try:
        return await send()
    except (MCPError, RuntimeError, ValueError) as error:
        raise to_fault(error, exchange, stream, "closed", was_sent=is_call) from None
    finally:
        current_exchange.reset(token)


def to_fault(
    error: BaseException, exchange: Exchange, stream: StreamState, kind: Literal["start", "closed"], *, was_sent: bool
) -> ServerFault | CallRefused:
    """Return what an error of the SDK means, or a group of errors, after a request or the start of a session."""
    from mcp.shared.exceptions import MCPError

    refusal = first_error(error, MCPError)
    cause = first_error(error, TransportError) or exchange.fault  # the former before anything was sent
    # Errors of the protocol have the status 400 or 404 as well. The SDK makes errors of its own of redirects that
    # it does not follow, and of 202 without an answer.
    is_of_http = exchange.status >= 401 or _OK < exchange.status < _BAD_REQUEST
    is_of_http |= exchange.status == _BAD_REQUEST and refusal is not None and refusal.code in _REFUSED_SESSION
    if cause is None and not is_of_http:
        is_wrong = first_error(error, (RuntimeError, ValueError)) is not None
        if is_wrong if refusal is None else is_unreadable(refusal):
            return ServerFault("malformed", was_sent=was_sent, exchange=exchange, log=stream.log)
        if kind == "closed" and refusal is not None and not is_closed(refusal):
            return CallRefused(refusal.code, refusal.message, refusal.data)
    said, cause = "" if refusal is None else own_text(refusal), cause or stream.fault
    return ServerFault(kind, was_sent=was_sent, exchange=exchange, cause=cause, server_text=said, log=stream.log)


def is_closed(error: MCPError) -> bool:
    """Return whether the SDK made this error because the connection has ended. Servers use its code for their own."""
    is_of_stdio = error.message == "Connection closed"
    return error.code == _CONNECTION_CLOSED and (is_of_stdio or error.message.startswith("SSE stream "))


def is_unreadable(error: MCPError) -> bool:
    """Return whether an error stands for a response that is not one of MCP."""
    return error.message.startswith(_UNREADABLE.get(error.code, "\0"))


_OF_SDK = ("Server returned an error response", "Session terminated", "Not Found", "Redirect to ", "server answered ")
"""How the messages begin of errors that the SDK makes of a status whose body is no message of MCP."""


def own_text(error: MCPError) -> str:
    """Return what the server itself says in an error; empty for an error that the SDK made."""
    is_of_sdk = is_closed(error) or is_unreadable(error) or error.message.startswith(_OF_SDK)
    return "" if is_of_sdk else error.message


def first_error(error: BaseException, kind: type[Any] | tuple[type[Any], ...]) -> Any:
    """Return the first exception of a kind in ``error``, which may be a group."""
    if isinstance(error, kind):
        return error
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := first_error(inner, kind)) is not None), None)
    return None


@asynccontextmanager
async def open_client(
    connection: Connection, limits: SessionLimits, stream: StreamState, on_notification: MessageHandlerFnT
) -> AsyncIterator[Client]:
    """Connect to a server and yield the SDK's client, after the versions were negotiated.

    A server that spoke a version with a handshake when its snapshot was written is greeted with one; any other receives
    `server/discover` first.
    """
    from mcp.client import Client
    from mcp_types import Implementation

    for name in ("mcp", "client", "httpx2", "httpcore2"):
        # They quote messages of servers, with the data and keys in them.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    legacy = connection.protocol_version.startswith(_HANDSHAKE_ERAS)
    transport: AbstractAsyncContextManager[Any]
    async with AsyncExitStack() as stack:
        if connection.command:
            variables = child_environment(connection.env)
            transport = child_process(connection.command, variables, connection.cwd, limits.max_bytes, stream)
        else:
            import httpx2
            from mcp.client.streamable_http import streamable_http_client

            from toolfold.sources.mcp.http_transport import GuardedTransport

            guarded = GuardedTransport(connection.url, limits)
            sent = {"User-Agent": f"toolfold/{__version__}", **connection.headers}
            http_client = httpx2.AsyncClient(transport=guarded, headers=sent, timeout=None, trust_env=False)
            await stack.enter_async_context(http_client)
            transport = streamable_http_client(
                connection.url, http_client=http_client, max_sse_event_size=limits.max_bytes, terminate_on_close=False
            )
        client = Client(
            watched(transport, stream),
            mode="legacy" if legacy else "auto",
            cache=None,
            message_handler=on_notification,
            client_info=Implementation(name="toolfold", version=__version__),
        )
        yield await stack.enter_async_context(client)


REFUSED = frozenset({"sampling/createMessage", "elicitation/create", "roots/list"})
"""Methods by which a server uses its client."""

_OF_CALLS, _OF_ANY = {"content", "structuredContent", "isError"}, {"resultType", "_meta"}
"""Members of the results of calls, and of any results."""


def complete(result: dict[str, Any]) -> None:
    """Add to ``result`` what the SDK requires and other clients do without: content, and the type of a schema."""
    if result.get("content") is None and (result.keys() <= _OF_ANY or not _OF_CALLS.isdisjoint(result)):
        result["content"] = []
    tools = result.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            schema = tool.get("inputSchema")
            tool["inputSchema"] = {"type": "object", **(schema if isinstance(schema, dict) else {})}


@asynccontextmanager
async def watched(transport: Transport, state: StreamState) -> AsyncIterator[Any]:
    """Open ``transport``; ``state`` gets the requests of the server in :data:`REFUSED`, which the SDK refuses.

    It ends, and ``state`` gets the fault, after more than :data:`MAX_NOTIFICATIONS` in :data:`NOTIFICATIONS_S`.
    """
    import anyio
    from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

    async with transport as (incoming, outgoing):
        send, receive = anyio.create_memory_object_stream[Any](0)

        async def forward() -> None:
            count, since = 0, time.monotonic()
            async with send:
                try:
                    async for item in incoming:
                        message = getattr(item, "message", None)
                        if isinstance(message, JSONRPCNotification | JSONRPCRequest):
                            count += 1
                            if time.monotonic() - since > NOTIFICATIONS_S:
                                count, since = 1, time.monotonic()
                            if count > MAX_NOTIFICATIONS:
                                state.fault, state.is_ended = TooManyNotifications(), True
                                return
                        if isinstance(message, JSONRPCResponse):
                            complete(message.result)
                        if isinstance(message, JSONRPCRequest) and message.method in REFUSED:
                            state.refused.append(message.method)
                        await send.send(item)
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return

        task = asyncio.get_running_loop().create_task(forward())
        try:
            yield receive, outgoing
        finally:
            task.cancel()
            receive.close()
            send.close()
