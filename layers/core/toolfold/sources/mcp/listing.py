"""What a server lists: read page by page, and kept for a while.

Compare the description of a tool with the one in the snapshot.

A fingerprint covers what decides whether a call is valid and what it does: the schemas of arguments and of the answer,
and the annotations. Titles and descriptions are left out: some servers write the time zone or the version of the
machine into them, and the model reads those of the snapshot anyway.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog.json_schema import with_inner

if TYPE_CHECKING:
    from mcp_types import ListToolsResult

_PROSE = frozenset({"title", "description", "examples", "$comment", "markdownDescription"})
"""Keywords of JSON Schema that change nothing about which values are valid."""

_SETS = frozenset({"enum", "required", "type"})
"""Keywords whose lists have no order: some servers write theirs in another one with each start."""

_MAX_DEPTH = 60
"""Levels of a schema that are read. Deeper ones count as they are."""

_ANNOTATIONS = ("readOnlyHint", "destructiveHint")


def tool_fingerprint(tool: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits for an entry of ``tools/list``."""
    annotations = tool.get("annotations")
    known = annotations if isinstance(annotations, Mapping) else {}
    facts = [
        canonical(tool.get("inputSchema"), _PROSE),
        canonical(tool.get("outputSchema"), _PROSE),
        [known.get(name) for name in _ANNOTATIONS],
    ]
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def canonical(schema: Any, without: Container[str] = (), depth: int = 0) -> Any:
    """Return a schema as it can be compared: lists without an order are sorted, keywords ``without`` left out."""
    if depth >= _MAX_DEPTH or not isinstance(schema, Mapping):
        return schema
    kept = {keyword: value for keyword, value in schema.items() if keyword not in without}
    for keyword in _SETS & kept.keys():
        if isinstance(kept[keyword], list):
            kept[keyword] = sorted(kept[keyword], key=lambda item: json.dumps(item, sort_keys=True))
    return with_inner(kept, lambda _, part: canonical(part, without, depth + 1))


ReadPage = Callable[[str | None], Awaitable["ListToolsResult"]]
"""Returns the page at a cursor; None: the first."""

TTL_S = 300.0
"""Seconds after which the tools are listed again before a call, to see whether their schemas have changed."""

MAX_PAGES = 500
"""Pages that are read of one listing."""


class TooManyTools(Exception):
    """A server lists more than is read."""


class Listing:
    """The fingerprints of the tools of one connection."""

    def __init__(self) -> None:
        self._fingerprints: dict[str, str] = {}
        self._ends_at = -math.inf
        self._lock = asyncio.Lock()

    def expire(self) -> None:
        """Have the tools listed again: the server reports a change."""
        self._ends_at = -math.inf

    async def find(self, name: str, read_page: ReadPage) -> str | None:
        """Return the fingerprint of a tool, or None."""
        async with self._lock:
            if time.monotonic() >= self._ends_at:
                self._ends_at = time.monotonic() + TTL_S
                found: dict[str, str] = {}
                try:
                    async for tool in listed(read_page):
                        found.setdefault(tool["name"], tool_fingerprint(tool))
                except BaseException:
                    self.expire()
                    raise
                self._fingerprints = found
        return self._fingerprints.get(name)


async def listed(read_page: ReadPage) -> AsyncIterator[dict[str, Any]]:
    """Yield the tools as the server lists them, with the names of the protocol.

    Raises:
        TooManyTools: the listing does not end.
    """
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await read_page(cursor)
        for tool in page.tools:
            yield tool.model_dump(by_alias=True, exclude_unset=True)
        if page.next_cursor in (None, "", cursor):  # at the end servers write no cursor, an empty or the same one
            return
        cursor = page.next_cursor
    raise TooManyTools(f"its list of tools has more than {MAX_PAGES} pages")
