"""The search index of a catalog: which term speaks for which tool, and how loudly. Build side.

BM25 over weighted fields (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009): how often a term
occurs in a tool's fields, each occurrence weighed by its field, saturating; times how rare the term is among the tools.
All of it is decided here; a search adds up numbers.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from toolfold.catalog.tokenizer import stems, words

if TYPE_CHECKING:
    from toolfold.build.schema import Vocabulary

FIELDS: Mapping[str, float] = {
    "name": 3.0,
    "aliases": 3.0,
    "title": 2.0,
    "summary": 2.0,
    "example_queries": 1.5,
    "redirected_queries": 1.0,
    "tags": 1.0,
    "category": 0.5,
    "description": 0.4,
    "kinds": 2.0,
    "preferred": 1.5,
}
"""What one occurrence of a term is worth in each field. Chosen on the tuning half of tests/benchmarks/retrieval."""

BIGRAM_FIELDS = frozenset({"name", "aliases", "title", "summary", "example_queries", "redirected_queries"})
BIGRAM_WEIGHT = 0.5
"""Fields of which two words in a row are a term of their own, and its worth beside each of its words."""

SATURATION = 2.5
"""BM25's k1, at the upper end of the usual. Its b, for the length of texts, is 0: all tools have much the same."""

SCALE = 100
"""Weights are kept as whole hundredths: fewer bytes than fractions, and sums that do not depend on their order."""

Index = dict[str, list[int]]
"""Term → ``[position, weight, position, weight, …]``; a position counts the tools of the catalog from 0.

A term is a word without its ending, two of them with a blank between, or ``@`` and a kind of proper names."""


def build(tools: Sequence[Mapping[str, Sequence[str]]], outside: Sequence[Mapping[str, Sequence[str]]] = ()) -> Index:
    """Return the index over ``tools``, each a mapping from field to its texts.

    ``outside`` are topics that no tool serves: they stand after the last tool, and do not make a word less telling.
    """
    counts: dict[str, dict[int, float]] = defaultdict(dict)
    for position, fields in enumerate(itertools.chain(tools, outside)):
        for term, count in _weighed(fields).items():
            counts[term][position] = count
    return {term: _postings(found, len(tools)) for term, found in sorted(counts.items())}


def spellings(tools: Sequence[Mapping[str, Sequence[str]]], vocabularies: Iterable[Vocabulary] = ()) -> dict[str, str]:
    """Return every word of the texts as it is written, by first letter and length (``p5``: "peaks pence price …"): what
    misspelt words are held against."""
    written = {word for fields in tools for texts in fields.values() for text in texts for word in words(text)}
    written.update(word for phrase in synonyms(vocabularies) for word in phrase.split())
    shelves: defaultdict[str, list[str]] = defaultdict(list)
    for word in sorted(word for word in written if word.isalpha()):
        shelves[f"{word[0]}{len(word)}"].append(word)
    return {shelf: " ".join(found) for shelf, found in sorted(shelves.items())}


def synonyms(vocabularies: Iterable[Vocabulary]) -> dict[str, list[str]]:
    """Return word, or two in a row → the terms that they also stand for; none for a word without meaning."""
    found: dict[str, dict[str, None]] = {}
    for vocabulary in vocabularies:
        for kind, names in vocabulary.names.items():
            for word in words(names.words):
                found.setdefault(word, {})[f"@{kind}"] = None
        ignored = set(words(vocabulary.ignored))
        phrases = [
            ([word for word in words(phrase) if word not in ignored], _stands_for(meant))
            for meant, said in vocabulary.synonyms.items()
            for listed in said.values()
            for phrase in listed.split(",")
        ]
        alone = {parts[0] for parts, _ in phrases if len(parts) == 1}
        for parts, stands_for in phrases:
            # Of a phrase its first two words, in a row, and the words of it that mean nothing else by themselves.
            own = [part for part in parts if len(part) > 3 and part not in alone]
            for word in parts if len(parts) == 1 else [" ".join(parts[:2]), *own]:
                found.setdefault(word, {}).update(dict.fromkeys(stands_for))
        for word in ignored:
            found.setdefault(word, {})
    return {word: list(meant) for word, meant in sorted(found.items())}


def _stands_for(meant: str) -> list[str]:
    return [term for word in meant.split() for term in ([word] if word.startswith("@") else stems(word))]


def _weighed(fields: Mapping[str, Sequence[str]]) -> Mapping[str, float]:
    counts: defaultdict[str, float] = defaultdict(float)
    for field, texts in fields.items():
        for text in texts:
            single = [text] if text.startswith("@") else stems(text)
            for term in single:
                counts[term] += FIELDS[field]
            if field in BIGRAM_FIELDS:
                for pair in itertools.pairwise(single):
                    counts[" ".join(pair)] += BIGRAM_WEIGHT * FIELDS[field]
    return counts


def _postings(found: Mapping[int, float], tools: int) -> list[int]:
    speaks_for = max(1, sum(position < tools for position in found))
    rarity = math.log(1 + (tools - speaks_for + 0.5) / (speaks_for + 0.5))
    postings = []
    for position, count in found.items():
        weight = SCALE * rarity * count * (SATURATION + 1) / (count + SATURATION)
        postings += [position, max(1, round(weight))]
    return postings
