"""Split text into terms, lower-case words without endings, and say how common a word is in English.

The compiler and the search use the same functions, because both must produce the same terms. Standard library only.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable
from pathlib import Path

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b")
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu|un|all|dall|dell|nell|sull)['’](?=[^\W\d_]{2})", re.IGNORECASE)
"""An article or a preposition before a vowel, in French and Italian."""
_SHARE_CLASS = re.compile(r"\b([A-Z]{2,5})[.-][A-Z]\b")
"""A ticker with the letter of a class of shares: BRK.B."""
_JOINTS = re.compile(r"[_.-]+")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
_LETTERS = str.maketrans({"ß": "ss", "ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"})
_UNSPACED = "\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff"
_UNIT = re.compile(r"(?<=\d)(?=[A-Za-z]{3})")
_MINUTES = re.compile(r"(?<=\d)[ -]?mins?\b", re.IGNORECASE)
"""Only after a number: elsewhere ``min`` is a minimum."""
# Compiled when it is first needed: large sets of characters take milliseconds.
_SCRIPTS = rf"(?<=[{_UNSPACED}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9])(?=[{_UNSPACED}])"

STOP_WORDS = frozenset(
    """
    a an and any are as at be been but by can could d did didn do does doesn doing don for from get give had has
    have he her his how i if in into is isn it its just let like ll m may me more most my need no not of on one or
    our out over please re s see she show so some such t tell than that the their them then there these they this
    those to up us ve was we were what when where which while who whom whose why will with would you your
    """.split()
)
"""Words without meaning in a query, and the remains of words with an apostrophe."""

# Tried in this order; what is left must keep three letters. Not Porter's algorithm, which knows more and needs more
# code: an ending that is cut wrongly does little harm as long as both sides cut it.
_ENDINGS = tuple(
    ending.split(">")
    for ending in """
    ational>ate ization>ize isation>ize fulness>ful iveness>ive ousness>ous ically>ic ingly> ments> ation>ate ility>le
    ities>ity ively>ive ment> ness> able> ible> ings> ally>al ised>ize ises>ize ions> ing> ion> ies>y ied>y ers> ors>
    ise>ize est> ed> er> or> ly> es> al> s> e>
    """.split()
)

_WHOLE = frozenset(
    "author carrier center consumer container corner counter customer director factor folder header news poster server"
    " ticker".split()
)
"""Words whose rest without -er or -s is another word: customer and custom, author and auth, news and new."""


def in_words(name: str) -> str:
    """Split the name of a tool into words: ``getGlobalQuote`` becomes ``get Global Quote``."""
    return _CAMEL_CASE.sub(" ", _JOINTS.sub(" ", name))


def words(text: str) -> list[str]:
    """Return the words of ``text`` in order, in lower case, without accents and stop words."""
    return [word for word in _WORD.findall(normalize(text).lower()) if word not in STOP_WORDS]


def normalize(text: str) -> str:
    """Return ``text`` without accents and apostrophes.

    A space is inserted between a number and its unit (``5days``: ``5 days``), and between a script without spaces and
    other letters (``のRSI``: ``の RSI``). Minutes after a number are written out (``5min``: ``5 minute``).
    """
    text = _SHARE_CLASS.sub(r"\1", _ELISION.sub("", _POSSESSIVE.sub("", text))).replace("'", " ").replace("’", " ")
    if not text.isascii():
        import unicodedata  # most queries are ASCII

        text = unicodedata.normalize("NFKD", text.translate(_LETTERS))
        # Marks are accents in Latin script. In some others they are vowels: their words stay distinct enough without.
        text = "".join(character for character in text if not unicodedata.category(character).startswith("M"))
        text = re.sub(_SCRIPTS, " ", text)
    return _UNIT.sub(" ", _MINUTES.sub(" minute", text))


def stems(text: str) -> list[str]:
    """Return the words of ``text`` without their endings."""
    return [stem(word) for word in words(text)]


@functools.lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return ``word`` without its ending: ``prices``, ``priced`` and ``pricing`` become one term."""
    if len(word) < 4 or not word.isascii() or not word.isalpha() or word.endswith(("ss", "us", "is")):
        return word
    if word in _WHOLE or word[:-1] in _WHOLE:
        return word if word in _WHOLE else word[:-1]
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(instead) >= 3:
            word = word[: len(word) - len(ending)] + instead
            if instead:  # actively → active → activ, as active itself
                return stem(word)
            break
    # running → runn → run: English doubles the last letter before some endings.
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz" else word


_ENGLISH = Path(__file__).with_name("english.txt")
"""Words in the order of how common they are: the whole words of the vocabulary of BERT (Devlin and others, 2019;
Apache-2.0), whose order is that of their frequency in English books and Wikipedia. With fewer words, 8,000 for example,
too many requests for something else look like names."""

_COMMON, _OFFSET = 100, 20
"""Rank up to which a word says next to nothing, and what is added to a rank: the first words differ little."""

_LEAST = 0.4


@functools.cache
def _ranks() -> dict[str, int]:
    return {word: rank for rank, word in enumerate(_ENGLISH.read_text(encoding="ascii").split())}


def is_english(word: str) -> bool:
    """Return whether ``word``, in lower case, is an English word; names of people and places are among them."""
    return word in _ranks()


def english_words() -> Iterable[str]:
    """Return the English words, the most common ones first."""
    return _ranks()


def word_weight(word: str) -> float:
    """Return 0.4 for the most common words of English to 5.4 for the rarest and for words that are not English."""
    ranks = _ranks()
    return max(_LEAST, math.log(ranks.get(word, len(ranks)) + _OFFSET) - math.log(_COMMON))
