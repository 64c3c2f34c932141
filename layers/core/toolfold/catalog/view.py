"""The part of a catalog that a profile exposes, as a catalog of its own.

Positions in a view count the listed tools alone, so that all code that reads a catalog reads a view as well. Tools that
are known and may not be called are found by their names, and in no listing and no search. All others do not exist here.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from toolfold.catalog.entries import MAX_LISTED, Source, ToolSummary, listing_text
from toolfold.catalog.model import Catalog

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.errors import CallError

_NAME = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b")
"""What may be the name of a tool in a text: with lower-case letters, a word would be one too often."""


class CatalogView(Catalog):
    """Some of the tools of ``base``.

    Args:
        base: The whole catalog.
        listed: Positions in ``base`` of the tools that are listed, in ascending order.
        withheld: Positions of the tools that are known and may not be called → makes the error of a call.
    """

    def __init__(
        self, base: Catalog, listed: Sequence[int], withheld: Mapping[int, Callable[[Tool], CallError]]
    ) -> None:
        vars(self).update(vars(base))
        self._base, self._withheld, self.base_positions = base, withheld, tuple(listed)
        self.definition_tokens, self._memoized = 0, {}  # tokens are not counted for a part of a catalog
        counts = self.counts("category")
        self.categories = tuple(
            category._replace(tools=counts[category.name]) for category in base.categories if category.name in counts
        )

    @property
    def base(self) -> Catalog:
        """The whole catalog."""
        return self._base

    def canonical_name(self, name: str) -> str | None:
        """Return the catalog's spelling of the name of a listed or known tool, or None."""
        return self._base.canonical_name(name) if self._is_known(name) else None

    def get(self, name: str) -> Tool | None:
        """Return the listed or known tool called ``name``, or None."""
        tool = self._base.get(name) if self._is_known(name) else None
        if tool is None:
            return None
        # Without the names of tools that do not exist here.
        hints = dict(tool.hints)
        if finders := hints.get("found_by"):
            hints["found_by"] = {key: finder for key, finder in finders.items() if self._lists(finder["tool"])}
        if (free := hints.get("free_instead")) and not self._lists(free["tool"]):
            del hints["free_instead"]
        if (adjusted_by := hints.get("adjusted_by")) and not self._lists(adjusted_by):
            del hints["adjusted_by"]
        if advice := hints.get("no_data"):
            known = [one for one in _NAME.findall(advice) if self._base.canonical_name(one) is not None]
            hints["no_data"] = advice if all(map(self._lists, known)) else ""
        return tool._replace(
            see_also=tuple(filter(self._lists, tool.see_also)),
            use_instead={need: other for need, other in tool.use_instead.items() if self._lists(other)},
            relations=tuple(relation for relation in tool.relations if self._lists(relation[0])),
            hints={name: value for name, value in hints.items() if value},
        )

    def summary(self, position: int) -> ToolSummary:
        """Return the summary of the tool at ``position`` of this view."""
        return self._base.summary(self.base_positions[position])

    def positions(self, field: str, value: str) -> Sequence[int]:
        """Return the positions of the listed tools that have ``value`` in a field."""
        return [own for at in self._base.positions(field, value) if (own := self._own(at)) is not None]

    def counts(self, field: str) -> Mapping[str, int]:
        """Return value → number of listed tools."""

        def count() -> dict[str, int]:
            found = {value: len(self.positions(field, value)) for value in self._base.counts(field)}
            return {value: number for value, number in found.items() if number}

        return self.memoize(("counts of", field), count)

    @property
    def listing(self) -> str:
        """The text of ``TOOL_LIST()``; empty for a large view."""
        if len(self) > MAX_LISTED:
            return ""
        return self.memoize("listing", lambda: listing_text(self.categories, list(self._lines())))

    @property
    def has_approvals(self) -> bool:
        """Whether calls of some tools need approval."""
        return self._base.has_approvals and any(line.effect == "destructive" or line.confirm for line in self._lines())

    def postings(self, term: str) -> Sequence[int]:
        """Return the postings of ``term`` for the listed tools."""
        tools, shift = len(self._base), len(self) - len(self._base)

        def find() -> list[int]:
            postings = self._base.postings(term)
            own = (at + shift if at >= tools else self._own(at) for at in postings[::2])
            kept = ((at, weight) for at, weight in zip(own, postings[1::2], strict=True) if at is not None)
            return list(chain.from_iterable(kept))

        return self.memoize(("postings", term), find)

    def semantic_postings(self, term: str) -> tuple[Sequence[int], Sequence[int]]:
        """Return the positions of the listed tools near ``term`` in meaning, and their weights."""
        positions, weights = self._base.semantic_postings(term)
        own = [(at, weight) for at, weight in zip(map(self._own, positions), weights, strict=True) if at is not None]
        return [at for at, _ in own], [weight for _, weight in own]

    @property
    def skill_count(self) -> int:
        """How many of the listed tools are skills."""
        return self.memoize("skill count", lambda: [sum(1 for _ in self.skill_tools())])[0]

    def skill_tool(self, uri: str) -> str | None:
        """Return the name of the listed tool of a skill, or None."""
        found = self._base.skill_tool(uri)
        return None if found is None or self.position(found) is None else found

    def skill_tools(self) -> Iterator[tuple[str, str]]:
        """Yield the URI of each listed skill and the name of its tool, in the order of the URIs."""
        return ((uri, name) for uri, name in self._base.skill_tools() if self.position(name) is not None)

    def require_callable(self, tool: Tool) -> None:
        """Check that ``tool`` may be called here.

        Raises:
            CallError: It is known here, and may not be called.
        """
        at = self._base.position(tool.name)
        if at is not None and at in self._withheld:
            raise self._withheld[at](tool)

    @property
    def sources(self) -> Collection[Source]:
        """The sources that have listed tools."""
        present = {category.source for category in self.categories}
        return [source for source in self._sources.values() if source.id in present]

    def _lists(self, name: str) -> bool:
        return self.position(name) is not None

    def _is_known(self, name: str) -> bool:
        at = self._base.position(name)
        return at is not None and (at in self._withheld or self._own(at) is not None)

    def _own(self, base_position: int) -> int | None:
        at = bisect_left(self.base_positions, base_position)
        return at if at < len(self.base_positions) and self.base_positions[at] == base_position else None

    def _lines(self) -> Iterator[ToolSummary]:
        self._base.prefetch_summaries(self.base_positions)
        return map(self._base.summary, self.base_positions)
