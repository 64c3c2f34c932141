"""Build the search index of a catalog: the weight of each term for each tool.

The weights are BM25F (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009): the number of occurrences
of a term in the fields of a tool, each weighted by its field, with saturation; multiplied by the rarity of the term
among the tools. They are computed here, so that a search only adds them up.
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
"""Weight of one occurrence of a term in each field. Chosen on the tuning half of tests/benchmarks/retrieval."""

BIGRAM_FIELDS = frozenset({"name", "aliases", "title", "summary", "example_queries", "redirected_queries"})
BIGRAM_WEIGHT = 0.5
"""Fields in which two adjacent words are also one term, and its weight relative to a single word."""

SATURATION = 2.5
"""k1 of BM25, at the upper end of the usual range. b is 0, because all tools have texts of similar length."""

SCALE = 100
"""Weights are stored as integers in hundredths: they are short, and their sums do not depend on the order."""

Index = dict[str, list[int]]
"""Term → ``[position, weight, position, weight, …]``, with the positions of tools counted from 0.

A term is a stem, two stems separated by a space, or ``@`` and a kind of proper names.
"""


def build(
    tools: Sequence[Mapping[str, Sequence[str]]], out_of_scope: Sequence[Mapping[str, Sequence[str]]] = ()
) -> Index:
    """Return the index.

    Args:
        tools: Field → texts, for each tool.
        out_of_scope: The same for topics that no tool serves. They have the positions after the last tool, and do not
            count for the rarity of a term.
    """
    counts: dict[str, dict[int, float]] = defaultdict(dict)
    for position, fields in enumerate(itertools.chain(tools, out_of_scope)):
        for term, count in _weighted_counts(fields).items():
            counts[term][position] = count
    return {term: _postings(found, len(tools)) for term, found in sorted(counts.items())}


def spellings(tools: Sequence[Mapping[str, Sequence[str]]], vocabularies: Iterable[Vocabulary] = ()) -> dict[str, str]:
    """Return all words of the texts, with which a misspelt word is compared.

    They are grouped by first letter and length: ``{"p5": "peaks pence price …"}``.
    """
    known_words = {word for fields in tools for texts in fields.values() for text in texts for word in words(text)}
    known_words.update(word for phrase in synonyms(vocabularies) for word in phrase.split())
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for word in sorted(word for word in known_words if word.isalpha()):
        groups[f"{word[0]}{len(word)}"].append(word)
    return {group: " ".join(found) for group, found in sorted(groups.items())}


def synonyms(vocabularies: Iterable[Vocabulary]) -> dict[str, list[str]]:
    """Return word, or two adjacent words → terms that it also matches; empty for an ignored word."""
    found: dict[str, dict[str, None]] = {}
    for vocabulary in vocabularies:
        for kind, names in vocabulary.names.items():
            for word in words(names.words):
                found.setdefault(word, {})[f"@{kind}"] = None
        ignored = set(words(vocabulary.ignored))
        phrases = [
            ([word for word in words(phrase) if word not in ignored], _terms_of(meaning))
            for meaning, by_language in vocabulary.synonyms.items()
            for listed in by_language.values()
            for phrase in listed.split(",")
        ]
        alone = {parts[0] for parts, _ in phrases if len(parts) == 1}
        for parts, terms in phrases:
            # Of a phrase: its first two words together, and each longer word that is not a synonym alone.
            own = [part for part in parts if len(part) > 3 and part not in alone]
            for word in parts if len(parts) == 1 else [" ".join(parts[:2]), *own]:
                found.setdefault(word, {}).update(dict.fromkeys(terms))
        for word in ignored:
            found.setdefault(word, {})
    return {word: list(terms) for word, terms in sorted(found.items())}


def _terms_of(meaning: str) -> list[str]:
    return [term for word in meaning.split() for term in ([word] if word.startswith("@") else stems(word))]


def _weighted_counts(fields: Mapping[str, Sequence[str]]) -> Mapping[str, float]:
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
    tool_count = max(1, sum(position < tools for position in found))
    rarity = math.log(1 + (tools - tool_count + 0.5) / (tool_count + 0.5))
    postings = []
    for position, count in found.items():
        weight = SCALE * rarity * count * (SATURATION + 1) / (count + SATURATION)
        postings += [position, max(1, round(weight))]
    return postings
