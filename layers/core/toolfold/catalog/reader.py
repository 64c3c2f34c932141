"""Read single values of a compiled catalog without parsing the rest.

The layout, written by ``build.writer``, is one JSON object over many lines::

    {"format":3,…
    ,"tools":{
    "ACOS":{…},
    "AD":{…}
    }
    ,"lines":{
    …
    }
    }

The first line, closed with ``}``, is the head. Each section has one ``"key":value`` per line, sorted by bytes, and is
divided into blocks. The head lists the blocks of each section: first key, start (in bytes after the first line),
length, hash. Reading a value takes a binary search over bytes, and parsing one line.

Read the blocks of a large catalog on demand, check them against their hashes, and cache them.
"""

from __future__ import annotations

import json
import logging
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import le
from typing import TYPE_CHECKING, Any

from toolfold.errors import CatalogUnavailable
from toolfold.messages import COMPILE, PUBLISH

if TYPE_CHECKING:
    from toolfold.wording import Text

logger = logging.getLogger("toolfold")

_quoted = json.JSONEncoder(ensure_ascii=False).encode

Block = tuple[int, int, str]
"""Start, length, and the first hexadecimal digits of the SHA-256."""

Span = tuple[bytes, int, int]
"""Bytes that contain a block, and its start and end in them."""

HASH_DIGITS = 32
"""Digits of the SHA-256 of a block that are stored: 128 bits prevent forged blocks and halve the size of the head."""

_MAX_CACHED_BYTES, _LINE_OVERHEAD_BYTES = 1 << 20, 200
"""Maximum size of the parsed lines that a section caches, and the overhead that each adds to its length. In memory a
line takes five to ten times as much. Missing keys are cached as well: most words of a query are not names."""

_MAX_BLOCK_BYTES = 4 << 20
"""Sixteen blocks of the writer in one: a block that a single long line fills."""

_UNREAD = object()


def _refuse(number: str) -> None:
    raise ValueError(f"{number} has a fraction")


_decode_whole, _decode_any = json.JSONDecoder(parse_float=_refuse).decode, json.JSONDecoder().decode
_WITH_FRACTIONS = frozenset({"tools", "definitions", "exposed"})
"""Sections with numbers that may have a fraction. JSON Schema takes 3.0 for an integer, and Python does not."""


def unavailable(problem: str, next_step: Text | None = None) -> CatalogUnavailable:
    """Return the error for a catalog, or a part of it, that cannot be read.

    Args:
        problem: what it is or has.
        next_step: by default that for a catalog in S3.
    """
    return CatalogUnavailable(f"The tool catalog {problem}.", next_step or PUBLISH)


def damaged(where: str) -> CatalogUnavailable:
    """Log that the part ``where`` of the catalog is damaged, and return the error."""
    logger.error("catalog is damaged: %s", where)
    return unavailable("is damaged", COMPILE)


def parse_head(line: bytes) -> Any:
    """Parse ``line``, the first line of a catalog.

    Raises:
        ValueError: It is not JSON.
        RecursionError: It is nested too deeply.
    """
    return json.loads(line.rstrip(b"\n").decode() + "}")


class MemoryBlocks:
    """Reads blocks of a catalog that is in memory; ``base`` is the length of its first line."""

    is_remote = False

    def __init__(self, content: bytes, base: int) -> None:
        self._content, self._base = content, base

    def __call__(self, blocks: Sequence[Block]) -> Sequence[Span]:
        """Return the content of ``blocks``, in their order."""
        base = self._base
        return [(self._content, base + start, base + start + length) for start, length, _ in blocks]


def hash_of(value: Any) -> str:
    """Return the SHA-256 of a JSON value."""
    import hashlib

    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def line_prefix(key: str) -> bytes:
    """Return the first bytes of the line of ``key``, by which lines are sorted. No prefix is part of another."""
    return f"{_quoted(key)}:".encode(errors="surrogatepass")


class Section:
    """A mapping from keys to JSON values, parsed line by line. Callers share the values and must not change them.

    ``check`` raises ValueError for a value that the section cannot have; None: all were written with this package.
    """

    __slots__ = ("_blocks", "_cached", "_cached_bytes", "_check", "_decode", "_name", "_read", "_size")

    def __init__(
        self,
        name: str,
        blocks: Sequence[Sequence[Any]],
        read: BlockReader,
        size: int | None = None,
        check: Callable[[str, Any], None] | None = None,
    ) -> None:
        self._name, self._size = name, sys.maxsize if size is None else size
        self._blocks, self._read, self._check = blocks, read, check
        self._decode = _decode_any if name in _WITH_FRACTIONS else _decode_whole
        self._cached: dict[str, Any] = {}
        self._cached_bytes = 0

    def get(self, key: str) -> Any:
        """Return the value of ``key``, or None.

        Raises:
            CatalogUnavailable: The block cannot be read, the line is damaged, or the value is not valid.
        """
        cached = self._cached.get(key, _UNREAD)
        if cached is not _UNREAD:
            return cached
        prefix = line_prefix(key)
        at = self._block_of(prefix)
        ((data, low, high),) = self._read([self._block(at)]) if at >= 0 else ((b"", 0, 0),)
        line = _find(data, low, high, prefix)
        value = None if line is None else self._checked(key, self._parse(line))
        size = _LINE_OVERHEAD_BYTES + len(prefix) + len(line or b"")
        if self._cached_bytes + size > _MAX_CACHED_BYTES:
            # Emptied as a whole: frequent keys return soon, and threads need no lock to agree on the oldest entry.
            self._cached, self._cached_bytes = {}, 0
        self._cached[key] = value
        self._cached_bytes += size
        return value

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield every key and value, sorted by the bytes of the keys."""
        end = 0
        for at in range(len(self._blocks)):
            block = self._block(at)
            if block[0] < end:  # blocks that overlap would be read again and again
                raise damaged(f"block {at} of {self._name}")
            end = block[0] + block[1]
            ((data, low, high),) = self._read([block])
            lines = self._parse(b"{" + data[low:high].rstrip(b",\n") + b"}")
            if not isinstance(lines, dict):
                raise damaged(f"block {at} of {self._name}")
            yield from ((key, self._checked(key, value)) for key, value in lines.items())

    def blocks_of(self, keys: Iterable[str]) -> set[Block]:
        """Return the blocks that contain ``keys`` if the section has them."""
        return {self._block(at) for key in keys if (at := self._block_of(line_prefix(key))) >= 0}

    def _block_of(self, prefix: bytes) -> int:
        try:
            return bisect_right(self._blocks, prefix, key=lambda block: line_prefix(block[0])) - 1
        except (TypeError, LookupError):
            raise damaged(f"blocks of {self._name}") from None

    def _block(self, at: int) -> Block:
        match self._blocks[at]:
            case [str(), int(start), int(length), str(sha256)]:
                if 0 <= start <= start + length <= self._size and 0 <= length <= _MAX_BLOCK_BYTES:
                    return start, length, sha256
        raise damaged(f"block {at} of {self._name}")

    def _checked(self, key: str, value: Any) -> Any:
        try:
            if self._check is not None:
                self._check(self._name, value)
        except (ValueError, RecursionError) as error:
            raise damaged(f"{key[:64]!a} of {self._name}: its {error}") from None
        return value

    def _parse(self, line: bytes) -> Any:
        try:
            return self._decode(line.decode())
        except (ValueError, RecursionError):
            raise damaged(f"a line of {self._name}") from None


def are_runs(value: Sequence[int], tools: int) -> bool:
    """Return whether ``value`` has starts and stops of runs of positions in ascending order, of ``tools`` tools."""
    return len(value) % 2 == 0 and all(map(le, value, (*value[1:], tools)))


def positions_in(runs: Sequence[int]) -> Iterator[int]:
    """Yield the positions in ``[start, stop, start, stop, …]``."""
    return chain.from_iterable(map(range, runs[::2], runs[1::2]))


def line_key(position: int) -> str:
    """Return the key of the line of a tool: of fixed width, so that sorted keys have the order of the listing."""
    return f"{position:07d}"


def member_key(field: str, value: str) -> str:
    """Return the key of the positions of the tools that have ``value`` in ``field``."""
    return f"{field}:{value}"


def _find(data: bytes, low: int, high: int, prefix: bytes) -> bytes | None:
    """Return the rest of the line that starts with ``prefix``, among the sorted lines from ``low`` to ``high``."""
    size = len(prefix)
    while low < high:
        middle = (low + high) // 2
        start = data.rfind(b"\n", low, middle) + 1 or low
        end = data.find(b"\n", middle, high)
        end = high if end < 0 else end
        found = data[start : start + size]
        if found == prefix:
            return data[start + size : end].rstrip(b",")
        if found < prefix:
            low = end + 1
        else:
            high = start
    return None


MAX_CACHE_BYTES = 96 << 20
"""Size of the cache: what queries read of 10,000 tools, and a tenth of the memory of a 1,024 MB Lambda function."""

Fetch = Callable[[Sequence[int], Sequence[int]], Sequence[bytes]]
"""Function that returns the bytes at starts and lengths, counted from the beginning of the catalog. It fetches them in
parallel and raises ``CatalogUnavailable``."""


class CachedBlockReader:
    """Reads blocks through ``fetch``; a full cache is emptied as a whole, as that of a section is.

    Args:
        fetch: reads ranges of the catalog.
        base: the length of the catalog's first line, from which the starts of blocks count.
        max_bytes: the size of the cache.

    Attributes:
        size: the bytes in the cache.
    """

    is_remote = True

    def __init__(self, fetch: Fetch, base: int, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self._fetch, self._base, self._max_bytes = fetch, base, max_bytes
        self._blocks: dict[Block, bytes] = {}
        self.size = 0

    def __call__(self, blocks: Sequence[Block]) -> Sequence[Span]:
        """Return ``blocks`` in their order.

        Raises:
            CatalogUnavailable: a block cannot be read, or does not match its hash.
        """
        found = {block: content for block in blocks if (content := self._blocks.get(block)) is not None}
        missing = [block for block in dict.fromkeys(blocks) if block not in found]
        if missing:
            import hashlib

            fetched = self._fetch([self._base + start for start, _, _ in missing], [size for _, size, _ in missing])
            for block, content in zip(missing, fetched, strict=True):
                if hashlib.sha256(content).hexdigest()[:HASH_DIGITS] != block[2]:
                    raise damaged(f"the {block[1]} bytes from {block[0]} do not match their hash")
                if self.size + len(content) > self._max_bytes:
                    self._blocks, self.size = {}, 0
                found[block] = self._blocks[block] = content
                self.size += len(content)
        return [(found[block], 0, len(found[block])) for block in blocks]


BlockReader = MemoryBlocks | CachedBlockReader
"""Returns the content of blocks, in their order; ``is_remote`` states whether reading several at once saves time."""
