"""Decide whether the tools of a source fit a query at all.

Scores of a search only order tools. How well the best tool of a source fits is measured by the words of the query, each
weighted by how much it says in English (``catalog.english``): those that the tool has, against those that the whole
source lacks. Two thresholds, which the compiler finds for each source (``build.calibration``), divide the measure in
:class:`Fit`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from toolfold.catalog import english
from toolfold.catalog.tokenizer import stem

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog
    from toolfold.catalog.search import Hit, Scored

# Fitted by logistic regression to the tuning half of benchmarks/retrieval, against requests of the public sets that the
# catalog does not serve. Only their proportions matter: the thresholds are found with them.
_MATCHED, _UNKNOWN, _OTHER_LANGUAGE = 5.1, 2.4, 3.6

_CORRECTED = 0.8
"""Share of its weight that a word has as another word of similar spelling."""


class Fit(IntEnum):
    """How well the tools of a source fit a query."""

    NOTHING = 0
    WEAK = 1
    SURE = 2


class Measure(NamedTuple):
    """How well a source fits a query.

    Attributes:
        value: Some -20 to 20, the higher the better.
        is_whole: Whether one tool has every word of the query.
    """

    value: float
    is_whole: bool

    def fit(self, nothing: float, sure: float) -> Fit:
        """Return the fit by the thresholds of a source: what is below each of them is nothing, or not sure."""
        if self.value >= sure:
            return Fit.SURE
        return Fit.WEAK if self.value >= nothing or self.is_whole else Fit.NOTHING


def measure(catalog: Catalog, scored: Scored, best: Sequence[Hit], positions: Collection[int]) -> Measure:
    """Return how well a source fits a query.

    Args:
        catalog: The catalog that was searched.
        scored: The query, and the weights of its terms.
        best: The hits of the source that match best.
        positions: Positions of all tools of the source.
    """
    parsed, weights = scored.parsed, scored.weights
    terms: dict[str, list[str]] = {}
    for term in parsed.terms:
        if " " not in term.source_word:
            terms.setdefault(term.source_word, []).append(term.term)
    matched = [0.0] * len(best)
    unknown = {word for word in parsed.unknown if english.is_english(word)}
    for word, found in terms.items():
        if not any(position in positions for term in found for position in weights[term]):
            unknown.update([word] if english.is_english(word) else [])
            continue
        share = 1.0
        if stem(word) not in found and catalog.synonyms(word) is None:
            share = _CORRECTED
            unknown.update([word] if english.is_english(word) else [])
        for at, hit in enumerate(best):
            if any(hit.position in weights[term] for term in found):
                matched[at] += share * english.weight(word)
    most, lacking = max(matched, default=0.0), sum(map(english.weight, unknown))
    value = _MATCHED * math.log1p(most) - _UNKNOWN * math.log1p(lacking)
    is_whole = not parsed.unknown and most >= sum(map(english.weight, terms))
    return Measure(value + (0.0 if parsed.is_ascii else _OTHER_LANGUAGE), is_whole)
