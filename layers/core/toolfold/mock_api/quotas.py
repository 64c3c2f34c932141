"""Request quotas of each API key, per day and per second, as in the vendor's free plan."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_EASTERN_S = -5 * 3600
"""Offset of Eastern Standard Time: a day begins at its midnight. The vendor does not document when its day begins."""

_GRACE_S = 0.001
"""Tolerance of the comparison of times: a client that waits for one second is not refused for rounding."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Limits of a plan. ``key`` is the mock API's own key with the same rights (see ``router``)."""

    key: str
    per_day: int
    per_second: int


PLANS: Mapping[str, Plan] = {"free": Plan("free", per_day=25, per_second=1)}


class QuotaCounter:
    """Count the requests of every key. Safe to use from many threads.

    Args:
        plan: The limits of every key.
        clock: Returns seconds since 1970.
    """

    def __init__(self, plan: Plan, clock: Callable[[], float]) -> None:
        self.plan = plan
        self._clock = clock
        self._days: dict[str, tuple[int, int]] = {}
        self._last: dict[str, float] = {}
        self._lock = threading.Lock()

    def count_request(self, key: str) -> str | None:
        """Count one request of ``key``; return the name of the error body when it exceeds the plan, else None.

        Only requests within the plan count. Whether the vendor counts refused requests too is not known.
        """
        with self._lock:
            now = self._clock()
            today = int((now + _EASTERN_S) // 86400)
            day, used = self._days.get(key, (today, 0))
            used = used if day == today else 0
            if used >= self.plan.per_day:
                return "daily_quota"
            if now - self._last.get(key, float("-inf")) < 1 / self.plan.per_second - _GRACE_S:
                return "free_burst"
            self._days[key], self._last[key] = (today, used + 1), now
            return None
