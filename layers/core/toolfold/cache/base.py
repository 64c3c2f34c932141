"""The interface of the stores that hold cached responses, counters and time slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

MAX_CLOCK_SKEW_S = 300.0
"""A value dated further in the future than this was written by a machine whose clock is wrong, and is ignored."""


class CacheStore(Protocol):
    """Store values and numbers by key. Times are seconds since 1970; after ``expires_at`` a key may be deleted.

    A store may raise anything; :class:`toolfold.cache.fail_safe.FailSafeStore` turns every failure into a miss.
    """

    def get(self, key: str) -> bytes | None:
        """Return the value last put, stale or not, or None."""

    def put(self, key: str, value: bytes, created_at: float, expires_at: float) -> None:
        """Store ``value`` unless a newer one is stored.

        A stored value dated more than ``MAX_CLOCK_SKEW_S`` after ``created_at`` does not count as newer.
        """

    def increment(self, key: str, expires_at: float) -> int:
        """Add 1 to the counter ``key`` and return its new value."""

    def count_within(
        self, key: str, limits: Mapping[str, int], expires_at: float, over: Sequence[str] = ()
    ) -> Mapping[str, int]:
        """Add 1 to each counter of ``key`` that ``limits`` names, unless one of them has reached its limit.

        One step: of calls at the same time, as many count as the limits allow.

        Args:
            key: whose counters they are.
            limits: counter → its limit.
            expires_at: when all of them may be deleted.
            over: counters of ``key`` that are not needed any more.

        Returns:
            The counters before. If one has its limit, or more, none has changed.
        """

    def acquire_slot(self, key: str, now: float, expires_at: float) -> float:
        """Take the slot ``key`` until ``expires_at``, unless another caller holds it.

        Returns:
            0 when the slot was free and is now taken; otherwise the time at which it becomes free.
        """
