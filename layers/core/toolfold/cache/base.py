"""The interface of the stores that hold cached responses, counters and time slots.

:class:`FailSafeStore` wraps one so that its failures are cache misses, never failed calls.
"""

from __future__ import annotations

import logging
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from toolfold.aws.clients import error_code
from toolfold.private_folder import PathRefused

logger = logging.getLogger("toolfold")

S = TypeVar("S")
T = TypeVar("T")

MAX_CLOCK_SKEW_S = 300.0
"""A value dated further in the future than this was written by a machine whose clock is wrong, and is ignored."""


class CacheStore(ABC):
    """Store values, records and numbers by key. Times are seconds since 1970; after ``expires_at`` a key may go.

    A record is a value that one of several callers replaces.
    A store may raise anything; :class:`toolfold.cache.base.FailSafeStore` turns every failure into a miss.
    """

    @abstractmethod
    def get(self, key: str) -> bytes | None:
        """Return the value last put, stale or not, or None."""

    @abstractmethod
    def put(self, key: str, value: bytes, created_at: float, expires_at: float) -> None:
        """Store ``value`` unless a newer one is stored.

        A stored value dated more than ``MAX_CLOCK_SKEW_S`` after ``created_at`` does not count as newer.
        """

    @abstractmethod
    def replace(self, key: str, expected: bytes | None, value: bytes, expires_at: float | None = None) -> bool:
        """Store a record if the one before is ``expected``, None for a new one; return whether it was.

        Of several callers one gets True. Raises where there is no space: nothing else is evicted for it.
        """

    @abstractmethod
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

    @abstractmethod
    def acquire_slot(self, key: str, now: float, expires_at: float) -> float:
        """Take the slot ``key`` until ``expires_at``, unless another caller holds it.

        Returns:
            0 when the slot was free and is now taken; otherwise the time at which it becomes free.
        """


class LockedStore(CacheStore):
    """A store that reads and changes a value in one step, under a lock of its own."""

    def count_within(
        self, key: str, limits: Mapping[str, int], expires_at: float, over: Sequence[str] = ()
    ) -> Mapping[str, int]:
        """Add 1 to each counter of ``key`` unless one has reached its limit; return the counters before."""

        def count(counters: Mapping[str, int] | None) -> tuple[Mapping[str, int], Mapping[str, int] | None]:
            before = {name: (counters or {}).get(name, 0) for name in limits}
            if any(before[name] >= limit for name, limit in limits.items()):
                return before, None
            kept = {name: number for name, number in (counters or {}).items() if name not in over}
            return before, kept | {name: number + 1 for name, number in before.items()}

        return self._change(key, expires_at, count)

    def acquire_slot(self, key: str, now: float, expires_at: float) -> float:
        """Take the slot ``key``: return 0, or the time at which it becomes free."""

        def acquire(taken_until: float | None) -> tuple[float, float | None]:
            return (taken_until, None) if taken_until and taken_until > now else (0.0, expires_at)

        return self._change(key, expires_at, acquire)

    @abstractmethod
    def _change(self, key: str, expires_at: float, change: Callable[[Any], tuple[T, Any]]) -> T:
        """Return the first result of ``change`` of a number or numbers; store the second one, unless it is None."""


def increment(store: CacheStore, key: str, expires_at: float) -> int:
    """Add 1 to the counter ``key``, which has no limit, and return its new value."""
    return store.count_within(key, {"n": sys.maxsize}, expires_at)["n"] + 1


class FailSafeStore(Generic[S]):
    """Use a store that may be slow, absent or broken. After a failure it is not used for ``cooldown_s`` seconds.

    Args:
        open_store: opens the store. Called by the first :meth:`run`, and again after a failure.
        cooldown_s: seconds between a failure and the next attempt.
        clock: a monotonic clock.
        repeats_warnings: whether a failure is logged each time. If not, each kind of failure is logged once: that of a
            file lasts until the user changes something.
        name: what is logged as unavailable.
        on_failure: called after each failure with its reason: a code of AWS or the name of an exception.
    """

    def __init__(
        self,
        open_store: Callable[[], S],
        cooldown_s: float,
        clock: Callable[[], float],
        *,
        repeats_warnings: bool = True,
        name: str = "Shared cache",
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        self._open_store, self._cooldown_s, self._clock = open_store, cooldown_s, clock
        self._repeats_warnings, self._logged = repeats_warnings, set[str]()
        self._name, self._on_failure = name, on_failure
        self._store: S | None = None
        self._unavailable_until = float("-inf")
        self._lock = threading.Lock()

    def run(self, operation: Callable[[S], T]) -> T | None:
        """Return the result of ``operation`` on the store; None when it fails or is not to be used yet."""
        with self._lock:
            # At most the cooldown: the clock of an environment that was suspended may return to an earlier time.
            if 0 < self._unavailable_until - self._clock() <= self._cooldown_s:
                return None
            try:
                if self._store is None:
                    self._store = self._open_store()
                store = self._store
            except Exception as error:  # noqa: BLE001 - as below
                self._start_cooldown(error)
                return None
        try:
            return operation(store)
        except MemoryError:  # SQL over an answer may have all memory of SQLite, but for a moment only
            return None
        except Exception as error:  # noqa: BLE001 - no failure of the store may fail the call
            with self._lock:
                self._start_cooldown(error)
            return None

    def _start_cooldown(self, error: Exception) -> None:
        # The code or the type alone: the text may contain an address. That of a refused path is for the user.
        reason = f"TOOLFOLD_CACHE: {error}" if isinstance(error, PathRefused) else error_code(error)
        if self._repeats_warnings or reason not in self._logged:
            logger.warning("%s unavailable (%s); retrying in %g s", self._name, reason, self._cooldown_s)
        self._logged.add(reason)
        self._store, self._unavailable_until = None, self._clock() + self._cooldown_s
        if self._on_failure is not None:
            self._on_failure(reason)
