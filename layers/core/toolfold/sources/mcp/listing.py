"""What a server lists: read page by page, as far as it is needed, and kept for a while.

Compare the description of a tool with the one in the snapshot.

A fingerprint covers what decides whether a call is valid and what it does: the schemas of arguments and of the answer,
and the annotations. Titles and descriptions are left out: some servers write the time zone or the version of the
machine into them, and the model reads those of the snapshot anyway.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Container, Mapping
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
        self.expire()

    def expire(self) -> None:
        """Drop what was read: the server reports a change, or it is old."""
        self._fingerprints: dict[str, str] = {}
        self._cursor: str | None = ""  # of the first page; None: there is no further one
        self._started_at = time.monotonic()

    async def find(self, name: str, read_page: ReadPage) -> str | None:
        """Return the fingerprint of a tool, or None. Pages are read until it is found, each once."""
        if time.monotonic() - self._started_at > TTL_S:
            self.expire()
        for _ in range(MAX_PAGES):
            known, cursor = self._fingerprints, self._cursor
            if name in known or cursor is None:
                break
            page = await read_page(cursor or None)
            if self._fingerprints is not known or self._cursor != cursor:
                continue  # it has expired, or another call has read this page
            for tool in page.tools:
                known.setdefault(tool.name, tool_fingerprint(entry_of(tool)))
            self._cursor = _next_cursor(page, cursor)
        return self._fingerprints.get(name)


async def list_all(read_page: ReadPage, is_wanted: Callable[[str], bool], max_tools: int) -> list[dict[str, Any]]:
    """Return all tools that are wanted, as the server lists them.

    Raises:
        TooManyTools: there are more than ``max_tools``, or the listing does not end.
    """
    found: dict[str, dict[str, Any]] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await read_page(cursor)
        for tool in page.tools:
            if is_wanted(tool.name):
                found.setdefault(tool.name, entry_of(tool))
        if len(found) > max_tools:
            raise TooManyTools(f"it lists more than {max_tools:,} tools")
        cursor = _next_cursor(page, cursor)
        if cursor is None:
            return list(found.values())
    raise TooManyTools(f"its list of tools has more than {MAX_PAGES} pages")


def _next_cursor(page: ListToolsResult, cursor: str | None) -> str | None:
    """Return where the next page begins; None at the end, where servers write no cursor, an empty or the same one."""
    return None if page.next_cursor in (None, "", cursor) else page.next_cursor


def entry_of(tool: Any) -> dict[str, Any]:
    """Return an entry of ``tools/list`` with the names of the protocol."""
    entry: dict[str, Any] = tool.model_dump(by_alias=True, exclude_unset=True)
    return entry
