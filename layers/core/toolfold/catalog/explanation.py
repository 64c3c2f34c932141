"""Explain the score of each tool that a search has found: which term in which field gave how much.

The numbers are those of the search itself (``catalog.search``), so that the parts of a score add up to it. The index
has one weight for a term of a tool. It is divided by field in the proportions in which the compiler added it up, from
the texts of the tool that the catalog has; what these do not account for comes from phrases that were written for the
search and are in the index alone.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold.catalog.index_fields import FIELDS, SATURATION, SCALE, described_fields, source_names, term_counts
from toolfold.catalog.search import (
    CERTAIN_NAME_BONUS,
    NAME_BONUS,
    PART_WEIGHT,
    Scored,
    SearchResult,
    rank,
    score_whole,
    term_weights,
)
from toolfold.catalog.tokenizer import stem, words

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog

PHRASES = "search_phrases"
"""The field of example queries, aliases and phrases of other tools."""

ANY_FIELD = "any_field"
"""The field of a part that is not divided."""

NAMED, PART_OF_REQUEST, MEANING, KINDS = "its_name", "part_of_request", "meaning", "kinds"
"""Fields of parts that are no text of the tool: its name is in the query; a part of a request with several; words near
in meaning; a kind of proper names that the tool takes."""

_MEASURED_TOOLS = 200
"""Tools whose texts give the mean lengths: all of most catalogs, some of a large one, at equal distances."""

_MAX_TOOLS = 600
"""Tools whose counts are kept: some 10 MB."""

_CHECKED_TERMS = 4
"""Terms by which it is found out whether the parameters of a tool are indexed."""

_TOLERANCE = 1.01
"""Weights are rounded when they are stored; the counts that are computed from them may be too low by as much."""


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
        field: One of ``index_fields.FIELDS``, :data:`PHRASES`, or one of the fields that are no text of the tool.
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


class _Context:
    """What the parts of all hits of one search are computed from."""

    def __init__(self, scored: Scored, terms: Sequence[QueryTerm], rarities: Mapping[str, float]) -> None:
        self.scored, self.terms, self.rarities = scored, terms, rarities
        self.parts = [(text, scores, max(scores.values(), default=1.0)) for text, scores in scored.parts]
        # Frequent terms add nothing to a tool that its name alone has found.
        found: set[int] = set()
        for weight_of in sorted((scored.weights[term.term] for term in terms), key=len) if scored.parsed.named else ():
            if len(found) >= scored.max_tools:
                break
            found.update(weight_of)
        self.by_name_alone = scored.parsed.named.keys() - found


class Explainer:
    """Explains searches in ``catalog``. Keeps what it computes about tools; safe to use from many threads.

    Attributes:
        catalog: The catalog that is searched.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._mean_lengths: Mapping[str, float] | None = None
        self._counts: OrderedDict[int, Mapping[str, Mapping[str, float]]] = OrderedDict()

    def prepare(self) -> None:
        """Compute what the first explanation needs, and import what the first search needs."""
        self.search("a", 1)
        if self._mean_lengths is None:
            self._mean_lengths = self._measure()

    def search(
        self, query: str, limit: int, candidates: Container[int] | None = None, *, divided: int | None = None
    ) -> Explanation:
        """Search as ``catalog.search`` does, and explain the first ``limit`` hits.

        Args:
            query: As for the search.
            limit: How many hits are explained.
            candidates: Positions of the tools that may be returned; None: all.
            divided: How many of the first hits have the parts of their terms divided by field; those of others have the
                field :data:`ANY_FIELD`. None: all. Texts of a tool take half a millisecond.
        """
        scored = score_whole(self.catalog, query, candidates)
        result = rank(self.catalog, scored, candidates, is_whole=True)
        terms = tuple(self._query_terms(scored))
        first = result.hits[:limit]
        divided = limit if divided is None else divided
        self.catalog.prefetch_summaries([hit.position for hit in first])
        context = _Context(scored, terms, {term.term: self._rarity(term.term) for term in terms} if divided else {})
        hits = tuple(
            ExplainedHit(
                position,
                score,
                tuple(sorted(self._parts(context, position, at < divided), key=lambda part: -part.score)),
            )
            for at, (position, score) in enumerate(first)
        )
        return Explanation(result, terms, hits)

    def _query_terms(self, scored: Scored) -> Iterator[QueryTerm]:
        sources = {term.term: term.source_word for term in reversed(scored.parsed.terms)}
        known: dict[str, bool] = {}
        for term, weight in term_weights(scored.parsed).items():
            word = sources[term]
            if word not in known:
                known[word] = self.catalog.synonyms(word) is not None or bool(self.catalog.postings(stem(word)))
            yield QueryTerm(term, weight, word, not known[word] and not term.startswith("@"))

    def _rarity(self, term: str) -> float:
        """Return the factor by which the compiler multiplied the weights of a term (``build.search_index``)."""
        base = self.catalog.base
        tools, with_term = len(base), max(1, len(base.postings(term)) // 2)
        return math.log(1 + (tools - with_term + 0.5) / (with_term + 0.5))

    def _parts(self, context: _Context, position: int, is_divided: bool) -> Iterator[Part]:
        """Yield the parts of the score of the tool at ``position``."""
        scored = context.scored
        found = [(term, scored.weights[term.term].get(position, 0)) for term in context.terms]
        if any(weight for _, weight in found) and position not in context.by_name_alone:
            for term, weight in found:
                if weight and is_divided:
                    for field, share in self._shares(context, term.term, position, weight):
                        yield Part(term.term, term.word, field, term.weight * weight * share)
                elif weight:
                    yield Part(term.term, term.word, ANY_FIELD, term.weight * weight)
        if position in scored.parsed.named:
            name = self.catalog.summary(position).name
            yield Part(name, name, NAMED, CERTAIN_NAME_BONUS if scored.parsed.named[position] else NAME_BONUS)
        text, share = max(
            ((text, scores.get(position, 0.0) / most) for text, scores, most in context.parts),
            key=lambda pair: pair[1],
            default=("", 0.0),
        )
        if share > 0:
            yield Part(text, text, PART_OF_REQUEST, PART_WEIGHT * scored.best * share)
        if scored.without_meaning is not None:
            added = scored.scores.get(position, 0.0) - scored.without_meaning.get(position, 0.0)
            if added:
                yield Part("", "", MEANING, added)

    def _shares(self, context: _Context, term: str, position: int, weight: int) -> list[tuple[str, float]]:
        """Return the fields that have ``term``, and their shares of its weight, which add up to 1."""
        if term.startswith("@"):
            return [(KINDS, 1.0)]
        counts = {field: own[term] for field, own in self._counts_of(position).items() if term in own}
        # The compiler's formula, solved for the count.
        saturated = min(weight / (SCALE * context.rarities[term] * (SATURATION + 1)), 0.999)
        seen, total = sum(counts.values()), SATURATION * saturated / (1 - saturated)
        if total > seen * _TOLERANCE:
            counts[PHRASES] = total - seen
        whole = sum(counts.values())
        return [(field, count / whole) for field, count in counts.items()]

    def _counts_of(self, position: int) -> Mapping[str, Mapping[str, float]]:
        """Return field → term → weighted count, of the texts of the tool at ``position``."""
        counts = self._counts.get(position)
        if counts is None:
            tool = self.catalog.get(self.catalog.summary(position).name)
            counts = {} if tool is None else self._indexed(position, tool)
            self._counts[position] = counts
            if len(self._counts) > _MAX_TOOLS:
                self._counts.popitem(last=False)
        return counts

    def _indexed(self, position: int, tool: Tool) -> Mapping[str, Mapping[str, float]]:
        if self._mean_lengths is None:
            self._mean_lengths = self._measure()
        counts = term_counts(self._texts(tool), self._mean_lengths)
        # The parameters of a tool with example queries are not indexed: then their terms find other tools only.
        parameters = ("parameter_names", "parameter_descriptions")
        own = {term for field in parameters for term in counts[field] if " " not in term}
        own.difference_update(*(found for field, found in counts.items() if field not in parameters))
        for term in sorted(own)[:_CHECKED_TERMS]:
            if position not in self.catalog.postings(term)[::2]:
                return {field: found for field, found in counts.items() if field not in parameters}
        return counts

    def _measure(self) -> Mapping[str, float]:
        """Return field → mean number of words in it, of the tools that have any, as ``build.search_index`` does."""
        catalog = self.catalog.base
        step = max(1, math.ceil(len(catalog) / _MEASURED_TOOLS))
        lengths: dict[str, list[int]] = {}
        for position in range(0, len(catalog), step):
            tool = catalog.get(catalog.summary(position).name)
            for field, texts in ({} if tool is None else self._texts(tool)).items():
                if FIELDS[field].length_normalization and (length := sum(len(words(text)) for text in texts)):
                    lengths.setdefault(field, []).append(length)
        return {field: sum(found) / len(found) for field, found in lengths.items()}

    def _texts(self, tool: Tool) -> dict[str, list[str]]:
        """Return field → texts, of the fields that a compiled catalog has."""
        properties: Any = tool.parameters.get("properties", {})
        rules = properties.items() if isinstance(properties, dict) else ()
        described = {name: rule.get("description", "") for name, rule in rules if isinstance(rule, dict)}
        parameters = {name: text if isinstance(text, str) else "" for name, text in described.items()}
        categories = [one for one in self.catalog.base.categories if one.name == tool.category]
        source = self.catalog.base.source(tool.source)
        names = source_names(source.title, tool.source, source.base_url)
        return described_fields(
            tool, parameters, [text for one in categories for text in (one.title, one.description)], names
        )
