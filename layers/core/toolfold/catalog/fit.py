"""Decide whether the tools of a source fit a query at all.

Scores of a search only order tools. How well the best tool of a source fits is measured by the words of the query, each
weighted by how much it says in English: those that the tool has, against those that the whole source lacks. Two
thresholds, which the compiler finds for each source (``build.search_index``), divide the measure in :class:`Fit`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from toolfold.catalog.query import OUTSIDE, is_kind
from toolfold.catalog.tokenizer import is_english, stem, word_weight

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.catalog.query import ParsedQuery

# Fitted by logistic regression to the tuning half of benchmarks/retrieval, against requests of the public sets that the
# catalog does not serve. Only their proportions matter: the thresholds are found with them.
_MATCHED, _UNKNOWN, _OTHER_LANGUAGE = 3.7, 2.4, 2.3

_CORRECTED, _KIND, _OUTSIDE = 0.8, 0.1, 0.2
"""Share of its weight that a word has as another word of similar spelling, and as the name of something that a tool
takes: tools of other sources take Apple and Paris as well. And what it counts as unknown where it names something that
only some tools of the source do not serve."""

_MOST_BESIDE = 2
"""Words of a tool that make it fit weakly beside a single unknown one: "steel news", but not a sentence."""


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


def measure(
    catalog: Catalog,
    parsed: ParsedQuery,
    weights: Mapping[str, Mapping[int, int]],
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
    lacking = math.fsum(map(word_weight, unknown)) + _OUTSIDE * math.fsum(map(word_weight, outside))
    named = {word for word, found in known.items() if all(map(is_kind, found))}
    weight = {word: word_weight(word) * (_CORRECTED if word in corrected else 1.0) for word in known.keys() - named}
    # A capitalised word that nothing knows says nothing.
    weight |= {word: _KIND * word_weight(word) if catalog.synonyms(word) else 0.0 for word in named}
    having = [[word for word, found in known.items() if any(tool in weights[term] for term in found)] for tool in best]
    most = max((math.fsum(weight[word] for word in own) for own in having), default=0.0)
    value = _MATCHED * math.log1p(most) - _UNKNOWN * math.log1p(lacking) + (0 if parsed.is_ascii else _OTHER_LANGUAGE)
    words, lacks = max(map(len, having), default=0), unknown.union(parsed.unknown)
    is_near = most > 0 and len(lacks) == 1 and words == len(terms) <= _MOST_BESIDE and not parsed.wants_change
    least = Fit.NOTHING
    if words == len(terms) > 0 and not lacks:
        is_name = all(weight[word] for word in terms) and named == terms.keys()
        least = Fit.SURE if is_name or words > 1 else Fit.WEAK
    elif (words and not lacks) or is_near:
        least = Fit.WEAK
    return Measure(value, least, len(terms) == 1 and not lacks)
