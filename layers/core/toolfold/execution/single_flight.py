"""Single flight: equal calls that run at the same time make one request, and share its result."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class _Flight(Generic[T]):
    def __init__(self) -> None:
        self.done = threading.Event()
        self.results: list[T] = []
        self.error: Exception | None = None


class SingleFlight(Generic[T]):
    """Run functions by key, each key once at a time. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, _Flight[T]] = {}

    def run(self, key: Hashable, function: Callable[[], T], timeout_s: float) -> T:
        """Return what ``function`` returns, or what it returned to another thread that runs it under the same key.

        Args:
            key: names the call, and the API key with which it is made: no caller waits for the call of another one,
                and what it returns or raises may be for that key alone.
            function: makes the call.
            timeout_s: seconds to wait for another thread.

        Raises:
            TimeoutError: the other thread took longer.
            Exception: what ``function`` raised, here or in the other thread.
        """
        with self._lock:
            flight = self._flights.get(key)
            is_leader = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight()
        if is_leader:
            return self._lead(key, flight, function)
        if not flight.done.wait(timeout_s):
            raise TimeoutError
        if flight.results:
            return flight.results[0]
        if flight.error is not None:
            raise flight.error
        return function()  # the other thread was stopped

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
