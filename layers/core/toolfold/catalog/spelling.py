"""Words that were misspelt: the catalog's word that is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

_LONGEST = 40
"""Letters of a word beyond which it is no misspelt one."""


def correct(catalog: Catalog, word: str, most: int = 2) -> str:
    """The known word that ``word`` may have been meant for; else itself.

    That is one slip away, from six letters on up to ``most``. The first letter is rarely the wrong one. Among equals
    the longest is taken: letters are forgotten more often than added. Numbers are not mended.
    """
    if not 4 <= len(word) <= _LONGEST or not word.isalpha():
        return word
    reach = 1 if len(word) < 6 else most
    best, least = word, reach + 1
    pattern = Pattern(word)
    for length in range(len(word) + reach, len(word) - reach - 1, -1):
        for other in catalog.spelled(word[0], length):
            slips = pattern.distance(other, least)
            if slips < least:
                best, least = other, slips
    return best


class Pattern:
    """A word whose distance to many others is asked for: letters added, dropped, changed, swapped with the next.

    Bit-parallel optimal string alignment (Hyyrö, "A Bit-Vector Algorithm for Computing Levenshtein and Damerau Edit
    Distances", 2003): one column of the table is a few operations on integers.
    """

    def __init__(self, word: str) -> None:
        self._length = len(word)
        self._where: dict[str, int] = {}
        for at, letter in enumerate(word):
            self._where[letter] = self._where.get(letter, 0) | 1 << at
        self._letters = set(word)

    def distance(self, other: str, below: int = 1 << 30) -> int:
        """The distance to ``other``; any number from ``below`` on where it is not below that."""
        # Each slip changes at most two of the letters that the words do not share: most words are done with here.
        if len(self._letters ^ set(other)) > 2 * (below - 1):
            return below
        full, last = (1 << self._length) - 1, 1 << self._length - 1
        more, less, diagonal, before = full, 0, 0, 0
        distance = self._length
        for letter in other:
            match = self._where.get(letter, 0)
            swapped = ((~diagonal & match) << 1) & before
            diagonal = ((((match & more) + more) ^ more) | match | less | swapped) & full
            up = less | ~(diagonal | more) & full
            down = diagonal & more
            if up & last:
                distance += 1
            if down & last:
                distance -= 1
            up = up << 1 | 1
            more = (down << 1 | ~(diagonal | up)) & full
            less = diagonal & up & full
            before = match
        return distance
