"""Build the search index of a catalog: the weight of each term for each tool.

The weights are BM25F (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009): the number of occurrences
of a term in the fields of a tool, each weighted by its field and by the length of the text there, with saturation;
multiplied by the rarity of the term among the tools. They are computed here, so that a search only adds them up.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from toolfold.catalog.tokenizer import stems, words

if TYPE_CHECKING:
    from toolfold.build.schema import Vocabulary

_BY_LENGTH = 0.8
"""b of BM25F, near its usual 0.75: a word of a long description says less than one of a short one."""


class Field(NamedTuple):
    """How the texts of one field count: the weight of one occurrence, and how far a long text reduces it (0 to 1)."""

    weight: float
    length_normalization: float = 0.0


FIELDS: Mapping[str, Field] = {
    "name": Field(2.5, _BY_LENGTH),
    "source": Field(3.0, _BY_LENGTH),
    "title": Field(2.0, _BY_LENGTH),
    "summary": Field(1.0, _BY_LENGTH),
    "description": Field(0.4, _BY_LENGTH),
    "parameter_names": Field(0.6, _BY_LENGTH),
    "parameter_descriptions": Field(0.5, _BY_LENGTH),
    "category": Field(0.5, _BY_LENGTH),
    "tags": Field(1.0, _BY_LENGTH),
    # Phrases that were written for the search: a tool with many of them is not less likely for each.
    "aliases": Field(3.0),
    "example_queries": Field(1.5),
    "redirected_queries": Field(1.0),
    "kinds": Field(2.0),
    "preferred": Field(1.5),
}
"""Chosen on the tuning halves of tests/benchmarks/retrieval and of public sets (docs/reference/retrieval-public.md)."""

BIGRAM_FIELDS = frozenset({"name", "source", "aliases", "title", "summary", "example_queries", "redirected_queries"})
BIGRAM_WEIGHT = 0.5
"""Fields in which two adjacent words are also one term, and its weight relative to a single word."""

SATURATION = 2.5
"""k1 of BM25, at the upper end of the usual range."""

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
    mean_lengths = _mean_lengths(tools)
    counts: dict[str, dict[int, float]] = defaultdict(dict)
    for position, fields in enumerate(itertools.chain(tools, out_of_scope)):
        for term, count in _weighted_counts(fields, mean_lengths).items():
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


def _mean_lengths(tools: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, float]:
    """Return field → mean number of words in it, of the tools that have any."""
    lengths: defaultdict[str, list[int]] = defaultdict(list)
    for fields in tools:
        for field, texts in fields.items():
            if FIELDS[field].length_normalization and (length := sum(len(words(text)) for text in texts)):
                lengths[field].append(length)
    return {field: sum(found) / len(found) for field, found in lengths.items()}


def _weighted_counts(fields: Mapping[str, Sequence[str]], mean_lengths: Mapping[str, float]) -> Mapping[str, float]:
    counts: defaultdict[str, float] = defaultdict(float)
    for field, texts in fields.items():
        found = [[text] if text.startswith("@") else stems(text) for text in texts]
        length, share = sum(map(len, found)), FIELDS[field].length_normalization
        weight = FIELDS[field].weight / (1 - share + share * length / mean_lengths.get(field, length or 1))
        for terms in found:
            for term in terms:
                counts[term] += weight
            if field in BIGRAM_FIELDS:
                for pair in itertools.pairwise(terms):
                    counts[" ".join(pair)] += BIGRAM_WEIGHT * weight
    return counts


def _postings(found: Mapping[int, float], tools: int) -> list[int]:
    tool_count = max(1, sum(position < tools for position in found))
    rarity = math.log(1 + (tools - tool_count + 0.5) / (tool_count + 0.5))
    postings = []
    for position, count in found.items():
        weight = SCALE * rarity * count * (SATURATION + 1) / (count + SATURATION)
        postings += [position, max(1, round(weight))]
    return postings
