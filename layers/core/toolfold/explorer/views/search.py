"""``GET ui/api/search?q=…&source=…&category=…``: the search of TOOL_LIST, and why each tool is found."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.explorer.answers import json_answer
from toolfold.explorer.page_request import read_integer, read_text

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.explorer.explorer import Explorer
    from toolfold.explorer.page_request import PageRequest
    from toolfold.protocol.http import Response

__all__ = ["respond"]

MAX_QUERY_CHARS = 2000
MAX_FILTER_CHARS = 200
DEFAULT_LIMIT, MAX_LIMIT = 50, 200
_MAX_DIVIDED = 50
"""Tools whose scores are explained by field: few enough for 60 ms with 10,000 tools."""


def respond(explorer: Explorer, request: PageRequest) -> Response:
    """Return the terms of the request and the tools that match, best first, with the parts of their scores."""
    query = read_text(request, "q", MAX_QUERY_CHARS)
    limit = read_integer(request, "limit", DEFAULT_LIMIT, MAX_LIMIT, 1)
    filters = {field: read_text(request, field, MAX_FILTER_CHARS) for field in ("source", "category")}
    explainer = explorer.explainer()
    catalog = explainer.catalog
    started = time.perf_counter()
    explained = explainer.search(query, limit, _candidates(catalog, filters), divided=_MAX_DIVIDED)
    hits: list[dict[str, Any]] = [
        {
            "name": catalog.summary(hit.position).name,
            "score": _round(hit.score),
            "terms": [
                {"term": part.term[:MAX_QUERY_CHARS], "field": part.field, "weight": _round(part.score)}
                for part in hit.parts
            ],
        }
        for hit in explained.hits
    ]
    return json_answer(
        {
            "query": query,
            "ms": round((time.perf_counter() - started) * 1000, 2),
            "terms": [
                {
                    "term": term.term,
                    "weight": _round(term.weight),
                    "word": term.word,
                    "corrected_from": term.word if term.is_corrected else None,
                }
                for term in explained.terms
            ],
            "hits": hits,
            "total": len(explained.result.hits),
            "best": explained.result.top_ties,
            "confidence": explained.result.fit.name.lower(),
        }
    )


def _candidates(catalog: Catalog, filters: Mapping[str, str]) -> frozenset[int] | None:
    """Return the positions of the tools that have all values of ``filters``; None where no value is given."""
    chosen = [
        frozenset(positions.get(value, ()))
        for field, value in filters.items()
        if value
        for positions in [catalog.positions_of(field)]
    ]
    return frozenset.intersection(*chosen) if chosen else None


def _round(value: float) -> float:
    """Return a number that is short as text; the sum of a hundred of them differs by less than 0.01."""
    return round(value, 4)
