"""The harness counts what it says, on rankings made by hand, and the rankers do what their names say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from math import log2

import pytest

from benchmarks.retrieval import metrics
from benchmarks.retrieval.rankers import FullText, Recorded, Toolfold, descriptions
from benchmarks.retrieval.report import answers, misses, tables
from benchmarks.retrieval.request_set import HELD_OUT, TUNING, Request
from toolfold.catalog.model import Catalog

TEXTS = {
    "TIN": "Tin price. What a tonne costs.",
    "TIN_HISTORY": "Tin prices over the years. What a tonne cost, per month.",
    "RAIN": "Rainfall. Millimetres per month.",
}


@pytest.fixture
def full_text() -> Iterator[FullText]:
    with closing(FullText(TEXTS)) as ranker:
        yield ranker


@pytest.mark.parametrize(
    ("ranked", "right", "r1", "r3", "mrr", "ndcg"),
    [
        ("A B C", "A", 1, 1, 1, 1),
        ("B A C", "A", 0, 1, 1 / 2, 1 / log2(3)),
        ("B C D A", "A", 0, 0, 1 / 4, 1 / log2(5)),
        ("B A", "A B", 1, 1, 1, 1),
        ("C A D B", "A B", 0, 1, 1 / 2, (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3))),
        ("A A", "A B", 1, 1, 1, 1 / (1 + 1 / log2(3))),
        ("B C", "A", 0, 0, 0, 0),
        ("", "A", 0, 0, 0, 0),
        ("1 2 3 4 5 6 7 8 9 10 A", "A", 0, 0, 0, 0),
    ],
)
def test_metrics_on_rankings_made_by_hand(
    ranked: str, right: str, r1: float, r3: float, mrr: float, ndcg: float
) -> None:
    names, tools = ranked.split(), right.split()
    assert metrics.hit(names, tools, 1) == r1
    assert metrics.hit(names, tools, 3) == r3
    assert metrics.reciprocal_rank(names, tools) == pytest.approx(mrr)
    assert metrics.ndcg(names, tools) == pytest.approx(ndcg)


def test_needed_tools_count_by_their_share() -> None:
    assert metrics.found(["A", "X", "X", "B", "Y", "C"], ["A", "B", "C"], 5) == pytest.approx(2 / 3)
    assert metrics.found([], ["A", "B"], 5) == 0


def test_a_score_takes_means_where_they_mean_something() -> None:
    scored = metrics.score(
        [
            (Request("a", "direct", ("A",)), ["A"]),
            (Request("b", "typo", ("B",)), []),
            (Request("c", "several", ("A", "B")), ["C", "B"]),
            (Request("d", "outside", ()), ["A"]),
        ]
    )
    assert (scored.count, scored.r1, scored.r3, scored.needed, scored.silent) == (4, 1 / 3, 2 / 3, 0.5, 1 / 4)
    assert scored.mrr == pytest.approx((1 + 0 + 1 / 2) / 3)

    outside = metrics.score([(Request("d", "outside", ()), []), (Request("e", "outside", ()), ["A"])])
    assert (outside.r1, outside.mrr, outside.ndcg, outside.needed, outside.silent) == (None, None, None, None, 0.5)


def test_full_text_ranks_by_stems_and_takes_any_word(full_text: FullText) -> None:
    assert full_text.rank("pricing of TIN?", 10) == ["TIN", "TIN_HISTORY"]
    assert full_text.rank('monthly "rainfall" -- OR (', 1) == ["RAIN"]
    assert full_text.rank("gold", 10) == full_text.rank("?!", 10) == []


def test_a_recorded_ranker_answers_what_was_recorded_alone() -> None:
    ranker = Recorded({"tin": ["TIN", "TIN_HISTORY"]})
    assert ranker.rank("tin", 1) == ["TIN"]
    with pytest.raises(KeyError):
        ranker.rank("zinc", 1)


def test_rankers_see_every_tool_as_tool_get_describes_it(catalog: Catalog) -> None:
    texts = descriptions(catalog)
    assert list(texts) == list(catalog)
    for name, summary, _ in catalog.summaries():
        assert texts[name].startswith(summary)
        assert len(texts[name]) > len(summary)
    assert "GLOBAL_QUOTE" in Toolfold(catalog).rank("global quote", 3)


def test_tables_keep_outside_requests_apart_and_are_the_same_again(full_text: FullText) -> None:
    requests = [
        Request("tin", "direct", ("TIN",)),
        Request("tin every month", "direct", ("TIN_HISTORY",), "de"),
        Request("gold", "outside", ()),
    ]
    given = {"words": answers(full_text, requests)}
    first = tables(given)
    assert first == tables(given)
    assert "| **all** | words | 2 | 1.000 | 1.000 | 1.000 | 0.000 |" in first
    assert first.endswith("|\n")
    assert "| **all** | words | 1 | 1.000 |" in first.split("Outside")[1]


def test_misses_omit_the_held_out_half(catalog: Catalog) -> None:
    requests = [Request(f"words for {name}", "direct", (name,)) for name in catalog]
    shown = misses([(request, []) for request in requests])
    assert {HELD_OUT, TUNING} == {request.half for request in requests}
    for request in requests:
        assert (f"{request.text}\n" in shown) == (request.half == TUNING)
