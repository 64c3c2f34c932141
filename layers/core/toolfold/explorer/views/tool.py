"""``GET ui/api/tool?name=…``: one tool, as a person and as a model sees it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from toolfold.catalog.search import closest_names
from toolfold.explorer.answers import ApiProblem, json_answer
from toolfold.explorer.explorer import paid_sources
from toolfold.explorer.page_request import read_text
from toolfold.meta_tools.detail_levels import LEVELS
from toolfold.meta_tools.tool_get import refusal_of, tool_get
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.explorer.explorer import Explorer
    from toolfold.explorer.page_request import PageRequest
    from toolfold.protocol.http import Response

__all__ = ["respond"]

MAX_NAME_CHARS = 200

_OUTLINE = re.compile(r"(?:rows|fields|[\w.]+(?:, [\w.]+)*): (.+)")
"""A part of what the catalog says of an answer; see ``build.emitter``. Prose of imported tools has another form."""

_COLUMN = re.compile(r"[\w.%() /+-]{1,64}")


def respond(explorer: Explorer, request: PageRequest) -> Response:
    """Return a tool with its schema, example, columns and relations, and what TOOL_GET says at each detail level."""
    name = read_text(request, "name", MAX_NAME_CHARS, is_required=True)
    catalog = explorer.catalog()
    tool = catalog.get(name)
    if tool is None:
        raise _not_found(catalog, name)
    return json_answer(
        {
            "name": tool.name,
            "title": tool.title,
            "source": tool.source,
            "category": tool.category,
            "effect": tool.effect,
            "tier": tool.access if tool.source in paid_sources(catalog) else "",
            "summary": tool.summary,
            "description": tool.description,
            "tags": tool.tags,
            "returns": tool.returns,
            "needs_approval": tool.needs_approval,
            "refused": refusal_of(catalog, tool) or None,
            "schema": tool.parameters,
            "example": tool.example,
            "columns": _columns(tool),
            "relations": _relations(tool),
            "texts": _texts(catalog, tool.name),
        }
    )


def _not_found(catalog: Catalog, name: str) -> ApiProblem:
    closest = closest_names(catalog, name)
    step = f"Did you mean {' or '.join(closest)}?" if closest else "The page Catalog lists all tools."
    return ApiProblem(404, "TOOL_NOT_FOUND", f"No tool is called {name[:80]!a}.", step)


def _columns(tool: Tool) -> list[str]:
    """Return the columns of the answer by the names that ``select`` takes; none where the catalog does not say."""
    found = _OUTLINE.fullmatch(tool.returns.split("; ")[0])
    names = [] if found is None else found[1].split(",")
    return names if all(map(_COLUMN.fullmatch, names)) else []


def _relations(tool: Tool) -> list[dict[str, Any]]:
    """Return the relations of the catalog, then what to take for other needs, then what is mentioned only."""
    relations: list[dict[str, Any]] = [
        {"kind": kind, "name": other, "via": via[0] if via else ""} for other, kind, *via in tool.relations
    ]
    relations += [{"kind": "use_instead", "name": other, "via": need} for need, other in tool.use_instead.items()]
    return relations + [{"kind": "see_also", "name": other, "via": ""} for other in tool.see_also]


def _texts(catalog: Catalog, name: str) -> dict[str, dict[str, Any]]:
    texts = {level: tool_get(catalog, {"tool_name": name, "detail": level}).text for level in LEVELS}
    return {level: {"text": text, "tokens": tokens.count(text)} for level, text in texts.items()}
