"""What a plan allows each key: requests counted by day and by second, as the vendor's free plan does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_EASTERN_S = -5 * 3600
"""A day begins at midnight, Eastern Standard Time. When the vendor's begins is documented nowhere."""

_GRACE_S = 0.001
"""Clocks are compared by this much: who waited for a second has waited for a second."""


@dataclass(frozen=True, slots=True)
class Plan:
    """``key`` is the mock API's own key with the same rights (see ``answers``)."""

    key: str
    per_day: int
    per_second: int


PLANS: Mapping[str, Plan] = {"free": Plan("free", per_day=25, per_second=1)}


class QuotaCounter:
    """Counts the requests of every key. ``clock``: seconds since 1970. Safe to use from many threads."""

    def __init__(self, plan: Plan, clock: Callable[[], float]) -> None:
        self.plan = plan
        self._clock = clock
        self._days: dict[str, tuple[int, int]] = {}
        self._last: dict[str, float] = {}
        self._lock = threading.Lock()

    def count_request(self, key: str) -> str | None:
        """The envelope that one more request of ``key`` gets for its rate; None when it is within the plan.

        Only what is within the plan counts. Whether the vendor counts refused requests too is not known.
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
