"""Refuse the requests of a server by name, and note which they were.

toolfold is a client that calls tools and nothing else: it has no model to sample from, no user to ask, and no folders
to show. It states this when it connects; some servers send such requests nevertheless. They are answered here, so
that the SDK need not declare a capability. Since 2026-07-28 servers return a result that requires input instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from mcp.client import Transport

__all__ = ["REFUSED", "RefusedRequests", "refusing"]

REFUSED = frozenset({"sampling/createMessage", "elicitation/create", "roots/list"})
"""Methods by which a server uses its client."""

_METHOD_NOT_FOUND = -32601


class RefusedRequests:
    """Methods that a server was refused, with the number of requests so far."""

    def __init__(self) -> None:
        self.methods: list[str] = []

    def since(self, count: int) -> str:
        """Return the methods that were refused after the first ``count``, each once, separated by commas."""
        return ", ".join(dict.fromkeys(self.methods[count:]))


def refusing(transport: Transport, refused: RefusedRequests) -> AbstractAsyncContextManager[Any]:
    """Return ``transport`` without the requests of the server that are in :data:`REFUSED`."""
    return _refusing(transport, refused)


@asynccontextmanager
async def _refusing(transport: Transport, refused: RefusedRequests) -> AsyncIterator[Any]:
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError, JSONRPCRequest

    async with transport as (incoming, outgoing):
        send, receive = anyio.create_memory_object_stream[Any](0)

        async def forward() -> None:
            async with send:
                try:
                    async for item in incoming:
                        message = getattr(item, "message", None)
                        if isinstance(message, JSONRPCRequest) and message.method in REFUSED:
                            refused.methods.append(message.method)
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
