"""One held answer as bytes: compressed, dated, and bound by a hash to the call that it answers."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import Literal

from toolfold.cache.base import MAX_CLOCK_SKEW_S
from toolfold.errors import CALL_ERRORS, CallError

_DIGEST = 16
_LEVEL = 1
"""Of zlib. Prices shrink to a fifth even so, in a third of the time of the default level."""


@dataclass(frozen=True)
class Entry:
    """``body`` was fetched at ``at`` and is good until ``until``, both in seconds since 1970.

    ``kind`` is json or csv for data; the body of an error is a JSON object with code, message, suggestion, details.
    """

    kind: Literal["json", "csv", "error"]
    body: str
    at: float
    until: float

    @classmethod
    def of_error(cls, error: CallError, at: float, until: float) -> Entry:
        said = [error.code, error.message, error.suggestion, dict(error.details)]
        return cls("error", json.dumps(said), at, until)

    def error(self) -> CallError:
        """The error that was remembered."""
        code, message, suggestion, details = json.loads(self.body)
        return CALL_ERRORS[code](message, suggestion, **details)


def pack(entry: Entry, name: str) -> bytes:
    """``entry`` as bytes, valid for the call ``name`` alone."""
    head = json.dumps([entry.kind, entry.at, entry.until])
    content = zlib.compress(f"{head}\n{entry.body}".encode(), _LEVEL)
    return _digest(name, content) + content


def unpack(blob: bytes, name: str, now: float, limit: int, stale_if_error_s: float = 0.0) -> Entry | None:
    """The entry in ``blob``; None when it is damaged, larger than ``limit`` bytes, of another call, or past its time by
    ``stale_if_error_s`` seconds."""
    digest, content = blob[:_DIGEST], blob[_DIGEST:]
    if digest != _digest(name, content):
        return None
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(content, limit + 1000)  # 1,000: the line before the body
        if not unpacker.eof:
            return None
        head, _, body = text.decode().partition("\n")
        kind, at, until = json.loads(head)
    except (zlib.error, ValueError):
        return None
    return Entry(kind, body, at, until) if at - MAX_CLOCK_SKEW_S <= now < until + stale_if_error_s else None


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST, key=hashlib.sha256(name.encode()).digest()).digest()
