"""Build the search index of a catalog: the weight of each term for each tool.

The weights are BM25F (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009): the number of occurrences
of a term in the fields of a tool, each weighted by its field and by the length of the text there, with saturation;
multiplied by the rarity of the term among the tools. They are computed here, so that a search only adds them up.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from toolfold.catalog.fit import measure
from toolfold.catalog.index_fields import FIELDS, SATURATION, SCALE, term_counts
from toolfold.catalog.query import ACTION, UNKNOWN_NAME
from toolfold.catalog.search import MEASURED_TOOLS, score
from toolfold.catalog.tokenizer import in_words, stem, stems, words

if TYPE_CHECKING:
    from toolfold.build.schema import Vocabulary
    from toolfold.catalog.model import Catalog

Fields = Mapping[str, Sequence[str]]
"""Field → texts of a tool."""

Index = dict[str, list[int]]
"""Term → ``[position, weight, position, weight, …]``, with the positions of tools counted from 0.

A term is a stem, two stems separated by a space, or ``@`` and a kind of proper names.
"""


def build(tools: Sequence[Fields]) -> Index:
    """Return the index of ``tools``: field → texts, for each tool."""
    mean_lengths = _mean_lengths(tools)
    counts: dict[str, dict[int, float]] = defaultdict(dict)
    for position, fields in enumerate(tools):
        for found in term_counts(fields, mean_lengths).values():
            for term, count in found.items():
                counts[term][position] = counts[term].get(position, 0.0) + count
    # Written requests have the words of users already.
    written = {position for position, fields in enumerate(tools) if fields.get("example_queries")}
    return _with_synonyms({term: _weights(found, len(tools)) for term, found in counts.items()}, written)


_SYNONYMS = Path(__file__).with_name("synonyms.txt")
_SYNONYM = 0.6
"""Weight of a word where a tool has another word for the same."""


def _synonym_sets() -> list[str]:
    return [line for line in _SYNONYMS.read_text(encoding="ascii").splitlines() if not line.startswith("#")]


@functools.cache
def _synonym_terms() -> Mapping[str, set[str]]:
    """Return term → terms that requests use for it: a stem, or two."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for line in _synonym_sets():
        terms = {" ".join(map(stem, word.split("_"))) for word in line.removeprefix("to ").split()}
        for term in terms:
            found[term] |= terms - {term}
    return found


def _with_synonyms(weights: Mapping[str, Mapping[int, int]], written: Container[int]) -> Index:
    """Return the index with the tools of synonyms: a tool that has both words has the larger weight of them."""
    index: Index = {}
    for term in sorted({*weights, *_synonym_terms()}):
        found = dict(weights.get(term, {}))
        for other in _synonym_terms().get(term, ()):
            for position, weight in weights.get(other, {}).items():
                if position not in written:
                    found[position] = max(found.get(position, 0), round(_SYNONYM * weight))
        if found:
            index[term] = [number for pair in sorted(found.items()) for number in pair]
    return index


def spellings(tools: Sequence[Fields], vocabularies: Iterable[Vocabulary] = ()) -> dict[str, str]:
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
            named = [" ".join(words(name)) for name in names.words.split()]
            for name in [*filter(None, named), *([UNKNOWN_NAME] if names.unknown else [])]:
                found.setdefault(name, {})[names.term(kind)] = None
        ignored = set(words(vocabulary.ignored))
        phrases = []
        for meaning, by_language in vocabulary.synonyms.items():
            terms = [term for word in meaning.split() for term in ([word] if word.startswith("@") else stems(word))]
            for phrase in (phrase for listed in by_language.values() for phrase in listed.split(",")):
                phrases.append(([word for word in words(phrase) if word not in ignored], terms))
        alone = {parts[0] for parts, _ in phrases if len(parts) == 1}
        for parts, terms in phrases:
            # Of a phrase: its first two words together, and each longer word that is not a synonym alone.
            own = [part for part in parts if len(part) > 3 and part not in alone]
            for word in parts if len(parts) == 1 else [" ".join(parts[:2]), *own]:
                found.setdefault(word, {}).update(dict.fromkeys(terms))
        for word in ignored:
            found.setdefault(word, {})
    return {word: list(terms) for word, terms in sorted(found.items())}


def action_of(name: str, summary: str) -> list[str]:
    """Return the terms of what a tool does: by the first verb of its name, or that of its summary."""
    own = map(stem, [*in_words(name).lower().split(), *summary.lower().split()[:1]])
    found = next((_actions()[word] for word in own if word in _actions()), ())
    return [ACTION + word for word in sorted(found)]


@functools.cache
def _actions() -> Mapping[str, set[str]]:
    """Return stem → stems of words for the same action."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for words_ in (set(map(stem, line.split()[1:])) for line in _synonym_sets() if line.startswith("to ")):
        for word in words_:
            found[word] |= words_
    return found


def _mean_lengths(tools: Iterable[Fields]) -> dict[str, float]:
    lengths: defaultdict[str, list[int]] = defaultdict(list)
    for fields in tools:
        for field, texts in fields.items():
            if FIELDS[field].length_normalization and (length := sum(len(words(text)) for text in texts)):
                lengths[field].append(length)
    return {field: sum(found) / len(found) for field, found in lengths.items()}


def _weights(found: Mapping[int, float], tools: int) -> dict[int, int]:
    rarity = math.log(1 + (tools - len(found) + 0.5) / (len(found) + 0.5))
    return {
        position: max(1, round(SCALE * rarity * count * (SATURATION + 1) / (count + SATURATION)))
        for position, count in found.items()
    }


class MemoryIndex:
    """What a search reads of a catalog, for tools that are not compiled yet."""

    semantic_share = 0.0

    def __init__(
        self,
        tools: Sequence[Fields],
        vocabularies: Sequence[Vocabulary] = (),
        semantic: Mapping[str, tuple[list[int], list[int]]] = MappingProxyType({}),
    ) -> None:
        self._size, self._semantic = len(tools), semantic
        self._postings = build(tools)
        self._spellings = spellings(tools, vocabularies)
        self._synonyms = synonyms(vocabularies)

    def __len__(self) -> int:
        return self._size

    def prefetch(self, **keys: Iterable[str]) -> None:
        """Do nothing: everything is in memory."""

    def position(self, name: str) -> int | None:
        """Return None: a name says nothing about the words of a query."""

    def postings(self, term: str) -> Sequence[int]:
        """Return position, weight, position, weight, … of a term."""
        return self._postings.get(term, ())

    def spelled(self, letter: str, length: int) -> Sequence[str]:
        """Return the words with that first letter and length."""
        return self._spellings.get(f"{letter}{length}", "").split()

    def synonyms(self, word: str) -> Sequence[str] | None:
        """Return the terms that a word also matches; None: it has no entry."""
        return self._synonyms.get(word)

    def semantic_postings(self, term: str) -> tuple[Sequence[int], Sequence[int]]:
        """Return the positions of the tools near a term in meaning, and their weights."""
        return self._semantic.get(term, ((), ()))


_FOLDS = 5

_MIN_QUERIES = 100
"""Queries below which a share of one hundredth says nothing."""

_NOTHING, _SURE = 0.015, 0.2
"""Share of the example queries below each threshold. A query that is new in fewer words than a user's fits better, so
that fewer of the users' are below them than these shares (docs/reference/retrieval.md)."""


def thresholds(tools: Sequence[Fields], vocabulary: Vocabulary) -> dict[str, float]:
    """Return ``{"nothing", "sure"}`` of ``catalog.fit`` for a source; empty where it has too few example queries.

    The example queries are what its users may ask. A fifth of them at a time is searched in an index without these; so
    they are new to it, as those of users are. No query that the source does not serve is needed.
    """
    if sum(len(fields["example_queries"]) for fields in tools) < _MIN_QUERIES:
        return {}
    measures = sorted(value for fold in range(_FOLDS) for value in _measures(tools, vocabulary, fold))
    return {
        name: round(measures[int(share * len(measures))], 2) for name, share in (("nothing", _NOTHING), ("sure", _SURE))
    }


def _measures(tools: Sequence[Fields], vocabulary: Vocabulary, fold: int) -> Iterable[float]:
    left_out = [fields["example_queries"][(fold - at) % _FOLDS :: _FOLDS] for at, fields in enumerate(tools)]
    kept = [
        {**fields, "example_queries": [query for query in fields["example_queries"] if query not in queries]}
        for fields, queries in zip(tools, left_out, strict=True)
    ]
    index = cast("Catalog", MemoryIndex(kept, [vocabulary]))
    for query in (query for queries in left_out for query in queries):
        scored = score(index, query, len(tools))
        best = sorted(scored.scores, key=lambda position: (-scored.scores[position], position))[:MEASURED_TOOLS]
        yield measure(index, scored.parsed, scored.weights, best, range(len(tools))).value
