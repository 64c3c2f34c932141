"""Rank tools by words that are near their texts in meaning, though the texts do not have them.

The compiler computes for which words that is so (``build.semantic_index``). Their postings are a section of their own,
which a catalog may lack, and are added to the scores of the other words.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import accumulate, count
from operator import mul, sub
from typing import Protocol

from toolfold.catalog.tokenizer import stems

FIRST = ord("#")
"""The character of 0: the first one after those that JSON escapes and the quotation mark."""

MAX_WEIGHT = 63
"""Six bits. Weights of more bits rank no better (docs/explanation/decisions/search-index.md)."""

MAX_GAP = 0xD000
"""Largest distance of two positions: above are characters that UTF-8 does not have."""

_BEST_ALONE = 200.0
"""Best score for a query without a word of the texts: below that of one rare word."""

_MAX_ADDED = 50
"""Number of tools that are found by these scores alone."""

_MAX_WORDS = 64
"""Words of a query that are looked up: those after are seldom of the request itself."""


def decode(text: str) -> tuple[list[int], list[int]]:
    """Return the positions and the weights of the postings in ``text``.

    Each posting is two characters: the distance from the position before, and the weight, both counted from
    :data:`FIRST`. A line takes a quarter of what it would take as numbers, and no loop in Python decodes it.

    Raises:
        ValueError: ``text`` is not a text of that form.
    """
    numbers = array("I")
    numbers.frombytes(text.encode("utf-32", "surrogatepass")[4:])
    if len(numbers) % 2 or min(numbers, default=FIRST) < FIRST:
        raise ValueError("no postings")
    weights = [number - FIRST for number in numbers[1::2]]
    if max(weights, default=0) > MAX_WEIGHT:
        raise ValueError("a weight is too large")
    return list(map(sub, accumulate(numbers[::2]), count(FIRST, FIRST))), weights


class Postings(Protocol):
    """What is read of a ``catalog.model.Catalog``, which imports this module."""

    @property
    def semantic_share(self) -> float:
        """Length of these scores, as a vector over all tools, relative to that of the other scores."""

    def prefetch(self, **keys: Iterable[str]) -> None:
        """Read the blocks that contain ``keys``."""

    def semantic_postings(self, term: str) -> tuple[Sequence[int], Sequence[int]]:
        """Return the positions of the tools near ``term`` in meaning, and their weights."""


def semantic_scores(catalog: Postings, scores: Mapping[int, float], query: str) -> dict[int, float]:
    """Return position → what the meaning of the words of ``query`` adds to ``scores``, position → score by the words.

    The added scores, as a vector over all tools, have ``catalog.semantic_share`` of the length of ``scores``. That is
    the sum of both in standard deviations, but for the means, and a tool without semantic postings loses nothing.
    """
    times = Counter(stems(query)[:_MAX_WORDS])
    catalog.prefetch(semantic=list(times))
    found: defaultdict[int, float] = defaultdict(float)
    for term, number in times.items():
        factor = 2 * number / (number + 1)  # a word that occurs n times has twice its weight at most, as in the search
        for position, weight in zip(*catalog.semantic_postings(term), strict=True):
            found[position] += factor * weight
    best = max(found.values(), default=0.0)
    if not best:
        return {}
    factor = catalog.semantic_share * _length(scores) / _length(found) if scores else _BEST_ALONE / best
    others = nlargest(_MAX_ADDED, found, key=found.__getitem__)
    return {position: factor * found[position] for position in {*(scores.keys() & found.keys()), *others}}


def _length(scores: Mapping[int, float]) -> float:
    values = scores.values()
    return math.sqrt(sum(map(mul, values, values)))
