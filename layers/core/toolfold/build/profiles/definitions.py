"""Make the definition of a tool for ``tools/list``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["annotations_of", "definition_of", "description_of"]


def definition_of(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition of one tool.

    Args:
        name: Its name.
        entry: Its compiled entry.
    """
    return {
        "name": name,
        "title": entry["title"],
        "description": description_of(entry),
        "inputSchema": entry["parameters"],
        "annotations": annotations_of([entry["effect"]]),
    }


def description_of(entry: Mapping[str, Any]) -> str:
    """Return the summary and the description of a tool, and what its calls need."""
    summary, description = entry["summary"].rstrip("."), entry["description"]
    text = description if description.startswith(summary) else f"{summary}. {description}".rstrip()
    return f"{text} (premium)" if entry["access"] == "premium" else text


def annotations_of(effects: Collection[str]) -> dict[str, bool]:
    """Return the annotations of a tool whose calls have ``effects``.

    MCP gives ``destructiveHint`` no meaning beside ``readOnlyHint: true``, and its default is true.
    """
    if set(effects) <= {"read"}:
        return {"readOnlyHint": True, "openWorldHint": True}
    return {"readOnlyHint": False, "destructiveHint": "destructive" in effects, "openWorldHint": True}
