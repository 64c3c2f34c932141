"""Names that may be meant by wrong ones, and the similarity from which one is suggested."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from scripts.measure_spelling import SCORERS, measure
from toolfold.fuzzy import LEAST, closest_matches, did_you_mean, similarity


def test_the_similarity_in_use_is_the_best_of_the_measured_ones() -> None:
    counts = measure(similarity)
    most = max(count["right"] for count in counts.values())
    best = {least: count["wrong"] for least, count in counts.items() if count["right"] == most}
    assert LEAST in [least for least, wrong in best.items() if wrong == min(best.values())]


def test_no_other_scorer_makes_more_right_suggestions() -> None:
    most = {name: max(count["right"] for count in measure(scorer).values()) for name, scorer in SCORERS.items()}
    assert most["common letters"] == max(most.values())


@given(st.text("abc", max_size=70), st.text("abcd", max_size=70))
def test_similarity_is_the_ratio_of_common_letters(name: str, other: str) -> None:
    assert similarity(name, other) == pytest.approx(fuzz.ratio(name, other) / 100) or not name + other


def test_the_best_names_come_first() -> None:
    known = ["open", "open_interest", "interest"]
    assert closest_matches("Open-Intrest", known, most=3) == ["open_interest", "interest"]


@pytest.mark.parametrize(("name", "known"), [("?", ["?", "open"]), ("x" * 10_000, ["open"]), ("a", [])])
def test_a_name_that_means_nothing_has_no_match(name: str, known: list[str]) -> None:
    assert closest_matches(name, known) == []


def test_one_sentence_names_what_may_be_meant() -> None:
    assert did_you_mean("clsoe", ["open", "close"]) == "Did you mean close? "
    assert did_you_mean("clsoe", ["close", "closed"], most=2) == "Did you mean close or closed? "
    assert did_you_mean("clsoe", ["close", "closed"], most=2, shown=lambda _: "`x`") == "Did you mean `x`? "
    assert did_you_mean("xyzzy", ["open", "close"]) == ""
