"""Pack tools into an answer greedily: each at the best detail level that its rank allows and the budget permits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolfold.catalog.reader import damaged
from toolfold.meta_tools import detail_levels
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

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
        from toolfold.meta_tools import related_tools  # few tools have relations

        return related_tools.mark(rendered, remarks[position])

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
