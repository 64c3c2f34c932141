"""The cache of responses: memory first, then the store that other processes share."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from toolfold.cache.base import CacheStore
from toolfold.cache.entry import Entry, decode, encode
from toolfold.cache.fail_safe import FailSafeStore
from toolfold.cache.key import is_own_key
from toolfold.cache.memo import Memo
from toolfold.cache.memory import MemoryStore


class ResponseCache:
    """Look up entries in memory and in a shared store. Nothing here raises: a damaged entry is a miss.

    Args:
        memory: the store of this process.
        shared: the store of all processes, or None.
        max_entry_bytes: limit of an entry when it is decompressed.
        stale_if_error_s: seconds past its time for which an entry is kept, for :meth:`get_stale`.
        memo: has the decoded entries that were used last.
    """

    def __init__(
        self,
        memory: MemoryStore,
        shared: FailSafeStore[CacheStore] | None,
        max_entry_bytes: int,
        stale_if_error_s: float = 0.0,
        memo: Memo | None = None,
    ) -> None:
        self._memory, self._shared, self._memo = memory, shared, memo or Memo(0)
        self._max_entry_bytes, self._stale_if_error_s = max_entry_bytes, stale_if_error_s

    def get_local(self, keys: Iterable[str], now: float, stale_if_error_s: float = 0.0) -> Entry | None:
        """Return the newest entry under ``keys`` that is fresh at ``now``, from memory alone."""
        found = None
        for key in keys:
            blob = self._memory.get(key)
            entry = None if blob is None else self._decode(blob, key, now, stale_if_error_s)
            if entry is not None and (found is None or entry.created_at > found.created_at):
                found = entry
        return found

    def get_shared(self, key: str, now: float, stale_if_error_s: float = 0.0) -> Entry | None:
        """Return the entry under ``key`` that is fresh at ``now``, from the shared store; and keep it in memory."""
        blob = None if self._shared is None else self._shared.run(lambda store: store.get(key))
        entry = None if blob is None else decode(blob, key, now, self._max_entry_bytes, stale_if_error_s)
        if blob is not None and entry is not None:
            self._memory.put(key, blob, entry.created_at, entry.expires_at, common=not is_own_key(key))
        return entry

    def get_stale(self, keys: Sequence[str], now: float) -> Entry | None:
        """Return the newest entry under ``keys`` in memory, or the one under the first of them in the shared store.

        It is fresh at ``now``, or stale by no more than ``stale_if_error_s``.
        """
        stale_s = self._stale_if_error_s
        return self.get_local(keys, now, stale_s) or self.get_shared(keys[0], now, stale_s)

    def put(self, key: str, entry: Entry, shared: bool = True) -> None:
        """Store ``entry`` in memory and, if ``shared``, in the shared store."""
        blob = encode(entry, key)
        self._memory.put(key, blob, entry.created_at, entry.expires_at, common=not is_own_key(key))
        if shared and self._shared is not None:
            kept_until = entry.expires_at + self._stale_if_error_s
            self._shared.run(lambda store: store.put(key, blob, entry.created_at, kept_until))

    def _decode(self, blob: bytes, key: str, now: float, stale_if_error_s: float) -> Entry | None:
        """Return the entry in ``blob``, which is in memory: the same object as long as it is."""
        found: Entry | None = self._memo.get("entry", (blob,), key)
        if found is not None:
            return found if found.is_usable(now, stale_if_error_s) else None
        entry = decode(blob, key, now, self._max_entry_bytes, stale_if_error_s)
        if entry is not None and not entry.repeats_key:
            size = len(blob) + sys.getsizeof(entry.body) + sys.getsizeof(entry.blocks)
            self._memo.put("entry", (blob,), key, entry, size)
        return entry
