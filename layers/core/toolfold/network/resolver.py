"""Look up the addresses of a host before a deadline.

The system's resolver has no deadline of its own: with name servers that do not answer, it returns after half a minute.
It therefore runs in a thread, which nothing waits for when the time is up. The number of those threads is bounded.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from concurrent.futures import Future
from typing import Any

from toolfold.network.errors import NameResolutionError
from toolfold.network.ssrf import literal_address

Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[Any, ...]]
"""As ``socket.getaddrinfo`` returns it."""

_Lookup = Future[list[Any] | None]

_MAX_LOOKUPS = 16
"""Lookups at the same time. More are not needed: equal ones are one, and a process has few sources."""

_MAX_LOOKUPS_OF_NAME = 2
_JOIN_S = 5.0
"""A resolver tries its first name server for five seconds (resolv.conf(5)). A lookup that takes longer may never end,
so one that starts later does not wait for it."""


class Resolver:
    """Look up names. Safe to use from many threads, and in a forked process."""

    def __init__(self) -> None:
        self._reset()

    def addresses(self, host: str, port: int, timeout_s: float) -> list[Address]:
        """Return the addresses of ``host``, a name or an IP address, in the order in which they should be tried.

        Raises:
            NameResolutionError: the name has no address, or too many lookups do not end.
            TimeoutError: no result in time.
        """
        is_address = literal_address(host) is not None
        found = _look_up(host, port) if is_address else self._find_or_start(host, port).result(timeout_s)
        if not found:
            raise NameResolutionError
        return found

    def _find_or_start(self, host: str, port: int) -> _Lookup:
        if self._process != os.getpid():  # the threads stay in the parent
            self._reset()
        with self._lock:
            of_name = self._running.setdefault((host, port), [])
            if of_name and time.monotonic() - of_name[-1][0] < _JOIN_S:
                return of_name[-1][1]
            if len(of_name) >= _MAX_LOOKUPS_OF_NAME or sum(map(len, self._running.values())) >= _MAX_LOOKUPS:
                raise NameResolutionError
            started: tuple[float, _Lookup] = time.monotonic(), Future()

            def run() -> None:
                addresses = None
                try:
                    addresses = _look_up(host, port)
                finally:
                    with self._lock:
                        of_name.remove(started)
                        if not of_name:
                            self._running.pop((host, port), None)
                    started[1].set_result(addresses)

            try:
                threading.Thread(target=run, daemon=True).start()
            except RuntimeError:  # no further thread
                raise NameResolutionError from None
            of_name.append(started)
            return started[1]

    def _reset(self) -> None:
        self._process, self._lock = os.getpid(), threading.Lock()
        self._running: dict[tuple[str, int], list[tuple[float, _Lookup]]] = {}


def _look_up(host: str, port: int) -> list[Any] | None:
    try:
        # The name as bytes: for text, Python imports its tables of international names.
        return socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    except (OSError, ValueError, OverflowError):
        return None
