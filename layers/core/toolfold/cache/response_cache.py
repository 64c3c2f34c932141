"""The cache of responses: the memory of this process, and entries in memory and in a shared store.

Calls and API keys are named by hashes, from which neither arguments nor keys can be read. Cached responses are bytes:
compressed, dated, and with their cache key.
"""

from __future__ import annotations

import json
import sys
import threading
import zlib
from collections.abc import Hashable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from cachetools import LRUCache

from toolfold.cache.stores import MAX_CLOCK_SKEW_S, CacheStore, Change, FailSafeStore
from toolfold.errors import CALL_ERRORS, CallError, InternalError
from toolfold.wording import from_data, to_data

_MAX_SHARE = 4
"""A value that takes more than this fraction of the limit is not stored: it would displace too many others."""

_OVERHEAD_BYTES = 600
"""What a value takes beside its own size: its key, its place in the cache, and the references to its owners."""


class Memo:
    """Values computed from immutable objects, their owners; the ones used last. Safe to use from many threads.

    A value is found again with the same owners only. They are compared by identity, so that a cache entry, a tool or a
    source that was replaced by another with the same name has no values. Values are shared and must not be changed.
    ``max_bytes`` is the limit of all together.
    """

    def __init__(self, max_bytes: int) -> None:
        # By kind, key and ids of the owners; with the owners, as an id stays that of its owner as long as it is stored.
        self._stored: LRUCache[Any, tuple[Any, Any, int]] = LRUCache(max_bytes, getsizeof=itemgetter(2))
        self._lock = threading.Lock()

    def get(self, kind: str, owners: tuple[object, ...], key: Hashable = None) -> Any:
        """Return the value that was computed from ``owners`` and an equal ``key``, or None."""
        with self._lock:
            found = self._stored.get((kind, key, *map(id, owners)))
            return None if found is None else found[1]

    def put(self, kind: str, owners: tuple[object, ...], key: Hashable, value: Any, size: int) -> None:
        """Store ``value``, which takes ``size`` bytes, unless it is too large."""
        size += _OVERHEAD_BYTES
        if size * _MAX_SHARE <= self._stored.maxsize:
            with self._lock:
                self._stored[(kind, key, *map(id, owners))] = owners, value, size


_MAX_RECORD_BYTES = 16_000_000
_RECORD_BYTES = 300
"""What a record takes beside its own size: one is of one API key or caller, and one day."""


class MemoryStore(CacheStore):
    """Keep the values used last, ``max_bytes`` of them together. Safe to use from many threads.

    Values for all API keys and values for one key are evicted apart: what belongs to made-up keys does not displace
    what all callers use. Nor do values displace records, whose limit is their own.
    """

    def __init__(self, max_bytes: int) -> None:
        self._common: LRUCache[str, bytes] = LRUCache(max_bytes, getsizeof=len)
        self._own: LRUCache[str, bytes] = LRUCache(max_bytes, getsizeof=len)
        self._records: LRUCache[str, bytes] = LRUCache(_MAX_RECORD_BYTES, lambda record: len(record) + _RECORD_BYTES)
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """Return the value or record last stored, or None."""
        with self._lock:
            found = [stored[key] for stored in (self._common, self._own, self._records) if key in stored]
        return found[0] if found else None

    def put(self, key: str, value: bytes, created_at: float, expires_at: float) -> None:
        """Store ``value``; the last one put wins.

        Values for one API key may displace others only from the half of the space that those take, and the other way
        round.
        """
        own, common = self._own, self._common
        with self._lock:
            for stored in (own, common):
                stored.pop(key, None)
            if len(value) <= own.maxsize:
                (own if "-" in key else common)[key] = value  # which ends with the hash of the API key
            while common.currsize + own.currsize > own.maxsize:
                (own if 2 * own.currsize > own.maxsize else common).popitem()

    def change(self, key: str, change: Change, expires_at: float | None) -> bytes | None:
        """Store what ``change`` makes of a record; return the one before."""
        with self._lock:
            before = self._records.get(key)
            if (after := change(before)) is not None:
                self._records[key] = after
        return before


_COMPRESSION_LEVEL = 1
"""Of zlib. Prices shrink to a fifth at this level, in a third of the time that the default level takes."""

_MAX_HEADER_BYTES = 1000


class Entry(NamedTuple):
    """A response, or an error that a repeated call would meet again.

    Attributes:
        kind: ``json``, ``csv`` or ``text`` for data, ``error`` for an error.
        body: the data; for an error the JSON text of ``[code, problem, next step, details]``.
        created_at: when its request was sent, in seconds since 1970: what the source did afterwards may be missing.
        expires_at: when it becomes stale.
        repeats_key: whether the upstream repeats an API key of the call in ``body``. Such an entry belongs to one key.
        blocks: see :class:`toolfold.models.ParsedResponse`.
    """

    kind: Literal["json", "csv", "text", "error"]
    body: str
    created_at: float
    expires_at: float
    repeats_key: bool = False
    blocks: str = ""

    def is_usable(self, now: float, stale_s: float = 0.0) -> bool:
        """Return whether the entry is fresh at ``now``, or stale by less than ``stale_s``.

        One from the future is not: the clock of the machine that wrote it is wrong.
        """
        return self.created_at - MAX_CLOCK_SKEW_S <= now < self.expires_at + stale_s

    @classmethod
    def from_error(cls, error: CallError, created_at: float, expires_at: float) -> Entry:
        """Make an entry of ``error``."""
        fields = [error.code, to_data(error.problem), to_data(error.next_step), dict(error.details)]
        return cls("error", json.dumps(fields), created_at, expires_at)

    def to_error(self) -> CallError:
        """Return the error that this entry holds."""
        code, problem, next_step, details = json.loads(self.body)
        return CALL_ERRORS.get(code, InternalError)(from_data(problem), from_data(next_step), **details)


def encode(entry: Entry, key: str) -> bytes:
    """Return ``entry`` as bytes that :func:`decode` accepts under ``key`` only."""
    header = json.dumps([key, *entry._replace(body="", blocks=""), len(entry.blocks)])
    return zlib.compress(f"{header}\n{entry.blocks}{entry.body}".encode(), _COMPRESSION_LEVEL)


def decode(blob: bytes, key: str, max_bytes: int) -> Entry | None:
    """Return the entry in ``blob``; None when it is damaged, too large, or of another key."""
    try:
        decompressor = zlib.decompressobj()
        header, _, body = decompressor.decompress(blob, max_bytes + _MAX_HEADER_BYTES).decode().partition("\n")
        found, *fields, split = json.loads(header)
        if found == key and decompressor.eof:  # where zlib has compared its checksum
            return Entry(*fields)._replace(body=body[split:], blocks=body[:split])
    except (zlib.error, ValueError, TypeError):
        pass
    return None


class ResponseCache:
    """Look up entries in memory and in a shared store. Nothing here raises: a damaged entry is a miss.

    A look-up returns an entry that is fresh at ``now``, or stale by no more than ``stale_s``. ``memo`` has the decoded
    entries that were used last.
    """

    def __init__(
        self, memory: MemoryStore, shared: FailSafeStore[CacheStore] | None, max_bytes: int, stale_s: float, memo: Memo
    ) -> None:
        self._memory, self._shared, self._memo = memory, shared, memo
        self._max_bytes, self._stale_s = max_bytes, stale_s

    def get_local(self, keys: Iterable[str], now: float, stale_s: float = 0.0) -> Entry | None:
        """Return the newest entry under ``keys``, from memory alone."""
        found: Entry | None = None
        for key in keys:
            if (blob := self._memory.get(key)) is None:
                continue
            entry: Entry | None = self._memo.get("entry", (blob,), key)  # the same object as long as it is in memory
            if entry is None and (entry := decode(blob, key, self._max_bytes)) is not None and not entry.repeats_key:
                size = len(blob) + sys.getsizeof(entry.body) + sys.getsizeof(entry.blocks)
                self._memo.put("entry", (blob,), key, entry, size)
            if entry is not None and entry.is_usable(now, stale_s):
                found = entry if found is None or entry.created_at > found.created_at else found
        return found

    def get_shared(self, key: str, now: float, stale_s: float = 0.0) -> Entry | None:
        """Return the entry under ``key``, from the shared store; and keep it in memory."""
        blob = None if self._shared is None else self._shared.run(lambda store: store.get(key))
        entry = None if blob is None else decode(blob, key, self._max_bytes)
        if blob is None or entry is None or not entry.is_usable(now, stale_s):
            return None
        self._memory.put(key, blob, entry.created_at, entry.expires_at)
        return entry

    def get_stale(self, keys: Sequence[str], now: float) -> Entry | None:
        """Return the newest entry under ``keys`` that may be returned while its source fails."""
        return self.get_local(keys, now, self._stale_s) or self.get_shared(keys[0], now, self._stale_s)

    def put(self, key: str, entry: Entry, shared: bool = True) -> None:
        """Store ``entry`` in memory and, if ``shared``, in the shared store."""
        blob = encode(entry, key)
        self._memory.put(key, blob, entry.created_at, entry.expires_at)
        if shared and self._shared is not None:
            self._shared.run(lambda store: store.put(key, blob, entry.created_at, entry.expires_at + self._stale_s))
