"""Write a compiled catalog in the layout that ``catalog.reader`` describes.

To add a section of the compiler, add it to ``catalog.entries.Sections`` and a method to ``catalog.model``.

Write the compiled catalog: completely or not at all, and only over a compiled catalog.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from toolfold.catalog.entries import FORMAT, Sections, ToolSummary, name_key
from toolfold.catalog.reader import HASH_DIGITS, line_key, line_prefix, member_key
from toolfold.errors import ToolfoldError
from toolfold.private_folder import replace_file

_BEGINNING = b'{"format":'
"""How a compiled catalog begins; see :mod:`toolfold.build.writer`."""


def read_output_file(path: Path) -> bytes | None:
    """Return the content of the file at ``path``, or None where there is no file.

    Raises:
        ToolfoldError: there is something that is not a file, or it cannot be read.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise ToolfoldError(f"{path} is not a file. Name a file for the compiled catalog with --output.")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolfoldError(f"{path} cannot be read: {error.strerror}.") from None


def replace_catalog_file(path: Path, content: bytes) -> None:
    """Replace the file at ``path`` in one step; a process that reads the old file never sees half of the new one.

    The new file has the permissions of the old one.

    Raises:
        ToolfoldError: it cannot be written, or the old file is not a compiled catalog. It is then as it was.
    """
    current = read_output_file(path)
    if current and not current.startswith(_BEGINNING):
        raise ToolfoldError(f"{path} is not a compiled catalog. It was not changed; delete it, or name another file.")
    try:
        replace_file(path, content)
    except OSError as error:
        raise ToolfoldError(f"{path} cannot be written: {error.strerror}. It is as it was.") from None


BLOCK_BYTES = 256 << 10
"""Size of a block. Smaller blocks make the head of a large catalog longer, larger blocks make reading one line slower
(docs/explanation/decisions/catalog-layout.md)."""

Lines = Iterable[tuple[str, Any]]
"""Keys and values of a section, sorted by ``reader.line_prefix``."""


def dumps(compiled: Mapping[str, Any]) -> bytes:
    """Return the JSON text of a catalog in UTF-8: as ``str``, it takes four times the memory for a single emoji.

    ``compiled`` has what :func:`write` needs for the head, and the mappings that are sections. The tools are in the
    order of the listing.
    """
    tools = {name_key(name): {"name": name, **entry} for name, entry in compiled["tools"].items()}
    found = {**{name: compiled[name] for name in Sections.__annotations__ if compiled.get(name)}, "tools": tools}
    counts = {**compiled, "skills": len(compiled.get("skills", ()))}
    return write(counts, compiled["tools"].items(), {name: sort_lines(lines) for name, lines in found.items()})


def sort_lines(mapping: Mapping[str, Any]) -> Lines:
    """Return the items of ``mapping`` in the order of the lines of a section."""
    return sorted(mapping.items(), key=lambda item: line_prefix(item[0]))


def write(
    head: Mapping[str, Any], listed: Iterable[tuple[str, Mapping[str, Any]]], sections: Mapping[str, Lines]
) -> bytes:
    """Return the content of a catalog.

    Args:
        head: ``sources``, ``categories``, ``definition_tokens``, and, where there are any, ``profile_names``,
            ``skills`` and ``related``, the numbers of skills and of tools with relations, and ``common``, positions and
            signatures of the tools that the instructions name.
        listed: Name and entry of each tool in the order of the listing; summary, category, access, effect, source,
            confirm and tags are used. Like ``sections`` it can be an iterator.
        sections: The sorted lines of the other sections, of which those that are required may be missing.
    """
    lines, members = _collect(listed)
    content: dict[str, Lines] = {
        "names": sort_lines({name_key(line.name): position for position, line in enumerate(lines)}),
        "lines": (
            (line_key(position), line if line.confirm else line[:4] if line.effect == "read" else line[:5])
            for position, line in enumerate(lines)
        ),
        "members": sort_lines({member_key(*member): runs(found) for member, found in members.items()}),
        **sections,
    }
    table, written = {}, io.BytesIO()
    for name in Sections.__annotations__:
        if name in content or name in Sections.__required_keys__:
            written.write(b',"%s":{\n' % name.encode())
            table[name] = write_section(written, content.get(name, ()))
            written.write(b"}\n")
    written.write(b"}\n")
    line = {
        "format": FORMAT,
        "count": len(lines),
        "bytes": written.tell(),
        "sources": head["sources"],
        "categories": head["categories"],
        "counts": {
            field: {value: len(found) for (of, value), found in sorted(members.items()) if of == field}
            for field in ("tags", "access", "effect", "source")
        },
        "definition_tokens": head.get("definition_tokens", 0),
        "sections": table,
    }
    optional = {
        **{name: head.get(name) for name in ("semantic_share", "common", "related", "skills")},
        "confirmed": sum(bool(line_of_tool.confirm) for line_of_tool in lines),
        "profiles": head.get("profile_names"),
    }
    line |= {name: value for name, value in optional.items() if value}
    return b"".join((_json(line)[:-1], b"\n", written.getbuffer()))


def _collect(
    listed: Iterable[tuple[str, Mapping[str, Any]]],
) -> tuple[list[ToolSummary], dict[tuple[str, str], list[int]]]:
    lines: list[ToolSummary] = []
    members: dict[tuple[str, str], list[int]] = {}
    for position, (name, entry) in enumerate(listed):
        summary, category, access, effect = (entry[key] for key in ToolSummary._fields[1:5])
        lines.append(ToolSummary(name, summary, category, access, effect, "confirm" if entry.get("confirm") else ""))
        for field in ("category", "access", "effect", "source"):
            members.setdefault((field, entry[field]), []).append(position)
        for tag in dict.fromkeys(entry["tags"]):
            members.setdefault(("tags", tag), []).append(position)
    return lines, members


def runs(positions: Sequence[int]) -> list[int]:
    """Return ``[start, stop, start, stop, …]`` of consecutive positions: a category of any size is one run."""
    found: list[int] = []
    for position in positions:
        if found and found[-1] == position:
            found[-1] += 1
        else:
            found += [position, position + 1]
    return found


def write_section(out: BinaryIO, lines: Lines, block_bytes: int = BLOCK_BYTES) -> list[list[Any]]:
    """Write ``lines``, and return the table of their blocks: first key, start, length, hash."""
    table: list[list[Any]] = []
    for first, block in split_blocks(lines, block_bytes):
        table.append([first, out.tell(), len(block), hashlib.sha256(block).hexdigest()[:HASH_DIGITS]])
        out.write(block)
    return table


def split_blocks(lines: Lines, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[str, bytes]]:
    """Yield first key and content of each block, of at most ``block_bytes`` unless a single line is longer."""
    first, pending, size = "", list[bytes](), 0
    for key, value in lines:
        line = line_prefix(key) + _json(value)
        if pending and size + len(line) > block_bytes:
            yield first, b",\n".join(pending) + b",\n"
            pending, size = [], 0
        first = first if pending else key
        pending.append(line)
        size += len(line) + len(b",\n")
    if pending:
        yield first, b",\n".join(pending) + b"\n"


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
