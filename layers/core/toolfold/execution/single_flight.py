"""Single flight: equal calls that run at the same time make one request, and share its result."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from toolfold.errors import UpstreamTimeout

T = TypeVar("T")

_NEAR_END_S = 0.1
"""A time-out this close to the end of a call was caused by that end."""


class _Flight(Generic[T]):
    def __init__(self, end: float) -> None:
        self.end = end
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
            timeout_s: seconds that the caller has. A thread that has more than the other one makes the call again where
                the time of the other was over: the rest of a batch is often requested while its first part ends.

        Raises:
            TimeoutError: the other thread took longer.
            Exception: what ``function`` raised, here or in the other thread.
        """
        end = time.monotonic() + timeout_s
        while True:
            with self._lock:
                flight = self._flights.get(key)
                is_leader = flight is None
                if flight is None:
                    flight = self._flights[key] = _Flight(end)
            if is_leader:
                return self._lead(key, flight, function)
            if not flight.done.wait(max(0.0, end - time.monotonic())):
                raise TimeoutError
            if flight.results:
                return flight.results[0]
            if flight.error is None:
                return function()  # the other thread was stopped
            now = time.monotonic()
            was_late = isinstance(flight.error, UpstreamTimeout) and now >= flight.end - _NEAR_END_S
            if not was_late or now >= end - _NEAR_END_S:
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
