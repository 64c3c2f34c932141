"""What a server lists: read page by page, as far as it is needed, and kept for a while."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from toolfold.sources.mcp.fingerprint import tool_fingerprint

if TYPE_CHECKING:
    from mcp_types import ListToolsResult

__all__ = ["Listing", "ReadPage", "TooManyTools", "list_all"]

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
        self._cursor: str | None = None
        self._is_complete = False
        self._started_at = time.monotonic()
        self._generation = object()

    async def find(self, name: str, read_page: ReadPage) -> str | None:
        """Return the fingerprint of a tool, or None. Pages are read until it is found, each once."""
        if time.monotonic() - self._started_at > TTL_S:
            self.expire()
        for _ in range(MAX_PAGES):
            if name in self._fingerprints or self._is_complete:
                break
            generation, cursor = self._generation, self._cursor
            page = await read_page(cursor)
            if self._generation is not generation or self._cursor != cursor:
                continue  # it has expired, or another call has read this page
            for tool in page.tools:
                self._fingerprints.setdefault(tool.name, tool_fingerprint(entry_of(tool)))
            self._is_complete = page.next_cursor is None or page.next_cursor == cursor
            self._cursor = page.next_cursor
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
        if page.next_cursor is None:
            return list(found.values())
        if page.next_cursor == cursor:
            raise TooManyTools("its list of tools has a page that follows itself")
        cursor = page.next_cursor
    raise TooManyTools(f"its list of tools has more than {MAX_PAGES} pages")


def entry_of(tool: Any) -> dict[str, Any]:
    """Return an entry of ``tools/list`` with the names of the protocol."""
    entry: dict[str, Any] = tool.model_dump(by_alias=True, exclude_unset=True)
    return entry
