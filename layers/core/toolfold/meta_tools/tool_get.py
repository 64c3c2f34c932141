"""``TOOL_GET(tool_name)``: what one must know to call one tool, or up to twenty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog import search
from toolfold.errors import InvalidArguments, ToolNotFound
from toolfold.meta_tools.result import Result, compact

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

MOST_NAMES = 20
"""Names in one call: enough for any plan, and an answer of at most some 8,000 tokens."""


def tool_get(catalog: Catalog, arguments: Mapping[str, Any]) -> Result:
    """``{"tools": [entry, …]}`` in the order asked; the text of a single name is its entry alone.

    An entry is ``{"name", "found": true, "description", "category", "access", "parameters": JSON Schema, "returns"}``;
    for a name that does not exist ``{"name", "found": false, "error", "closest": [names]}``, beside its neighbours.

    Raises:
        InvalidArguments: ``tool_name`` is missing, no name or list of names, or longer than :data:`MOST_NAMES`.
    """
    given = arguments.get("tool_name")
    names = _names(given)
    entries = [_entry(catalog, name) for name in names]
    alone = isinstance(given, str) and len(entries) == 1
    return Result({"tools": entries}, compact(entries[0] if alone else entries))


def _names(given: Any) -> list[str]:
    if isinstance(given, str):
        # Some clients can send only strings: a list may come as its JSON, or with commas.
        try:
            parsed = json.loads(given) if given.lstrip().startswith("[") else given.split(",")
        except (ValueError, RecursionError):
            parsed = None
        given = parsed
    if isinstance(given, list):
        names = [name.strip() for name in given if isinstance(name, str) and name.strip()]
        if names and len(names) == len(given) <= MOST_NAMES:
            return names
    raise InvalidArguments(
        f"tool_name must be the name of a tool, or a list of 1 to {MOST_NAMES} names.",
        'Call TOOL_GET again, e.g. with {"tool_name": "GLOBAL_QUOTE"}; TOOL_LIST has the names.',
    )


def _entry(catalog: Catalog, name: str) -> dict[str, Any]:
    tool = catalog.get(name)
    if tool is None:
        error = not_found(catalog, name)
        return {"name": name[:64], "found": False, "error": error.as_dict()}
    return {
        "name": tool.name,
        "found": True,
        "description": f"{tool.summary}. {tool.description}",
        "category": tool.category,
        "access": tool.access,
        "parameters": tool.parameters,
        "returns": tool.returns,
    }


def not_found(catalog: Catalog, name: str) -> ToolNotFound:
    """The error for a name that no tool has, with the closest names that there are."""
    closest = search.closest(catalog, name)
    if closest:
        suggestion = f"Did you mean {' or '.join(closest)}? TOOL_LIST has all names."
    else:
        suggestion = "Call TOOL_LIST for all names."
    return ToolNotFound(f"There is no tool named {name[:64]!r}.", suggestion, closest=closest)
