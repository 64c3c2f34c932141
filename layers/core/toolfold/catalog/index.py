"""The search index of a catalog: which term speaks for which tool, and how loudly. Build side.

BM25 over weighted fields (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009): how often a term
occurs in a tool's fields, each occurrence weighed by its field, saturating; times how rare the term is among the tools.
All of it is decided here; a search adds up numbers.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from toolfold.catalog.words import terms, words

FIELDS: Mapping[str, float] = {
    "name": 3.0,
    "aliases": 3.0,
    "title": 2.0,
    "summary": 2.0,
    "asks": 1.5,
    "asks_of_neighbours": 1.0,
    "tags": 1.0,
    "category": 0.5,
    "description": 0.4,
}
"""What one occurrence of a term is worth in each field. Chosen on the tuning half of tests/benchmarks/retrieval."""

SATURATION = 2.0
"""BM25's k1, at the upper end of the usual. Its b, for the length of texts, is 0: all tools have much the same."""

SCALE = 100
"""Weights are kept as whole hundredths: fewer bytes than fractions, and sums that do not depend on their order."""

Index = dict[str, list[int]]
"""Term → ``[position, weight, position, weight, …]``; a position counts the tools of the catalog from 0."""


def build(tools: Sequence[Mapping[str, Sequence[str]]]) -> Index:
    """The index over ``tools``, each a mapping from field to its texts."""
    counts: dict[str, dict[int, float]] = defaultdict(dict)
    for position, fields in enumerate(tools):
        for term, count in _weighed(fields).items():
            counts[term][position] = count
    return {term: _postings(found, len(tools)) for term, found in sorted(counts.items())}


def spellings(tools: Sequence[Mapping[str, Sequence[str]]]) -> dict[str, str]:
    """Every word of the texts as it is written, by first letter and length (``p5``: "peaks pence price …"): what
    misspelt words are held against."""
    written = {word for fields in tools for texts in fields.values() for text in texts for word in words(text)}
    shelves: defaultdict[str, list[str]] = defaultdict(list)
    for word in sorted(word for word in written if word.isalpha() and len(word) > 2):
        shelves[f"{word[0]}{len(word)}"].append(word)
    return {shelf: " ".join(found) for shelf, found in sorted(shelves.items())}


def _weighed(fields: Mapping[str, Sequence[str]]) -> Mapping[str, float]:
    counts: defaultdict[str, float] = defaultdict(float)
    for field, texts in fields.items():
        for term, count in Counter(term for text in texts for term in terms(text)).items():
            counts[term] += FIELDS[field] * count
    return counts


def _postings(found: Mapping[int, float], tools: int) -> list[int]:
    rarity = math.log(1 + (tools - len(found) + 0.5) / (len(found) + 0.5))
    postings = []
    for position, count in found.items():
        weight = SCALE * rarity * count * (SATURATION + 1) / (count + SATURATION)
        postings += [position, max(1, round(weight))]
    return postings
