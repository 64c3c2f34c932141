"""A store in the memory of this process."""

from __future__ import annotations

import threading

from cachetools import LRUCache

_MAX_NUMBERS = 10_000
"""Counters and slots kept; each is for one API key and one day, or for one second."""


class MemoryStore:
    """Keep the values used last, within a limit of bytes. Safe to use from many threads.

    Args:
        max_bytes: limit of all values together. A larger value is not stored.
    """

    def __init__(self, max_bytes: int) -> None:
        self._values: LRUCache[str, bytes] = LRUCache(max_bytes, getsizeof=len)
        self._numbers: LRUCache[str, float] = LRUCache(_MAX_NUMBERS)
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """Return the value last put, or None."""
        with self._lock:
            return self._values.get(key)

    def put(self, key: str, value: bytes, created_at: float, expires_at: float) -> None:
        """Store ``value``; the last one put wins."""
        with self._lock:
            self._values.pop(key, None)
            if len(value) <= self._values.maxsize:
                self._values[key] = value

    def increment(self, key: str, expires_at: float) -> int:
        """Add 1 to the counter ``key`` and return its new value."""
        with self._lock:
            count = int(self._numbers.get(key, 0)) + 1
            self._numbers[key] = count
            return count

    def acquire_slot(self, key: str, now: float, expires_at: float) -> float:
        """Take the slot ``key``: return 0, or the time at which it becomes free."""
        with self._lock:
            taken_until = self._numbers.get(key, 0.0)
            if taken_until > now:
                return taken_until
            self._numbers[key] = expires_at
            return 0.0
