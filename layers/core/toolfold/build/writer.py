"""Writing a compiled catalog so that it can be read a line at a time. Build side; the layout is told in
``catalog.reader``, what each section holds in ``catalog.model``.

A further section of the compiler's is one more name in :data:`COMPILED` and one method in ``catalog.model``.
"""

from __future__ import annotations

import hashlib
import heapq
import io
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from toolfold.catalog.model import FORMAT, name_key
from toolfold.catalog.reader import HASH_DIGITS, line_key, line_prefix, member_key

COMPILED = ("tools", "index", "spellings", "synonyms")
"""Mappings of the compiler that become sections as they are."""

BLOCK_BYTES = 256 << 10
"""Where a block ends. Half as large blocks make the head of a large catalog twice as long; twice as large ones are read
for a single line (docs/explanation/decisions/catalog-layout.md)."""

MOST_LISTED = 1000
"""Tools up to which the text of ``TOOL_LIST()`` is kept: some 25,000 tokens, more than a model should be given."""

MOST_POSTINGS = 10_000
"""Tools kept for one term, those for which it speaks loudest: a line of some 100 kB. What is lost by that:
docs/explanation/decisions/catalog-layout.md."""

Lines = Iterable[tuple[str, Any]]
"""Keys and values of a section, sorted by ``reader.line_prefix``."""


def dumps(compiled: Mapping[str, Any]) -> str:
    """Return the catalog that ``compiled`` describes: ``sources``, ``categories`` and ``listing`` for the head, and the
    mappings of :data:`COMPILED`, with the tools in the order of the listing."""
    out = io.BytesIO()
    tools = {name_key(name): {"name": name, **entry} for name, entry in compiled["tools"].items()}
    sections: dict[str, Lines] = {name: sort_lines(tools if name == "tools" else compiled[name]) for name in COMPILED}
    write(out, io.BytesIO(), compiled, compiled["tools"].items(), sections)
    return out.getvalue().decode()


def sort_lines(mapping: Mapping[str, Any]) -> Lines:
    """Return the lines of ``mapping``, sorted."""
    return sorted(mapping.items(), key=lambda item: line_prefix(item[0]))


def write(
    out: BinaryIO,
    scratch: BinaryIO,
    head: Mapping[str, Any],
    listed: Iterable[tuple[str, Mapping[str, Any]]],
    sections: Mapping[str, Lines],
) -> None:
    """Write a catalog to ``out``, by way of ``scratch``, since the head tells where all else is.

    Args:
        listed: the tools in the order of the listing; summary, category, access, effect and tags are used. Like
            ``sections`` it need not be in memory.
    """
    lines, members = _described(listed)
    derived: dict[str, Lines] = {
        "names": sort_lines({name_key(line[0]): position for position, line in enumerate(lines)}),
        "lines": ((line_key(position), line) for position, line in enumerate(lines)),
        "members": sort_lines({member_key(*member): _runs(found) for member, found in members.items()}),
    }
    table = {}
    for name, content in (derived | dict(sections)).items():
        scratch.write(b',"%s":{\n' % name.encode())
        table[name] = write_section(scratch, _cut(content) if name == "index" else content)
        scratch.write(b"}\n")
    scratch.write(b"}\n")
    line = {
        "format": FORMAT,
        "count": len(lines),
        "bytes": scratch.tell(),
        "sources": head["sources"],
        "categories": head["categories"],
        "counts": {
            field: {value: len(found) for (of, value), found in sorted(members.items()) if of == field}
            for field in ("tags", "access", "effect")
        },
        "listing": head["listing"] if len(lines) <= MOST_LISTED else "",
        "sections": table,
    }
    out.write(_json(line)[:-1] + b"\n")
    scratch.seek(0)
    shutil.copyfileobj(scratch, out)


def _described(
    listed: Iterable[tuple[str, Mapping[str, Any]]],
) -> tuple[list[list[str]], dict[tuple[str, str], list[int]]]:
    lines: list[list[str]] = []
    members: dict[tuple[str, str], list[int]] = {}
    for position, (name, entry) in enumerate(listed):
        line = [name, entry["summary"], entry["category"], entry["access"]]
        lines.append(line if entry["effect"] == "read" else [*line, entry["effect"]])
        for field in ("category", "access", "effect"):
            members.setdefault((field, entry[field]), []).append(position)
        for tag in dict.fromkeys(entry["tags"]):
            members.setdefault(("tags", tag), []).append(position)
    return lines, members


def _runs(positions: Sequence[int]) -> list[int]:
    """Return ``[first, past the last, first, …]`` of neighbours: a category is one run, however many tools it has."""
    runs: list[int] = []
    for position in positions:
        if runs and runs[-1] == position:
            runs[-1] += 1
        else:
            runs += [position, position + 1]
    return runs


def _cut(terms: Lines) -> Iterator[tuple[str, list[int]]]:
    """Yield the terms with their :data:`MOST_POSTINGS` loudest tools, still in the order of their positions."""
    for term, postings in terms:
        pairs: Iterable[tuple[int, int]] = zip(postings[::2], postings[1::2], strict=True)
        if len(postings) > 2 * MOST_POSTINGS:
            pairs = sorted(heapq.nlargest(MOST_POSTINGS, pairs, key=lambda pair: (pair[1], -pair[0])))
        yield term, [number for pair in pairs for number in pair]


def write_section(out: BinaryIO, lines: Lines, block_bytes: int = BLOCK_BYTES) -> list[list[Any]]:
    """Write ``lines``; returns the table of their blocks: first key, start, length, hash."""
    table: list[list[Any]] = []
    for first, block in split_blocks(lines, block_bytes):
        table.append([first, out.tell(), len(block), hashlib.sha256(block).hexdigest()[:HASH_DIGITS]])
        out.write(block)
    return table


def split_blocks(lines: Lines, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[str, bytes]]:
    """Yield first key and bytes of each block of ``lines``, of at most ``block_bytes`` unless one line is longer."""
    first, held, size = "", list[bytes](), 0
    for key, value in lines:
        line = line_prefix(key) + _json(value)
        if held and size + len(line) > block_bytes:
            yield first, b",\n".join(held) + b",\n"
            held, size = [], 0
        first = first if held else key
        held.append(line)
        size += len(line) + len(b",\n")
    if held:
        yield first, b",\n".join(held) + b"\n"


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
