"""Measure ``TOOL_LIST(query: [...])``: the sentences of a request as a list, beside the whole request as one query."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from benchmarks.retrieval.metrics import DEPTH, found, with_error
from benchmarks.retrieval_public.catalogs import name_of
from benchmarks.retrieval_public.public_sets import PublicRequest
from toolfold.catalog.model import Catalog
from toolfold.catalog.tokenizer import words
from toolfold.meta_tools.list_request import MAX_QUERIES, MAX_QUERY_LENGTH
from toolfold.meta_tools.tool_list import tool_list

HEAD = (
    "set",
    "requests",
    "search",
    "n",
    "sentences",
    "R@5, one query",
    "R@5, list",
    "difference",
    "R@10, one query",
    "R@10, list",
)

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")

_MIN_WORDS = 3
"""Words with a meaning below which a sentence is no step ("Thank you very much.")."""


def row(name: str, part: str, catalog: Catalog, asked: Sequence[PublicRequest]) -> tuple[str, ...] | None:
    """Return the cells of one part of a set, or None where no request has several sentences and several tools."""
    chosen = [
        (request, steps) for request in asked if len(request.needed) > 1 and len(steps := sentences(request.text)) > 1
    ]
    if not chosen:
        return None
    one = [_ranked(catalog, request.text[:MAX_QUERY_LENGTH]) for request, _ in chosen]
    several = [_ranked(catalog, steps) for _, steps in chosen]
    needed = [{name_of(at) for at in request.needed} for request, _ in chosen]
    at_5, at_10 = (
        [[found(names, right, depth) for names, right in zip(ranked, needed, strict=True)] for ranked in (one, several)]
        for depth in (5, DEPTH)
    )
    return (
        name,
        part,
        str(len(chosen)),
        f"{statistics.fmean(len(steps) for _, steps in chosen):.1f}",
        *(f"{100 * statistics.fmean(found_of):.1f}" for found_of in at_5),
        with_error([after - before for before, after in zip(*at_5, strict=True)]),
        *(f"{100 * statistics.fmean(found_of):.1f}" for found_of in at_10),
    )


def sentences(text: str) -> list[str]:
    """Return the sentences of ``text`` that say something, as many as one call takes."""
    return [part for part in _SENTENCE_END.split(text) if len(words(part)) >= _MIN_WORDS][:MAX_QUERIES]


def _ranked(catalog: Catalog, query: str | list[str]) -> list[str]:
    listed = tool_list(catalog, {"query": query, "limit": DEPTH, "detail": "minimal"})
    return [entry["name"] for entry in listed.structured["tools"]]
