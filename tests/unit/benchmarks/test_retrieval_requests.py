"""The set of requests keeps its own rules: broad, answerable, and not written from the catalog's words."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.retrieval.request_set import (
    HELD_OUT,
    TUNING,
    Request,
    catalog_texts,
    load,
    near_copies,
    normalised,
)
from toolfold.catalog.model import Catalog


@pytest.fixture(scope="module")
def requests() -> tuple[Request, ...]:
    return load()


def test_every_tool_is_a_right_answer_at_least_three_times_and_once_the_best(
    requests: tuple[Request, ...], catalog: Catalog
) -> None:
    answers = Counter(tool for request in requests for tool in request.tools)
    assert set(answers) == set(catalog)
    assert {tool for tool, times in answers.items() if times < 3} == set()
    assert {request.tools[0] for request in requests if request.tools} == set(catalog)


def test_no_request_comes_twice_nor_names_an_answer_twice(requests: tuple[Request, ...]) -> None:
    texts = Counter(normalised(request.text) for request in requests)
    assert [text for text, times in texts.items() if times > 1] == []
    assert [request for request in requests if len(set(request.tools)) < len(request.tools)] == []


@pytest.mark.slow
def test_no_request_is_nearly_a_text_of_the_catalog(requests: tuple[Request, ...], catalog: Catalog) -> None:
    texts = catalog_texts()
    assert len(texts) > len(catalog)
    assert near_copies((request.text for request in requests), texts) == []


def test_near_copies_are_found(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "metals.yaml").write_text(
        "tools:\n  TIN:\n    summary: Price of tin\n"
        "    description: |\n      What a tonne of tin costs. In US dollars.\n"
        "    example_queries: [how dear is tin at the moment in London, 錫の価格]\n"
    )
    texts = catalog_texts(tmp_path)
    copied = ["PRICE, of: tin!", "what a tonne of tin cost", "at the moment, how dear is tin in London?", "錫の価格"]
    independent = ["tin", "price of lead", "what did a tonne of copper cost in 2010", "銅の価格"]
    assert {request for request, _ in near_copies([*copied, *independent], texts)} == set(copied)


@pytest.mark.parametrize(
    ("kind", "tools"),
    [
        ("direct", ()),
        ("outside", ("RSI",)),
        ("ambiguous", ("RSI",)),
        ("several", ("RSI",)),
        ("typo", ("RSI", "MOM", "CMO", "MFI")),
        ("other", ("RSI",)),
    ],
)
def test_a_request_whose_kind_and_tools_disagree_cannot_be_made(kind: str, tools: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="not a request"):
        Request("some words", kind, tools)


def test_the_split_goes_by_the_best_answer_and_stays() -> None:
    known = {"GLOBAL_QUOTE": TUNING, "RSI": TUNING, "CPI": TUNING, "WTI": HELD_OUT, "SMA": HELD_OUT}
    assert {tool: Request("x", "direct", (tool,)).half for tool in known} == known
    assert Request("y", "several", ("WTI", "GLOBAL_QUOTE")).half == HELD_OUT
    assert Request("y", "several", ("GLOBAL_QUOTE", "WTI")).half == TUNING
    assert {Request(text, "outside", ()).half for text in ("a recipe", "a flight", "a train")} == {TUNING, HELD_OUT}
