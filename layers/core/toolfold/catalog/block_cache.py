"""Blocks of a catalog that is too large to hold: fetched when they are asked for, held against their hashes, kept while
there is room."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from threading import Lock

from toolfold.catalog.reader import HASH_DIGITS, Block, Span, damaged

MAX_CACHE_BYTES = 96 << 20
"""Bytes of blocks that are kept: what a query needs at 10,000 tools whole, and a tenth of a Lambda of 1,024 MB."""

Fetch = Callable[[Sequence[int], Sequence[int]], Sequence[bytes]]
"""Starts and lengths, in bytes from the beginning of the catalog → their bytes, fetched side by side. Raises
``CatalogUnavailable``."""


class CachedBlockReader:
    """A ``sections.Read`` over ``fetch``; the blocks that have not been used for longest go first.

    ``base`` is the length of the catalog's first line.
    """

    is_remote = True

    def __init__(self, fetch: Fetch, base: int, room: int = MAX_CACHE_BYTES) -> None:
        self._fetch = fetch
        self._base = base
        self._room = room
        self._kept: dict[Block, bytes] = {}
        self._size = 0
        self._lock = Lock()

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return self._size

    def __call__(self, blocks: Sequence[Block]) -> Sequence[Span]:
        found: dict[Block, bytes] = {}
        with self._lock:
            for block in blocks:
                if (kept := self._kept.pop(block, None)) is not None:
                    self._kept[block] = found[block] = kept  # now the youngest
        missing = [block for block in dict.fromkeys(blocks) if block not in found]
        if missing:
            fetched = self._fetch([self._base + start for start, _, _ in missing], [size for _, size, _ in missing])
            for block, content in zip(missing, fetched, strict=True):
                if hashlib.sha256(content).hexdigest()[:HASH_DIGITS] != block[2]:
                    raise damaged(f"the {block[1]} bytes from {block[0]} do not match their hash")
                found[block] = content
            self._keep({block: found[block] for block in missing})
        return [(found[block], 0, len(found[block])) for block in blocks]

    def _keep(self, fetched: dict[Block, bytes]) -> None:
        with self._lock:
            for block, content in fetched.items():
                if block not in self._kept:
                    self._kept[block] = content
                    self._size += len(content)
            while self._size > self._room:
                oldest = next(iter(self._kept))
                self._size -= len(self._kept.pop(oldest))
