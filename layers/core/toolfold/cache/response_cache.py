"""The cache of responses: memory first, then the store that other processes share."""

from __future__ import annotations

from typing import Literal

from toolfold.cache.entry import Entry, decode, encode
from toolfold.cache.fail_safe import FailSafeStore
from toolfold.cache.memory import MemoryStore

Layer = Literal["memory", "shared"]


class ResponseCache:
    """Look up entries in memory and in a shared store. Nothing here raises: a damaged entry is a miss.

    Args:
        memory: the store of this process.
        shared: the store of all processes, or None.
        max_entry_bytes: limit of an entry when it is decompressed.
        stale_if_error_s: seconds past its time for which an entry is kept, for :meth:`get_stale`.
    """

    def __init__(
        self, memory: MemoryStore, shared: FailSafeStore | None, max_entry_bytes: int, stale_if_error_s: float = 0.0
    ) -> None:
        self._memory, self._shared = memory, shared
        self._max_entry_bytes, self._stale_if_error_s = max_entry_bytes, stale_if_error_s

    def get(self, key: str, now: float) -> tuple[Entry, Layer] | None:
        """Return the entry that is fresh at ``now``, and the layer in which it was found."""
        return self._get(key, now, 0.0)

    def get_stale(self, key: str, now: float) -> Entry | None:
        """Return the entry that is fresh at ``now``, or stale by no more than ``stale_if_error_s``."""
        found = self._get(key, now, self._stale_if_error_s)
        return None if found is None else found[0]

    def get_local(self, key: str, now: float, stale_if_error_s: float = 0.0) -> Entry | None:
        """Return the entry as :meth:`get`, from memory alone."""
        blob = self._memory.get(key)
        return None if blob is None else decode(blob, key, now, self._max_entry_bytes, stale_if_error_s)

    def put(self, key: str, entry: Entry, shared: bool = True) -> None:
        """Store ``entry`` in memory and, if ``shared``, in the shared store."""
        blob = encode(entry, key)
        self._memory.put(key, blob, entry.created_at, entry.expires_at)
        if shared and self._shared is not None:
            kept_until = entry.expires_at + self._stale_if_error_s
            self._shared.run(lambda store: store.put(key, blob, entry.created_at, kept_until))

    def _get(self, key: str, now: float, stale_if_error_s: float) -> tuple[Entry, Layer] | None:
        entry = self.get_local(key, now, stale_if_error_s)
        if entry is not None:
            return entry, "memory"
        blob = None if self._shared is None else self._shared.run(lambda store: store.get(key))
        entry = None if blob is None else decode(blob, key, now, self._max_entry_bytes, stale_if_error_s)
        if blob is None or entry is None:
            return None
        self._memory.put(key, blob, entry.created_at, entry.expires_at)
        return entry, "shared"
