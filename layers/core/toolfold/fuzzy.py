"""Names as people and models write them: when two are the same, and which one a wrong one may have meant."""

from __future__ import annotations

from collections.abc import Iterable

_READ = 64
"""Characters of a wrong name that are looked at: what is longer is none, and comparing takes time."""


def normalize(name: str) -> str:
    """``name`` by which two spellings of it are the same: small letters and digits alone."""
    return "".join(filter(str.isalnum, name)).casefold()


def closest_matches(name: str, known: Iterable[str], most: int = 1, least: float = 0.6) -> list[str]:
    """Of ``known`` those that ``name`` may have meant, best first, by their letters alone; ``least`` is how alike they
    must be, from 0 to 1."""
    import difflib  # for mistakes alone

    spellings = {normalize(other): other for other in known}
    return [
        spellings[near] for near in difflib.get_close_matches(normalize(name[:_READ]), list(spellings), most, least)
    ]
