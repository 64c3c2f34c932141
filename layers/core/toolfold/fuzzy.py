"""Compare names as people and models write them: when two are the same, and which known one a wrong one may mean."""

from __future__ import annotations

from collections.abc import Iterable

_MAX_CHARACTERS = 64
"""Characters of a wrong name that are compared: no name is longer, and comparing takes time."""


def normalize(name: str) -> str:
    """Return ``name`` in lower case with letters and digits alone: two spellings of one name become the same."""
    return "".join(filter(str.isalnum, name)).casefold()


def closest_matches(name: str, known: Iterable[str], most: int = 1, least: float = 0.6) -> list[str]:
    """Return the names of ``known`` that ``name`` may mean, best first.

    Args:
        name: the wrong name.
        known: names to choose from.
        most: how many are returned.
        least: how similar a name must be, from 0 to 1: the share of their letters in the same order.
    """
    from rapidfuzz import fuzz, process  # only mistakes need it

    spellings = {normalize(other): other for other in known}
    matches = process.extract(
        normalize(name[:_MAX_CHARACTERS]), list(spellings), scorer=fuzz.ratio, limit=most, score_cutoff=100 * least
    )
    return [spellings[match] for match, _, _ in matches]
