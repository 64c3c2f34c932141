"""What a request or a connection met on its way: the SDK's client itself reports every failure as the same error.

The task that makes a request sets :data:`current_exchange`. The transports of this package run in a copy of its
context, and note there what they see.

Refuse the requests of a server by name, and note which they were.

toolfold is a client that calls tools and nothing else: it has no model to sample from, no user to ask, and no folders
to show. It states this when it connects; some servers send such requests nevertheless. They are answered here, so
that the SDK need not declare a capability. Since 2026-07-28 servers return a result that requires input instead.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolfold.network.errors import InvalidResponse, ResponseTooLarge, TransportError

if TYPE_CHECKING:
    from mcp.client import Transport

MAX_BLOCKS = 50_000
"""Content blocks of one message, counted as members called ``type``. The SDK makes an object of 2 KB of each, in a
parser that nothing can interrupt: 25 MB of them take 1.4 GB."""

MAX_CONTAINERS = 500_000
"""Objects and lists of one message; 25 MB of rows have half as many."""


MAX_NOTIFICATIONS, NOTIFICATIONS_S = 10_000, 10.0
"""Notifications in a number of seconds. The SDK takes 0.1 ms for each, on the loop of all calls of the source."""


class TooManyNotifications(InvalidResponse):
    """A server sends notifications faster than a client can read them."""


class TooManyParts(ResponseTooLarge):
    """A message has so many small parts that they take far more memory than its bytes."""


class PartLimit:
    """Counts the parts of one message."""

    def __init__(self) -> None:
        self._blocks, self._containers = MAX_BLOCKS, MAX_CONTAINERS

    def is_exceeded_by(self, data: bytes) -> bool:
        """Count the next bytes of the message, and return whether it has too many parts."""
        self._blocks -= data.count(b'"type"')
        self._containers -= data.count(b"{") + data.count(b"[")
        return min(self._blocks, self._containers) < 0


@dataclass
class Exchange:
    """One request and its response.

    Attributes:
        fault: why there is no complete response; None: there is one, or the transport is stdio.
        status: HTTP status of the response; 0: none arrived, or the transport is stdio.
        retry_after_s: seconds that ``Retry-After`` names.
        location: where a redirect leads, without its query; empty: the response is not one.
        has_session: whether the request named a session of an earlier response.
    """

    fault: TransportError | None = None
    status: int = 0
    retry_after_s: int | None = None
    location: str = ""
    has_session: bool = False


@dataclass
class StreamState:
    """What is known of the stream that a child or a server sends its messages on.

    Attributes:
        fault: why it cannot be read any further; None: it can.
        is_ended: whether it has ended.
        log: the end of what a child has written to stderr. It may hold secrets of the child's own.
    """

    fault: TransportError | None = None
    is_ended: bool = False
    log: bytes = b""


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)


REFUSED = frozenset({"sampling/createMessage", "elicitation/create", "roots/list"})
"""Methods by which a server uses its client."""

_METHOD_NOT_FOUND = -32601


@asynccontextmanager
async def refusing(transport: Transport, refused: list[str], state: StreamState) -> AsyncIterator[Any]:
    """Open ``transport`` without the requests of the server that are in :data:`REFUSED`; ``refused`` gets each.

    It ends, and ``state`` gets the fault, after more than :data:`MAX_NOTIFICATIONS` in :data:`NOTIFICATIONS_S`.
    """
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest

    async with transport as (incoming, outgoing):
        send, receive = anyio.create_memory_object_stream[Any](0)

        async def forward() -> None:
            count, since = 0, time.monotonic()
            async with send:
                try:
                    async for item in incoming:
                        message = getattr(item, "message", None)
                        if isinstance(message, JSONRPCNotification):
                            count += 1
                            if time.monotonic() - since > NOTIFICATIONS_S:
                                count, since = 1, time.monotonic()
                            if count > MAX_NOTIFICATIONS:
                                state.fault, state.is_ended = TooManyNotifications(), True
                                return
                        if isinstance(message, JSONRPCRequest) and message.method in REFUSED:
                            refused.append(message.method)
                            error = ErrorData(
                                code=_METHOD_NOT_FOUND,
                                message=f"{message.method} is refused: this client calls tools and offers nothing else",
                            )
                            await outgoing.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=message.id, error=error)))
                        else:
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
