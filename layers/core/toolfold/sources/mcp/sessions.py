"""The connections of one source: one for each key, reused by its calls, and replaced when it has ended.

Everything here runs in one event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from toolfold.sources.mcp.faults import ServerFault
from toolfold.sources.mcp.session import Session, ToolRequest

__all__ = ["OpenSession", "Sessions"]

OpenSession = Callable[[str], Session]
"""Opens the connection for an API key."""

MAX_SESSIONS = 32
"""Connections of one source at the same time: as many callers with keys of their own. Idle ones are closed first."""

IDLE_S = 600.0
"""Seconds after which a connection that is not used is closed."""

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

        Args:
            key: the API key of the call; may be empty.
            request: the call.
            open_session: opens the connection for a key.
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
        if session is None or not session.is_usable:
            if session is not None:
                self._drop(key, session)
            self._make_room()
            session = self._sessions[key] = open_session(key)
        return session

    def _drop(self, key: str, session: Session) -> None:
        self._closing = {one for one in self._closing if not one.is_closed}
        self._closing.add(session)
        session.close()
        if self._sessions.get(key) is session:
            del self._sessions[key]

    def _make_room(self) -> None:
        now = time.monotonic()
        idle = sorted((one.used_at, key) for key, one in self._sessions.items() if not one.calls)
        surplus = len(self._sessions) - MAX_SESSIONS + 1
        for position, (used_at, key) in enumerate(idle):
            if position < surplus or now - used_at > IDLE_S:
                self._drop(key, self._sessions[key])
