"""Cached responses as bytes: compressed, dated, and bound by a hash to their cache key."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import Literal

from toolfold.cache.base import MAX_CLOCK_SKEW_S
from toolfold.errors import CALL_ERRORS, CallError

_DIGEST_BYTES = 16
_COMPRESSION_LEVEL = 1
"""Of zlib. Prices shrink to a fifth at this level, in a third of the time that the default level takes."""

_MAX_HEADER_BYTES = 1000


@dataclass(frozen=True)
class Entry:
    """A response, or an error that a repeated call would meet again.

    Attributes:
        kind: ``json``, ``csv`` or ``text`` for data, ``error`` for an error.
        body: the data; for an error the JSON text of ``[code, message, suggestion, details]``.
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
        fields = [error.code, error.message, error.suggestion, dict(error.details)]
        return cls("error", json.dumps(fields), created_at, expires_at)

    def to_error(self) -> CallError:
        """Return the error that this entry holds."""
        code, message, suggestion, details = json.loads(self.body)
        return CALL_ERRORS[code](message, suggestion, **details)


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
