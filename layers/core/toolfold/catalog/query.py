"""From a request to the terms that are looked up, each with what it is weight and the word that it is there for.

A word counts for itself; one that the index does not have counts for what the vocabulary says it stands for. A word
that is in neither is taken for a slip of the pen if a known word is close by, and then for a compound of known words.
Two words in a row count as a pair as well. Proper names count for the kind of thing that they name, numbers for
nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolfold.catalog import spelling
from toolfold.catalog.tokenizer import STOP_WORDS, normalize, stem

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

# Worths against the 1.0 of a word that is in the index as it is written; chosen on the tuning half of
# tests/benchmarks/retrieval, where all of them may be half as large or half as large again without much harm.
_RELATED = 0.7
_MENDED = 0.8
_KIND = 1.5
_LIKE_A_NAME = 0.5

_UNKNOWN_NAME = "@company"
"""What a capitalised word that is unknown is taken for: most requests that name something name a company."""

_SHORTEST_PART, _LONGEST_SIGN = 4, 8
"""Letters of a part of a compound, at least; signs of a word in a script that puts no spaces, at most."""

_LONGEST_COMPOUND = 40

_COVERED = 0.8
"""Share of a compound that known words must make up. A script without spaces has no such bound."""

_TOKEN = re.compile(r"\w+")
_JOINED = re.compile(r"[\w.-]+")
_WORD = re.compile(r"[^\W_]+")

MOST_WORDS = 64
"""Of a request that are read, and signs of a script without spaces: no request needs more, and each costs time."""


@dataclass(frozen=True)
class Term:
    """``term`` of the index, its ``weight``, and the ``source_word`` of the request it stands for."""

    term: str
    weight: float
    source_word: str


class ParsedQuery:
    """A request as the index sees it.

    ``named`` are the positions of tools whose whole name is in it → whether it can be meant as nothing but that name.
    """

    def __init__(self) -> None:
        self.terms: list[Term] = []
        self.named: dict[int, bool] = {}


def parse_query(catalog: Catalog, text: str) -> ParsedQuery:
    """Return what ``text`` asks for."""
    reading = ParsedQuery()
    shouting = text.isupper()
    term = word = ""
    tokens = _TOKEN.findall(normalize(text))[:MOST_WORDS]
    _expect(catalog, tokens)
    for at, token in enumerate(tokens):
        _note_name(catalog, reading, token, shouting)
        for written in _WORD.findall(token):
            before, word = word, written.lower()
            if word in STOP_WORDS:
                word = before
                continue
            if word.isdigit():
                reading.terms.extend(kind for kind in _known(catalog, word, word, 1.0) or () if _is_kind(kind.term))
                term = word
                continue
            a_name = at > 0 and written[0].isupper() and not shouting
            found = _terms(catalog, word, a_name)
            if found == []:
                word = before
                continue
            if before:
                reading.terms.extend(_phrase(catalog, before, word))
            if found is None:
                found = [Term(_UNKNOWN_NAME, _LIKE_A_NAME, word)] if a_name else []
            term = _add(reading, found, term)
    for joined in _JOINED.findall(text)[:MOST_WORDS]:
        if (name := joined.strip("-.")) not in tokens:
            _note_name(catalog, reading, name, shouting)
    return reading


def _expect(catalog: Catalog, tokens: list[str]) -> None:
    """Have a catalog that is not in memory fetch side by side what the words are held against."""
    words = [word.lower() for token in tokens for word in _WORD.findall(token)]
    catalog.prefetch(names=map(str.upper, tokens), synonyms=words, index=map(stem, words))


def _phrase(catalog: Catalog, before: str, word: str) -> list[Term]:
    """Return what two words in a row mean together."""
    phrase = f"{before} {word}"
    return [Term(term, _RELATED, phrase) for term in catalog.synonyms(phrase) or ()]


def _note_name(catalog: Catalog, reading: ParsedQuery, token: str, shouting: bool) -> None:
    position = catalog.position(token)
    if position is not None:
        # SAR, AD and CORN in capitals are names; as "ad" or "corn" they may be words.
        sure = any(sign in token for sign in "_-.") or (token.isupper() and not shouting)
        if sure or len(token) > 2:
            reading.named[position] = sure


def _add(reading: ParsedQuery, found: list[Term], before: str) -> str:
    """Add the terms of one word, and each as a pair with the term ``before``; returns the last of them."""
    for term in found:
        reading.terms.append(term)
        if not _is_kind(term.term):
            if before:
                reading.terms.append(Term(f"{before} {term.term}", term.weight, term.source_word))
            before = term.term
    return before if found else ""


def _is_kind(term: str) -> bool:
    return term.startswith("@")


def _terms(catalog: Catalog, word: str, a_name: bool) -> list[Term] | None:
    """Return the terms that ``word`` counts for; none for one that means nothing, None for one that is unknown."""
    found = _known(catalog, word, word, 1.0)
    if found is None and (not a_name or len(word) > 5):
        other = spelling.correct(catalog, word, most=1 if a_name else 2)
        found = None if other == word else _known(catalog, other, word, _MENDED)
    if found is None:
        parts = list(_parts(catalog, word))
        found = [term for part in parts for term in _known(catalog, part, word, _MENDED) or ()] if parts else None
    return found


def _known(catalog: Catalog, word: str, source_word: str, weight: float) -> list[Term] | None:
    term, synonyms = stem(word), catalog.synonyms(word)
    own = [Term(term, weight, source_word)] if catalog.postings(term) else []
    if synonyms is None:
        return own or None
    # A word of the catalog stands for itself, whatever it means elsewhere: "real" is no Spanish here.
    return own + [
        Term(other, weight * (_KIND if _is_kind(other) else _RELATED), source_word)
        for other in synonyms
        if _is_kind(other) or not own
    ]


def _parts(catalog: Catalog, word: str) -> Iterator[str]:
    """Yield the known words that ``word`` is made of, from the left; none if they cover too little of it."""
    spaced = unicodedata.category(word[0]) != "Lo"
    shortest, longest = (_SHORTEST_PART, len(word) - 1) if spaced else (1, _LONGEST_SIGN)
    if spaced and not 2 * _SHORTEST_PART <= len(word) <= _LONGEST_COMPOUND:
        return
    word = word[:MOST_WORDS]
    parts, at = [], 0
    while at < len(word):
        for length in range(min(len(word) - at, longest), shortest - 1, -1):
            part = word[at : at + length]
            if part in catalog.spelled(part[0], length):
                parts.append(part)
                at += length
                break
        else:
            at += 1
    if not spaced or sum(map(len, parts)) >= _COVERED * len(word):
        yield from parts
