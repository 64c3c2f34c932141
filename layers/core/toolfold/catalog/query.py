"""Convert a query to weighted terms of the index.

A word of the index is a term. The vocabulary replaces other words by terms. An unknown word is corrected to a known
word with a similar spelling, or split into known words. Two adjacent words are also looked up as a pair. A proper name,
of one word or several, becomes the kind of thing that it names. Numbers are ignored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from toolfold.catalog.tokenizer import STOP_WORDS, is_english, normalize, stem, word_weight, words

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

# Weights relative to 1.0 for a word that is in the index as original. Chosen on the tuning half of
# benchmarks/retrieval; changing any of them by half has little effect there.
_RELATED = 0.7
_CORRECTED = 0.8
_KIND = 1.5
_NAME_LIKE = 0.5
_IGNORED = 0.7
_ACTION_WORD = 0.5
_ALSO_NAME = 0.5
"""Of a word of the catalog that is a proper name as well: phrases name one currency where any other would do."""

_LEAST_OWN, _DISTINCT = 0.5, 2.5
"""Weight of a word that says next to nothing in English, and how much a word with all its weight says: in a catalog
"each" may be as rare as "dividend", by chance."""

_RARE = 4.5
"""Weight of a word that may be misspelt: of the 9,000 most common words of English none is another one."""

UNKNOWN_NAME = "@"
"""Entry of the synonyms with the kinds of names that an unknown capitalised word may be."""

OUTSIDE = "@!"
"""Beginning of the term of names whose tools do not serve what they name."""

PREFERRED = "@="
"""Beginning of the term of the tools that names of a kind mean where a query says little else."""

ACTION, TOPIC = "@:", "@~"
"""Beginning of the term of what a request wants done, and to what; and of the tools that do it."""

_CHANGE = re.compile(
    r"""\W*(?:(?:please|can|could|would|you|i|want|need|like|to|help|me|just)\s+)*
    (?:add|apply|buy|cancel|create|delete|deposit|donate|edit|email|hire|install|invite|order|pay|place|register|remove|rename
    |reserve|reset|schedule|sell|set\s+(?:up|an?)|sign\s+(?:me\s+)?up|submit|subscribe|transfer|unsubscribe|upload|wire|withdraw
    |book(?=\s+(?:an?|the|my|me|us|\d+)\b)|(?:send|write)(?!\s+(?:me|us)\b))\s(?!of\b)""",
    re.IGNORECASE | re.VERBOSE,
)
"""A request for a change in the world, which no tool serves that only reads; "send me" requests an answer. Some of the
verbs are nouns as well: "book value", "schedule of earnings"."""

_POLITE = frozenset(("want", "would", "like", "help", "try", "kindly", "hi", "hello", "hey"))
"""Words that may precede what a request wants done, beside the stop words."""

_SHORTEST_PART, _LONGEST_UNSPACED = 4, 8
"""Minimum letters of a part of a compound; maximum characters of a word in a script without spaces."""

_LONGEST_COMPOUND = 40

_MIN_COVERAGE = 0.8
"""Minimum share of a compound that known words must cover. Scripts without spaces have no such minimum."""

_MAX_CORRECTED = 40
"""Letters of the longest word that is corrected."""

_TOKEN = re.compile(r"\w+")
_JOINED = re.compile(r"[\w.-]+")
_WORD = re.compile(r"[^\W_]+")
_NAME_SIGNS = frozenset("_-.")
"""Signs of names of tools."""

MAX_WORDS = 200
"""Words of a query that are read, or characters in a script without spaces. Each word takes time to look up."""

_MAX_PARTS, _MIN_PART_WORDS, _MAX_SPLIT_CHARS = 8, 3, 2000
"""Parts of a query that are searched alone, the fewest words of a part (fewer say too little), and the characters of a
query that are divided."""

_PART_END = re.compile(r"(?<=[.!?])\s+|[\n;]+|,?\s+(?:and|then)\s+", re.IGNORECASE)


_PROPER = re.compile(r"\b[A-Z][a-z]+(?:[ ][A-Z][a-z]+)+\b")
"""Two capitalised words or more, which may be one proper name."""


class Term(NamedTuple):
    """A term of the index, its weight, and the word of the query that it was derived from."""

    term: str
    weight: float
    source_word: str


@dataclass
class ParsedQuery:
    """The terms of a query.

    Attributes:
        is_ascii: Whether the query has no other letters: most queries with others are not English.
        terms: The terms, in the order of the words.
        named: Position of each tool whose name is in the query → whether the word can only be that name.
        unknown: The words that have no term and are no names, in the order of the query.
        action: The term of what the query wants done; empty without one.
        topic: The term of what it is about, which tools have whose names say the same; empty without such tools.
        wants_change: Whether it wants something changed.
    """

    is_ascii: bool = True
    terms: list[Term] = field(default_factory=list)
    named: dict[int, bool] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    action: str = ""
    topic: str = ""
    wants_change: bool = False


Words = dict[tuple[str, bool], list[Term] | None]
"""Word, and whether it may be a name → its terms, as :func:`_terms` returns them."""


def parse_query(catalog: Catalog, text: str, words_before: Words | None = None) -> ParsedQuery:
    """Parse the query ``text``; ``words_before`` are those of other parsed texts, and get those of this one."""
    known = {} if words_before is None else words_before
    parsed = _parse(catalog, text, known)
    kinds = {term.term: term.source_word for term in reversed(parsed.terms) if is_kind(term.term)}
    preferred = {f"{PREFERRED}{kind[1:]}": word for kind, word in kinds.items()}
    parsed.wants_change = bool(_CHANGE.match(text))
    actions = {word: ACTION + stem(word) for word in action(text)}
    topics = {word: topic_of(text, stem(word)) for word in ("", *actions)}
    catalog.prefetch(index=[*actions.values(), *preferred, *topics.values()])
    parsed.terms += [Term(term, 1.0, word) for term, word in preferred.items() if catalog.postings(term)]
    word, parsed.action = next(((word, term) for word, term in actions.items() if catalog.postings(term)), ("", ""))
    parsed.topic = next(filter(catalog.postings, (topics[word], *topics.values())), "")
    parsed.terms = [
        term._replace(weight=_ACTION_WORD * term.weight) if term.source_word == word else term for term in parsed.terms
    ]
    return parsed


def _parse(catalog: Catalog, text: str, known: Words) -> ParsedQuery:
    all_capitals = text.isupper()
    plain = normalize(text)
    every = _WORD.findall(plain)[:MAX_WORDS]
    found = [(at, word) for at, word in enumerate(every) if word.lower() not in STOP_WORDS]
    lower = [word.lower() for _, word in found]
    phrases = list(map(" ".join, zip_longest(lower, lower[1:], fillvalue="")))
    tokens = [token.strip("-.") for token in (*_TOKEN.findall(plain)[:MAX_WORDS], *_JOINED.findall(text)[:MAX_WORDS])]
    catalog.prefetch(names=map(str.upper, tokens), synonyms=[*lower, *phrases], index=map(stem, lower))
    likely = catalog.synonyms(UNKNOWN_NAME) or ()
    names = _proper_names(catalog, text) if likely else {}
    parsed = ParsedQuery(text.isascii(), named=_named(catalog, tokens, all_capitals))
    before = pair = ""  # the word before, and its term
    rest = iter(zip(found, lower, phrases, strict=True))
    for (at, original), word, phrase in rest:
        kinds = catalog.synonyms(phrase) or ()
        if name := names.get(original):
            parts = _terms(catalog, word, is_name=True) or []
            parsed.terms += [Term(part.term, _NAME_LIKE * part.weight, name) for part in parts]
            parsed.terms += [Term(kind, _NAME_LIKE, name) for kind in likely]
            before = pair = ""
        elif kinds and all(map(is_kind, kinds)):
            parsed.terms += [Term(kind, _KIND, phrase) for kind in kinds]
            next(rest, None)
            before = pair = ""
        elif word.isdigit():
            parsed.terms += [term for term in _known_terms(catalog, word, word, 1.0) or () if is_kind(term.term)]
            before = pair = word
        else:
            is_name = at > 0 and original[0].isupper() and not all_capitals
            if (word, is_name) not in known:
                known[word, is_name] = _terms(catalog, word, is_name)
            terms = known[word, is_name]
            if terms == []:
                continue
            if before:
                related = f"{before} {word}"
                parsed.terms += [Term(other, _RELATED, related) for other in catalog.synonyms(related) or ()]
            if terms is None:
                terms = [Term(kind, _NAME_LIKE, word) for kind in likely] if is_name else []
                parsed.unknown += [] if is_name else [word]
            before, pair = word, _add(parsed, terms, pair)
    return parsed


def _named(catalog: Catalog, tokens: Sequence[str], all_capitals: bool) -> dict[int, bool]:
    """Return the position of each tool whose name is among ``tokens`` → whether the token can only be a name."""
    named: dict[int, bool] = {}
    for token in dict.fromkeys(tokens):
        # In capitals SAR, AD and CORN are names; "ad" and "corn" may be words.
        is_certain = not _NAME_SIGNS.isdisjoint(token) or (token.isupper() and not all_capitals)
        position = catalog.position(token) if is_certain or len(token) > 2 else None
        if position is not None:
            named[position] = named.get(position, False) or is_certain
    return named


def _proper_names(catalog: Catalog, text: str) -> dict[str, str]:
    """Return word → the name of several words that it is likely a part of, though nothing knows the name.

    Capitalised words are not, if the catalog has two of them as a pair, or one of them is a name or has synonyms. The
    first word of a query is capitalised anyway: it is part of a name of two words that are both English.
    """
    names: dict[str, str] = {}
    for found in () if text.istitle() else _PROPER.finditer(text):
        parts = found[0].lower().split()
        pairs = [(f"{first} {second}", f"{stem(first)} {stem(second)}") for first, second in pairwise(parts)]
        if any(catalog.synonyms(pair) or catalog.postings(term) for pair, term in pairs):
            continue
        if not found.start() and (len(parts) > 2 or not all(map(is_english, parts))):
            del parts[0]
        is_known = any(catalog.position(part) is not None or catalog.synonyms(part) is not None for part in parts)
        if len(parts) > 1 and not is_known:
            names.update((part.capitalize(), " ".join(parts)) for part in parts)
    return names


def action(text: str) -> Iterator[str]:
    """Yield the words with which a request may say what it wants done: up to the first that is not a stop word.

    >>> list(action("can you please remove the list")), list(action("price list"))
    (['can', 'you', 'remove'], ['price'])
    """
    for word in _WORD.findall(text.lower()):
        if word not in _POLITE:
            yield word
            if word not in STOP_WORDS:
                break


def topic_of(text: str, verb: str) -> str:
    """Return the term of the words of a request, or of the name of a tool, beside the stem of its verb.

    >>> topic_of("list all bank transactions", "list")
    '@~bank transact'
    """
    return TOPIC + " ".join(sorted({stem(word) for word in words(text)} - {verb}))


def split_query(text: str) -> list[str]:
    """Return the parts of a query that may each need a tool of its own: sentences, and what "and" or "then" joins.

    Parts without :data:`_MIN_PART_WORDS` words that mean something are left out.
    """
    parts = _PART_END.split(text[:_MAX_SPLIT_CHARS])
    return [part for part in parts if len(words(part)) >= _MIN_PART_WORDS][:_MAX_PARTS]


def _add(parsed: ParsedQuery, found: list[Term], before: str) -> str:
    """Add the terms of one word, each also as a pair with the term ``before``, and return the last term.

    A proper name makes no pairs: phrases have one of many.
    """
    parsed.terms += found
    if any(is_kind(term.term) for term in found):
        return ""
    for term in found:
        if before:
            parsed.terms.append(Term(f"{before} {term.term}", term.weight, term.source_word))
        before = term.term
    return before if found else ""


def is_kind(term: str) -> bool:
    """Return whether a term stands for a kind of proper names."""
    return term.startswith("@")


def _terms(catalog: Catalog, word: str, is_name: bool) -> list[Term] | None:
    """Return the terms of ``word``: empty for an ignored word, None for an unknown word."""
    found = _known_terms(catalog, word, word, 1.0)
    if found is not None or word_weight(word) < _RARE:
        return found
    if not is_name or len(word) > 5:
        other = correct(catalog, word, most=1 if is_name else 2)
        found = None if other == word else _known_terms(catalog, other, word, _CORRECTED)
    if found is None:
        parts = list(_compound_parts(catalog, word))
        found = (
            [term for part in parts for term in _known_terms(catalog, part, word, _CORRECTED) or ()] if parts else None
        )
    return found


def _known_terms(catalog: Catalog, word: str, source_word: str, weight: float) -> list[Term] | None:
    term, synonyms = stem(word), catalog.synonyms(word)
    is_ignored = synonyms is not None and not synonyms
    share = _IGNORED if is_ignored else _LEAST_OWN + (1 - _LEAST_OWN) * min(1.0, word_weight(word) / _DISTINCT)
    own = [Term(term, share * weight, source_word)] if catalog.postings(term) else []
    if synonyms is None:
        return own or None
    if any(map(is_kind, synonyms)):
        own = [part._replace(weight=_ALSO_NAME * part.weight) for part in own]
    # A word of the catalog keeps its meaning there: "real" is not looked up as a Spanish word.
    return own + [
        Term(other, weight * (_KIND if is_kind(other) else _RELATED), source_word)
        for other in synonyms
        if is_kind(other) or not own
    ]


def _compound_parts(catalog: Catalog, word: str) -> Iterator[str]:
    """Yield the known words in the compound ``word``, from the left; nothing if they cover too little of it."""
    has_spaces = unicodedata.category(word[0]) != "Lo"
    shortest, longest = (_SHORTEST_PART, len(word) - 1) if has_spaces else (1, _LONGEST_UNSPACED)
    if has_spaces and not 2 * _SHORTEST_PART <= len(word) <= _LONGEST_COMPOUND:
        return
    word = word[:MAX_WORDS]
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
    if not has_spaces or sum(map(len, parts)) >= _MIN_COVERAGE * len(word):
        yield from parts


def correct(catalog: Catalog, word: str, most: int = 2) -> str:
    """Return the known word that ``word`` may mean, or ``word``.

    The known word is one edit away, from six letters on up to ``most``, and has the same first letter, which is rarely
    the wrong one. Among equals the longest is returned: letters are left out more often than added. Numbers are not
    corrected.
    """
    if not 4 <= len(word) <= _MAX_CORRECTED or not word.isalpha():
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
