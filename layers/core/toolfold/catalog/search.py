"""Rank the tools that match a query, and suggest names for an unknown one.

The compiler computes all weights (``build.search_index``); a search adds them up. Whether the best tools of a source
fit the query at all is decided for each source alone (``catalog.fit``), so that no source hides the tools of another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from toolfold.catalog.entries import name_key
from toolfold.catalog.fit import Fit, measure
from toolfold.catalog.query import OUTSIDE, ParsedQuery, Words, is_kind, parse_query, split_query
from toolfold.catalog.spelling import distance
from toolfold.catalog.tokenizer import in_words

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

# In hundredths, as the weights of the index. The values were chosen on the tuning half of benchmarks/retrieval.
NAME_BONUS = 200
"""Added for a word that equals the name of a tool and may be an English word: about the score of one rare word."""

CERTAIN_NAME_BONUS = 1000
"""Added for a word that can only be the name of a tool: more than all other words of a query together."""

_TIE_RATIO, _MAX_TIES = 0.85, 5
"""Share of the best score from which a tool counts as tied with the best, and the maximum number of ties. On the tuning
half, the right tool is among the ties for 93 of 100 queries; a query has 1.4 ties on average."""

_MIN_SIMILARITY, _HIGH_SIMILARITY = 0.7, 0.8
"""Similarity of names, 0 to 1: the minimum for a suggestion, and the minimum to suggest no names found by words."""

_MIN_SUGGESTED_SCORE, _MIN_SUGGESTED_RATIO = 700, 0.4
"""Score, and share of the best score, from which a tool found by the words of an unknown name is suggested. A single
word that many tools have scores less, and so does a word that was corrected to one of the catalog (NOPE: non)."""

_SURE_SCORE, _SURE_SCORE_PER_TERM = 1000, 250
"""Score of the best tool, or score for each term of a query with few terms, from which it is sure to fit, where its
source has no thresholds. The terms of a query such as "help me" are on many tools, or on a few by chance."""

MEASURED_TOOLS = 3
"""Best tools of a source of which one must fit, and the most tools of a source that fits weakly."""

_SHORTEST_NAME_WORD = 3
"""Letters of the shortest word that two names may share by more than chance."""

_MAX_COMPARED_NAMES = 2000
"""Maximum number of tools for which every name is compared with an unknown one."""

PART_WEIGHT = 0.5
"""Weight of the best part of a query with several, relative to the whole query."""

_MAX_FOUND_BY_RARE_TERMS = 200
"""Number of tools found by rare terms from which more frequent terms add no further tools: the maximum of one
``TOOL_LIST`` answer."""


Weights = dict[str, dict[int, int]]
"""Term → position → weight, of the terms of one search: its parts have the terms of the whole."""


class Hit(NamedTuple):
    """A tool that matches: its position in the catalog, and its score in hundredths."""

    position: int
    score: float


_make_hit = partial(tuple.__new__, Hit)
"""A large catalog has a thousand hits for a long query; this takes a third of the time of a call of the class."""


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    Attributes:
        hits: The tools that match, best first; empty when none does.
        top_ties: Number of first hits whose scores are close to the best; 1 when one tool is clearly the best.
        fit: How well the best hits fit; those that only fit weakly are to be compared before a call.
    """

    hits: tuple[Hit, ...]
    top_ties: int
    fit: Fit = Fit.NOTHING


class Scored(NamedTuple):
    """The scores of a search by words: the query, the weights of its terms, and position → score."""

    parsed: ParsedQuery
    weights: Weights
    scores: dict[int, float]


class SearchTrace:
    """What a search has computed on its way to the scores, for ``catalog.explanation``.

    Attributes:
        parsed: The terms of the query.
        weights: Term → position → weight, of these terms.
        max_tools: As for :func:`_scores`.
        best: The best score before the parts were added.
        parts: Each part of a query with several, and position → its score for the part.
        without_meaning: Position → score before words near in meaning were added; None: none were.
        scores: Position → score.
    """

    def __init__(self) -> None:
        self.parsed = ParsedQuery()
        self.weights: Weights = {}
        self.max_tools = 0
        self.best = 0.0
        self.parts: list[tuple[str, dict[int, float]]] = []
        self.without_meaning: dict[int, float] | None = None
        self.scores: dict[int, float] = {}

    def weights_of_query(self) -> list[dict[int, int]]:
        """Return the weights of each term of the whole query."""
        return [self.weights[term] for term in term_weights(self.parsed)]


def search(
    catalog: Catalog,
    query: str,
    candidates: Container[int] | None = None,
    trace: SearchTrace | None = None,
    *,
    is_whole: bool = False,
) -> SearchResult:
    """Return the tools that match ``query``.

    Args:
        catalog: The catalog to search.
        query: Words in any language that the vocabulary covers.
        candidates: Positions of the tools that may be returned; None: all.
        trace: Gets what the scores are made of; None: that is not needed.
        is_whole: Return all tools of a source that only fits weakly, not only the first :data:`MEASURED_TOOLS`.

    Raises:
        CatalogUnavailable: A part of the catalog cannot be read.
    """
    scored = score(catalog, query, _MAX_FOUND_BY_RARE_TERMS if candidates is None else len(catalog), trace)
    scores = scored.scores
    has_known_words = bool(scores)
    if catalog.has_semantic_postings:
        from toolfold.catalog.semantic import add_semantic_scores  # few catalogs have them

        if trace is not None:
            trace.without_meaning = dict(scores)
        add_semantic_scores(catalog, scores, query)
    found = [pair for pair in scores.items() if candidates is None or pair[0] in candidates]
    found.sort()  # by position, which decides between equal scores
    found.sort(key=itemgetter(1), reverse=True)
    most = None if is_whole else MEASURED_TOOLS
    hits, fit = _fitting(catalog, scored, list(map(_make_hit, found)), most, has_known_words=has_known_words)
    if not hits:
        return SearchResult((), 0)
    best = hits[0].score
    return SearchResult(tuple(hits), sum(hit.score >= _TIE_RATIO * best for hit in hits[:_MAX_TIES]), fit)


def score(catalog: Catalog, query: str, max_tools: int, trace: SearchTrace | None = None) -> Scored:
    """Return the scores of the tools by the words of ``query``.

    Args:
        catalog: The catalog to search.
        query: As for :func:`search`.
        max_tools: As for :func:`_scores`.
        trace: As for :func:`search`.

    Raises:
        CatalogUnavailable: A part of the catalog cannot be read.
    """
    known: Words = {}
    weights: Weights = {}
    parsed = parse_query(catalog, query, known)
    scores = _scores(catalog, parsed, max_tools, weights)
    if trace is not None:
        trace.parsed, trace.weights, trace.max_tools, trace.scores = parsed, weights, max_tools, scores
        trace.best = max(scores.values(), default=0.0)
    parts = split_query(query)
    if len(parts) > 1:
        parsed_parts = [parse_query(catalog, part, known) for part in parts]
        scores_of_parts = [_scores_among(catalog, part, scores, weights) for part in parsed_parts]
        _add_best_part(scores, scores_of_parts)
        if trace is not None:
            trace.parts = list(zip(parts, scores_of_parts, strict=True))
    return Scored(parsed, weights, scores)


def _fitting(
    catalog: Catalog, scored: Scored, hits: list[Hit], most_weak: int | None, *, has_known_words: bool
) -> tuple[list[Hit], Fit]:
    """Return the hits of the sources that fit, those that surely fit first, and how well the first one fits.

    Of a source with thresholds that only fits weakly, ``most_weak`` are returned; None: all.
    """
    sources = {source.id: source.fit for source in catalog.sources}
    if not any(sources.values()):
        return hits, _fit_by_score(scored.parsed, hits, has_known_words=has_known_words)
    members = catalog.memoize("positions by source", lambda: _members(catalog))
    found: defaultdict[Fit, list[Hit]] = defaultdict(list)
    terms = {term.term for term in scored.parsed.terms if term.term.startswith(OUTSIDE)}
    outside = {position for term in terms for position in catalog.postings(term)[::2]}
    for id_, positions in members.items():
        own = hits if len(members) == 1 else [hit for hit in hits if hit.position in positions]
        if not own:
            continue
        thresholds = sources[id_]
        if not thresholds:
            fit = _fit_by_score(scored.parsed, own, has_known_words=has_known_words)
        elif not scored.parsed.named.keys().isdisjoint(positions):
            fit = Fit.SURE
        else:
            best = [hit.position for hit in own[:MEASURED_TOOLS]]
            measured = measure(catalog, scored.parsed, scored.weights, best, positions)
            fit = measured.fit(**thresholds)
            if fit is Fit.WEAK and measured.least:  # one word, which says enough where few tools have it
                fit = _fit_by_score(scored.parsed, own, has_known_words=has_known_words)
        if own[0].position in outside:
            fit = min(fit, Fit.WEAK)
        found[fit] += own if fit is Fit.SURE or not thresholds else own[:most_weak]
    for kept in found.values():
        kept.sort(key=lambda hit: (-hit.score, hit.position))
    ranked = found[Fit.SURE] + found[Fit.WEAK]
    return ranked, Fit.SURE if found[Fit.SURE] else Fit.WEAK if ranked else Fit.NOTHING


def _members(catalog: Catalog) -> dict[str, frozenset[int]]:
    """Return id → positions of the tools of each source."""
    return {id_: frozenset(positions) for id_, positions in catalog.positions_of("source").items()}


def _fit_by_score(parsed: ParsedQuery, hits: Sequence[Hit], *, has_known_words: bool) -> Fit:
    # A company or a currency, which many tools take, is no reason to doubt.
    weight = sum(term.weight for term in parsed.terms if not is_kind(term.term))
    is_sure = has_known_words and hits and hits[0].score >= min(_SURE_SCORE, _SURE_SCORE_PER_TERM * weight)
    return Fit.SURE if is_sure else Fit.WEAK


def _scores(catalog: Catalog, parsed: ParsedQuery, max_tools: int, weights: Weights | None = None) -> dict[int, float]:
    """Return position → score, and add the weights of the terms to ``weights``.

    Terms are added from rare to frequent. After ``max_tools`` tools are found, a more frequent term only adds to their
    scores: in a large catalog most of the time is spent on terms that thousands of tools have.
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for weight_of, term_weight in sorted(_weights(catalog, parsed, {} if weights is None else weights), key=_by_length):
        if len(scores) < max_tools:
            for position, weight in weight_of.items():
                scores[position] += term_weight * weight
        else:
            for position in scores.keys() & weight_of.keys():
                scores[position] += term_weight * weight_of[position]
    for position, is_certain in parsed.named.items():
        scores[position] += CERTAIN_NAME_BONUS if is_certain else NAME_BONUS
    return scores


def _scores_among(
    catalog: Catalog, parsed: ParsedQuery, positions: Mapping[int, float], weights: Weights
) -> dict[int, float]:
    """Return the scores of ``positions`` alone, as :func:`_scores`: those that the whole query of a part has found.

    A third of the time for queries of 60 words, and the same results on the tuning parts of the public sets.
    """
    scores: defaultdict[int, float] = defaultdict(float)
    for weight_of, term_weight in _weights(catalog, parsed, weights):
        for position in positions.keys() & weight_of.keys():
            scores[position] += term_weight * weight_of[position]
    for position, is_certain in parsed.named.items():
        scores[position] += CERTAIN_NAME_BONUS if is_certain else NAME_BONUS
    return scores


def _weights(catalog: Catalog, parsed: ParsedQuery, known: Weights) -> list[tuple[dict[int, int], float]]:
    """Return the weights of each term and the weight of the term in the query; ``known`` gets what it lacks."""
    weights = term_weights(parsed)
    missing = [term for term in weights if term not in known]
    catalog.prefetch(index=missing)
    for term in missing:
        postings = catalog.postings(term)
        known[term] = dict(zip(postings[::2], postings[1::2], strict=True))
    return [(known[term], weight) for term, weight in weights.items()]


def _by_length(pair: tuple[Sized, float]) -> int:
    return len(pair[0])


def term_weights(parsed: ParsedQuery) -> dict[str, float]:
    """Return term → weight. A term that occurs n times has twice its weight at most: 2n/(n+1) of it."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for term in parsed.terms:
        if not term.term.startswith(OUTSIDE):
            found[term.term].append(term.weight)
    return {term: 2 * sum(weights) / (len(weights) + 1) for term, weights in found.items()}


def _add_best_part(scores: dict[int, float], parts: list[dict[int, float]]) -> None:
    """Add the scores of the parts of a query to ``scores`` of the whole: a request may need a tool for each part."""
    best = max(scores.values(), default=0.0)
    added: dict[int, float] = {}
    for part in parts:
        most = max(part.values(), default=0.0)
        for position, score in part.items():
            share = score / most
            if share > added.get(position, 0.0):
                added[position] = share
    for position, share in added.items():
        scores[position] = scores.get(position, 0.0) + PART_WEIGHT * best * share


def closest_names(catalog: Catalog, name: str, most: int = 3) -> list[str]:
    """Return up to ``most`` names of tools that ``name`` may mean, best first; empty when none is similar enough.

    Names with a very similar spelling are returned alone. Otherwise a search for the words of ``name`` comes first,
    because it finds synonyms (STOCK_PRICE: GLOBAL_QUOTE), followed by names with a less similar spelling.
    """
    normalized = "_".join(name.upper().split())[:64]
    known = catalog if normalized and len(catalog) <= _MAX_COMPARED_NAMES else ()
    edits = {other: distance(normalized, name_key(other)) for other in known}
    similarity = {other: 1 - edits[other] / max(len(normalized), len(other)) for other in known}
    similar = [other for other in known if similarity[other] >= _MIN_SIMILARITY]
    similar.sort(key=lambda other: -similarity[other])
    if close := [other for other in similar if similarity[other] >= _HIGH_SIMILARITY or edits[other] == 1]:
        return close[:most]
    return list(dict.fromkeys(_names_by_words(catalog, in_words(normalized).lower(), most) + similar))[:most]


def _names_by_words(catalog: Catalog, words: str, most: int) -> list[str]:
    """Return the names of tools that match ``words`` well, or that have one of them in their names."""
    hits = search(catalog, words).hits[:most]
    own_words = {word for word in words.split() if len(word) >= _SHORTEST_NAME_WORD}
    names = []
    for hit in hits:
        other = catalog.summary(hit.position).name
        is_good = hit.score >= _MIN_SUGGESTED_SCORE or own_words.intersection(in_words(other).lower().split())
        if is_good and hit.score >= _MIN_SUGGESTED_RATIO * hits[0].score:
            names.append(other)
    return names
