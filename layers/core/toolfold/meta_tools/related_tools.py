"""Show the tools that the best matches of a search need first, can be replaced by, or are followed by.

They are shown at the medium detail level, before the ranked alternatives and within the same budget. Imported by the
first search whose best match has relations.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from toolfold.meta_tools.result import safe_line
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.meta_tools.packing import RenderedTool

__all__ = ["find_related", "mark", "with_related"]

_WORDS: Mapping[str, str] = {"needs_output_of": "before", "alternative": "instead of", "then": "after"}
"""Kind of a relation → when the other tool is called, seen from the tool that has the relation."""


def find_related(catalog: Catalog, best: Sequence[int], candidates: frozenset[int] | None, most: int) -> dict[int, str]:
    """Return the position of each tool that one of ``best`` is related to → how: ``before GLOBAL_QUOTE: symbol``.

    Args:
        catalog: the tools.
        best: positions of the tools that are shown in full, which are not returned themselves.
        candidates: positions that pass the filters of the request; None: all.
        most: how many are returned.
    """
    found: dict[int, str] = {}
    for position in best:
        related = catalog.memoize(("related tools", position), functools.partial(_related, catalog, position))
        for other, remark in related:
            if other not in best and (candidates is None or other in candidates) and len(found) < most:
                found.setdefault(other, remark)
    return found


def _related(catalog: Catalog, position: int) -> tuple[tuple[int, str], ...]:
    """Return the position of each tool that the one at ``position`` is related to, and how."""
    tool = catalog.get(catalog.summary(position).name)
    related = []
    for to, kind, *via in () if tool is None else tool.relations:
        other = catalog.position(to)
        if tool is not None and other is not None:
            related.append((other, f"{_WORDS.get(kind, kind)} {tool.name}{f': {via[0]}' if via else ''}"))
    return tuple(related)


def with_related(positions: Sequence[int], full: int, related: Mapping[int, str]) -> list[int]:
    """Return ``positions`` with the related tools after the first ``full``, each tool once."""
    return [*positions[:full], *related, *(position for position in positions[full:] if position not in related)]


def mark(rendered: RenderedTool, remark: str) -> RenderedTool:
    """Return a tool with the remark that says how it is related."""
    text = safe_line(f"{rendered.text} [{remark}]")
    pieces = tokens.pieces(text + "\n")
    entry = {**rendered.entry, "relation": remark}
    return replace(rendered, entry=entry, text=text, pieces=pieces, cost=tokens.with_margin(pieces))
