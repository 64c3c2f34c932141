"""Circuit breakers: what keeps failing is not called for a while, and calls to it fail at once.

Ours, because the one in Powertools keeps its state in DynamoDB, which a laptop does not have. Here the state belongs to
the process: each Lambda environment finds out for itself, after a few failures.

There is one for each source, which counts failures that no caller can cause: those before anything was sent. What fails
after a request was sent may depend on its API key and its arguments. It counts against the same call with the same key.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

from cachetools import LRUCache

State = Literal["closed", "open", "half-open"]

_MAX_CALLS = 10_000
"""Calls whose failures are kept. One that is dropped costs another request."""


class CircuitBreaker:
    """Closed: calls pass. Open: none does, for ``cooldown_s`` seconds. Half-open: calls pass; the first result counts.

    In the half-open state calls do not wait for a trial, which may be slow.

    Args:
        max_failures: failures in a row that open it. Any success closes it.
        cooldown_s: seconds for which it stays open.
        clock: a monotonic clock.
    """

    def __init__(self, max_failures: int, cooldown_s: float, clock: Callable[[], float]) -> None:
        self._max_failures, self._cooldown_s, self._clock = max_failures, cooldown_s, clock
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until: float | None = None

    @property
    def state(self) -> State:
        """The state at this moment."""
        with self._lock:
            return self._state()

    @property
    def wait_s(self) -> float:
        """Seconds, at least 1, until a call may be made; 0 when it may be made now."""
        with self._lock:
            return max(1.0, (self._open_until or 0.0) - self._clock()) if self._state() == "open" else 0.0

    def record_success(self) -> None:
        """Report that a call succeeded."""
        with self._lock:
            self._failures, self._open_until = 0, None

    def record_failure(self) -> None:
        """Report that a call failed."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._max_failures:
                self._open_until = self._clock() + self._cooldown_s

    def _state(self) -> State:
        if self._open_until is None:
            return "closed"
        # At most the cooldown: the clock of an environment that was suspended may return to an earlier time.
        return "open" if 0 < self._open_until - self._clock() <= self._cooldown_s else "half-open"


class CircuitBreakers:
    """The circuit breakers of the calls that failed last, by cache key. Safe to use from many threads.

    Args:
        max_failures: see :class:`CircuitBreaker`.
        cooldown_s: see :class:`CircuitBreaker`.
        clock: a monotonic clock.
    """

    def __init__(self, max_failures: int, cooldown_s: float, clock: Callable[[], float]) -> None:
        self._limits = max_failures, cooldown_s, clock
        self._breakers: LRUCache[str, CircuitBreaker] = LRUCache(_MAX_CALLS)
        self._lock = threading.Lock()

    def get(self, key: str) -> CircuitBreaker:
        """Return the circuit breaker of a call; a closed one where it has not failed."""
        with self._lock:
            return self._breakers.get(key) or CircuitBreaker(*self._limits)

    def record_success(self, key: str) -> None:
        """Report that the call succeeded."""
        with self._lock:
            self._breakers.pop(key, None)

    def record_failure(self, key: str) -> None:
        """Report that the call failed."""
        with self._lock:
            breaker = self._breakers.get(key)
            if breaker is None:
                breaker = self._breakers[key] = CircuitBreaker(*self._limits)
        breaker.record_failure()
