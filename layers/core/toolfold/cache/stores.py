"""The interface of the stores of cached responses, counters and records.

A failure of the cache only costs time (:class:`FailSafeStore`); one of records must be known (:class:`Records`): they
are approvals and sign-ins, in the table of the cache, in a SQLite file of the user, or in this process.
"""

from __future__ import annotations

import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from toolfold.aws.clients import error_code
from toolfold.private_folder import PathRefused

logger = logging.getLogger("toolfold")

S = TypeVar("S")
T = TypeVar("T")

MAX_CLOCK_SKEW_S = 300.0
"""A value dated further in the future than this was written by a machine whose clock is wrong, and is ignored."""

Change = Callable[[bytes | None], bytes | None]
"""A record, None for a new one → what is stored instead; None: nothing."""


class CacheStore(ABC):
    """Store values and records by key. Times are seconds since 1970; after ``expires_at`` a key may go.

    A value goes also where others need its space. A record is what callers change in turn: a text of one of several
    states, a counter, or the time until which a slot is taken.
    A store may raise anything; :class:`FailSafeStore` turns every failure into a miss.
    """

    @abstractmethod
    def get(self, key: str) -> bytes | None:
        """Return the value or record last stored, stale or not, or None."""

    @abstractmethod
    def put(self, key: str, value: bytes, created_at: float, expires_at: float) -> None:
        """Store ``value`` unless a newer one is stored, which is not dated more than ``MAX_CLOCK_SKEW_S`` after it."""

    @abstractmethod
    def change(self, key: str, change: Change, expires_at: float | None) -> bytes | None:
        """Store what ``change`` makes of a record; return the one before. Without ``expires_at`` it keeps its time.

        One step: each of several callers changes what the one before has stored. Raises where there is no space:
        nothing else is evicted for it.
        """

    def replace(self, key: str, expected: bytes | None, value: bytes, expires_at: float | None = None) -> bool:
        """Store a record if the one before is ``expected``; return whether it was. Of several callers one gets True."""
        return self.change(key, lambda before: value if before == expected else None, expires_at) == expected

    def count_within(self, key: str, limit: int, expires_at: float) -> int:
        """Add 1 to a counter unless it has reached ``limit``; return the number before.

        One step: of calls at the same time, as many count as the limit allows.
        """

        def number(record: bytes | None) -> int:
            return int(record) if record and record.isdigit() else 0  # a damaged one must not stop all calls

        before = self.change(key, lambda n: str(number(n) + 1).encode() if number(n) < limit else None, expires_at)
        return number(before)

    def acquire_slot(self, key: str, now: float, expires_at: float) -> float:
        """Take the slot ``key`` until ``expires_at``; return 0, or the time at which it becomes free if it is taken."""
        until = repr(expires_at).encode()
        taken = self.change(key, lambda record: None if float(record or 0) > now else until, expires_at)
        return free_at if (free_at := float(taken or 0)) > now else 0.0


def increment(store: CacheStore, key: str, expires_at: float) -> int:
    """Add 1 to the counter ``key``, which has no limit, and return its new value."""
    return store.count_within(key, sys.maxsize, expires_at) + 1


class FailSafeStore(Generic[S]):
    """Use a store that may be slow, absent or broken. After a failure it is not used for ``cooldown_s`` seconds.

    The first failure of each kind is logged as that of ``name``. ``on_failure`` is called with the reason of each: a
    code of AWS or the name of an exception. ``clock`` is monotonic.
    """

    def __init__(
        self,
        store: S,
        cooldown_s: float,
        clock: Callable[[], float],
        *,
        name: str = "Shared cache",
        on_failure: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store, self._cooldown_s, self._clock = store, cooldown_s, clock
        self._name, self._on_failure, self._logged = name, on_failure, set[str]()
        self._unavailable_until = float("-inf")

    def run(self, operation: Callable[[S], T]) -> T | None:
        """Return the result of ``operation`` on the store; None when it fails or is not to be used yet."""
        # At most the cooldown: the clock of an environment that was suspended may return to an earlier time.
        if 0 < self._unavailable_until - self._clock() <= self._cooldown_s:
            return None
        try:
            return operation(self._store)
        except MemoryError:  # SQL over an answer may have all memory of SQLite, but for a moment only
            return None
        except Exception as error:  # noqa: BLE001 - no failure of the store may fail the call
            reason = reason_of(error)
        if reason not in self._logged:  # it lasts until the user changes something, in a log that may be unread
            self._logged.add(reason)
            logger.warning("%s unavailable (%s); retrying in %g s", self._name, reason, self._cooldown_s)
        self._unavailable_until = self._clock() + self._cooldown_s
        self._on_failure(reason)
        return None


class Unavailable(Exception):
    """Records, or a secret, cannot be used. The text is for the log: it may name a path, but no secret."""


class Locked(Unavailable):
    """Another process is changing a record."""


def reason_of(error: Exception) -> str:
    """Return what may be logged of a failure."""
    # The code or the type alone: another text may have an address or a name. That of a refused path is for the user.
    return str(error) if isinstance(error, PathRefused) else error_code(error)


class Records:
    """A store whose failures are raised. Safe to use from many threads."""

    def __init__(self, store: CacheStore) -> None:
        self._store = store

    def run(self, operation: Callable[[CacheStore], T]) -> T:
        """Return the result of ``operation`` on the store.

        Raises:
            Unavailable: it failed, and nothing is known about the record.
        """
        try:
            return operation(self._store)
        except Exception as error:
            raise Unavailable(reason_of(error)) from error
