"""Where what is held outlives a call: memory, a file, a table. One small interface, three of them.

A place may fail in any way; :class:`FailSafeStore` makes of every failure a slower call at most.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from toolfold.aws.clients import error_code

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.settings import Settings

    T = TypeVar("T")

    class CacheStore(Protocol):
        """Holds values and numbers by name. Times are seconds since 1970; after ``until`` a name may be forgotten."""

        def get(self, name: str) -> bytes | None:
            """The value last put, whether stale or not, or None."""

        def put(self, name: str, value: bytes, at: float, until: float) -> None:
            """Hold ``value``, unless a newer one than ``at`` is held; one over ``MAX_CLOCK_SKEW_S`` later does not count."""

        def add(self, name: str, until: float) -> int:
            """Count one more; the count so far."""

        def reserve(self, name: str, now: float, until: float) -> float:
            """RowLimit the name until ``until``: 0 when it was free; else when it will be, and it is not taken."""


logger = logging.getLogger("toolfold")

MAX_CLOCK_SKEW_S = 300.0
"""What is dated further in the future than this was written by a clock that was wrong, and says nothing."""

_NUMBERS = 10_000
"""Counters kept in memory; each is for one key and one day, or for one second."""


class Memory:
    """This process's memory. ``limit`` bounds the values, in bytes; what was used least recently goes first."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._values: OrderedDict[str, bytes] = OrderedDict()
        self._numbers: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> bytes | None:
        with self._lock:
            if name not in self._values:
                return None
            self._values.move_to_end(name)
            return self._values[name]

    def put(self, name: str, value: bytes, at: float, until: float) -> None:
        with self._lock:
            self._size -= len(self._values.pop(name, b""))
            if len(value) > self._limit:
                return
            self._values[name] = value
            self._size += len(value)
            while self._size > self._limit:
                self._size -= len(self._values.popitem(last=False)[1])

    def add(self, name: str, until: float) -> int:
        with self._lock:
            count = int(self._numbers.pop(name, 0)) + 1
            self._note(name, count)
            return count

    def reserve(self, name: str, now: float, until: float) -> float:
        with self._lock:
            taken = self._numbers.get(name, 0.0)
            if taken > now:
                return taken
            self._note(name, until)
            return 0.0

    def _note(self, name: str, number: float) -> None:
        self._numbers[name] = number
        self._numbers.move_to_end(name)
        if len(self._numbers) > _NUMBERS:
            self._numbers.popitem(last=False)


class FailSafeStore:
    """A place that may be slow, absent or broken. After a failure it is left alone for ``cooldown_s`` seconds.

    ``open_place`` is called when the place is first asked, and again after a failure.
    """

    def __init__(self, open_place: Callable[[], CacheStore], cooldown_s: float, clock: Callable[[], float]) -> None:
        self._open, self._cooldown_s, self._clock = open_place, cooldown_s, clock
        self._place: CacheStore | None = None
        self._rests_until = float("-inf")
        self._lock = threading.Lock()

    def ask(self, question: Callable[[CacheStore], T]) -> T | None:
        """What the place answers; None when it cannot, or is being left alone."""
        with self._lock:
            # Not longer than it may: the clock of an environment that was put to sleep may come back earlier.
            if 0 < self._rests_until - self._clock() <= self._cooldown_s:
                return None
            try:
                if self._place is None:
                    self._place = self._open()
                place = self._place
            except Exception as error:  # noqa: BLE001 - as below
                self._rest(error)
                return None
        try:
            return question(place)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong there must not fail the call
            with self._lock:
                self._rest(error)
            return None

    def _rest(self, error: Exception) -> None:
        # The code or the type alone: a text may hold a path or an address.
        logger.warning("the shared cache fails (%s); it is left alone for a while", error_code(error))
        self._place, self._rests_until = None, self._clock() + self._cooldown_s


def create_shared_store(settings: Settings, clock: Callable[[], float], aws: AwsClients) -> FailSafeStore | None:
    """The place that ``settings.cache`` names, shared with other processes; None where there is none.

    The words: empty or ``memory``, ``off``, ``dynamodb://table``; anything else is the path of a file.
    """
    where = settings.cache
    if where in ("", "memory", "off"):
        return None

    def opened() -> CacheStore:
        if where.startswith("dynamodb://"):
            from toolfold.cache.dynamodb import DynamoDBStore

            return DynamoDBStore(
                aws, where.removeprefix("dynamodb://"), settings.cache_bucket, settings.cache_timeout_s
            )
        from pathlib import Path

        from toolfold.cache.sqlite import SQLiteStore

        return SQLiteStore(Path(where).expanduser(), settings.cache_file_bytes, settings.cache_timeout_s)

    return FailSafeStore(opened, settings.cache_cooldown_s, clock)
