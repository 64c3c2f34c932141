"""Circuit breaker: a source that keeps failing is not called for a while, and calls to it fail at once.

Ours, because the one in Powertools keeps its state in DynamoDB, which a laptop does not have. Here the state belongs to
the process: each Lambda environment finds out for itself, after a few failures.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

State = Literal["closed", "open", "half-open"]


class CircuitBreaker:
    """Closed: calls pass. Open: none does, for ``cooldown_s`` seconds. Half-open: one passes, and decides.

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
        self._trial_running = False

    @property
    def state(self) -> State:
        """The state at this moment."""
        with self._lock:
            return self._state()

    def try_acquire(self) -> float:
        """Ask to make a call.

        Returns:
            0 when the call may be made; its outcome must then be reported with one of the methods below. Otherwise the
            seconds to wait.
        """
        with self._lock:
            state = self._state()
            if state == "closed":
                return 0.0
            if state == "half-open" and not self._trial_running:
                self._trial_running = True
                return 0.0
            return max(1.0, (self._open_until or 0.0) - self._clock())

    def record_success(self) -> None:
        """Report that the source answered."""
        with self._lock:
            self._failures, self._open_until, self._trial_running = 0, None, False

    def record_failure(self) -> None:
        """Report that the source failed."""
        with self._lock:
            self._failures += 1
            if self._trial_running or self._failures >= self._max_failures:
                self._open_until = self._clock() + self._cooldown_s
            self._trial_running = False

    def release(self) -> None:
        """Report that the call was not sent, which says nothing about the source."""
        with self._lock:
            self._trial_running = False

    def _state(self) -> State:
        if self._open_until is None:
            return "closed"
        # At most the cooldown: the clock of an environment that was suspended may return to an earlier time.
        return "open" if 0 < self._open_until - self._clock() <= self._cooldown_s else "half-open"
