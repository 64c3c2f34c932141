"""Typos are corrected to words of the catalog, by the optimal string alignment distance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfold.catalog.spelling import correct, distance
from toolfold.catalog.store import FileStore, bundled_path

CATALOG = FileStore(bundled_path())()
few_letters = st.text("abc", max_size=9)


def textbook_distance(word: str, other: str) -> int:
    """Return the optimal string alignment distance, computed with the textbook table."""
    table = [[i + j if i * j == 0 else 0 for j in range(len(other) + 1)] for i in range(len(word) + 1)]
    for i in range(1, len(word) + 1):
        for j in range(1, len(other) + 1):
            cost = min(table[i - 1][j], table[i][j - 1], table[i - 1][j - 1] - (word[i - 1] == other[j - 1])) + 1
            if i > 1 and j > 1 and word[i - 1] == other[j - 2] and word[i - 2] == other[j - 1]:
                cost = min(cost, table[i - 2][j - 2] + 1)
            table[i][j] = cost
    return table[-1][-1]


@given(few_letters.filter(bool), few_letters)
def test_distance_equals_the_textbook_algorithm(word: str, other: str) -> None:
    assert distance(word, other) == textbook_distance(word, other)


@given(few_letters.filter(bool), few_letters, st.integers(1, 9))
def test_a_bound_does_not_change_smaller_distances(word: str, other: str, bound: int) -> None:
    edits = textbook_distance(word, other)
    counted = distance(word, other, bound)
    assert counted == edits if edits <= bound else counted > bound


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("volatilty", "volatility"),
        ("histroy", "history"),
        ("balnce", "balance"),
        ("unemploymnet", "unemployment"),
        ("divdend", "dividend"),
        ("stok", "stock"),
    ],
)
def test_a_typo_is_corrected(written: str, expected: str) -> None:
    assert correct(CATALOG, written) == expected


@pytest.mark.parametrize("word", ["x", "abc", "qzxjvkqz", "12345", "a1b2c3", "x" * 10_000])
def test_a_word_unlike_any_other_is_unchanged(word: str) -> None:
    assert correct(CATALOG, word) == word


def test_most_limits_the_edits() -> None:
    assert correct(CATALOG, "divvident") == "dividend"
    assert correct(CATALOG, "divvident", most=1) == "divvident"
