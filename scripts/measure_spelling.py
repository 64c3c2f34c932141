"""Measure which similarity a known name must have to be suggested for a wrong one.

The table of ``tests/unit/data/spelling_pairs.toml`` has names as people and models write them, what each means, and
names that mean nothing. Printed are, for each scorer and similarity, how many suggestions are right (also: none where
none is meant), wrong, and missing. ``toolfold.fuzzy.LEAST`` is chosen by it:

    make measure-spelling
"""

from __future__ import annotations

import difflib
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rapidfuzz.distance import OSA, JaroWinkler

from toolfold.catalog.store import FileStore, bundled_path
from toolfold.fuzzy import LEAST, normalize, similarity
from toolfold.settings.model import PREFIX, VARIABLES

PAIRS = Path(__file__).parent.parent / "tests/unit/data/spelling_pairs.toml"

SIMILARITIES = [percent / 100 for percent in range(40, 100)]
"""What is measured: a suggestion is made from such a similarity on."""

SCORERS: Mapping[str, Callable[[str, str], float]] = {
    "common letters": similarity,
    "difflib": lambda name, other: difflib.SequenceMatcher(None, name, other).ratio(),
    "edits": OSA.normalized_similarity,
    "Jaro-Winkler": JaroWinkler.similarity,
}
"""Ways to compare two names without case and punctuation; ``common letters`` is the one in use."""


class Pair(NamedTuple):
    """A wrong name, what it means (an empty text: nothing), and the names that there are."""

    wrong: str
    meant: str
    known: list[str]


def read_pairs() -> Iterator[Pair]:
    """Yield the pairs of the table."""
    catalog = FileStore(bundled_path())()
    lists = {
        "tools": list(catalog),
        "tags": list(catalog.counts("tags")),
        "categories": list(catalog.counts("category")),
        "variables": [name.removeprefix(PREFIX) for name in VARIABLES],
    }
    for table in tomllib.loads(PAIRS.read_text(encoding="utf-8")).values():
        known = table["known"] if isinstance(table["known"], list) else lists[table["known"]]
        for wrong, meant in table["meant"].items():
            yield Pair(wrong, meant, known)


def measure(scorer: Callable[[str, str], float]) -> dict[float, Counter[str]]:
    """Return similarity → how many suggestions are right, wrong and missing."""
    counts: dict[float, Counter[str]] = {least: Counter() for least in SIMILARITIES}
    for pair in read_pairs():
        score, best = max((scorer(normalize(pair.wrong), normalize(name)), name) for name in pair.known)
        for least, count in counts.items():
            suggested = best if score >= least else ""
            count["right" if suggested == pair.meant else "wrong" if suggested else "missing"] += 1
    return counts


def main() -> None:
    """Print a table for each scorer, with the similarity in use and the best one marked."""
    for name, scorer in SCORERS.items():
        counts = measure(scorer)
        most = max(count["right"] for count in counts.values())
        print(f"{name}\n  least  right  wrong  missing")
        for least, count in counts.items():
            mark = " best" * (count["right"] == most) + " in use" * (scorer is similarity and least == LEAST)
            if mark or round(100 * least) % 5 == 0:
                print(f"   {least:.2f}  {count['right']:5}  {count['wrong']:5}  {count['missing']:7}{mark}")


if __name__ == "__main__":
    main()
