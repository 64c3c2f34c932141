"""Finding tools by words: a ranked list for a request, and the closest names for a misspelt one.

The index was made when the catalog was compiled (``catalog.index``); here its numbers are added up. A word that no tool
knows is taken for a slip of the pen if one of theirs is close by.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolfold.catalog.words import stem, words

if TYPE_CHECKING:
    from collections.abc import Container

    from toolfold.catalog.model import Catalog

_NAMED = 200
"""Added for a word that is a tool's whole name, in hundredths as the index's weights: as much as one telling word.

Not for names of two letters, which are English words (AD).
"""

_GUESSED = 0.8
"""What a word is worth that had to be mended: a little less than one that was written so."""

_TIED = 0.85
"""Share of the best score from which on a tool is as good as the best."""

_LONGEST = 40
"""Letters of a word beyond which it is no misspelt one."""


def closest(catalog: Catalog, name: str, most: int = 3) -> list[str]:
    """Names of the tools that ``name`` may have meant, best first; by spelling, then by words."""
    import difflib  # for misspelt names alone

    spelled = name.strip().upper()[:64]
    if slips := difflib.get_close_matches(spelled, list(catalog), n=most, cutoff=0.85):
        return slips
    names = difflib.get_close_matches(spelled, list(catalog), n=1, cutoff=0.6)
    hits = find(catalog, spelled.replace("_", " ")).hits[:most]
    names += [name for name in (catalog.brief(hit.position).name for hit in hits) if name not in names]
    return names[:most]


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that fits: its position in the catalog, and how well, in hundredths of the index's weights."""

    position: int
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: the tools that fit, best first, none when nothing does.

    ``leaders`` of them, from the first, are about as good as the best: one when there is a clear winner.
    """

    hits: tuple[Hit, ...]
    leaders: int


def find(catalog: Catalog, query: str, among: Container[int] | None = None) -> Found:
    """The tools that fit ``query``; only those at the positions ``among``, where it is given."""
    scores: defaultdict[int, float] = defaultdict(float)
    for word in words(query):
        named = catalog.position(word.upper()) if len(word) > 2 else None
        if named is not None:
            scores[named] += _NAMED
        postings, worth = catalog.postings(stem(word)), 1.0
        if not postings:
            postings, worth = catalog.postings(stem(_mended(catalog, word))), _GUESSED
        for position, weight in zip(postings[::2], postings[1::2], strict=True):
            scores[position] += worth * weight
    hits = [Hit(position, score) for position, score in scores.items() if among is None or position in among]
    hits.sort(key=lambda hit: (-hit.score, hit.position))
    leaders = sum(hit.score >= _TIED * hits[0].score for hit in hits)
    return Found(tuple(hits), leaders)


def _mended(catalog: Catalog, word: str) -> str:
    """The known word that ``word`` may have been meant for: one slip away, or two from six letters on; else itself.

    The first letter is rarely the wrong one. Numbers are not mended.
    """
    if not 4 <= len(word) <= _LONGEST or not word.isalpha():
        return word
    reach = 1 if len(word) < 6 else 2
    known = [
        other
        for length in range(len(word) - reach, len(word) + reach + 1)
        for other in catalog.spelled(word[0], length)
    ]
    # Among equals the longest: letters are forgotten more often than added.
    near = [(_slips(word, other, reach), -len(other), other) for other in known]
    slips, _, other = min(near, default=(reach + 1, 0, word))
    return other if slips <= reach else word


def _slips(word: str, other: str, reach: int) -> int:
    """Letters to add, drop, change or swap with the next to make ``other`` of ``word``; past ``reach`` any larger.

    Optimal string alignment, row by row.
    """
    # Each slip changes at most two of the letters that the words do not share: most words are done with here.
    if len(set(word) ^ set(other)) > 2 * reach:
        return reach + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        last, before, row = before, row, [i]
        for j, target in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != target))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == target:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > reach:
            return reach + 1
    return row[-1]
