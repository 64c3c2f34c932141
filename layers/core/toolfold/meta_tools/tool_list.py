"""``TOOL_LIST(…)``: the tools that match a query, those of a category, tag or access, or all of them.

Answers also state the sources of the catalog, and those that failed last: their tools may be tried, and others chosen.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolfold.catalog import search
from toolfold.catalog.entries import DESCRIBE_STEP
from toolfold.catalog.search import Fit
from toolfold.meta_tools import list_request, tool_get
from toolfold.meta_tools.arguments import invalid
from toolfold.meta_tools.definitions import MAX_TOOLS, detail_level_of
from toolfold.meta_tools.list_request import ListRequest, parse_list_request
from toolfold.meta_tools.result import Result, safe_line
from toolfold.meta_tools.tool_get import FILL_RATIO, find_related, pack, render_tool
from toolfold.results import tokens
from toolfold.text_safety import counted, shortened

if TYPE_CHECKING:
    from collections.abc import Collection

    from toolfold.catalog.model import Catalog
    from toolfold.meta_tools.dispatcher import MetaRequest
    from toolfold.meta_tools.tool_get import RenderedTool

MAX_SOURCES = 50
"""Sources that an answer describes: those with the most tools. The others are named."""

_SOURCES_CHARS, _MIN_LINE = 5_000, 50
"""Characters of the lines of all sources, some 1,500 tokens with their ids, and of each at least."""

SEARCH_TOOLS, SEARCH_TOKENS = 8, 1000
"""Defaults of a search (docs/explanation/decisions/search-index.md has the measurements)."""

MIN_RELATIVE_SCORE = 0.4
"""A search leaves out tools below this share of the best score by default; measured there as well."""

MEDIUM_TOOLS = 2
"""Tools after the best that are shown at the medium level: the likely alternatives."""

LISTED_TOKENS = 4000
"""Default budget of filters without a query: any category of a catalog of hundreds on one page."""

NEEDS_TOKENS, _TOOLS_EACH, _MIN_SCORE_EACH = 2000, 5, 0.5
"""Of several requests: the default budget, into which four tools in full fit; tools for one request by default, and
the share of its best score below which a tool is left out."""

_ENDS = {"full": (MAX_TOOLS, MAX_TOOLS), "medium": (0, MAX_TOOLS), "minimal": (0, 0)}
"""Detail level for all tools → the ranks at which the full and the medium level end."""

_COMPARE = "Next: no tool fits closely; compare with TOOL_GET."
_OTHER_WORDS = "Next: try other English keywords, or TOOL_LIST() for what there is."


def list_tools(request: MetaRequest) -> Result:
    """List tools, and say which of their sources have failed; ``tool_url`` is where each is described over HTTP."""
    used, url = request.tools.executor.used, request.tools.executor.settings.public_url
    result = tool_list(request.catalog, request.arguments, {} if used is None else used.health.troubles())
    if not url or not result.structured["tools"]:
        return result
    tool_url = f"{url.rstrip('/').removesuffix('/mcp')}/tools/{{name}}"
    return result._replace(structured={**result.structured, "tool_url": tool_url})


def tool_list(
    catalog: Catalog, arguments: Mapping[str, Any], troubles: Mapping[str, str] = MappingProxyType({})
) -> Result:
    """List the tools that ``arguments`` ask for.

    With ``query`` the tools that match come best first, at three detail levels (:mod:`.tool_get`); with filters
    alone a line each, in the catalog's order; without any, the whole catalog; with ``source: true`` its sources alone.

    Returns:
        ``{"tools": [entry of its level, …], "total", "matched", "returned", "more": {"offset"} or null, "next",
        "tokens"}``, and ``offset`` as given; ``tokens`` is what ``results.tokens`` counts in the text. Without
        ``query`` there are also ``"categories": {name: count}`` and ``"tags": {tag: count}`` of the whole catalog, tags
        where no filter or one by tag is given, and ``sources``: see :func:`.source_entries`. To a query there is
        ``confidence``, how well the tools fit: ``sure``, ``weak`` or ``nothing``. ``notice`` is added where the
        arguments need a remark, or a source that may be listed has one of ``troubles``.

    Raises:
        InvalidArguments: see :func:`.parse_list_request`; or the budget is too small for a single tool.
    """
    only_sources = arguments.get("source") is True
    if isinstance(arguments.get("source"), bool):
        arguments = {name: value for name, value in arguments.items() if name != "source"}
    request = parse_list_request(catalog, arguments)
    if troubles:
        sources = request.filters.source or [source.id for source in catalog.sources]
        request = request.noting(*(troubles[id_] for id_ in sorted(troubles) if id_ in sources))
    listing = _Listing(catalog, request)
    if only_sources and not request.queries and not any(request.filters[:4]):  # else: of all sources
        return listing.sources()
    if listing.is_whole:
        return listing.whole_catalog()
    candidates = request.filters.positions(catalog)
    if len(request.queries) > 1:
        return listing.search_each(candidates)
    return listing.search(candidates) if request.queries else listing.filtered(candidates)


def source_entries(catalog: Catalog, ids: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return ``{"id", "title", "kind", "description", "tools"}`` of each source, the one with the most tools first.

    ``version``, ``instructions`` and ``fetched_at`` are added where the source states them. Those after
    :data:`MAX_SOURCES` have ``id``, ``title`` and ``tools`` alone.
    """
    counts = catalog.counts("source")
    sources = [source for source in catalog.sources if not ids or source.id in ids]
    entries = []
    for number, source in enumerate(sorted(sources, key=lambda source: -counts.get(source.id, 0))):
        entry: dict[str, Any] = {"id": source.id, "title": source.title}
        if number < MAX_SOURCES:
            entry |= {"kind": source.kind, "description": source.description}
            stated = {key: getattr(source, key) for key in ("version", "instructions", "fetched_at")}
            entry |= {key: value for key, value in stated.items() if value}
        entries.append({**entry, "tools": counts.get(source.id, 0)})
    return entries


def _source_lines(catalog: Catalog, ids: Collection[str] = ()) -> list[str]:
    """Return a line for each source, the shorter the more there are: title, version, description, instructions."""
    entries = source_entries(catalog, ids)
    most, lines = max(_MIN_LINE, _SOURCES_CHARS // max(1, len(entries))), []
    for one in entries:
        words = (one.get(key, "") for key in ("title", "version", "description", "instructions"))
        line = f"Source {one['id']} ({counted(one['tools'], 'tool')}): {'. '.join(filter(None, words))}"
        lines.append(safe_line(line if len(line) <= most else f"{line[: most - 1].rsplit(' ', 1)[0]}…"))
    return lines


class _Listing:
    def __init__(self, catalog: Catalog, request: ListRequest) -> None:
        self._catalog, self._request, self._start = catalog, request, request.offset or 0
        self._is_paged = (request.limit, request.offset, request.token_budget) != (None, None, None)
        """Whether the caller set how much to return, or from where."""
        self.is_whole = not (request.queries or any(request.filters[:4]) or self._is_paged or request.detail)
        """Whether no argument narrows or shapes the list."""

    @property
    def _is_measured(self) -> bool:
        """Whether there are thresholds of fit; without any the tools that fit weakly are described all the same."""
        return any(source.fit for source in self._catalog.sources)

    def whole_catalog(self) -> Result:
        """Return every tool in one line, or, for a large catalog, its categories and how to search it."""
        catalog, total = self._catalog, len(self._catalog)
        behind = _source_lines(catalog) if len(catalog.sources) > 1 else ()
        if list_request.is_large(catalog):
            step = "Next: TOOL_LIST(query) with what you need in English, or TOOL_LIST(category) for the tools of one."
            text = self._text(f"{step} {counted(total, 'tool')}.", *behind, list_request.categories_line(catalog))
            return self._result(text, [], step, total)
        rendered = catalog.memoize("every line", lambda: _every_line(catalog))
        return self._result(self._text(*behind, catalog.listing), rendered, DESCRIBE_STEP, total)

    def sources(self) -> Result:
        """Return no tools, and a line for each source, with its title, version, description and instructions."""
        step = "Next: TOOL_LIST(query), or TOOL_LIST(source) for the tools of one."
        return self._result(self._text(step, *_source_lines(self._catalog)), [], step, 0)

    def search(self, candidates: frozenset[int] | None) -> Result:
        """Return the tools that match the query, best first."""
        catalog, request = self._catalog, self._request
        found = search.search(catalog, request.queries[0], candidates, is_whole=self._is_paged)
        if not found.hits:
            return self._no_match(candidates)
        hits, ties, remarks = found.hits, found.top_ties, dict[int, str]()
        is_brief = found.fit is Fit.WEAK and self._is_measured
        most, least = (None, -math.inf) if self._is_paged else (SEARCH_TOOLS, MIN_RELATIVE_SCORE * hits[0].score)
        positions = [hit.position for rank, hit in enumerate(hits[:most]) if hit.score >= least or rank < ties]
        matched = len(hits)
        if catalog.has_relations and not is_brief:
            remarks = find_related(catalog, positions[:ties], candidates, MEDIUM_TOOLS)
            others = [position for position in positions[ties:] if position not in remarks]
            positions = [*positions[:ties], *remarks, *others][:most]
            matched += len(remarks.keys() - {hit.position for hit in hits})
        ends = (0, 0) if is_brief else (ties, ties + MEDIUM_TOOLS)
        return self._page(positions, matched, request.token_budget or SEARCH_TOKENS, ends, found.fit, remarks)

    def filtered(self, candidates: frozenset[int] | None) -> Result:
        """Return the tools that pass the filters, in the catalog's order."""
        positions = self._catalog.listed if candidates is None else sorted(candidates)
        if not positions:
            return self._no_match(candidates)
        return self._page(positions, len(positions), self._request.token_budget or LISTED_TOKENS)

    def search_each(self, candidates: frozenset[int] | None) -> Result:
        """Return the tools that match each of several requests, the best of all before the second-best of any."""
        found = [search.search(self._catalog, query, candidates) for query in self._request.queries]
        sure = (Fit.SURE,) if self._is_measured else (Fit.SURE, Fit.WEAK)
        lacking = [
            f"{shortened(query)}: {'no tool fits closely' if one.hits else 'nothing fits'}"
            for query, one in zip(self._request.queries, found, strict=True)
            if one.fit not in sure
        ]
        found.sort(key=lambda one: one.fit not in sure)
        ranked = [
            [hit.position for hit in one.hits[: None if self._is_paged else _TOOLS_EACH]
             if hit.score >= _MIN_SCORE_EACH * one.hits[0].score]
            for one in found
        ]  # fmt: skip
        by_rank = itertools.chain.from_iterable(itertools.zip_longest(*ranked))
        positions = list(dict.fromkeys(position for position in by_rank if position is not None))
        if not positions:
            return self._no_match(candidates)
        self._request = self._request.noting(f"{'; '.join(lacking)}." if lacking else "")
        best = len({hits[0] for hits, one in zip(ranked, found, strict=True) if one.fit in sure})
        budget = self._request.token_budget or NEEDS_TOKENS
        return self._page(positions, len(positions), budget, (best, best), Fit.SURE if best else Fit.WEAK)

    def _page(
        self,
        positions: Sequence[int],
        matched: int,
        budget: int,
        ends: tuple[int, int] = (0, 0),
        fit: Fit = Fit.SURE,
        remarks: Mapping[int, str] = MappingProxyType({}),
    ) -> Result:
        """Return the requested page of ``positions``, within ``budget`` tokens; see :func:`.tool_get.pack`."""
        start, request = self._start, self._request
        window = positions[start : start + (request.limit or MAX_TOOLS)]
        if not window:
            step = f"Nothing is left at offset {start:,}: start again with offset 0."
            return self._result(self._heading(step, 0, matched), [], step, matched)
        longest_step = _next_step(len(window), 1 if self._catalog.has_writes else 0, only_full=False)
        heading_cost = tokens.count(self._heading(longest_step, len(window), matched) + "\n")
        ends = (ends[0] - start, ends[1] - start) if request.detail is None else _ENDS[request.detail]
        rendered = pack(self._catalog, window, int((budget - heading_cost) * FILL_RATIO), ends, remarks)
        if not rendered:
            problem = f"token_budget {budget} is too small for a single tool"
            raise invalid(list_request.TOOL, problem, f"Leave it out, or send at least {SEARCH_TOKENS}.")
        in_full = [detail_level_of(tool.entry) for tool in rendered].count("full")
        writes = sum("effect" in tool.entry for tool in rendered[:in_full])
        step = _next_step(in_full, writes, only_full=in_full == len(rendered)) if fit is Fit.SURE else _COMPARE
        text = "\n".join([self._heading(step, len(rendered), matched), *[tool.text for tool in rendered]])
        return self._result(text, rendered, step, matched, fit)

    def _heading(self, step: str, returned: int, matched: int) -> str:
        """Return the notice and the line above the tools: the next step, and which part of the matches this page is."""
        kind = "matches" if self._request.queries else f"tools, {len(self._catalog):,} in all"
        ids = () if self._request.queries else self._request.filters.source
        behind = _source_lines(self._catalog, ids) if ids else ()
        following = self._start + returned
        more = f"; more with offset {following}" if returned and following < matched else ""
        return self._text(*behind, f"{step} {returned:,} of {matched:,} {kind}{more}.")

    def _no_match(self, candidates: frozenset[int] | None) -> Result:
        """Return an answer without tools, which is not an error, and what to try instead."""
        catalog, request = self._catalog, self._request
        if not request.queries:
            reason, step = "No tool passes all of the filters.", "Next: leave out one."
        elif candidates is not None and (elsewhere := len(search.search(catalog, request.queries[0]).hits)):
            reason = "Nothing that passes the filters fits the query."
            step = f"Next: leave out the filters; without them the query fits {counted(elsewhere, 'tool')}."
        else:
            reason, step = f"Nothing among {counted(len(catalog), 'tool')} fits the query.", _OTHER_WORDS
        text = self._text(f"{reason} {step}", list_request.categories_line(catalog))
        return self._result(text, [], step, 0)

    def _text(self, *lines: str) -> str:
        return "\n".join(filter(None, (self._request.notice, *lines)))

    def _result(
        self,
        text: str,
        rendered: Sequence[RenderedTool],
        step: str,
        matched: int,
        fit: Fit = Fit.NOTHING,
    ) -> Result:
        request, catalog, following = self._request, self._catalog, self._start + len(rendered)
        structured = {
            "tools": [tool.entry for tool in rendered],
            "total": len(catalog),
            "matched": matched,
            "returned": len(rendered),
            **({"offset": self._start} if self._start else {}),
            "more": {"offset": following} if rendered and following < matched else None,
            "next": step,
            "tokens": _count_tokens(text),
            **({"notice": request.notice} if request.notice else {}),
        }
        if request.queries:
            return Result({**structured, "confidence": fit.name.lower()}, text)
        # A client may show all data to its model: a search has none of what the catalog can be divided by.
        structured["categories"] = list_request.category_counts(catalog)
        if request.filters.tag or self.is_whole:
            structured["tags"] = list_request.tag_counts(catalog)
        return Result({**structured, "sources": source_entries(catalog, request.filters.source)}, text)


def _every_line(catalog: Catalog) -> list[RenderedTool]:
    """Return every tool in one line, with its category."""
    rendered = []
    for position in catalog.listed:
        tool = render_tool(catalog, position, tool_get.MINIMAL)
        rendered.append(replace(tool, entry={**tool.entry, "category": catalog.summary(position).category}))
    return rendered


def _next_step(in_full: int, writes: int, *, only_full: bool) -> str:
    """Return the next step, when the first ``in_full`` tools are shown in full; ``only_full``: and no others.

    ``writes`` of them change something.
    """
    if not in_full:
        return DESCRIBE_STEP
    executors = ["TOOL_CALL"] if writes < in_full else []  # which refuses those that change something
    executors += ["TOOL_CALL_WRITE"] if writes else []
    which = "the first" if in_full == 1 else f"one of the first {in_full}"
    others = "." if only_full else "; TOOL_GET describes the others."
    return f"Next: {' or '.join(executors)} {which}{others}"


_count_tokens = functools.lru_cache(maxsize=8)(tokens.count)
"""Counting the list of all tools takes a millisecond, and it is often the same."""
