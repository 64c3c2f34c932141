"""Names that may be meant by wrong ones, and the similarity from which one is suggested."""

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from toolfold.catalog.store import FileStore, bundled_path
from toolfold.fuzzy import LEAST, closest_matches, did_you_mean, normalize, similarity
from toolfold.settings.model import PREFIX, VARIABLES

PAIRS = Path(__file__).parent / "data/spelling_pairs.toml"


def pairs() -> Iterator[tuple[str, str, list[str]]]:
    """Yield a wrong name, what it means (an empty text: nothing), and the names that there are."""
    catalog = FileStore(bundled_path())()
    lists = {
        "tools": list(catalog),
        "tags": list(catalog.counts("tags")),
        "categories": list(catalog.counts("category")),
        "variables": [name.removeprefix(PREFIX) for name in VARIABLES],
    }
    for table in tomllib.loads(PAIRS.read_text(encoding="utf-8")).values():
        known = table["known"] if isinstance(table["known"], list) else lists[table["known"]]
        yield from ((wrong, meant, known) for wrong, meant in table["meant"].items())


def measure() -> dict[float, Counter[str]]:
    """Return similarity from which a name is suggested → how many suggestions are right, wrong and missing."""
    counts: dict[float, Counter[str]] = {percent / 100: Counter() for percent in range(40, 100)}
    for wrong, meant, known in pairs():
        score, best = max((similarity(normalize(wrong), normalize(name)), name) for name in known)
        for least, count in counts.items():
            suggested = best if score >= least else ""
            count["right" if suggested == meant else "wrong" if suggested else "missing"] += 1
    return counts


def test_the_similarity_in_use_is_the_best_of_the_measured_ones() -> None:
    counts = measure()
    most = max(count["right"] for count in counts.values())
    best = {least: count["wrong"] for least, count in counts.items() if count["right"] == most}
    assert LEAST in [least for least, wrong in best.items() if wrong == min(best.values())]


@given(st.text("abc", max_size=70), st.text("abcd", max_size=70))
def test_similarity_is_the_ratio_of_common_letters(name: str, other: str) -> None:
    assert similarity(name, other) == pytest.approx(fuzz.ratio(name, other) / 100) or not name + other


def test_the_best_names_come_first() -> None:
    known = ["open", "open_interest", "interest"]
    assert closest_matches("Open-Intrest", known, most=3) == ["open_interest", "interest"]


def test_a_name_that_means_nothing_has_no_match() -> None:
    assert closest_matches("?", ["?", "open"]) == closest_matches("x" * 10_000, ["open"]) == []


def test_one_sentence_names_what_may_be_meant() -> None:
    assert did_you_mean("clsoe", ["open", "close"]) == "Did you mean close? "
    assert did_you_mean("clsoe", ["close", "closed"], most=2) == "Did you mean close or closed? "
    assert did_you_mean("clsoe", ["close", "closed"], most=2, shown=lambda _: "`x`") == "Did you mean `x`? "
    assert did_you_mean("xyzzy", ["open", "close"]) == ""
