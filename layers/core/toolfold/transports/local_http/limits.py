"""What all connections of the local server may use together, and which one is closed when that is exceeded."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

__all__ = ["MAX_CONNECTIONS", "MAX_HELD_BYTES", "ConnectionLimits", "allowed_connections"]

MAX_CONNECTIONS = 1_000
"""Connections at the same time: some fifty agents with all the connections that their clients open."""

MAX_HELD_BYTES = 64 << 20
"""Bytes of large bodies that are being received or answered, and of large responses that are not read."""

_SMALL_BYTES = 64 * 1024
"""What a connection may hold without being counted. Real requests have a few hundred bytes."""


class Connection(Protocol):
    """A connection that can be closed in favour of others."""

    def evict(self) -> None:
        """Close the connection."""


def allowed_connections() -> int:
    """Return how many connections this process may have, after raising its limit of open files where that is allowed.

    At most half of the files are connections: calls of tools need some as well. Windows has no such limit.
    """
    try:
        import resource
    except ImportError:
        return MAX_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * MAX_CONNECTIONS
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, soft // 2)


class ConnectionLimits:
    """Bound the number of connections and the bytes that they hold.

    When a limit is exceeded, the connection that has waited longest for its client is closed. Clients that stall are
    therefore closed before those that use their connection, and cannot keep others out.
    """

    def __init__(self, max_connections: int = MAX_CONNECTIONS, max_held_bytes: int = MAX_HELD_BYTES) -> None:
        self._max_connections, self._max_held_bytes = max_connections, max_held_bytes
        self._open: set[Connection] = set()
        self._waiting: dict[Connection, None] = {}  # the one that has waited longest first
        self._held: dict[Connection, int] = {}
        self._held_bytes = 0

    def admit(self, connection: Connection) -> bool:
        """Count ``connection``, after closing another when there are too many.

        Returns:
            False when no other waits for its client.
        """
        if len(self._open) >= self._max_connections:
            oldest = next(iter(self._waiting), None)
            if oldest is None:
                return False
            self._evict(oldest)
        self._open.add(connection)
        return True

    def set_waiting(self, connection: Connection, is_waiting: bool) -> None:
        """Note whether ``connection`` waits for its client from now on."""
        self._waiting.pop(connection, None)
        if is_waiting and connection in self._open:
            self._waiting[connection] = None

    def hold(self, connection: Connection, size: int) -> bool:
        """Note that ``connection`` holds ``size`` bytes, and close others when all hold too much.

        Returns:
            False when all still hold too much.
        """
        counted = size if size > _SMALL_BYTES and connection in self._open else 0
        before = self._held.pop(connection, 0)
        self._held_bytes += counted - before
        if counted:
            self._held[connection] = counted
        if counted <= before:
            return True
        while self._held_bytes > self._max_held_bytes:
            oldest = next((one for one in self._waiting if one in self._held and one is not connection), None)
            if oldest is None:
                return False
            self._evict(oldest)
        return True

    def remove(self, connection: Connection) -> None:
        """Remove a closed connection."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self._held_bytes -= self._held.pop(connection, 0)

    def _evict(self, connection: Connection) -> None:
        self.remove(connection)
        connection.evict()
