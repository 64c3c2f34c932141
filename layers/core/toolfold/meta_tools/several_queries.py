"""Search for several requests in one call: the tools of each in a group, all within one budget.

A request for work in several steps often shares no word with a tool that it needs; a step in words of its own does. The
sentences of a request are no such steps: as a list they find no more than the whole request
(docs/reference/retrieval.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from toolfold.catalog import search
from toolfold.catalog.fit import Fit
from toolfold.meta_tools import detail_levels, list_request
from toolfold.meta_tools.arguments import invalid
from toolfold.meta_tools.packing import pack
from toolfold.meta_tools.result import Result, safe_line
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.meta_tools.list_request import ListRequest
    from toolfold.meta_tools.packing import RenderedTool

__all__ = ["list_for_each"]

TOKENS = 2000
"""Default budget: four tools in full fit into it."""

_TOOLS_EACH = 5
"""Tools for one request by default."""

_MIN_RELATIVE_SCORE = 0.5
"""Share of the best score of a request below which a tool is left out."""

_FILL_RATIO = 0.8
"""As in :mod:`.tool_list`: counting line by line is not exact."""

_MAX_OTHERS, _MAX_QUERY_SHOWN = 3, 80
"""Tools of other requests that a line names, and characters of a request that it repeats."""


def list_for_each(catalog: Catalog, request: ListRequest, candidates: frozenset[int] | None) -> Result:
    """Return the tools for each of ``request.queries``.

    The best tools of all requests come before the second-best of any, so that the budget leaves none without a tool. A
    tool is described once, for the request that it fits best.

    Args:
        catalog: the tools.
        request: the parsed arguments.
        candidates: positions of the tools that pass the filters; None: all.

    Raises:
        InvalidArguments: the budget is too small for a single tool.
    """
    found = [search.search(catalog, query, candidates) for query in request.queries]
    ranked = [_ranked(one.hits, limited=not request.is_paged) for one in found]
    merged = list(dict.fromkeys(at for row in zip_longest(*ranked) for at in row if at is not None))
    fits = [one.fit for one in found]
    best = {positions[0] for positions, fit in zip(ranked, fits, strict=True) if fit is Fit.SURE}
    start = request.offset or 0
    window = merged[start : start + (request.limit or list_request.MAX_TOOLS)]
    budget = request.token_budget or TOKENS
    answer = _Answer(catalog, request.queries, ranked, fits, len(merged), start)
    heading_cost = tokens.count(answer.text(()))

    def best_level(rank: int) -> int:
        if request.detail is not None:
            return detail_levels.LEVELS[request.detail]
        return detail_levels.FULL if window[rank] in best else detail_levels.MINIMAL

    rendered = pack(catalog, window, best_level, int((budget - heading_cost) * _FILL_RATIO))
    while rendered and tokens.count(answer.text(rendered)) > budget:
        rendered.pop()
    if window and not rendered:
        raise invalid(
            list_request.TOOL,
            f"token_budget {budget} is too small for {len(request.queries)} requests",
            "Send a larger token_budget, or fewer requests, or leave it out.",
        )
    return answer.result(rendered)


def _ranked(hits: Sequence[search.Hit], *, limited: bool) -> list[int]:
    """Return the positions of the tools for one request, best first."""
    least = _MIN_RELATIVE_SCORE * hits[0].score if hits else 0
    return [hit.position for hit in hits[: _TOOLS_EACH if limited else None] if hit.score >= least]


class _Answer:
    """One answer, of which any number of tools is shown.

    Args:
        catalog: the tools.
        queries: the requests.
        ranked: positions of the tools for each request, best first.
        fits: how well they fit each request.
        matched: tools that match any of them.
        start: tools that earlier pages have shown.
    """

    def __init__(
        self,
        catalog: Catalog,
        queries: Sequence[str],
        ranked: Sequence[Sequence[int]],
        fits: Sequence[Fit],
        matched: int,
        start: int,
    ) -> None:
        self._catalog, self._queries, self._ranked, self._fits = catalog, queries, ranked, fits
        self._matched, self._start = matched, start
        # position → the request that it ranks highest for
        self._home: dict[int, int] = {}
        for rank_of in zip_longest(*ranked):
            for number, position in enumerate(rank_of):
                if position is not None:
                    self._home.setdefault(position, number)

    def text(self, rendered: Sequence[RenderedTool]) -> str:
        """Return the text: a heading, and for each request a line and its tools."""
        following = self._start + len(rendered)
        more = f"; more with offset {following}" if following < self._matched else ""
        lines = [f"{self._step()} {len(rendered):,} of {self._matched:,} tools{more}."]
        shown = {tool.entry["name"]: tool for tool in rendered}
        for number, (query, found) in enumerate(zip(self._queries, self._ranked, strict=True)):
            names = [(self._catalog.summary(at).name, self._home[at] == number) for at in found]
            others = [name for name, is_home in names if name in shown and not is_home][:_MAX_OTHERS]
            line = f"# {safe_line(query if len(query) <= _MAX_QUERY_SHOWN else f'{query[: _MAX_QUERY_SHOWN - 1]}…')}"
            if not found:
                line += ": nothing fits"
            elif self._fits[number] is Fit.WEAK:
                line += ": no tool fits closely"
            if others:
                line += f" (see also {', '.join(others)})"
            lines += [line, *(shown[name].text for name, is_home in names if name in shown and is_home)]
        return "\n".join(lines)

    def result(self, rendered: Sequence[RenderedTool]) -> Result:
        """Return the answer as data and as text."""
        text, following = self.text(rendered), self._start + len(rendered)
        shown = {tool.entry["name"] for tool in rendered}
        groups = [
            {
                "query": query,
                "tools": [name for at in found if (name := self._catalog.summary(at).name) in shown],
                "confidence": fit.name.lower(),
            }
            for query, found, fit in zip(self._queries, self._ranked, self._fits, strict=True)
        ]
        structured = {
            "tools": [tool.entry for tool in rendered],
            "queries": groups,
            "total": len(self._catalog),
            "matched": self._matched,
            "returned": len(rendered),
            **({"offset": self._start} if self._start else {}),
            "more": {"offset": following} if following < self._matched else None,
            "next": self._step(),
            "tokens": tokens.count(text),
        }
        return Result(structured, text)

    def _step(self) -> str:
        if not self._matched:
            return "Next: try other English keywords, or TOOL_LIST() for what there is."
        return "Next: TOOL_CALL the first of each group; TOOL_GET describes the others."
