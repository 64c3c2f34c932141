"""Ways to score tools for a request, and to fuse them: what ``alternatives.py`` compares. No model, no numpy.

A scorer gives one number for each of the catalog's tools, in its order. The higher the better; 0 says nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from toolfold.build import compiler, search_index
from toolfold.catalog import index_fields, search
from toolfold.catalog.model import Catalog
from toolfold.catalog.query import parse_query
from toolfold.catalog.tokenizer import words

Scores = list[float]
Scorer = Callable[[str], Scores]
Documents = list[Mapping[str, Sequence[str]]]
"""Field → texts, for each candidate."""


def documents(folder: Path) -> Documents:
    """What the compiler gives the index of the catalog in ``folder``."""
    with mock.patch.object(search_index, "build", wraps=search_index.build) as build:
        compiler.compile_folder(folder)
    return list(build.call_args.args[0])


class Without:
    """``catalog`` as the search sees it, without some of its parts.

    These are ``pairs`` of words, whole ``names``, the ``vocabulary``, and the ``spellings`` that correct typos.
    """

    def __init__(self, catalog: Catalog, *parts: str) -> None:
        self._catalog, self._parts = catalog, frozenset(parts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def __len__(self) -> int:
        return len(self._catalog)

    def has(self, term: str) -> bool:
        """Whether ``term`` of the index is there."""
        part = "pairs" if " " in term else "vocabulary" if term.startswith("@") else ""
        return part not in self._parts

    def postings(self, term: str) -> Sequence[int]:
        return self._catalog.postings(term) if self.has(term) else ()

    def position(self, name: str) -> int | None:
        return None if "names" in self._parts else self._catalog.position(name)

    def synonyms(self, word: str) -> Sequence[str] | None:
        return None if "vocabulary" in self._parts else self._catalog.synonyms(word)

    def spelled(self, letter: str, length: int) -> Sequence[str]:
        return () if "spellings" in self._parts else self._catalog.spelled(letter, length)


def by_words(catalog: Any, candidates: int) -> Scorer:
    """toolfold's search, over as many ``candidates``, with what ``catalog`` has of its parts."""

    def scores(text: str) -> Scores:
        found = search._scores(catalog, parse_query(catalog, text), candidates)
        return [found.get(position, 0.0) for position in range(candidates)]

    return scores


class Grams:
    """BM25, with the weights of the index's fields, over runs of ``size`` letters instead of words. The beginning and
    the end of a word count as a letter."""

    def __init__(self, documents: Documents, tools: int, size: int) -> None:
        self._size, self._candidates = size, len(documents)
        counts: defaultdict[str, dict[int, float]] = defaultdict(dict)
        for position, fields in enumerate(documents):
            for gram, count in self._weighed(fields).items():
                counts[gram][position] = count
        self.index: search_index.Index = {
            gram: search_index._postings(found, tools) for gram, found in sorted(counts.items())
        }

    def __call__(self, text: str) -> Scores:
        scores = [0.0] * self._candidates
        for gram, count in Counter(self._grams(text)).items():
            postings = self.index.get(gram, ())
            for position, weight in zip(postings[::2], postings[1::2], strict=True):
                scores[position] += count * weight
        return scores

    def _weighed(self, fields: Mapping[str, Sequence[str]]) -> Mapping[str, float]:
        counts: defaultdict[str, float] = defaultdict(float)
        for field, texts in fields.items():
            for text in texts:
                for gram in () if text.startswith("@") else self._grams(text):
                    counts[gram] += index_fields.FIELDS[field].weight
        return counts

    def _grams(self, text: str) -> Iterator[str]:
        for word in words(text):
            marked = f"^{word}$"
            yield from (marked[at : at + self._size] for at in range(max(1, len(marked) - self._size + 1)))


def weighted_sum(shares: Sequence[float], parts: Sequence[Scores]) -> Scores:
    """Each of ``parts`` from 0 at its mean to 1 at its best, times its share, added up."""
    shared = ([share * score for score in _spread(part)] for share, part in zip(shares, parts, strict=True))
    return [sum(scores) for scores in zip(*shared, strict=True)]


def _spread(scores: Scores) -> Scores:
    mean, best = sum(scores) / len(scores), max(scores)
    return [(score - mean) / (best - mean) for score in scores] if best > min(scores) else [0.0] * len(scores)


def reciprocal_ranks(constant: float, parts: Sequence[Scores]) -> Scores:
    """The sum of 1 ÷ (``constant`` + rank) over ``parts``; who scores nothing has no rank. Equal scores rank in order.

    Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
    2009.
    """
    fused = [0.0] * len(parts[0])
    for scores in parts:
        ranked = sorted((at for at, score in enumerate(scores) if score > 0), key=lambda at: -scores[at])
        for rank, at in enumerate(ranked, 1):
            fused[at] += 1 / (constant + rank)
    return fused


def ranked(scores: Scores, names: Sequence[str], limit: int) -> list[str]:
    """The ``names`` of the tools that score, best first."""
    order = sorted(range(len(scores)), key=lambda at: -scores[at])
    return [names[at] for at in order[:limit] if scores[at] > 0]
