"""Streams of an SDK server that end only when every request has its answer.

At the end of stdin the SDK cancels what is still running. A client that writes its requests and closes the pipe,
as ``printf … | toolfold stdio`` does, would lose the last answers.
"""

from __future__ import annotations

from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse


class LastWords:
    """What was asked and not yet answered. ``patience_s`` bounds the wait for it once the input has ended."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._open: set[Any] = set()
        self._settled = anyio.Event()

    def asked(self, message: Any) -> None:
        if isinstance(message, JSONRPCRequest):
            self._open.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._close((message.params or {}).get("requestId"))  # what is cancelled is never answered

    def answered(self, message: Any) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._close(message.id)

    def _close(self, id_: Any) -> None:
        self._open.discard(id_)
        if not self._open:
            self._settled.set()

    async def wait(self) -> None:
        self._settled = anyio.Event()
        if self._open:
            with anyio.move_on_after(self._patience_s):
                await self._settled.wait()


class _Stream:
    """A stream of the SDK with some of its methods replaced."""

    def __init__(self, inner: Any, words: LastWords) -> None:
        self._inner, self._words = inner, words

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> Any:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> Any:
        return await self._inner.__aexit__(*exception)


class Reader(_Stream):
    """The stream of incoming messages: its end waits for the answers that are owed."""

    def __aiter__(self) -> Reader:
        return self

    async def __anext__(self) -> Any:
        try:
            item = await self._inner.__anext__()
        except StopAsyncIteration:
            await self._words.wait()
            raise
        if isinstance(item, SessionMessage):
            self._words.asked(item.message)
        return item


class Writer(_Stream):
    """The stream of outgoing messages."""

    async def send(self, item: SessionMessage) -> None:
        await self._inner.send(item)
        self._words.answered(item.message)
