"""Keep a few connections to a database open between calls."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Generic, Protocol, TypeVar

from toolfold.sources.sql.errors import DatabaseFailure, FailureKind

__all__ = ["ConnectionPool"]

MAX_CONNECTIONS = 4
"""Connections of one process to one database. On Lambda there is one call at a time, and so one connection."""

MAX_IDLE_S = 240
"""Firewalls and load balancers drop a connection that was idle for 300 seconds or more, often without a word."""

_KEEPS_CONNECTION = frozenset(
    {
        FailureKind.TOO_LARGE,
        FailureKind.NOT_ALLOWED,
        FailureKind.NO_PRIVILEGE,
        FailureKind.SYNTAX,
        FailureKind.NO_TABLE,
        FailureKind.NO_COLUMN,
        FailureKind.NO_FUNCTION,
        FailureKind.STATEMENT,
    }
)
"""Failures of a statement. After every other one the connection is not used again."""


class Closeable(Protocol):
    """What a pool holds."""

    def close(self) -> None:
        """Close the connection."""


T = TypeVar("T", bound=Closeable)
R = TypeVar("R")


class ConnectionPool(Generic[T]):
    """Share connections between threads, each used by one thread at a time.

    Args:
        connect: opens a connection, given the connection string and a deadline.
    """

    def __init__(self, connect: Callable[[str, float], T]) -> None:
        self._connect = connect
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._lock = threading.Lock()
        self._idle: list[tuple[T, str, float]] = []
        weakref.finalize(self, _close_all, self._idle)

    def run(self, connection_string: str, deadline: float, work: Callable[[T], R]) -> R:
        """Return what ``work`` returns for a connection.

        A connection that the server has closed while it was idle is replaced, and ``work`` is done again: once.

        Raises:
            DatabaseFailure: no connection, or what ``work`` raises.
        """
        try:
            with self._connection(connection_string, deadline) as (database, is_new):
                return work(database)
        except DatabaseFailure as failure:
            if failure.kind is not FailureKind.BROKEN or is_new:
                raise
        with self._connection(connection_string, deadline, fresh=True) as (database, _):
            return work(database)

    @contextmanager
    def _connection(self, connection_string: str, deadline: float, *, fresh: bool = False) -> Iterator[tuple[T, bool]]:
        """Yield a connection, and whether it was opened for this."""
        if not self._slots.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise DatabaseFailure(FailureKind.BUSY)
        try:
            database = None if fresh else self._take_idle(connection_string)
            is_new = database is None
            if database is None:
                database = self._connect(connection_string, deadline)
            try:
                yield database, is_new
            except DatabaseFailure as failure:
                if failure.kind in _KEEPS_CONNECTION:
                    self._put_back(database, connection_string)
                else:
                    _close(database)
                raise
            except BaseException:
                _close(database)
                raise
            self._put_back(database, connection_string)
        finally:
            self._slots.release()

    def _take_idle(self, connection_string: str) -> T | None:
        """Return the connection that was used last; close those that are too old, or of another connection string."""
        oldest = time.monotonic() - MAX_IDLE_S
        with self._lock:
            unusable = [one for one in self._idle if one[1] != connection_string or one[2] < oldest]
            usable = [one for one in self._idle if one not in unusable]
            found = usable.pop()[0] if usable else None
            self._idle[:] = usable
        for database, _, _ in unusable:
            _close(database)
        return found

    def _put_back(self, database: T, connection_string: str) -> None:
        with self._lock:
            self._idle.append((database, connection_string, time.monotonic()))


def _close(database: Closeable) -> None:
    with suppress(Exception):
        database.close()


def _close_all(idle: Sequence[tuple[Closeable, str, float]]) -> None:
    for database, _, _ in idle:
        _close(database)
