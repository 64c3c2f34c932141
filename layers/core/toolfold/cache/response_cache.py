"""The cache of responses: memory first, then the store that other processes share.

Cached responses as bytes: compressed, dated, and bound by a hash to their cache key.
"""

from __future__ import annotations

import hashlib
import json
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolfold.cache.base import MAX_CLOCK_SKEW_S, CacheStore, FailSafeStore
from toolfold.cache.key import is_own_key
from toolfold.cache.memory import Memo, MemoryStore
from toolfold.errors import CALL_ERRORS, CallError, InternalError
from toolfold.wording import from_data, to_data

_DIGEST_BYTES = 16
_COMPRESSION_LEVEL = 1
"""Of zlib. Prices shrink to a fifth at this level, in a third of the time that the default level takes."""

_MAX_HEADER_BYTES = 1000


@dataclass(frozen=True)
class Entry:
    """A response, or an error that a repeated call would meet again.

    Attributes:
        kind: ``json``, ``csv`` or ``text`` for data, ``error`` for an error.
        body: the data; for an error the JSON text of ``[code, problem, next step, details]``.
        created_at: when it was fetched, in seconds since 1970.
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

    def is_usable(self, now: float, stale_if_error_s: float = 0.0) -> bool:
        """Return whether the entry is fresh at ``now``, or stale by less than ``stale_if_error_s``.

        One from the future is not: the clock of the machine that wrote it is wrong.
        """
        return self.created_at - MAX_CLOCK_SKEW_S <= now < self.expires_at + stale_if_error_s

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
    header = json.dumps([entry.kind, entry.created_at, entry.expires_at, entry.repeats_key, len(entry.blocks)])
    content = zlib.compress(f"{header}\n{entry.blocks}{entry.body}".encode(), _COMPRESSION_LEVEL)
    return _digest(key, content) + content


def decode(blob: bytes, key: str, now: float, max_bytes: int, stale_if_error_s: float = 0.0) -> Entry | None:
    """Return the entry in ``blob``, or None where it cannot be used.

    Args:
        blob: what :func:`encode` returned.
        key: the cache key under which it was found.
        now: seconds since 1970.
        max_bytes: limit of the decompressed body.
        stale_if_error_s: seconds past ``expires_at`` for which the entry is still returned.

    Returns:
        None when it is damaged, too large, of another key, from the future, or stale.
    """
    digest, content = blob[:_DIGEST_BYTES], blob[_DIGEST_BYTES:]
    if digest != _digest(key, content):
        return None
    try:
        decompressor = zlib.decompressobj()
        text = decompressor.decompress(content, max_bytes + _MAX_HEADER_BYTES)
        if not decompressor.eof:
            return None
        header, _, body = text.decode().partition("\n")
        kind, created_at, expires_at, repeats_key, split = json.loads(header)
    except (zlib.error, ValueError, TypeError):
        return None
    entry = Entry(kind, body[split:], created_at, expires_at, repeats_key, body[:split])
    return entry if entry.is_usable(now, stale_if_error_s) else None


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES, key=hashlib.sha256(key.encode()).digest()).digest()


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
