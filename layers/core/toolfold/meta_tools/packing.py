"""Pack tools into an answer greedily: each at the best detail level that its rank allows and the budget permits.

Tools that the best matches of a search need first, can be replaced by, or are followed by are shown at the medium
detail level, before the ranked alternatives and within the same budget.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolfold.catalog.reader import damaged
from toolfold.meta_tools import detail_levels
from toolfold.meta_tools.result import safe_line
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

_WORDS: Mapping[str, str] = {"needs_output_of": "before", "alternative": "instead of", "then": "after"}
"""Kind of a relation → when the other tool is called, seen from the tool that has the relation."""


def find_related(catalog: Catalog, best: Sequence[int], candidates: frozenset[int] | None, most: int) -> dict[int, str]:
    """Return the position of each tool that one of ``best`` is related to → how: ``before GLOBAL_QUOTE: symbol``."""
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


FILL_RATIO = 0.8
"""Share of a budget that is filled. A twentieth is what counting line by line leaves out; the rest is for parameters
whose names are words run together (fastkperiod), and for abbreviations: a page full of them has up to a sixth more
tokens than counted, and must not exceed the budget either."""

RESERVED_LINES = 3
"""Following tools for whose lines the budget is kept: a tool shown in full must not hide its alternatives."""


@dataclass(frozen=True)
class RenderedTool:
    """A tool at one detail level.

    Attributes:
        entry: as data.
        text: as text.
        cost: tokens of the text with its line feed.
        pieces: what ``tokens.pieces`` counts in the same.
    """

    entry: dict[str, Any]
    text: str
    cost: int
    pieces: int


def pack(
    catalog: Catalog,
    positions: Sequence[int],
    best_level: Callable[[int], int],
    budget: int,
    remarks: Mapping[int, str] = MappingProxyType({}),
) -> list[RenderedTool]:
    """Render the first of ``positions`` that fit into ``budget`` tokens, in their order.

    Args:
        catalog: holds the tools.
        positions: tools, the best first.
        best_level: rank among ``positions`` → the most detailed level allowed. No tool is shown in less detail than a
            tool below it.
        budget: tokens.
        remarks: position → how the tool is related to one of the best, at the end of its line.

    Returns:
        Empty when not even one line fits.
    """

    def render(position: int, level: int) -> RenderedTool:
        rendered = render_tool(catalog, position, level)
        if position not in remarks:
            return rendered
        return mark(rendered, remarks[position])

    catalog.prefetch_summaries(positions)
    lines = [render(position, detail_levels.MINIMAL) for position in positions[: RESERVED_LINES + 1]]
    packed: list[RenderedTool] = []
    level = detail_levels.FULL
    for rank, position in enumerate(positions):
        reserved = sum(line.cost for line in lines[1 : RESERVED_LINES + 1])
        level = max(level, best_level(rank))
        rendered = lines[0]
        while level < detail_levels.MINIMAL:
            fuller = render(position, level)
            if fuller.cost + reserved <= budget:
                rendered = fuller
                break
            level += 1
        if rendered.cost > budget:
            break
        packed.append(rendered)
        budget -= rendered.cost
        following = rank + 1 + RESERVED_LINES
        lines = lines[1:] + [
            render(next_position, detail_levels.MINIMAL) for next_position in positions[following : following + 1]
        ]
    return packed


def render_tool(catalog: Catalog, position: int, level: int) -> RenderedTool:
    """Return the tool at ``position`` at a detail level, rendered once per catalog."""
    return catalog.memoize((position, level), lambda: _render(catalog, position, level))


def _render(catalog: Catalog, position: int, level: int) -> RenderedTool:
    summary = catalog.summary(position)
    if level == detail_levels.MINIMAL:
        entry, text = detail_levels.minimal(summary)
    else:
        tool = catalog.get(summary.name)
        if tool is None:
            raise damaged(f"no entry for the tool at {position}")
        entry, text = (detail_levels.full if level == detail_levels.FULL else detail_levels.medium)(tool)
    pieces = tokens.pieces(text + "\n")
    return RenderedTool(entry, text, tokens.with_margin(pieces), pieces)
