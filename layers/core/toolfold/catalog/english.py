"""How much a word says about what an English text is about, by how common it is in English.

``english.txt`` has the words in the order of how common they are: the whole words of the vocabulary of BERT (Devlin
and others, 2019; Apache-2.0), whose order is that of their frequency in English books and Wikipedia. With fewer words,
8,000 for example, too many requests for something else look like names.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from pathlib import Path

_FILE = Path(__file__).with_name("english.txt")

_COMMON, _OFFSET = 100, 20
"""Rank up to which a word says next to nothing, and what is added to a rank: the first words differ little."""

_LEAST = 0.4


@functools.cache
def _ranks() -> dict[str, int]:
    return {word: rank for rank, word in enumerate(_FILE.read_text(encoding="ascii").split())}


def is_english(word: str) -> bool:
    """Return whether ``word``, in lower case, is an English word; names of people and places are among them."""
    return word in _ranks()


def all_words() -> Iterable[str]:
    """Return the English words, the most common ones first."""
    return _ranks()


def weight(word: str) -> float:
    """Return 0.4 for the most common words of English to 5.4 for the rarest and for words that are not English."""
    ranks = _ranks()
    return max(_LEAST, math.log(ranks.get(word, len(ranks)) + _OFFSET) - math.log(_COMMON))
