"""Compare names as people and models write them: when two are the same, and which known one a wrong one may mean."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from functools import lru_cache
from itertools import chain

LEAST = 0.7
"""Similarity from which a known name is suggested, measured by ``tests/unit/test_fuzzy.py``."""

_MAX_CHARACTERS = 64
"""Characters of a wrong name that are compared: no name is longer, and comparing takes time."""


_COMPARISONS = {"<=": "_lte", ">=": "_gte", "<": "_lt", ">": "_gt"}
"""Signs in names of parameters, such as ``DateSent<``, and how they are spelled in an argument; the longest first."""


def spell_comparisons(name: str) -> str:
    """Return ``name`` with words for signs of comparison: without them, three names of a service would be one."""
    for sign, word in _COMPARISONS.items():
        name = name.replace(sign, word)
    return name


def match_any(names: Iterable[str], patterns: Iterable[str]) -> bool:
    """Return whether one of ``patterns`` is, or stands for, one of ``names``, as in file names.

    Brackets also stand for themselves: tags of an API may have any signs.

    >>> match_any(["/pets/{id}"], ["/cats", "/pets/*"]), match_any(["Pets [v1]: read"], ["Pets [v1]*"])
    (True, True)
    """
    return any(map(_expression(tuple(patterns)).fullmatch, names))


@lru_cache(maxsize=64)
def _expression(patterns: tuple[str, ...]) -> re.Pattern[str]:
    forms = ((re.escape(one), translate(one), translate(one.replace("[", "[[]"))) for one in patterns)
    return re.compile("|".join(chain.from_iterable(forms)) or "(?!)")


def normalize(name: str) -> str:
    """Return ``name`` in lower case with letters and digits alone: two spellings of one name become the same."""
    if name.isalnum():  # as are most of the thousand names that a call may have
        return name.casefold()
    return "".join(filter(str.isalnum, spell_comparisons(name))).casefold()


class Names:
    """What a name of an argument can mean: a parameter by its letters, else one by the other words for it.

    Args:
        parameters: the names of the parameters.
        others: parameter → other names for it.
    """

    def __init__(self, parameters: Iterable[str], others: Mapping[str, Iterable[str]]) -> None:
        # Each name once: a call may have a thousand arguments.
        self._parameters: dict[str, list[str]] = {}
        self._others: dict[str, list[str]] = {}
        for parameter in parameters:
            self._parameters.setdefault(normalize(parameter), []).append(parameter)
        for target, names in others.items():
            for spelled in {normalize(name) for name in names}:
                self._others.setdefault(spelled, []).append(target)

    def of(self, name: str) -> list[str]:
        """Return the parameters that ``name`` can mean, in the singular or the plural."""
        spelled = normalize(name)
        if not spelled:
            return []
        forms = (spelled, spelled + "s", spelled.removesuffix("s"))
        same = {target: None for form in forms for target in self._parameters.get(form, ())}
        return list(same or {target: None for form in forms for target in self._others.get(form, ())})


def similarity(name: str, other: str) -> float:
    """Return the share of the letters of both that are the same in the same order, from 0 to 1.

    A row of the table of the longest common subsequence is the bits of a number (Hyyrö 2004). That needs no package,
    which a build does not have, and takes less time for thousands of names than importing one.
    """
    places: dict[str, int] = {}
    for index, letter in enumerate(name):
        places[letter] = places.get(letter, 0) | 1 << index
    row = every = (1 << len(name)) - 1
    for letter in other:
        found = row & places.get(letter, 0)
        row = (row + found) | (row - found)
    common = len(name) - (row & every).bit_count()
    return 2 * common / (len(name) + len(other) or 1)


def closest_matches(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return at most ``most`` names of ``known`` that ``name`` may mean, best first. Case and punctuation are equal."""
    wrong = normalize(name[:_MAX_CHARACTERS])
    spellings = {normalize(other): other for other in known}
    scores = {spelling: similarity(wrong, spelling) for spelling in spellings}
    best = heapq.nlargest(most, scores, key=scores.__getitem__)
    return [spellings[spelling] for spelling in best if scores[spelling] >= LEAST]


def names_beginning(name: str, known: Iterable[str], least: int) -> list[str]:
    """Return the names of ``known`` that begin with ``name``, of which at least ``least`` letters are given."""
    start = normalize(name[:_MAX_CHARACTERS])
    return [other for other in known if normalize(other).startswith(start)] if len(start) >= least else []


def did_you_mean(name: str, known: Iterable[str], most: int = 1, shown: Callable[[str], str] = str) -> str:
    """Return the sentence "Did you mean X? ", with a space at its end, or an empty text.

    Args:
        name: the wrong name.
        known: names to choose from.
        most: how many are named, with "or" between them.
        shown: returns how a known name is written in the sentence, e.g. in quotes.
    """
    closest = closest_matches(name, known, most)
    return f"Did you mean {' or '.join(dict.fromkeys(map(shown, closest)))}? " if closest else ""


def closest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name, with a space before it: the closest known one, or some."""
    names = list(known)
    partly = [other for other in names if normalize(name) in normalize(other)]
    hint = did_you_mean(name, names) or (did_you_mean(partly[0], partly) if len(partly) == 1 else "")
    if hint or not names:
        return f" {hint}".rstrip()
    return f" There are {', '.join(names[:10])}{', …' if len(names) > 10 else ''}."
