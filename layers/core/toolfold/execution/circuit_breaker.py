"""A circuit breaker: a source that keeps failing is left alone for a while, and callers are told so at once.

Powertools has one; but its state is kept in DynamoDB, and a laptop has none. Here the state is
the process's own: each Lambda environment finds out for itself, after a handful of failures.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    State = Literal["closed", "open", "half-open"]


class CircuitBreaker:
    """Closed: calls pass. Open: none does, for ``cooldown_s`` seconds. Half-open: one passes, and decides.

    ``failures`` in a row open it; any success closes it. ``clock`` is monotonic.
    """

    def __init__(self, failures: int, cooldown_s: float, clock: Callable[[], float]) -> None:
        self._most, self._cooldown_s, self._clock = failures, cooldown_s, clock
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until: float | None = None
        self._trying = False

    @property
    def state(self) -> State:
        with self._lock:
            return self._state()

    def enter(self) -> float:
        """0 when a call may pass; else the seconds to wait. Whoever passes must report by one of the methods below."""
        with self._lock:
            state = self._state()
            if state == "closed":
                return 0.0
            if state == "half-open" and not self._trying:
                self._trying = True
                return 0.0
            return max(1.0, (self._open_until or 0.0) - self._clock())

    def succeeded(self) -> None:
        with self._lock:
            self._failures, self._open_until, self._trying = 0, None, False

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._trying or self._failures >= self._most:
                self._open_until = self._clock() + self._cooldown_s
            self._trying = False

    def left(self) -> None:
        """The call ended before it was sent: nothing is known."""
        with self._lock:
            self._trying = False

    def _state(self) -> State:
        if self._open_until is None:
            return "closed"
        # Not longer than it may: the clock of an environment that was put to sleep may come back earlier.
        return "open" if 0 < self._open_until - self._clock() <= self._cooldown_s else "half-open"
