"""Correct misspelt words to words of the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

_MAX_LETTERS = 40
"""Letters of the longest word that is corrected."""


def correct(catalog: Catalog, word: str, most: int = 2) -> str:
    """Return the known word that ``word`` may mean, or ``word``.

    The known word is one edit away, from six letters on up to ``most``, and has the same first letter, which is rarely
    the wrong one. Among equals the longest is returned: letters are left out more often than added. Numbers are not
    corrected.
    """
    if not 4 <= len(word) <= _MAX_LETTERS or not word.isalpha():
        return word
    max_edits = 1 if len(word) < 6 else most
    best, least = word, max_edits + 1
    for length in range(len(word) + max_edits, len(word) - max_edits - 1, -1):
        for other in catalog.spelled(word[0], length):
            edits = distance(word, other, least - 1)
            if edits < least:
                best, least = other, edits
            if not least:  # a catalog that spells a word that it has no entry for
                return best
    return best


def distance(word: str, other: str, most: int | None = None) -> int:
    """Return how many letters are added, dropped, changed or swapped with the next between ``word`` and ``other``.

    Above ``most`` any number above it is returned. This is the optimal string alignment distance.
    """
    from rapidfuzz.distance import OSA  # only misspelt words need it

    return int(OSA.distance(word, other, score_cutoff=most))
