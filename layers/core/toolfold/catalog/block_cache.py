"""Read the blocks of a large catalog on demand, check them against their hashes, and cache them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from threading import Lock

from cachetools import LRUCache

from toolfold.catalog.reader import HASH_DIGITS, Block, Span, damaged

MAX_CACHE_BYTES = 96 << 20
"""Size of the cache: what queries read of 10,000 tools, and a tenth of the memory of a 1,024 MB Lambda function."""

Fetch = Callable[[Sequence[int], Sequence[int]], Sequence[bytes]]
"""Function that returns the bytes at starts and lengths, counted from the beginning of the catalog. It fetches them in
parallel and raises ``CatalogUnavailable``."""


class CachedBlockReader:
    """Reads blocks through ``fetch``; drops the least recently used ones when the cache is full.

    Args:
        fetch: reads ranges of the catalog.
        base: the length of the catalog's first line, from which the starts of blocks count.
        max_bytes: the size of the cache.
    """

    is_remote = True

    def __init__(self, fetch: Fetch, base: int, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self._fetch = fetch
        self._base = base
        self._blocks: LRUCache[Block, bytes] = LRUCache(max_bytes, getsizeof=len)
        self._lock = Lock()

    @property
    def size(self) -> int:
        """Return the bytes in the cache."""
        return int(self._blocks.currsize)

    def __call__(self, blocks: Sequence[Block]) -> Sequence[Span]:
        """Return ``blocks`` in their order.

        Raises:
            CatalogUnavailable: a block cannot be read, or does not match its hash.
        """
        with self._lock:
            found = {block: content for block in blocks if (content := self._blocks.get(block)) is not None}
        missing = [block for block in dict.fromkeys(blocks) if block not in found]
        if missing:
            fetched = self._fetch([self._base + start for start, _, _ in missing], [size for _, size, _ in missing])
            for block, content in zip(missing, fetched, strict=True):
                if hashlib.sha256(content).hexdigest()[:HASH_DIGITS] != block[2]:
                    raise damaged(f"the {block[1]} bytes from {block[0]} do not match their hash")
                found[block] = content
            with self._lock:
                for block in missing:
                    if len(found[block]) <= self._blocks.maxsize:
                        self._blocks[block] = found[block]
        return [(found[block], 0, len(found[block])) for block in blocks]
