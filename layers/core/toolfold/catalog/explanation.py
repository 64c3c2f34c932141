"""Explain the score of each tool that a search has found: which term of the query gave how much.

The numbers are those of the search itself (``catalog.search``), so that the parts of a score add up to it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from toolfold.catalog.search import (
    CERTAIN_NAME_BONUS,
    NAME_BONUS,
    PART_WEIGHT,
    SAME_ACTION,
    Scored,
    SearchResult,
    rank,
    score_whole,
    term_weights,
)
from toolfold.catalog.tokenizer import stem

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

WORDS, KINDS, NAMED, PART_OF_REQUEST, MEANING = "words", "kinds", "its_name", "part_of_request", "meaning"
ACTION_OF_REQUEST = "action"
"""What a part of a score is for: a word of the tool's texts; a kind of proper names that the tool takes; its name; a
part of a request with several; words near in meaning; that it does what the request wants done."""


class QueryTerm(NamedTuple):
    """A term of the index that a query was converted to.

    Attributes:
        term: The term: a stem, two stems, or ``@`` and a kind of proper names.
        weight: By which its weight for a tool is multiplied.
        word: The word of the query that it comes from.
        is_corrected: Whether that word is not known, and was corrected or divided.
    """

    term: str
    weight: float
    word: str
    is_corrected: bool


class Part(NamedTuple):
    """A part of a score.

    Attributes:
        term: A term of the query; for :data:`NAMED` the name, for :data:`PART_OF_REQUEST` the text of the part.
        word: The word of the query that the term comes from.
        field: What it is for: :data:`WORDS` and so on.
        score: In hundredths, as the whole.
    """

    term: str
    word: str
    field: str
    score: float


class ExplainedHit(NamedTuple):
    """A tool that matches, and the parts of its score, the largest first."""

    position: int
    score: float
    parts: tuple[Part, ...]


class Explanation(NamedTuple):
    """The result of a search, the terms of the query, and the explained hits."""

    result: SearchResult
    terms: tuple[QueryTerm, ...]
    hits: tuple[ExplainedHit, ...]


def explain(catalog: Catalog, query: str, limit: int, candidates: Container[int] | None = None) -> Explanation:
    """Search as ``catalog.search`` does, and explain the first ``limit`` hits.

    Args:
        catalog: The catalog.
        query: As for the search.
        limit: How many hits are explained.
        candidates: Positions of the tools that may be returned; None: all.
    """
    scored = score_whole(catalog, query, candidates)
    result = rank(catalog, scored, candidates, is_whole=True)
    terms = tuple(_query_terms(catalog, scored))
    first = result.hits[:limit]
    catalog.prefetch_summaries([hit.position for hit in first])
    # Frequent terms add nothing to a tool that its name alone has found.
    found: set[int] = set()
    for weight_of in sorted((scored.weights[term.term] for term in terms), key=len) if scored.parsed.named else ():
        if len(found) < scored.max_tools:
            found.update(weight_of)
    by_name_alone = scored.parsed.named.keys() - found
    shares = []
    for text, scores in scored.parts:
        most = max(scores.values(), default=1.0)
        shares.append((text, {position: score / most for position, score in scores.items()}))
    hits = []
    for position, score in first:
        parts = [*_parts(catalog, scored, () if position in by_name_alone else terms, shares, position)]
        hits.append(ExplainedHit(position, score, tuple(sorted(parts, key=lambda part: -part.score))))
    return Explanation(result, terms, tuple(hits))


def _query_terms(catalog: Catalog, scored: Scored) -> Iterator[QueryTerm]:
    sources = {term.term: term.source_word for term in reversed(scored.parsed.terms)}
    known: dict[str, bool] = {}
    for term, weight in term_weights(scored.parsed).items():
        word = sources[term]
        if word not in known:
            known[word] = catalog.synonyms(word) is not None or bool(catalog.postings(stem(word)))
        yield QueryTerm(term, weight, word, not known[word] and not term.startswith("@"))


def _parts(
    catalog: Catalog,
    scored: Scored,
    terms: Sequence[QueryTerm],
    shares: Sequence[tuple[str, Mapping[int, float]]],
    position: int,
) -> Iterator[Part]:
    """Yield the parts of the score of the tool at ``position``; ``shares`` are those of the parts of the request."""
    by_words = 0.0
    for term in terms:
        if weight := scored.weights[term.term].get(position, 0):
            field = KINDS if term.term.startswith("@") else WORDS
            yield Part(term.term, term.word, field, term.weight * weight)
            by_words += term.weight * weight
    action = scored.parsed.action
    if by_words and position in catalog.postings(action)[::2]:
        word = action.removeprefix("@:")
        yield Part(word, word, ACTION_OF_REQUEST, (SAME_ACTION - 1) * by_words)
    if position in scored.parsed.named:
        name = catalog.summary(position).name
        yield Part(name, name, NAMED, CERTAIN_NAME_BONUS if scored.parsed.named[position] else NAME_BONUS)
    own = [(text, of_part[position]) for text, of_part in shares if position in of_part]
    text, share = max(own, key=lambda pair: pair[1], default=("", 0.0))
    if share > 0:
        yield Part(text, text, PART_OF_REQUEST, PART_WEIGHT * scored.best * share)
    if scored.without_meaning is not None:
        added = scored.scores.get(position, 0.0) - scored.without_meaning.get(position, 0.0)
        if added:
            yield Part("", "", MEANING, added)
