"""Misspelt words: the distance is that of the textbook, and the word that was meant is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfold.catalog.spelling import correct, distance
from toolfold.catalog.store import FileStore, bundled_path

CATALOG = FileStore(bundled_path())()
few_letters = st.text("abc", max_size=9)


def by_the_book(word: str, other: str) -> int:
    """Optimal string alignment, as a table."""
    table = [[i + j if i * j == 0 else 0 for j in range(len(other) + 1)] for i in range(len(word) + 1)]
    for i in range(1, len(word) + 1):
        for j in range(1, len(other) + 1):
            cost = min(table[i - 1][j], table[i][j - 1], table[i - 1][j - 1] - (word[i - 1] == other[j - 1])) + 1
            if i > 1 and j > 1 and word[i - 1] == other[j - 2] and word[i - 2] == other[j - 1]:
                cost = min(cost, table[i - 2][j - 2] + 1)
            table[i][j] = cost
    return table[-1][-1]


@given(few_letters.filter(bool), few_letters)
def test_edits_are_counted_as_in_the_textbook(word: str, other: str) -> None:
    assert distance(word, other) == by_the_book(word, other)


@given(few_letters.filter(bool), few_letters, st.integers(1, 9))
def test_a_bound_changes_no_smaller_distance(word: str, other: str, below: int) -> None:
    edits = by_the_book(word, other)
    counted = distance(word, other, below)
    assert counted == edits if edits <= below else counted > below


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("volatilty", "volatility"),
        ("histroy", "history"),
        ("balnce", "balance"),
        ("unemploymnet", "unemployment"),
        ("divdend", "dividend"),
        ("stok", "stock"),
    ],
)
def test_a_typo_is_corrected(written: str, meant: str) -> None:
    assert correct(CATALOG, written) == meant


@pytest.mark.parametrize("word", ["x", "abc", "qzxjvkqz", "12345", "a1b2c3", "x" * 10_000])
def test_what_is_like_no_word_stays_as_it_is(word: str) -> None:
    assert correct(CATALOG, word) == word


def test_a_name_is_mended_more_carefully_than_a_word() -> None:
    assert correct(CATALOG, "divvident") == "dividend"
    assert correct(CATALOG, "divvident", most=1) == "divvident"
