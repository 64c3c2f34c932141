"""``TOOL_GET(tool_name, detail, known)``: what one must know to call one tool, or up to twenty."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments, ToolNotFound
from toolfold.meta_tools import arguments as reading
from toolfold.meta_tools import detail_levels
from toolfold.meta_tools.result import Result, dumps_compact

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog, Tool

_NAME = re.compile(r"\w+")

MOST_NAMES = 20
"""Names in one call: enough for any plan, and an answer of at most some 8,000 tokens."""


def tool_get(catalog: Catalog, arguments: Mapping[str, Any]) -> Result:
    """``{"tools": [entry, …]}`` in the order asked; the text of a single name is its entry alone.

    An entry is ``{"name", "found": true, "description", "category", "access", "parameters": JSON Schema, "returns",
    "example_call", "see_also": [names], "use_instead": {what one may mean: the tool for it}, "hash"}``; with ``detail``
    medium or minimal less of it. A tool whose hash ``known`` holds is ``{"name", "found", "unchanged": true, "hash"}``.
    For a name that does not exist it is ``{"name", "found": false, "error"}``, beside its neighbours.

    Raises:
        InvalidArguments: ``tool_name`` is missing, no name or list of names, or longer than :data:`MOST_NAMES`;
            ``detail`` or ``known`` is of another kind than said.
    """
    given = arguments.get("tool_name")
    names = _names(given)
    detail = reading.choice("TOOL_GET", arguments, "detail", tuple(detail_levels.DETAILS)) or "full"
    known = _known(arguments.get("known"))
    catalog.prefetch(tools=[name.upper() for name in names])
    if isinstance(given, str) and len(names) == 1:
        name = catalog.canonical_name(names[0])
        if name is None or known:
            return _result([_entry(catalog, names[0], detail, known)], alone=True)
        # What is asked for most, and always the same.
        return catalog.memoize((detail, name), lambda: _result([_entry(catalog, name, detail, {})], alone=True))
    return _result([_entry(catalog, name, detail, known) for name in names], alone=False)


def _result(entries: list[dict[str, Any]], *, alone: bool) -> Result:
    every = dumps_compact(entries[0] if alone else entries)
    return Result({"tools": entries}, every)


def _names(given: Any) -> list[str]:
    if isinstance(given, str):
        # Some clients can send only strings: a list may come as its JSON, or with commas.
        given = reading.parsed_list(given)
    if isinstance(given, list):
        names = [name.strip() for name in given if isinstance(name, str) and name.strip()]
        if names and len(names) == len(given) <= MOST_NAMES:
            return names
    raise InvalidArguments(
        f"tool_name must be the name of a tool, or a list of 1 to {MOST_NAMES} names.",
        'Call TOOL_GET again, e.g. with {"tool_name": "GLOBAL_QUOTE"}; TOOL_LIST has the names.',
    )


def _known(given: Any) -> dict[str, str]:
    """What the caller holds: name, in capitals, → hash. It may come as JSON text."""
    if reading.absent(given):
        return {}
    held = reading.parsed(given) if isinstance(given, str) else given
    if not isinstance(held, dict):
        raise reading.refused(
            "TOOL_GET",
            f"known must be an object of names and hashes, not {reading.shown(given)}",
            'Send known as the hashes of entries that you hold, e.g. {"GLOBAL_QUOTE": "0a1b2c3d"}, or leave it out.',
        )
    return {name.strip().upper(): hash_ for name, hash_ in held.items() if isinstance(hash_, str)}


def _entry(catalog: Catalog, name: str, detail: str, known: Mapping[str, str]) -> dict[str, Any]:
    tool = catalog.get(name)
    if tool is None:
        return {"name": reading.escaped(name), "found": False, "error": not_found(catalog, name).as_dict()}
    if known.get(tool.name) == tool.hash:
        return {"name": tool.name, "found": True, "unchanged": True, "hash": tool.hash}
    entry = {"name": tool.name, "found": True, **_ENTRIES[detail](tool), "hash": tool.hash}
    return {key: value for key, value in entry.items() if value not in ((), {})}


def _full(tool: Tool) -> dict[str, Any]:
    description = detail_levels.described(tool)
    named = set(_NAME.findall(description))
    return {
        "description": description,
        "category": tool.category,
        "access": tool.access,
        "parameters": tool.parameters,
        "returns": tool.returns,
        "example_call": detail_levels.example_call(tool),
        "see_also": tool.see_also,
        # What the description says already is not said twice.
        "use_instead": {meant: other for meant, other in tool.use_instead.items() if other not in named},
    }


def _medium(tool: Tool) -> dict[str, Any]:
    return {
        "description": tool.summary,
        "category": tool.category,
        "access": tool.access,
        "parameters": detail_levels.without_constraints(tool.parameters),
        "returns": tool.returns,
    }


def _minimal(tool: Tool) -> dict[str, Any]:
    return {"description": tool.summary}


_ENTRIES = {"full": _full, "medium": _medium, "minimal": _minimal}


def not_found(catalog: Catalog, name: str) -> ToolNotFound:
    """The error for a name that no tool has, with the closest names that there are."""
    from toolfold.catalog import search  # for mistakes alone

    closest = search.closest_names(catalog, name)
    if closest:
        suggestion = f"Did you mean {' or '.join(closest)}? TOOL_LIST has all names."
    else:
        suggestion = "Call TOOL_LIST with what you need as query."
    return ToolNotFound(f"There is no tool named {reading.shown(name)}.", suggestion, closest=closest)
