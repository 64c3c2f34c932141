"""Filling an answer with tools, greedily: each in the best tier that its place allows and the budget has room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolfold.meta_tools import detail_levels
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

LINES_KEPT = 3
"""Lines for which a fuller tier leaves room: a tool in full that hides its rivals cannot be chosen against them."""


@dataclass(frozen=True)
class Shown:
    """A tool in its tier, as data and as text. ``pieces`` is what ``tokens.pieces`` finds in the text
    with its line feed, ``cost`` the tokens of that."""

    entry: dict[str, Any]
    text: str
    cost: int
    pieces: int


def fill(catalog: Catalog, positions: Sequence[int], best: Callable[[int], int], room: int) -> list[Shown]:
    """The first of ``positions`` that fit into ``room`` tokens, in their order.

    Args:
        best: the place among ``positions`` → the lowest tier it may have. No tool is shown in less detail than one
            that stands below it.

    Returns:
        Empty when there is no room for a single line.
    """
    catalog.prefetch_summaries(positions)
    lines = [in_tier(catalog, position, detail_levels.MINIMAL) for position in positions[: LINES_KEPT + 1]]
    filled: list[Shown] = []
    tier = detail_levels.FULL
    for place, position in enumerate(positions):
        kept = sum(line.cost for line in lines[1 : LINES_KEPT + 1])
        tier = max(tier, best(place))
        shown = lines[0]
        while tier < detail_levels.MINIMAL:
            fuller = in_tier(catalog, position, tier)
            if fuller.cost + kept <= room:
                shown = fuller
                break
            tier += 1
        if shown.cost > room:
            break
        filled.append(shown)
        room -= shown.cost
        following = place + 1 + LINES_KEPT
        lines = lines[1:] + [in_tier(catalog, at, detail_levels.MINIMAL) for at in positions[following : following + 1]]
    return filled


def in_tier(catalog: Catalog, position: int, tier: int) -> Shown:
    """The tool at ``position``, in ``tier``."""
    return catalog.memoize((position, tier), lambda: _shown(catalog, position, tier))


def _shown(catalog: Catalog, position: int, tier: int) -> Shown:
    brief = catalog.summary(position)
    if tier == detail_levels.MINIMAL:
        entry, text = detail_levels.line(brief)
    else:
        tool = catalog.get(brief.name)
        if tool is None:
            raise LookupError(brief.name)
        entry, text = (detail_levels.full if tier == detail_levels.FULL else detail_levels.medium)(tool)
    pieces = tokens.pieces(text + "\n")
    return Shown(entry, text, tokens.with_margin(pieces), pieces)
