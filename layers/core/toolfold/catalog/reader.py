"""Reading a compiled catalog without parsing it: one line, found by its key, at a time.

The layout (written by ``build.writer``) is one JSON object over many lines::

    {"format":3, … the head …
    ,"tools":{
    "ACOS":{…},
    "AD":{…}
    }
    ,"lines":{
    …
    }
    }

The first line and a ``}`` are the head. Each section holds one ``"key":value`` a line, sorted by its bytes, cut into
blocks that the head tells: first key, start (in bytes after the first line), length, hash. So a value costs a binary
search over bytes and the parsing of one line.
"""

from __future__ import annotations

import json
import logging
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from toolfold.errors import CatalogUnavailable

if TYPE_CHECKING:

    class BlockReader(Protocol):
        """What gives blocks their bytes. ``far``: asking for several at once saves time."""

        is_remote: bool

        def __call__(self, blocks: Sequence[Block], /) -> Sequence[Span]:
            """Return the blocks, in their order.

            Raises:
                CatalogUnavailable: one of them cannot be had.
            """


logger = logging.getLogger("toolfold")

_quoted = json.JSONEncoder(ensure_ascii=False).encode

Block = tuple[int, int, str]
"""Start, length, and the first digits of the SHA-256, in hexadecimal."""

Span = tuple[bytes, int, int]
"""Bytes, and where in them a block begins and ends."""


HASH_DIGITS = 32
"""Of a block's SHA-256: 128 bits, which cannot be matched on purpose, in half the head."""

_KEPT_BYTES, _EACH_BYTES = 1 << 20, 200
"""Of lines whose values each section keeps parsed, and what each counts for beside its length; in memory it is some
five to ten times that. A key that no line has is kept as well: most words of a request are no names."""

_UNREAD = object()


def unavailable(problem: str) -> CatalogUnavailable:
    """Return the error for a catalog that cannot be served, wholly or in part."""
    return CatalogUnavailable(
        f"The tool catalog {problem}.",
        "Try again in a minute; the operator can publish it with: toolfold catalog publish s3://bucket/prefix",
    )


def damaged(where: str) -> CatalogUnavailable:
    """Return the error, logged here, for a part of the catalog that is not what it should be."""
    logger.error("catalog is damaged: %s", where)
    return unavailable("is damaged")


def parse_head(line: bytes) -> Any:
    """Return the head in ``line``, the first of a catalog.

    Raises:
        ValueError, RecursionError: it is not JSON.
    """
    return json.loads(line.rstrip(b"\n").decode() + "}")


class MemoryBlocks:
    """Blocks of a catalog that is in memory; ``base`` is the length of its first line."""

    is_remote = False

    def __init__(self, content: bytes, base: int) -> None:
        self._content, self._base = content, base

    def __call__(self, blocks: Sequence[Block]) -> Sequence[Span]:
        base = self._base
        return [(self._content, base + start, base + start + length) for start, length, _ in blocks]


def needle(key: str) -> bytes:
    """Return how the line of ``key`` begins; lines are sorted by this. No needle is the beginning of another."""
    return f"{_quoted(key)}:".encode(errors="surrogatepass")


class Section:
    """A mapping from keys to JSON values that is parsed line by line. Values are shared: not to be changed."""

    __slots__ = ("_blocks", "_kept", "_kept_bytes", "_name", "_read")

    def __init__(self, name: str, blocks: Sequence[Sequence[Any]], read: BlockReader) -> None:
        self._name = name
        self._blocks = blocks
        self._read = read
        self._kept: dict[str, Any] = {}
        self._kept_bytes = 0

    def get(self, key: str, fits: Callable[[Any], bool]) -> Any:
        """Return the value of ``key``, or None.

        Raises:
            CatalogUnavailable: its block cannot be had, its line is damaged, or the value is not one that ``fits``.
        """
        kept = self._kept.get(key, _UNREAD)
        if kept is not _UNREAD:
            return kept
        wanted = needle(key)
        at = self._block_of(wanted)
        ((data, low, high),) = self._read([self._block(at)]) if at >= 0 else ((b"", 0, 0),)
        line = _find(data, low, high, wanted)
        value = None if line is None else self._parsed(line)
        if line is not None and not fits(value):
            raise damaged(f"a line of {self._name}")
        self._keep(key, _EACH_BYTES + len(wanted) + len(line or b""), value)
        return value

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield every key with its value, in the order of their bytes."""
        for at in range(len(self._blocks)):
            ((data, low, high),) = self._read([self._block(at)])
            yield from self._parsed(b"{" + data[low:high].rstrip(b",\n") + b"}").items()

    def blocks_of(self, keys: Iterable[str]) -> set[Block]:
        """Return the blocks in which ``keys`` are, if they are anywhere."""
        return {self._block(at) for key in keys if (at := self._block_of(needle(key))) >= 0}

    def _block_of(self, wanted: bytes) -> int:
        try:
            return bisect_right(self._blocks, wanted, key=lambda block: needle(block[0])) - 1
        except (TypeError, LookupError):
            raise damaged(f"blocks of {self._name}") from None

    def _block(self, at: int) -> Block:
        match self._blocks[at]:
            case [str(), int(start), int(length), str(sha256)] if start >= 0 and length >= 0:
                return start, length, sha256
        raise damaged(f"block {at} of {self._name}")

    def _parsed(self, line: bytes) -> Any:
        try:
            return json.loads(line.decode())
        except (ValueError, RecursionError):
            raise damaged(f"a line of {self._name}") from None

    def _keep(self, key: str, size: int, value: Any) -> None:
        if self._kept_bytes + size > _KEPT_BYTES:
            # All at once: what is asked for often is soon back, and threads need not agree on what is oldest.
            self._kept, self._kept_bytes = {}, 0
        self._kept[key] = value
        self._kept_bytes += size


def sections_of(table: Mapping[str, Any], read: BlockReader) -> dict[str, Section]:
    """Return the sections that ``table``, of a head, names.

    Raises:
        ValueError: it is not a table of sections.
    """
    if not all(isinstance(blocks, list) for blocks in table.values()):
        raise ValueError("its table of sections is damaged")
    return {name: Section(name, blocks, read) for name, blocks in table.items()}


class Members(Mapping[str, Sequence[int]]):
    """Values of one field → positions."""

    def __init__(self, field: str, counts: Mapping[str, int], section: Section) -> None:
        self._field, self._counts, self._section = field, counts, section

    def __getitem__(self, value: str) -> Sequence[int]:
        return _Positions(self._counts[value], self._section, member_key(self._field, value))

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)


class _Positions(Sequence[int]):
    """Positions that are read when one is asked for; how many there are is known before."""

    def __init__(self, count: int, section: Section, key: str) -> None:
        self._count, self._section, self._key = count, section, key

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        runs = self._section.get(self._key, numbers)
        return chain.from_iterable(map(range, runs[::2], runs[1::2]))

    def __getitem__(self, at: Any) -> Any:
        return list(self)[at]


def numbers(value: Any) -> bool:
    """Return whether ``value`` is a list of pairs of integers."""
    try:
        # Half a million of them in a millisecond; one that is not an integer spoils the sum, or its type.
        return isinstance(value, list) and len(value) % 2 == 0 and type(sum(value)) is int
    except TypeError:
        return False


def line_key(position: int) -> str:
    """Return the key of a tool's line: of one width, so that the order of the keys is that of the listing."""
    return f"{position:07d}"


def member_key(field: str, value: str) -> str:
    """Return the key of the tools that have ``value`` in ``field``: as runs, ``[first, past the last, first, …]``."""
    return f"{field}:{value}"


def _find(data: bytes, low: int, high: int, wanted: bytes) -> bytes | None:
    """Return the rest of the line that begins with ``wanted``, of the sorted lines between ``low`` and ``high``."""
    size = len(wanted)
    while low < high:
        middle = (low + high) // 2
        start = data.rfind(b"\n", low, middle) + 1 or low
        end = data.find(b"\n", middle, high)
        end = high if end < 0 else end
        found = data[start : start + size]
        if found == wanted:
            return data[start + size : end].rstrip(b",")
        if found < wanted:
            low = end + 1
        else:
            high = start
    return None
