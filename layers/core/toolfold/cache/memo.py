"""Keep what was computed from other values, within a limit of bytes."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Any, NamedTuple

from cachetools import LRUCache

__all__ = ["Memo"]

_MAX_SHARE = 8
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
