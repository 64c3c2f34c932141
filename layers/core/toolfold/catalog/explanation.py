"""Explain the score of each tool that a search has found: which term of the query gave how much.

The numbers are those of the search itself (``catalog.search``), so that the parts of a score add up to it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from toolfold.catalog.search import (
    CERTAIN_NAME_BONUS,
    NAME_BONUS,
    SAME_ACTION,
    Scored,
    SearchResult,
    rank,
    score,
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
    scored = score(catalog, query, candidates)
    result = rank(catalog, scored, candidates, is_whole=True)
    sources = {term.term: term.source_word for term in reversed(scored.parsed.terms)}
    known: dict[str, bool] = {}
    found = []
    for term, weight in term_weights(scored.parsed, scored.weights).items():
        word = sources[term]
        if word not in known:
            known[word] = catalog.synonyms(word) is not None or bool(catalog.postings(stem(word)))
        found.append(QueryTerm(term, weight, word, not known[word] and not term.startswith("@")))
    terms = tuple(found)
    first = result.hits[:limit]
    catalog.prefetch_summaries([hit.position for hit in first])
    hits = []
    for position, total in first:
        parts = sorted(_parts(catalog, scored, terms, position), key=lambda part: -part.score)
        hits.append(ExplainedHit(position, total, tuple(parts)))
    return Explanation(result, terms, tuple(hits))


def _parts(catalog: Catalog, scored: Scored, terms: Sequence[QueryTerm], position: int) -> Iterator[Part]:
    parsed, by_words = scored.parsed, 0.0
    for term in terms:
        if weight := term.weight * scored.weights[term.term].get(position, 0):
            yield Part(term.term, term.word, KINDS if term.term.startswith("@") else WORDS, weight)
            by_words += weight
    if by_words and position in catalog.postings(parsed.action)[::2]:
        word = parsed.action.removeprefix("@:")
        yield Part(word, word, ACTION_OF_REQUEST, (SAME_ACTION - 1) * by_words)
    if position in parsed.named:
        name = catalog.summary(position).name
        yield Part(name, name, NAMED, CERTAIN_NAME_BONUS if parsed.named[position] else NAME_BONUS)
    text, added = max(
        ((text, of_part.get(position, 0.0)) for text, of_part in scored.parts.items()),
        key=lambda pair: pair[1],
        default=("", 0.0),
    )
    for named, field, value in ((text, PART_OF_REQUEST, added), ("", MEANING, scored.by_meaning.get(position, 0.0))):
        if value > 0:
            yield Part(named, named, field, value)
