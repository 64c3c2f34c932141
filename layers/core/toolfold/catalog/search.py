"""Finding tools by name or words: the closest names for a misspelt one, and a ranked list for a few words."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.catalog.model import Catalog

_WORD = re.compile(r"[a-z0-9]+")


def closest(catalog: Catalog, name: str, most: int = 3) -> list[str]:
    """Names of the tools that ``name`` may have meant, best first; by spelling, then by words."""
    import difflib  # for misspelt names alone

    spelled = name.strip().upper()[:64]
    names = difflib.get_close_matches(spelled, list(catalog), n=most, cutoff=0.6)
    names += [found for found, _ in search(catalog, spelled.replace("_", " "), most) if found not in names]
    return names[:most]


def search(catalog: Catalog, query: str, most: int = 10) -> list[tuple[str, str]]:
    """``(name, summary)`` of the tools that share words with ``query``, best first.

    A word counts by its rarity in the catalog, twice when it is in the name.
    """
    wanted = set(_words(query))
    entries = [(name, summary, _words(name), _words(summary)) for name, summary, _ in catalog.summaries()]
    spread = Counter(word for _, _, of_name, of_summary in entries for word in {*of_name, *of_summary})
    scored = []
    for name, summary, of_name, of_summary in entries:
        score = sum(
            math.log(1 + len(entries) / spread[word]) * (2 * (word in of_name) + (word in of_summary))
            for word in sorted(wanted & {*of_name, *of_summary})  # sums of floats depend on their order
        )
        if score:
            scored.append((-score, len(of_name), name, summary))
    return [(name, summary) for _, _, name, summary in sorted(scored)[:most]]


def _words(text: str) -> list[str]:
    """Lower-case words, without a plural s."""
    return [word.removesuffix("s") if len(word) > 3 else word for word in _WORD.findall(text.lower())]
