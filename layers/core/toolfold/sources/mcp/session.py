"""One connection to an MCP server: it is opened once, serves many calls, and is replaced when it has ended.

Everything here runs in the event loop of :mod:`toolfold.sources.mcp.adapter`. The SDK's client has to be entered and
left by the same task, so each session has one, which waits for the end.

A source has one connection for each key. The tools are listed again after some minutes, and at once where a server
sends ``notifications/tools/list_changed``.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolfold.sources.mcp.answers import failure_text
from toolfold.sources.mcp.client import (
    REFUSED,
    ask,
    first_error,
    open_client,
    to_fault,
)
from toolfold.sources.mcp.faults import (
    CallRefused,
    Exchange,
    McpFault,
    ServerFault,
    StreamState,
    ToolChanged,
    current_exchange,
)
from toolfold.sources.mcp.fingerprint import tool_fingerprint

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import ListToolsResult

    from toolfold.sources.mcp.connection import Connection, SessionLimits

START_TIMEOUT_S = 60.0
"""Seconds for a server to start. A call waits until its own deadline only; the next one finds the server started."""

LISTING_TTL_S = 300.0
"""Seconds after which the tools are listed again before a call, to see whether their schemas have changed."""

MAX_PAGES = 500
"""Pages that are read of one listing."""


async def listed(read_page: Callable[[str | None], Awaitable[ListToolsResult]]) -> AsyncIterator[dict[str, Any]]:
    """Yield the tools as the server lists them, with the names of the protocol. ``read_page`` takes a cursor.

    Raises:
        ServerFault: the listing does not end.
    """
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await read_page(cursor)
        for tool in page.tools:
            yield tool.model_dump(by_alias=True, exclude_unset=True)
        if page.next_cursor in (None, "", cursor):  # at the end servers write no cursor, an empty or the same one
            return
        cursor = page.next_cursor
    raise ServerFault("large", was_sent=False, reason=f"its list of tools has more than {MAX_PAGES} pages")


@dataclass(frozen=True)
class ToolRequest:
    """One call to be made.

    Attributes:
        fingerprint: of the tool in the snapshot; empty: it is not compared.
        on_progress: receives its progress; None: it is not wanted.
        meta: of the request, beside what the SDK adds.
    """

    name: str
    arguments: Mapping[str, Any]
    fingerprint: str = ""
    on_progress: ProgressFnT | None = None
    meta: Mapping[str, str] = field(default_factory=dict)


class Session:
    """A connection that is being opened, or open."""

    def __init__(self, connection: Connection, limits: SessionLimits) -> None:
        self._connection, self._limits = connection, limits
        self._stream, self._start = StreamState(), Exchange()
        self._fingerprints, self._listing_ends_at, self._listing = dict[str, str](), -math.inf, asyncio.Lock()
        self._is_stopping = False
        loop = asyncio.get_running_loop()
        self._client: asyncio.Future[Client] = loop.create_future()
        # No future complains that its exception was not read: a call may have been given up.
        self._client.add_done_callback(lambda future: future.cancelled() or future.exception())
        self.calls = 0
        self.has_answered = False
        self._task = loop.create_task(self._run())

    @property
    def is_usable(self) -> bool:
        """Whether a call may be sent: the connection is open, or being opened."""
        return not (self._task.done() or self._is_stopping or self._stream.is_ended)

    @property
    def is_closed(self) -> bool:
        """Whether the connection has ended, and a child with it."""
        return self._task.done()

    def close(self) -> None:
        """End the connection as soon as its calls have ended."""
        self._is_stopping = True
        if not self._client.done() or not self.calls:
            self._task.cancel()

    async def wait_closed(self) -> None:
        """Wait until the connection has ended, and a child with it."""
        await asyncio.wait([self._task])

    async def call(self, request: ToolRequest) -> dict[str, Any]:
        """Return the result of ``tools/call`` as the server sent it.

        Raises:
            ServerFault: the server could not be reached, or its answer cannot be used.
            ToolChanged: the tool is not what it was in the snapshot; it was not called.
            CallRefused: the server answered with an error of the protocol, or requested something that a client may
                offer, and this one does not.
        """
        self.calls += 1
        try:
            client = await asyncio.shield(self._client)
            before = len(self._stream.refused)
            await self._check_tool(client, request)
            try:
                result = await self._request(client, request)
            except CallRefused as refusal:
                refusal.methods = self._stream.refused[before:]
                raise
            self.has_answered = True
            methods = _requested_methods(result)
            if result.get("isError"):
                methods += self._stream.refused[before:]
            if methods:
                said = ""
                with suppress(ValueError):
                    said = failure_text(result)
                raise CallRefused(0, said, methods=methods)
            return result
        finally:
            self.calls -= 1
            if self._is_stopping and not self.calls:
                self._task.cancel()

    async def describe(self, is_wanted: Callable[[str], bool], max_tools: int) -> dict[str, Any]:
        """Return what the server says about itself: members of ``build.importers.mcp.McpSnapshot``.

        Raises:
            ServerFault: the server could not be reached, or its answer cannot be used.
            CallRefused: the server answered with an error of the protocol.
        """
        client = await asyncio.shield(self._client)
        session = client.session
        tools: dict[str, dict[str, Any]] = {}
        async for tool in listed(lambda cursor: self._read_page(client, cursor)):
            if is_wanted(tool["name"]):
                tools.setdefault(tool["name"], tool)
            if len(tools) > max_tools:
                raise ServerFault("large", was_sent=False, reason=f"it lists more than {max_tools:,} tools")
        info = session.server_info
        names = {} if info is None else {"name": info.name, "title": info.title, "version": info.version}
        return {
            "protocol_version": session.protocol_version or "",
            "server": {name: value for name, value in names.items() if value},
            "instructions": session.instructions or "",
            "tools": list(tools.values()),
        }

    async def _run(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this is a task
        timer = asyncio.get_running_loop().call_later(START_TIMEOUT_S, task.cancel)
        current_exchange.set(self._start)
        try:
            async with open_client(self._connection, self._limits, self._stream, self._on_notification) as client:
                timer.cancel()
                self._client.set_result(client)
                await asyncio.Event().wait()
        except BaseException as error:
            if not self._client.done():
                self._client.set_exception(self._start_fault(error))
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            timer.cancel()

    def _start_fault(self, error: BaseException) -> McpFault:
        if isinstance(error, asyncio.CancelledError):
            return ServerFault("timeout", was_sent=False, log=self._stream.log)
        if (found := first_error(error, OSError)) is not None and not (self._stream.fault or self._start.fault):
            return ServerFault("start", was_sent=False, reason=found.strerror or type(found).__name__)
        return to_fault(error, self._start, self._stream, "start", was_sent=False)

    async def _on_notification(self, message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self._listing_ends_at = -math.inf

    async def _check_tool(self, client: Client, request: ToolRequest) -> None:
        if not request.fingerprint:
            return
        async with self._listing:
            if time.monotonic() >= self._listing_ends_at:
                self._listing_ends_at = time.monotonic() + LISTING_TTL_S
                found = dict[str, str]()
                try:
                    async for tool in listed(lambda cursor: self._read_page(client, cursor)):
                        found.setdefault(tool["name"], tool_fingerprint(tool))
                except BaseException:
                    self._listing_ends_at = -math.inf
                    raise
                self._fingerprints = found
        fingerprint = self._fingerprints.get(request.name)
        if fingerprint != request.fingerprint:
            raise ToolChanged(is_gone=fingerprint is None)

    async def _read_page(self, client: Client, cursor: str | None) -> ListToolsResult:
        from mcp_types import PaginatedRequestParams

        params = None if cursor is None else PaginatedRequestParams(cursor=cursor)
        return await ask(lambda: client.session.list_tools(params=params), self._stream, is_call=False)

    async def _request(self, client: Client, request: ToolRequest) -> dict[str, Any]:
        from mcp_types import CallToolRequest, CallToolRequestParams
        from pydantic import TypeAdapter

        meta = {"_meta": dict(request.meta)} if request.meta else {}
        params = {"name": request.name, "arguments": dict(request.arguments), **meta}
        call = CallToolRequest(params=CallToolRequestParams.model_validate(params))
        # The result as it was sent: the models of the SDK leave out what they do not know.
        as_sent: TypeAdapter[Any] = TypeAdapter(dict[str, Any])
        result: dict[str, Any] = await ask(
            lambda: client.session.send_request(call, as_sent, progress_callback=request.on_progress),
            self._stream,
            is_call=True,
        )
        return result


def _requested_methods(result: Mapping[str, Any]) -> list[str]:
    """Return what a result requires of the client instead of being the result of the call (2026-07-28)."""
    if result.get("resultType", "complete") != "input_required":
        return []
    requests = json.dumps(result.get("inputRequests"))
    return [method for method in sorted(REFUSED) if f'"{method}"' in requests] or ["more input"]


OpenSession = Callable[[str], Session]
"""Opens the connection for an API key."""

MAX_SESSIONS = 32
"""Connections of one source at the same time: as many callers with keys of their own. The one that is not in use, and
has not been for the longest time, is closed for another."""

_EXPIRED_STATUSES = (400, 404)
"""What servers answer to a session that they do not know any more: 404 by the specification, 400 by some."""


class Sessions:
    """Make calls over connections that are opened when they are needed."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._closing: set[Session] = set()

    async def call(self, key: str, request: ToolRequest, open_session: OpenSession) -> dict[str, Any]:
        """Return the result of a call. See :meth:`Session.call` for what it raises.

        A session that the server has dropped is opened again: the request was refused before the tool saw it.
        """
        session = self._session(key, open_session)
        try:
            return await session.call(request)
        except ServerFault as fault:
            self._drop(key, session)
            if not (
                fault.exchange is not None
                and fault.exchange.fault is None
                and fault.exchange.has_session
                and fault.exchange.status in _EXPIRED_STATUSES
                and session.has_answered
            ):
                raise
        session = self._session(key, open_session)
        return await session.call(request)

    async def close(self) -> None:
        """Close all connections and wait until they have ended."""
        for key, session in list(self._sessions.items()):
            self._drop(key, session)
        await asyncio.gather(*(session.wait_closed() for session in self._closing))

    def _session(self, key: str, open_session: OpenSession) -> Session:
        session = self._sessions.get(key)
        if session is not None and session.is_usable:
            self._sessions[key] = self._sessions.pop(key)  # the last one that was used
            return session
        if session is not None:
            self._drop(key, session)
        idle = [(other, one) for other, one in self._sessions.items() if not one.calls]
        for other, one in idle[: max(0, len(self._sessions) - MAX_SESSIONS + 1)]:
            self._drop(other, one)
        self._sessions[key] = open_session(key)
        return self._sessions[key]

    def _drop(self, key: str, session: Session) -> None:
        self._closing = {one for one in self._closing if not one.is_closed}
        self._closing.add(session)
        session.close()
        if self._sessions.get(key) is session:
            del self._sessions[key]
