"""The ways to score and to fuse do what their names say."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.retrieval.scorers import (
    Grams,
    Without,
    by_words,
    documents,
    ranked,
    reciprocal_ranks,
    weighted_sum,
)
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import search

TEXTS = [
    {"name": ["TIN PRICE"], "example_queries": ["what a tonne costs"]},
    {"name": ["RAINFALL"]},
    {"title": ["outside"]},
]
ALL = ("pairs", "names", "vocabulary", "spellings")


def test_a_sum_puts_parts_of_any_scale_on_one() -> None:
    assert weighted_sum((1, 1), ([0, 0, 900], [0.5, 0.2, 0.2])) == pytest.approx([0.5, -1, 0.5])
    assert weighted_sum((1, 2), ([0, 0, 900], [0.7, 0.7, 0.7])) == pytest.approx([-0.5, -0.5, 1])


def test_reciprocal_ranks_ignore_scores_and_skip_zero_scores() -> None:
    fused = reciprocal_ranks(1, ([9, 8, 0], [0.1, 0.3, 0.2]))
    assert fused == pytest.approx([1 / 2 + 1 / 4, 1 / 3 + 1 / 2, 1 / 3])


def test_nothing_fits_when_a_topic_outside_passes_the_bar() -> None:
    names = ["TIN", "RAIN"]
    assert ranked([2.0, 4.0, 3.0], names, 10, bar=0.8) == ["RAIN", "TIN"]
    assert ranked([2.0, 4.0, 3.0], names, 1, bar=0.7) == []
    assert ranked([0.0, 4.0], names, 10, bar=1) == ["RAIN"]
    assert ranked([0.0, 0.0], names, 10, bar=1) == []


@pytest.mark.parametrize("size", [3, 4])
def test_letter_grams_match_misspelt_and_joined_words(size: int) -> None:
    grams = Grams(TEXTS, tools=2, size=size)
    tin, rain, outside = grams("rianfall rainfalls")
    assert rain > tin == outside == 0
    assert grams("tinprice")[0] > 0
    assert grams("a of") == grams("") == [0.0, 0.0, 0.0]


def test_the_whole_catalog_scores_as_the_search_does(catalog: Catalog) -> None:
    candidates = documents(Path("catalog"))
    scorer = by_words(Without(catalog), len(candidates))
    for text in ("how high is infltion", "RSI of IBM", "Verschuldung von Siemens", "book me a flight"):
        hits = search(catalog, text).hits
        assert ranked(scorer(text), list(catalog), 200, bar=0.7) == [catalog.summary(hit.position).name for hit in hits]


def test_a_catalog_without_its_parts_has_plain_words_left(catalog: Catalog) -> None:
    bare = Without(catalog, *ALL)
    assert bare.spelled("i", 9) == bare.postings("@company") == ()
    assert bare.position("RSI") is bare.synonyms("euro") is None
    assert bare.postings("inflate") == catalog.postings("inflate") != ()
    assert not any(bare.postings(term) for term, _ in catalog._sections["index"].items() if " " in term)
    assert not any(by_words(bare, len(catalog))("infltion"))
