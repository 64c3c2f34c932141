"""A store in the memory of this process.

Keep what was computed from other values, within a limit of bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from cachetools import LRUCache

_MAX_SHARE = 4
"""A value that takes more than this fraction of the limit is not stored: it would displace too many others."""

_OVERHEAD_BYTES = 600
"""What a value takes beside its own size: its key, its place in the cache, and the references to its owners."""


class _Stored(NamedTuple):
    owners: tuple[object, ...]
    value: Any
    size: int


class Memo:
    """Values computed from immutable objects, their owners; the ones used last. Safe to use from many threads.

    A value is found again with the same owners only. They are compared by identity, so that a cache entry, a tool or a
    source that was replaced by another with the same name has no values. Values are shared and must not be changed.

    Args:
        max_bytes: limit of all values together.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_value_bytes = max_bytes // _MAX_SHARE
        # An id stays that of its owner as long as the owner is stored.
        self._stored: LRUCache[tuple[object, ...], _Stored] = LRUCache(max_bytes, getsizeof=lambda stored: stored.size)
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes of all values together, as stated to :meth:`put`."""
        return int(self._stored.currsize)

    def get(self, kind: str, owners: tuple[object, ...], key: Hashable = None) -> Any:
        """Return the value that was put, or None.

        Args:
            kind: what the value is.
            owners: what it was computed from.
            key: what else it was computed from, compared by equality.
        """
        with self._lock:
            try:
                return self._stored[(kind, key, *map(id, owners))].value
            except KeyError:
                return None

    def put(self, kind: str, owners: tuple[object, ...], key: Hashable, value: Any, size: int) -> None:
        """Store ``value``, which takes ``size`` bytes, unless it is too large."""
        size += _OVERHEAD_BYTES
        if size > self._max_value_bytes:
            return
        with self._lock:
            self._stored[(kind, key, *map(id, owners))] = _Stored(owners, value, size)


_MAX_NUMBERS = 50_000
"""Counters kept, and slots; each is for one API key and one day, or for one second. About 15 MB."""


class MemoryStore:
    """Keep the values used last, within a limit of bytes. Safe to use from many threads.

    Values for all API keys and values for one key are evicted apart: what belongs to made-up keys does not displace
    what all callers use.

    Args:
        max_bytes: limit of all values together. A larger value is not stored.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._common: LRUCache[str, bytes] = LRUCache(max_bytes, getsizeof=len)
        self._own: LRUCache[str, bytes] = LRUCache(max_bytes, getsizeof=len)
        self._counters: LRUCache[str, int] = LRUCache(_MAX_NUMBERS)
        self._slots: LRUCache[str, float] = LRUCache(_MAX_NUMBERS)
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """Return the value last put, or None."""
        with self._lock:
            value = self._common.get(key)
            return self._own.get(key) if value is None else value

    def put(self, key: str, value: bytes, created_at: float, expires_at: float, *, common: bool = True) -> None:
        """Store ``value``; the last one put wins.

        Args:
            key: names it.
            value: the value.
            created_at: not used here.
            expires_at: not used here.
            common: whether the value is for all API keys. Those for one key may displace others only from the half of
                the space that those take, and the other way round.
        """
        with self._lock:
            self._common.pop(key, None)
            self._own.pop(key, None)
            if len(value) <= self._max_bytes:
                (self._common if common else self._own)[key] = value
            while self._common.currsize + self._own.currsize > self._max_bytes:
                (self._own if 2 * self._own.currsize > self._max_bytes else self._common).popitem()

    def count_within(
        self, key: str, limits: Mapping[str, int], expires_at: float, over: Sequence[str] = ()
    ) -> Mapping[str, int]:
        """Add 1 to each counter of ``key`` unless one has reached its limit; return the counters before."""
        with self._lock:
            for name in over:
                self._counters.pop(f"{key}/{name}", None)
            before = {name: self._counters.get(f"{key}/{name}", 0) for name in limits}
            if all(before[name] < limit for name, limit in limits.items()):
                self._counters.update({f"{key}/{name}": count + 1 for name, count in before.items()})
            return before

    def acquire_slot(self, key: str, now: float, expires_at: float) -> float:
        """Take the slot ``key``: return 0, or the time at which it becomes free."""
        with self._lock:
            taken_until = self._slots.get(key, 0.0)
            if taken_until > now:
                return taken_until
            self._slots[key] = expires_at
            return 0.0
