"""Connections to other machines: made in time, only to where they may lead, and kept for the next request.

A connection belongs to one request at a time. Those at rest are in one list; whoever takes one out has it alone, and
brings it back only after an answer that was read to its end.
"""

from __future__ import annotations

import io
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_KEPT = 16
_LONGEST_REST_S = 55.0
"""Servers hang up on connections at rest, many after 60 seconds:
https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-load-balancer-attributes.html"""


class ForbiddenAddress(Exception):
    """The connection leads where nothing may be sent, and nothing was."""


@dataclass(frozen=True)
class Route:
    """Where a connection leads, and on which terms: it serves only requests that agree in all of this."""

    host: str
    port: int
    context: ssl.SSLContext | None
    """For TLS, with whoever is ``host``."""
    proxy: str = field(repr=False)
    """Its address; empty for none."""
    allowed: Callable[[str, str], bool] | None
    """Whether ``host`` may be found at an address; asked before anything is said. Behind a proxy it is not known."""
    process: int
    """A process that was forked has the same connections as its parent, and must not speak on them."""


class Connection(io.RawIOBase):
    """A connection, made step by step: ``connect``, perhaps ``secure``.

    Everything on it ends at ``deadline`` (``time.monotonic``): a byte that drips in is no reason to wait longer for the
    next one. ``heard`` counts what came in for this request.

    Raises:
        TimeoutError: from all methods, at the deadline.
        OSError: from all methods.
    """

    def __init__(self, route: Route, deadline: float) -> None:
        self.route = route
        self.reuse(deadline)
        self.rests_since = 0.0
        self._era = _era
        self._sock: socket.socket | None = None

    def reuse(self, deadline: float) -> None:
        self.deadline, self.heard = deadline, 0

    def connect(self, host: str, port: int, allowed: Callable[[str, str], bool] | None) -> None:
        """Reach ``host`` at one of its addresses. Each may take half of the time that is left, the last one all of it.

        Raises:
            ForbiddenAddress: ``allowed`` says so.
        """
        # Names as bytes: for text Python would import its tables of international names.
        found = socket.getaddrinfo(encoded(host), port, type=socket.SOCK_STREAM)
        for ahead, (family, kind, protocol, _, address) in zip(reversed(range(len(found))), found, strict=True):
            sock = socket.socket(family, kind, protocol)
            try:
                sock.settimeout(self._left() / 2 if ahead else self._left())
                sock.connect(address)
                if allowed is not None and not allowed(host, sock.getpeername()[0]):
                    raise ForbiddenAddress
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except BaseException as error:
                sock.close()
                if ahead and isinstance(error, OSError):
                    continue
                raise
            self._sock = sock
            return
        raise OSError("no address")

    def secure(self, context: ssl.SSLContext, host: str) -> None:
        """Speak TLS from now on, with whoever proves to be ``host``."""
        sock = self._open()
        sock.settimeout(self._left())
        self._sock = context.wrap_socket(sock, server_hostname=encoded(host).rstrip(b"."))

    def send(self, data: bytes) -> None:
        sock, rest = self._open(), memoryview(data)
        while rest:
            sock.settimeout(self._left())
            rest = rest[sock.send(rest) :]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        sock = self._open()
        sock.settimeout(self._left())
        count = sock.recv_into(buffer)
        self.heard += count
        return count

    def is_quiet(self) -> bool:
        """Whether nothing was said since the last answer, no hanging up either.

        ListRequest by reading: on a TLS connection there may be something to be read that is no part of any answer.
        """
        sock = self._open()
        sock.settimeout(0.0)
        try:
            sock.recv_into(bytearray(1))
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        if self._sock is not None:
            self._sock.close()
        super().close()

    def _open(self) -> socket.socket:
        if self._sock is None:
            raise OSError("not connected")
        return self._sock

    def _left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def encoded(host: str) -> bytes:
    """A name as it is looked up and proven."""
    return host.encode("ascii" if host.isascii() else "idna")


_resting: list[Connection] = []
"""The one that rests longest first."""

_era = 0
"""Connections of an earlier one are not kept."""

_lock = threading.Lock()


def take(route: Route) -> Connection | None:
    """A connection that can be used at once, the one last used; or nothing. It is to be closed, or brought back."""
    while True:
        with _lock:
            # The clock on the wall: the other one may stand still while an environment of Lambda is frozen.
            now = time.time()
            old = [resting for resting in _resting if not 0 <= now - resting.rests_since < _LONGEST_REST_S]
            found = next((one for one in reversed(_resting) if one.route == route and one not in old), None)
            for gone in (*old, found) if found else old:
                _resting.remove(gone)
        _close(old)
        if found is None or found.is_quiet():
            return found
        found.close()


def keep(connection: Connection) -> None:
    """Let ``connection`` rest until it is needed again. Too many: the one that rests longest is closed."""
    connection.rests_since = time.time()
    with _lock:
        current = connection._era == _era
        if current:
            _resting.append(connection)
        surplus = _resting[:-_KEPT] if current else [connection]
        del _resting[:-_KEPT]
    _close(surplus)


def forget_connections() -> None:
    """Close every connection that is kept. Requests on their way end as they would; the next ones connect anew."""
    global _era  # noqa: PLW0603 - connections are the process's own, as their sockets are
    with _lock:
        _era += 1
        all_of_them = _resting[:]
        _resting.clear()
    _close(all_of_them)


def _close(connections: list[Connection]) -> None:
    for connection in connections:
        connection.close()
