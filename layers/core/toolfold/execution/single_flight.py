"""Single flight: equal calls that run at the same time make one request, and share its result."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class _Flight(Generic[T]):
    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.done = threading.Event()
        self.results: list[T] = []
        self.error: Exception | None = None


class SingleFlight(Generic[T]):
    """Run functions by key, each key once at a time. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, _Flight[T]] = {}

    def run(self, key: Hashable, owner: str, function: Callable[[], T], timeout_s: float) -> T:
        """Return what ``function`` returns, or what it returned to another thread that runs it under the same key.

        Args:
            key: names the call.
            owner: names the API key of the call. A failure may concern that key alone, so other owners do not share
                it: they run the function themselves.
            function: makes the call.
            timeout_s: seconds to wait for other threads, all together.

        Raises:
            TimeoutError: the other thread took longer.
            Exception: what ``function`` raised, here or in the other thread.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            with self._lock:
                flight = self._flights.get(key)
                is_leader = flight is None
                if flight is None:
                    flight = self._flights[key] = _Flight(owner)
            if is_leader:
                return self._lead(key, flight, function)
            if not flight.done.wait(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            if flight.results:
                return flight.results[0]
            if flight.error is not None and flight.owner == owner:
                raise flight.error

    def _lead(self, key: Hashable, flight: _Flight[T], function: Callable[[], T]) -> T:
        try:
            result = function()
            flight.results.append(result)
            return result
        except Exception as error:
            flight.error = error
            raise
        finally:
            with self._lock:
                del self._flights[key]
            flight.done.set()
