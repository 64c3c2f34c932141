"""Equal calls under way at once make one request: the first one makes it, the others wait for what it brings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.cache.entry import Entry


class _Flight:
    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.landed = threading.Event()
        self.results: list[Entry] = []
        self.error: Exception | None = None


class SingleFlight:
    """Runs work by name, each name once at a time. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, _Flight] = {}

    def run(self, name: Hashable, owner: str, work: Callable[[], Entry], patience_s: float) -> Entry:
        """What ``work`` returns, or what the same work, begun by another thread, returns or raises.

        Args:
            owner: whose key the work is done with. A failure may concern that key alone, so it is not passed on to
                other owners: they do the work themselves.
            patience_s: how long to wait for another thread.

        Raises:
            TimeoutError: the other thread took longer.
        """
        while True:
            with self._lock:
                flight = self._flights.get(name)
                leads = flight is None
                if flight is None:
                    flight = self._flights[name] = _Flight(owner)
            if leads:
                return self._lead(name, flight, work)
            if not flight.landed.wait(patience_s):
                raise TimeoutError
            if flight.results:
                return flight.results[0]
            if flight.error is not None and flight.owner == owner:
                raise flight.error

    def _lead(self, name: Hashable, flight: _Flight, work: Callable[[], Entry]) -> Entry:
        try:
            result = work()
            flight.results.append(result)
            return result
        except Exception as error:
            flight.error = error
            raise
        finally:
            with self._lock:
                del self._flights[name]
            flight.landed.set()
