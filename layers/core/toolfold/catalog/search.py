"""Rank the tools that match a query, and suggest names for an unknown one.

The compiler computes all weights (``build.search_index``); a search adds them up. Scores only order tools. Whether the
best tools of a source fit the query at all is decided for each source alone, so that no source hides the tools of
another. It is measured by the words of the query, each weighted by how much it says in English: those that the tool
has, against those that the whole source lacks. Two thresholds, which the compiler finds for each source, divide the
measure in :class:`Fit`.

A catalog may also have a section with words that are near its tools in meaning, though their texts do not have them
(``build.search_index``). Their postings are added to the scores of the other words.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from heapq import nlargest
from operator import itemgetter, mul
from typing import TYPE_CHECKING, NamedTuple

from toolfold.catalog.entries import name_key
from toolfold.catalog.query import OUTSIDE, PREFERRED, ParsedQuery, Words, is_kind, parse_query, split_query
from toolfold.catalog.tokenizer import in_words, is_english, stem, stems, word_weight
from toolfold.fuzzy import LEAST, similarity

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

# In hundredths, as the weights of the index. The values were chosen on the tuning half of benchmarks/retrieval.
_NAME_BONUS = 200
"""Added for a word that equals the name of a tool and may be an English word: about the score of one rare word."""

_CERTAIN_NAME_BONUS = 1000
"""Added for a word that can only be the name of a tool: more than all other words of a query together."""

_SAYS_MUCH = 400
"""Score of the words of a query beside the names in it from which it does not mean the preferred tools for these: about
that of one rare word."""

_SAME_ACTION = 1.25
"""By which the score of a tool is multiplied that does what a request wants done."""

_SAME_TOPIC = 1.5
"""By which the score of a tool is multiplied whose name says what a request is about and nothing else, before the bonus
for a name: its words may be on most tools of a source."""

_TIE_RATIO, _MAX_TIES = 0.85, 5
"""Share of the best score from which a tool counts as tied with the best, and the maximum number of ties. On the tuning
half, the right tool is among the ties for 93 of 100 queries; a query has 1.4 ties on average."""

_HIGH_SIMILARITY = 0.85
"""Similarity of names, 0 to 1, from which no names are suggested that are found by words."""

_MAX_SEARCHED, _MAX_SUGGESTED, _MIN_SUGGESTED_SCORE, _MIN_SUGGESTED_RATIO = 200, 3, 700, 0.4
"""Hits that are looked at, and names that are suggested at most; score, and share of the best score, from which a tool
found by the words of an unknown name is. A single word that many tools have scores less, and so does a word that was
corrected to one of the catalog (NOPE: non)."""

_SURE_SCORE, _SURE_SCORE_PER_TERM = 1000, 250
"""Score of the best tool, or score for each term of a query with few terms, from which it is sure to fit, where its
source has no thresholds. The terms of a query such as "help me" are on many tools, or on a few by chance."""

MEASURED_TOOLS = 3
"""Best tools of a source of which one must fit, and the most tools of a source that fits weakly."""

_UNCALIBRATED = {"nothing": -math.inf, "sure": 3.0}
"""Thresholds of a source without own ones, which are found in some way by any request."""

_SHORTEST_NAME_WORD = 3
"""Letters of the shortest word that two names may share by more than chance."""

_MAX_COMPARED_NAMES = 2000
"""Maximum number of tools for which every name is compared with an unknown one."""

PART_WEIGHT = 0.5
"""Weight of the best part of a query with several, relative to the whole query."""

_MAX_FOUND_BY_RARE_TERMS = 200
"""Number of tools found by rare terms from which more frequent terms add no further tools: the maximum of one
``TOOL_LIST`` answer."""


_BEST_ALONE = 200.0
"""Best score for a query without a word of the texts: below that of one rare word."""

_MAX_ADDED = 50
"""Number of tools that are found by these scores alone."""

_MAX_MEANT_WORDS = 64
"""Words of a query that are looked up: those after are seldom of the request itself."""

# Fitted by logistic regression to the tuning half of benchmarks/retrieval, against requests of the public sets that the
# catalog does not serve. Only their proportions matter: the thresholds are found with them.
_MATCHED, _UNKNOWN, _OTHER_LANGUAGE = 3.7, 2.4, 2.3

_KIND = 0.1
"""Share of its weight that the name of something that a tool takes has: tools of other sources take Apple as well."""

_MOST_BESIDE = 2
"""Words of a tool that make it fit weakly beside a single unknown one: "steel news", but not a sentence."""

Weights = dict[str, dict[int, int]]
"""Term → position → weight, of the terms of one search: its parts have the terms of the whole."""


class Fit(IntEnum):
    """How well the tools of a source fit a query."""

    NOTHING = 0
    WEAK = 1
    SURE = 2


class Measure(NamedTuple):
    """How well a source fits a query.

    Attributes:
        value: Some -20 to 20, the higher the better.
        least: The fit for any value, as few words have a low value: a query with every word in one tool surely fits;
            with all words in several tools, or with one unknown word beside one or two in one tool, it fits weakly.
        is_one_word: Whether the query has one word, which the source knows.
    """

    value: float
    least: Fit
    is_one_word: bool

    def fit(self, nothing: float, sure: float) -> Fit:
        """Return the fit by the thresholds of a source: what is below each of them is nothing, or not sure."""
        return max(self.least, Fit((self.value >= nothing) + (self.value >= sure)))


class Hit(NamedTuple):
    """A tool that matches: its position in the catalog, and its score in hundredths."""

    position: int
    score: float


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


@dataclass
class Scored:
    """The scores of a search, and what they are made of.

    Attributes:
        parsed: The terms of the query.
        weights: Term → position → weight, of the terms of the query and of its parts.
        scores: Position → score.
        has_known_words: Whether the texts of a tool have a word of the query.
    """

    parsed: ParsedQuery
    weights: Weights
    scores: dict[int, float]
    has_known_words: bool

    def fit(self, best_score: float) -> Fit:
        """Return how well tools fit by the score of the best."""
        # A company or a currency, which many tools take, is no reason to doubt.
        weight = sum(term.weight for term in self.parsed.terms if not is_kind(term.term))
        is_sure = self.has_known_words and best_score >= min(_SURE_SCORE, _SURE_SCORE_PER_TERM * weight)
        return Fit.SURE if is_sure else Fit.WEAK


def search(
    catalog: Catalog, query: str, candidates: Container[int] | None = None, *, is_whole: bool = False
) -> SearchResult:
    """Return the tools that match ``query``, those that fit best first.

    Args:
        catalog: The catalog.
        query: Words in any language that the vocabulary covers.
        candidates: Positions of the tools that may be returned; None: all.
        is_whole: Return all tools of a source that only fits weakly, not only the first :data:`MEASURED_TOOLS`.
    """
    scored = score(catalog, query, candidates)
    found = [pair for pair in scored.scores.items() if candidates is None or pair[0] in candidates]
    found.sort()  # by position, which decides between equal scores
    found.sort(key=itemgetter(1), reverse=True)
    hits = [Hit(*pair) for pair in found]
    parsed, sources = scored.parsed, {source.id: source.fit for source in catalog.sources}
    members = catalog.memoize(
        "positions by source",
        lambda: {id_: frozenset(catalog.positions("source", id_)) for id_ in catalog.counts("source")},
    )
    fitting: defaultdict[Fit, list[Hit]] = defaultdict(list)
    terms = {term.term for term in parsed.terms if term.term.startswith(OUTSIDE)}
    outside = {position for term in terms for position in catalog.postings(term)[::2]}
    if parsed.wants_change:
        outside.update(catalog.positions("effect", "read"))
    for id_, positions in members.items():
        own = hits if len(members) == 1 else [hit for hit in hits if hit.position in positions]
        if not own:
            continue
        thresholds = sources.get(id_)  # a view may list tools of a source that it does not name
        by_score, best = scored.fit(own[0].score), [hit.position for hit in own[:MEASURED_TOOLS]]
        measured = measure(catalog, parsed, scored.weights, best, positions)
        fit = measured.fit(**(thresholds or _UNCALIBRATED))
        if any(is_certain and position in positions for position, is_certain in parsed.named.items()):
            fit = Fit.SURE
        elif not thresholds:
            fit = min(fit, by_score)
        elif fit is Fit.WEAK and measured.is_one_word:  # which says enough where few tools have it
            fit = by_score
        if best[0] in outside:
            fit = min(fit, Fit.WEAK)
        # Of a source with thresholds that only fits weakly, the best alone are ranked, unless all are wanted.
        has_all = is_whole or fit is Fit.SURE or not thresholds
        fitting[fit] += own if has_all else own[:MEASURED_TOOLS]
    for kept in fitting.values():
        kept.sort(key=lambda hit: (-hit.score, hit.position))
    ranked = fitting[Fit.SURE] + fitting[Fit.WEAK]
    ties = sum(hit.score >= _TIE_RATIO * ranked[0].score for hit in ranked[:_MAX_TIES])
    best_fit = Fit.SURE if fitting[Fit.SURE] else Fit.WEAK if ranked else Fit.NOTHING
    return SearchResult(tuple(ranked), ties, best_fit)


def score(catalog: Catalog, query: str, candidates: Container[int] | None = None) -> Scored:
    """Return the scores of the tools by the words of ``query`` and by what they mean.

    After :data:`_MAX_FOUND_BY_RARE_TERMS` tools are found, a more frequent term only adds to their scores: in a large
    catalog most of the time is spent on terms that thousands of tools have. With ``candidates`` all terms find tools.
    """
    known: Words = {}
    weights: Weights = {}
    parsed = parse_query(catalog, query, known)
    scores = _scores(catalog, parsed, weights, _MAX_FOUND_BY_RARE_TERMS if candidates is None else len(catalog))
    parts: list[dict[int, float]] = []
    texts = split_query(query)
    for text in texts if len(texts) > 1 else ():
        # Among the tools that the whole query has found: a third of the time for queries of 60 words, and the same
        # results on the tuning parts of the public sets.
        part = _scores(catalog, parse_query(catalog, text, known), weights, among=scores)
        share = PART_WEIGHT * max(scores.values(), default=0.0) / max(part.values(), default=1.0)
        parts.append({position: share * of_part for position, of_part in part.items()})
    # A request may need a tool for each part.
    for position in set().union(*parts):
        scores[position] = scores.get(position, 0.0) + max(part.get(position, 0.0) for part in parts)
    has_known_words = bool(scores)
    if catalog.has_semantic_postings:
        for position, added in _semantic_scores(catalog, scores, query).items():
            scores[position] = scores.get(position, 0.0) + added
    return Scored(parsed, weights, scores, has_known_words)


def _scores(
    catalog: Catalog,
    parsed: ParsedQuery,
    weights: Weights,
    max_tools: int = 0,
    among: Mapping[int, float] | None = None,
) -> dict[int, float]:
    """Return position → score, of the positions ``among`` alone where they are given.

    Terms are added from rare to frequent, each to tools that are named as well. Their weights are taken from
    ``weights``, which gets those that it lacks.
    """
    missing = {term.term for term in parsed.terms} - weights.keys()
    catalog.prefetch(index=missing)
    for term in missing:
        postings = catalog.postings(term)
        weights[term] = dict(zip(postings[::2], postings[1::2], strict=True))
    of_terms = _term_weights(parsed, weights)
    scores = defaultdict(float, dict.fromkeys(parsed.named, 0.0))
    for term, term_weight in sorted(of_terms.items(), key=lambda pair: len(weights[pair[0]])):
        weight_of = weights[term]
        if among is None and len(scores) < max_tools:
            for position, weight in weight_of.items():
                scores[position] += term_weight * weight
        else:
            for position in (scores if among is None else among).keys() & weight_of.keys():
                scores[position] += term_weight * weight_of[position]
    for position in scores.keys() & set(catalog.postings(parsed.action)[::2]) if parsed.action else ():
        scores[position] *= _SAME_ACTION
    for position in scores.keys() & set(catalog.postings(parsed.topic)[::2]):
        scores[position] = _SAME_TOPIC * scores[position] + _NAME_BONUS
    for position, is_certain in parsed.named.items():
        scores[position] += _CERTAIN_NAME_BONUS if is_certain else _NAME_BONUS
    return scores


def _semantic_scores(catalog: Catalog, scores: Mapping[int, float], query: str) -> dict[int, float]:
    """Return position → what the meaning of the words of ``query`` adds to ``scores``, position → score by the words.

    The added scores, as a vector over all tools, have ``catalog.semantic_share`` of the length of ``scores``. That is
    the sum of both in standard deviations, but for the means, and a tool without semantic postings loses nothing.
    """
    times = Counter(stems(query)[:_MAX_MEANT_WORDS])
    catalog.prefetch(near=list(times))
    found: defaultdict[int, float] = defaultdict(float)
    for term, number in times.items():
        factor = 2 * number / (number + 1)  # a word that occurs n times has twice its weight at most, as in the search
        postings = catalog.postings(term, "near")
        for position, weight in zip(postings[::2], postings[1::2], strict=True):
            found[position] += factor * weight
    best = max(found.values(), default=0.0)
    if not best:
        return {}
    factor = catalog.semantic_share * _length(scores) / _length(found) if scores else _BEST_ALONE / best
    others = nlargest(_MAX_ADDED, found, key=found.__getitem__)
    return {position: factor * found[position] for position in {*(scores.keys() & found.keys()), *others}}


def _length(scores: Mapping[int, float]) -> float:
    values = scores.values()
    return math.sqrt(sum(map(mul, values, values)))


def _term_weights(parsed: ParsedQuery, postings: Weights) -> dict[str, float]:
    """Return term → weight. A term that occurs n times has twice its weight at most: 2n/(n+1) of it.

    The preferred tools for a name are meant where a query has little else: the more its other words weigh in
    ``postings``, the less they are preferred.
    """
    found: defaultdict[str, list[float]] = defaultdict(list)
    for term in parsed.terms:
        if not term.term.startswith(OUTSIDE):
            found[term.term].append(term.weight)
    weights = {term: 2 * sum(weights) / (len(weights) + 1) for term, weights in found.items()}
    if preferred := [term for term in weights if term.startswith(PREFERRED)]:
        names = {term.source_word for term in parsed.terms if is_kind(term.term)}
        others = {term.term for term in parsed.terms if term.source_word not in names and " " not in term.term}
        said = math.fsum(weights[term] * max(postings[term].values(), default=0) for term in others)
        weights |= dict.fromkeys(preferred, max(0.0, 1 - said / _SAYS_MUCH))
    return weights


def measure(
    catalog: Catalog,
    parsed: ParsedQuery,
    weights: Weights,
    best: Sequence[int],
    positions: Collection[int],
) -> Measure:
    """Return how well a source fits a query.

    Args:
        catalog: The catalog that was searched.
        parsed: The query.
        weights: Term → position → weight, of its terms.
        best: Positions of the tools of the source that match best.
        positions: Positions of all tools of the source.
    """
    terms: dict[str, list[str]] = {}
    for term in parsed.terms:
        if " " not in term.source_word or is_kind(term.term):
            terms.setdefault(term.source_word, []).append(term.term)
    outside = {word for word, found in terms.items() if any(term.startswith(OUTSIDE) for term in found)}
    absent, known = set(parsed.unknown), dict[str, list[str]]()
    for word in terms.keys() - outside:
        if any(position in positions for term in terms[word] for position in weights[term]):
            known[word] = terms[word]
        else:
            absent.add(word)
    corrected = {word for word, found in known.items() if stem(word) not in found and catalog.synonyms(word) is None}
    unknown = set(filter(is_english, absent | corrected))
    lacking = math.fsum(map(word_weight, unknown))
    named = {word for word, found in known.items() if all(map(is_kind, found))}
    weight = {word: word_weight(word) for word in known.keys() - named}
    # A capitalised word that nothing knows says nothing.
    weight |= {word: _KIND * word_weight(word) if catalog.synonyms(word) else 0.0 for word in named}
    having = [[word for word, found in known.items() if any(tool in weights[term] for term in found)] for tool in best]
    most = max((math.fsum(weight[word] for word in own) for own in having), default=0.0)
    value = _MATCHED * math.log1p(most) - _UNKNOWN * math.log1p(lacking) + (0 if parsed.is_ascii else _OTHER_LANGUAGE)
    words, lacks = max(map(len, having), default=0), unknown.union(parsed.unknown)
    is_near = most > 0 and len(lacks) == 1 and words == len(terms) <= _MOST_BESIDE and not parsed.wants_change
    least = Fit.WEAK if is_near or (words and not lacks) else Fit.NOTHING
    if words == len(terms) > 1 and not lacks:
        least = Fit.SURE
    return Measure(value, least, len(terms) == 1 and not lacks)


def closest_names(catalog: Catalog, name: str) -> list[str]:
    """Return up to three names of tools that ``name`` may mean, best first; empty when none is similar enough.

    Names with a very similar spelling are returned alone. Otherwise a search for the words of ``name`` comes first,
    because it finds synonyms (STOCK_PRICE: GLOBAL_QUOTE), followed by names that are less similar. Of a name that
    begins with a source, the rest is compared, with the tools of that source where it has some.
    """
    wrong, names = name_key("_".join(name.split()))[:64], {}
    if wrong and len(catalog) <= _MAX_COMPARED_NAMES:
        names = {other: name_key(other) for other in catalog}
    source, separator, rest = wrong.partition("__")
    own = {other for other, key in names.items() if separator and key.startswith(f"{source}__")}
    if rest:
        tails = {other: key.rpartition("__")[2] for other, key in names.items()}
        wrong, names = rest, {other: key for other, key in tails.items() if not own or other in own or key == rest}
    alike = {other: similarity(wrong, key) for other, key in names.items()}
    similar = sorted((other for other, value in alike.items() if value >= LEAST), key=lambda other: -alike[other])
    if close := [other for other in similar if alike[other] >= _HIGH_SIMILARITY]:
        return close[:_MAX_SUGGESTED]
    sought = in_words(wrong).lower()
    hits = [(hit.score, catalog.summary(hit.position).name) for hit in search(catalog, sought).hits[:_MAX_SEARCHED]]
    words = {word for word in sought.split() if len(word) >= _SHORTEST_NAME_WORD}
    by_words = [
        other
        for points, other in [pair for pair in hits if not own or pair[1] in own][:_MAX_SUGGESTED]
        if points >= _MIN_SUGGESTED_RATIO * hits[0][0]
        and (
            points >= _MIN_SUGGESTED_SCORE or not words.isdisjoint(in_words(other.rpartition("__")[2]).lower().split())
        )
    ]
    return list(dict.fromkeys([*by_words, *similar]))[:_MAX_SUGGESTED]
