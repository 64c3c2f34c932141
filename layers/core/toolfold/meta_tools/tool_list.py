"""``TOOL_LIST(…)``: the tools that fit a request, those of a category, tag or access, or all of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolfold.catalog import search
from toolfold.meta_tools import arguments as reading
from toolfold.meta_tools import catalog_stats, detail_levels, list_request
from toolfold.meta_tools.list_request import ListRequest
from toolfold.meta_tools.packing import fill, in_tier
from toolfold.meta_tools.result import Result
from toolfold.results import tokens

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.meta_tools.packing import Shown

SEARCH_TOOLS, SEARCH_TOKENS = 8, 1000
"""What a search shows unless told otherwise (docs/explanation/decisions/tiers-in-one-answer.md has the measurements)."""

NOISE = 0.4
"""Share of the best score below which a search shows no tool unless told otherwise; measured there as well."""

MIDDLE = 3
"""Tools after the best that are shown in tier 2: those that a model may want instead."""

LISTED_TOKENS = 4000
"""What filters alone show unless told otherwise: any category of a catalog of hundreds in one page."""

_KEPT = 0.8
"""Share of a budget that is filled. A twentieth is what counting line by line leaves out; the rest is for parameters
whose names are words run together (fastkperiod), and for abbreviations: a page full of them holds up to a sixth more
than counted, and must not pass the budget either."""


def tool_list(catalog: Catalog, arguments: Mapping[str, Any]) -> Result:
    """The tools that ``arguments`` ask for.

    Args:
        arguments: those of ``asked.ARGUMENTS``, all optional. With ``query`` the tools that fit come best first, in
            three tiers (:mod:`.tiers`); with filters alone a line each, in the catalog's order; without any, the whole.

    Returns:
        ``{"tools": [entry of its tier, …], "total", "matched", "returned", "offset", "more": {"offset"} or null,
        "next", "categories": {name: count}, "tags": {tag: count}, "tokens"}``. Categories and tags are the whole
        catalog's, ``tokens`` what ``results.tokens`` counts in the text. ``notice`` is added where the arguments need
        a word.

    Raises:
        InvalidArguments: see :func:`.asked.read`; or the budget is too small for a single tool.
    """
    wanted = list_request.read(catalog, arguments)
    if wanted.everything:
        return _whole(catalog, wanted)
    among = wanted.filters.positions(catalog)
    return _found(catalog, wanted, among) if wanted.query else _listed(catalog, wanted, among)


def _whole(catalog: Catalog, wanted: ListRequest) -> Result:
    """Every tool in one line; of a catalog that is too large for that what there is, and how to search it."""
    total = len(catalog)
    if catalog_stats.large(catalog):
        step = "Next: TOOL_LIST(query) with what you need in English, or TOOL_LIST(category) for the tools of one."
        text = _lines(wanted.notice, f"{step} {total:,} tools.", *catalog_stats.lines(catalog))
        return _result(catalog, wanted, text, [], step, matched=total, more=0)
    step = "Next: TOOL_GET(tool_name) for the parameters, then TOOL_CALL."
    every = catalog.memoize("every line", lambda: [in_tier(catalog, at, detail_levels.MINIMAL) for at in range(total)])
    return _result(catalog, wanted, _lines(wanted.notice, catalog.listing), every, step, matched=total)


def _found(catalog: Catalog, wanted: ListRequest, among: frozenset[int] | None) -> Result:
    """What fits the query, best first."""
    found = search.search(catalog, wanted.query, among)
    if not found.hits:
        return _nothing(catalog, wanted, among)
    hits = found.hits
    if not wanted.more_than_usual:
        least = NOISE * hits[0].score
        hits = tuple(hit for at, hit in enumerate(hits[:SEARCH_TOOLS]) if hit.score >= least or at < found.top_ties)

    def best(place: int) -> int:
        if wanted.detail is not None:
            return detail_levels.DETAILS[wanted.detail]
        if place < found.top_ties:
            return detail_levels.FULL
        return detail_levels.MEDIUM if place < found.top_ties + MIDDLE else detail_levels.MINIMAL

    return _page(catalog, wanted, [hit.position for hit in hits], len(found.hits), best, SEARCH_TOKENS)


def _listed(catalog: Catalog, wanted: ListRequest, among: frozenset[int] | None) -> Result:
    """What passes the filters, in the catalog's order."""
    positions = range(len(catalog)) if among is None else sorted(among)
    if not positions:
        return _nothing(catalog, wanted, among)
    tier = detail_levels.DETAILS[wanted.detail or "minimal"]
    return _page(catalog, wanted, positions, len(positions), lambda _place: tier, LISTED_TOKENS)


def _page(
    catalog: Catalog,
    wanted: ListRequest,
    positions: Sequence[int],
    matched: int,
    best: Callable[[int], int],
    usual: int,
) -> Result:
    """The page of ``positions`` that was asked for, in at most ``token_budget`` tokens, or ``usual`` ones.

    ``best`` is the place of a tool among all that match → the lowest tier it may have.
    """
    budget = wanted.token_budget or usual
    start = wanted.offset or 0
    window = positions[start : start + (wanted.limit or list_request.MOST_TOOLS)]
    if not window:
        step = f"Nothing is left at offset {start:,}: start again with offset 0."
        return _result(catalog, wanted, _head(catalog, wanted, step, 0, matched), [], step, matched=matched)
    longest = _step(len(window), alone=False)
    head = tokens.count(_head(catalog, wanted, longest, len(window), matched) + "\n")
    shown = fill(catalog, window, lambda place: best(start + place), _room(budget, head))
    if not shown:
        raise _too_small(catalog, window[0], budget, head)
    full = sum(one.entry["tier"] == detail_levels.FULL for one in shown)
    step = _step(full, alone=full == len(shown))
    first = _head(catalog, wanted, step, len(shown), matched)
    text = _lines(first, *(one.text for one in shown))
    following = start + len(shown)
    more = following if following < matched else None
    if wanted.query:
        # Added up: the tools have been cut into pieces before, but for the last, which has no line feed here.
        *others, last = shown
        pieces = tokens.pieces(first + "\n") + sum(one.pieces for one in others) + tokens.pieces(last.text)
        return _result(catalog, wanted, text, shown, step, matched=matched, more=more, cost=tokens.with_margin(pieces))
    text = _with_holdings(catalog, wanted, text, budget)
    return _result(catalog, wanted, text, shown, step, matched=matched, more=more)


def _room(budget: int, head: int) -> int:
    """Tokens, counted line by line, that tools may take after a first line of ``head`` tokens."""
    return int((budget - head) * _KEPT)


def _step(full: int, *, alone: bool) -> str:
    """What to do next, when the first ``full`` tools are shown whole, and nothing else is."""
    if not full:
        return "Next: TOOL_GET(tool_name) for the parameters, then TOOL_CALL."
    which = "the first" if full == 1 else f"one of the first {full}"
    return f"Next: TOOL_CALL {which}" + ("." if alone else "; TOOL_GET(tool_name) describes the others.")


def _head(catalog: Catalog, wanted: ListRequest, step: str, returned: int, matched: int) -> str:
    """The first line, after a notice: what to do next, and where this page stands."""
    following = (wanted.offset or 0) + returned
    kind = f"matches in {len(catalog):,} tools" if wanted.query else f"tools, {len(catalog):,} in all"
    more = f"; more with offset {following}" if returned and following < matched else ""
    return _lines(wanted.notice, f"{step} {returned:,} of {matched:,} {kind}{more}.")


def _nothing(catalog: Catalog, wanted: ListRequest, among: frozenset[int] | None) -> Result:
    """No tool passes, or none fits: not an error, but what there is instead."""
    if not wanted.query:
        reason, step = "No tool passes all of the filters.", "Next: leave out one."
    elif among is not None and (elsewhere := len(search.search(catalog, wanted.query).hits)):
        reason = "Nothing that passes the filters fits the query."
        step = f"Next: leave out the filters; without them there are {elsewhere:,} matches."
    else:
        reason = f"Nothing among {len(catalog):,} tools fits the query."
        step = "Next: try other English keywords, or TOOL_LIST() for what there is."
    text = _with_holdings(catalog, wanted, _lines(wanted.notice, f"{reason} {step}"), SEARCH_TOKENS)
    return _result(catalog, wanted, text, [], step, matched=0)


def _too_small(catalog: Catalog, position: int, budget: int, head: int) -> Exception:
    line = tokens.count(detail_levels.line(catalog.summary(position))[1] + "\n")
    needed = next(more for more in itertools.count(budget) if _room(more, head) >= line)
    message = f"token_budget {budget} is too small for a single tool"
    return reading.refused(
        list_request.TOOL, message, f"Send token_budget {needed} or more, or leave it out.", needed=needed
    )


def _with_holdings(catalog: Catalog, wanted: ListRequest, text: str, usual: int) -> str:
    """``text`` and what the catalog holds, as far as the budget allows; tags only for those who asked for one."""
    for line in catalog_stats.lines(catalog)[: 2 if wanted.filters.tags else 1]:
        longer = _lines(text, line)
        if tokens.count(longer) > (wanted.token_budget or usual):
            break
        text = longer
    return text


def _result(
    catalog: Catalog,
    wanted: ListRequest,
    text: str,
    shown: Sequence[Shown],
    step: str,
    *,
    matched: int,
    more: int | None = None,
    cost: int | None = None,
) -> Result:
    about = {
        "total": len(catalog),
        "matched": matched,
        "returned": len(shown),
        "offset": wanted.offset or 0,
        "more": None if more is None else {"offset": more},
        "next": step,
        "categories": catalog_stats.categories(catalog),
        "tags": catalog_stats.tags(catalog),
        "tokens": _count(text) if cost is None else cost,
        **({"notice": wanted.notice} if wanted.notice else {}),
    }
    return Result({"tools": [one.entry for one in shown], **about}, text)


def _lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


@functools.lru_cache(maxsize=8)
def _count(text: str) -> int:
    """Tokens of ``text``. The listing of the whole comes again and again, and counting it takes a millisecond."""
    return tokens.count(text)
