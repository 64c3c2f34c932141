"""Finding tools by words: a ranked list for a request, and the closest names for a misspelt one.

The index was made when the catalog was compiled (``catalog.index``); here its numbers are added up. A word that no tool
knows is taken for a slip of the pen if one of theirs is close by.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from toolfold.catalog.words import stem, words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolfold.catalog.model import Catalog

_NAMED = 200
"""Added for a word that is a tool's whole name, in hundredths as the index's weights: as much as one telling word.

Not for names of two letters, which are English words (AD).
"""

_GUESSED = 0.8
"""What a word is worth that had to be mended: a little less than one that was written so."""

_LONGEST = 40
"""Letters of a word beyond which it is no misspelt one."""


def closest(catalog: Catalog, name: str, most: int = 3) -> list[str]:
    """Names of the tools that ``name`` may have meant, best first; by spelling, then by words."""
    import difflib  # for misspelt names alone

    spelled = name.strip().upper()[:64]
    if slips := difflib.get_close_matches(spelled, list(catalog), n=most, cutoff=0.85):
        return slips
    names = difflib.get_close_matches(spelled, list(catalog), n=1, cutoff=0.6)
    names += [found for found, _ in search(catalog, spelled.replace("_", " "), most) if found not in names]
    return names[:most]


def search(catalog: Catalog, query: str, most: int = 10) -> list[tuple[str, str]]:
    """``(name, summary)`` of the tools that fit ``query``, best first; none when no word of it is known."""
    scores: defaultdict[int, float] = defaultdict(float)
    names = {name: position for position, name in enumerate(catalog)}
    for word in words(query):
        named = names.get(word.upper())
        if named is not None and len(word) > 2:
            scores[named] += _NAMED
        term, worth = stem(word), 1.0
        if term not in catalog.index:
            term, worth = stem(_mended(word, catalog.spellings.get(word[0], ()))), _GUESSED
        postings = catalog.index.get(term, ())
        for position, weight in zip(postings[::2], postings[1::2], strict=True):
            scores[position] += worth * weight
    ranked = sorted(scores, key=lambda position: (-scores[position], position))[:most]
    summaries = list(catalog.summaries())
    return [summaries[position][:2] for position in ranked]


def _mended(word: str, known: Iterable[str]) -> str:
    """The known word that ``word`` may have been meant for: one slip away, or two from six letters on; else itself.

    ``known`` are words with its first letter, which is rarely the wrong one. Numbers are not mended.
    """
    if not 4 <= len(word) <= _LONGEST or not word.isalpha():
        return word
    reach = 1 if len(word) < 6 else 2
    # Among equals the longest: letters are forgotten more often than added.
    near = [(_slips(word, other, reach), -len(other), other) for other in known if abs(len(other) - len(word)) <= reach]
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
