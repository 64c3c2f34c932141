"""Finding tools by words: a ranked list for a request, and the closest names for a misspelt one.

The index was made when the catalog was compiled (``build.search_index``); here its numbers are added up. Topics that no
tool serves are in the index as well, after the last tool: a request that fits one better than the tools finds nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolfold.catalog.model import name_key
from toolfold.catalog.query import ParsedQuery, Term, parse_query
from toolfold.catalog.spelling import distance
from toolfold.catalog.tokenizer import in_words

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

# In hundredths, as the weights of the index. Figures of this file were chosen as those of catalog.query.
_NAMED = 200
"""Added for a word that is a tool's whole name, and may be an English word: as much as one telling word."""

_NAMED_SURELY = 1000
"""The same for a name that can be nothing else: more than any words beside it."""

_OUTSIDE = 0.7
"""Share of the best tool's score that a topic outside the catalog must pass for nothing to fit."""

_TIED, _MOST_LEADERS = 0.85, 5
"""Share of the best score from which on a tool is as good as the best: on the tuning half the right tool is among those
in 93 of 100 requests, which have 1.4 of them."""

_ALIKE, _SPELLED = 0.4, 0.8
"""Likeness of names, 0 to 1: from where on one may be meant by the other, and from where on nothing else is."""

_SCANNED = 2000
"""Tools up to which every name is held against a misspelt one."""

_ENOUGH = 200
"""Tools found by the rarer words of a request, from which on its frequent words bring in no others: as many as a
TOOL_LIST can show."""


class Hit:
    """A tool that fits: its position in the catalog, and how well, in hundredths of the index's weights."""

    __slots__ = ("position", "score")

    def __init__(self, position: int, score: float) -> None:
        self.position, self.score = position, score


@dataclass(frozen=True)
class SearchResult:
    """What a search found: the tools that fit, best first, none when nothing does.

    The first ``top_ties`` of them are about as good as the best: one when there is a clear winner.
    """

    hits: tuple[Hit, ...]
    top_ties: int


def search(catalog: Catalog, query: str, candidates: Container[int] | None = None) -> SearchResult:
    """Return the tools that fit ``query``; only those at the positions ``candidates``, where it is given.

    Raises:
        CatalogUnavailable: a part of the catalog that is needed cannot be had.
    """
    scores = _scores(catalog, parse_query(catalog, query), _ENOUGH if candidates is None else len(catalog))
    tools = len(catalog)
    best = max((score for position, score in scores.items() if position < tools), default=0.0)
    outside = max((score for position, score in scores.items() if position >= tools), default=0.0)
    if outside > _OUTSIDE * best:
        return SearchResult((), 0)
    hits = [Hit(at, score) for at, score in scores.items() if at < tools and (candidates is None or at in candidates)]
    hits.sort(key=lambda hit: (-hit.score, hit.position))
    return SearchResult(tuple(hits), sum(hit.score >= _TIED * hits[0].score for hit in hits[:_MOST_LEADERS]))


def _scores(catalog: Catalog, reading: ParsedQuery, enough: int) -> dict[int, float]:
    """Position → score. Rarer terms come first; once ``enough`` tools are found, a more frequent one only adds to
    those: what costs time in a large catalog are words that thousands of its tools have."""
    catalog.prefetch(index=[term.term for term in reading.terms])
    scores: defaultdict[int, float] = defaultdict(float)
    found = sorted(
        ((catalog.postings(term.term), term.weight) for term in reading.terms), key=lambda pair: len(pair[0])
    )
    for postings, worth in found:
        if len(scores) < enough:
            for position, weight in zip(postings[::2], postings[1::2], strict=True):
                scores[position] += worth * weight
        else:
            weights = dict(zip(postings[::2], postings[1::2], strict=True))
            for position in scores.keys() & weights.keys():
                scores[position] += worth * weights[position]
    for position, sure in reading.named.items():
        scores[position] += _NAMED_SURELY if sure else _NAMED
    return scores


def explain(catalog: Catalog, query: str, position: int) -> list[tuple[Term, float]]:
    """Why the tool at ``position`` fits: the terms of the request that speak for it, each with its part of the score,
    the largest first. A name that is in the request is a term of its own."""
    reading = parse_query(catalog, query)
    parts = []
    for term in reading.terms:
        postings = catalog.postings(term.term)
        weight = dict(zip(postings[::2], postings[1::2], strict=True)).get(position, 0)
        parts.append((term, term.weight * weight))
    if position in reading.named:
        bonus = _NAMED_SURELY if reading.named[position] else _NAMED
        parts.append((Term("(its name)", 1.0, catalog.summary(position).name), bonus))
    return sorted(((term, part) for term, part in parts if part), key=lambda item: -item[1])


def closest_names(catalog: Catalog, name: str, most: int = 3) -> list[str]:
    """Return names of the tools that ``name`` may have meant, best first.

    One that is spelled nearly so; else by the words that it is made of, which finds other names of a thing as well
    (STOCK_PRICE: GLOBAL_QUOTE), and then by spelling from afar.
    """
    spelled = "_".join(name.upper().split())[:64]
    known = catalog if spelled and len(catalog) <= _SCANNED else ()
    likeness = {other: 1 - distance(spelled, name_key(other)) / max(len(spelled), len(other)) for other in known}
    alike = sorted((other for other in likeness if likeness[other] >= _ALIKE), key=lambda other: -likeness[other])
    if surely := [other for other in alike if likeness[other] >= _SPELLED]:
        return surely[:most]
    hits = search(catalog, in_words(spelled).lower()).hits[:most]
    by_words = [catalog.summary(hit.position).name for hit in hits]
    return list(dict.fromkeys(by_words + alike))[:most]
