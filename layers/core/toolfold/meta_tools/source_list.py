"""The sources of a catalog, as answers of TOOL_LIST state them: what lies behind the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolfold.meta_tools.result import safe_line

if TYPE_CHECKING:
    from collections.abc import Collection

    from toolfold.catalog.model import Catalog

MAX_SOURCES = 50
"""Sources that an answer describes: those with the most tools."""

_MAX_LINES, _MAX_DESCRIPTION = 20, 100
"""Sources in the text of ``TOOL_LIST()``, and characters of each description."""


def source_entries(catalog: Catalog, ids: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return ``{"id", "title", "kind", "description", "tools"}`` of each source, the one with the most tools first.

    ``version``, ``instructions`` and ``fetched_at`` are added where the source states them.

    Args:
        catalog: The tools.
        ids: Only these sources; empty: all.
    """
    counts = catalog.counts("source")
    sources = sorted(
        (source for source in catalog.sources if not ids or source.id in ids),
        key=lambda source: -counts.get(source.id, 0),
    )
    return [
        {
            "id": source.id,
            "title": source.title,
            "kind": source.kind,
            "description": source.description,
            **{key: value for key in ("version", "instructions", "fetched_at") if (value := getattr(source, key))},
            "tools": counts.get(source.id, 0),
        }
        for source in sources[:MAX_SOURCES]
    ]


def source_lines(catalog: Catalog, ids: Collection[str] = ()) -> list[str]:
    """Return a line for each source of ``ids`` with its instructions, or, of a catalog of several, for each source."""
    if not ids and len(catalog.sources) < 2:
        return []
    entries = source_entries(catalog, ids)
    lines = [_line(entry, whole=bool(ids)) for entry in entries[:_MAX_LINES]]
    more = len(ids or catalog.sources) - len(lines)
    return [*lines, *([f"… and {more} more sources"] if more > 0 else [])]


def _line(entry: dict[str, Any], *, whole: bool) -> str:
    description = entry["description"]
    if not whole and len(description) > _MAX_DESCRIPTION:
        description = description[: _MAX_DESCRIPTION - 1].rsplit(" ", 1)[0] + "…"
    instructions = f" {entry['instructions']}" if whole and "instructions" in entry else ""
    return safe_line(f"Source {entry['id']} ({entry['tools']} tools): {description}{instructions}")
