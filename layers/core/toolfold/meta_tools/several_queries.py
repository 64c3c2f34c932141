"""TOOL_LIST with several requests in one call: the tools for each, under a line of its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from toolfold.catalog import search
from toolfold.catalog.fit import Fit
from toolfold.meta_tools import detail_levels, list_request
from toolfold.meta_tools.arguments import invalid
from toolfold.meta_tools.definitions import MAX_TOOLS
from toolfold.meta_tools.detail_levels import FILL_RATIO, pack
from toolfold.meta_tools.result import Result, safe_line
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.meta_tools.detail_levels import RenderedTool
    from toolfold.meta_tools.list_request import ListRequest

TOKENS = 2000
"""Default budget: four tools in full fit into it."""

_TOOLS_EACH = 5
"""Tools for one request by default."""

_MIN_RELATIVE_SCORE = 0.5
"""Share of the best score of a request below which a tool is left out."""

_MAX_OTHERS, _MAX_QUERY_SHOWN = 3, 80
"""Tools of other requests that a line names, and characters of a request that it repeats."""


class _Group(NamedTuple):
    """A request with the positions of its tools, best first, and how well they fit."""

    query: str
    positions: Sequence[int]
    fit: Fit


def list_for_each(catalog: Catalog, request: ListRequest, candidates: frozenset[int] | None) -> Result:
    """Return the tools for each of ``request.queries``.

    The best tools of all requests come before the second-best of any, so that the budget leaves none without a tool. A
    tool is described once, for the request that it fits best.

    Raises:
        InvalidArguments: the budget is too small for a single tool.
    """
    found = [search.search(catalog, query, candidates) for query in request.queries]
    groups = [
        _Group(query, _ranked(one.hits, limited=not request.is_paged), one.fit)
        for query, one in zip(request.queries, found, strict=True)
    ]
    # position → the request that it ranks highest for
    home: dict[int, int] = {}
    for row in zip_longest(*(group.positions for group in groups)):
        for number, position in enumerate(row):
            if position is not None:
                home.setdefault(position, number)
    best = {group.positions[0] for group in groups if group.fit is Fit.SURE}
    start, budget = request.offset or 0, request.token_budget or TOKENS
    window = list(home)[start : start + (request.limit or MAX_TOOLS)]
    step = "Next: TOOL_CALL the first of each group; TOOL_GET describes the others."
    if not home:
        step = "Next: try other English keywords, or TOOL_LIST() for what there is."

    def best_level(rank: int) -> int:
        if request.detail is not None:
            return detail_levels.LEVELS[request.detail]
        return detail_levels.FULL if window[rank] in best else detail_levels.MINIMAL

    def text(rendered: Sequence[RenderedTool]) -> str:
        following = start + len(rendered)
        more = f"; more with offset {following}" if following < len(home) else ""
        shown = {tool.entry["name"]: tool.text for tool in rendered}
        lines = [f"{step} {len(rendered):,} of {len(home):,} tools{more}."]
        for number, group in enumerate(groups):
            names = {catalog.summary(at).name: home[at] == number for at in group.positions}
            others = [name for name, is_home in names.items() if name in shown and not is_home]
            lines.append(_heading(group, others[:_MAX_OTHERS]))
            lines += [shown[name] for name, is_home in names.items() if name in shown and is_home]
        return "\n".join(lines)

    rendered = pack(catalog, window, best_level, int((budget - tokens.count(text(()))) * FILL_RATIO))
    while rendered and tokens.count(text(rendered)) > budget:
        rendered.pop()
    if window and not rendered:
        raise invalid(
            list_request.TOOL,
            f"token_budget {budget} is too small for {len(groups)} requests",
            "Send a larger token_budget, or fewer requests, or leave it out.",
        )
    whole = text(rendered)
    shown = {tool.entry["name"] for tool in rendered}
    structured = {
        "tools": [tool.entry for tool in rendered],
        "queries": [
            {
                "query": group.query,
                "tools": [name for at in group.positions if (name := catalog.summary(at).name) in shown],
                "confidence": group.fit.name.lower(),
            }
            for group in groups
        ],
        **list_request.page_fields(catalog, len(home), start, len(rendered), step, tokens.count(whole)),
    }
    return Result(structured, whole)


def _ranked(hits: Sequence[search.Hit], *, limited: bool) -> list[int]:
    least = _MIN_RELATIVE_SCORE * hits[0].score if hits else 0
    return [hit.position for hit in hits[: _TOOLS_EACH if limited else None] if hit.score >= least]


def _heading(group: _Group, others: Sequence[str]) -> str:
    query = group.query if len(group.query) <= _MAX_QUERY_SHOWN else f"{group.query[: _MAX_QUERY_SHOWN - 1]}…"
    remark = ": nothing fits" if not group.positions else ": no tool fits closely" if group.fit is Fit.WEAK else ""
    see_also = f" (see also {', '.join(others)})" if others else ""
    return f"# {safe_line(query)}{remark}{see_also}"
