"""The set of requests keeps its own rules: broad, answerable, and not written from the catalog's words."""

import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.retrieval.request_set import (
    HELD_OUT,
    KINDS,
    TUNING,
    Request,
    catalog_texts,
    load,
    near_copies,
    normalised,
)
from toolfold.catalog.model import Catalog

LEAST = dict.fromkeys(KINDS, 60) | {"outside": 40}
POPULAR = (
    *("GLOBAL_QUOTE", "TIME_SERIES_DAILY", "NEWS_SENTIMENT", "COMPANY_OVERVIEW", "INCOME_STATEMENT", "BALANCE_SHEET"),
    *("FX_DAILY", "CURRENCY_EXCHANGE_RATE", "DIGITAL_CURRENCY_DAILY", "RSI", "MACD", "BBANDS", "SMA"),
)


@pytest.fixture(scope="module")
def requests() -> tuple[Request, ...]:
    return load()


def test_there_are_enough_of_every_kind(requests: tuple[Request, ...]) -> None:
    kinds = Counter(request.kind for request in requests)
    assert len(requests) >= 360
    assert {kind: kinds[kind] for kind in KINDS if kinds[kind] < LEAST[kind]} == {}


def test_other_languages_are_spread_over_the_kinds(requests: tuple[Request, ...]) -> None:
    foreign = [request for request in requests if request.language != "en"]
    assert len(foreign) >= 50
    assert len({request.language for request in foreign}) >= 9
    assert min(Counter(request.kind for request in foreign)[kind] for kind in KINDS) >= 5


def test_every_tool_is_a_right_answer_at_least_three_times_and_once_the_best(
    requests: tuple[Request, ...], catalog: Catalog
) -> None:
    answers = Counter(tool for request in requests for tool in request.tools)
    assert set(answers) == set(catalog)
    assert {tool for tool, times in answers.items() if times < 3} == set()
    assert {request.tools[0] for request in requests if request.tools} == set(catalog)


def test_popular_tools_have_at_least_five_requests(requests: tuple[Request, ...]) -> None:
    answers = Counter(tool for request in requests for tool in request.tools)
    assert {tool: answers[tool] for tool in POPULAR if answers[tool] < 5} == {}


def test_the_page_counts_the_requests(requests: tuple[Request, ...]) -> None:
    page = Path("docs/reference/retrieval.md").read_text(encoding="utf-8")
    counted = {kind: int(number) for kind, number in re.findall(r"^\| ([a-z]+) \| (\d+) \|", page, re.MULTILINE)}
    assert counted == Counter(request.kind for request in requests)
    assert f"holds {len(requests)} requests" in page
    assert f"\n{sum(request.language != 'en' for request in requests)} of them are in German" in page


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


def test_the_halves_are_alike_in_size(requests: tuple[Request, ...]) -> None:
    for chosen in (requests, *([r for r in requests if r.kind == kind] for kind in KINDS)):
        halves = Counter(request.half for request in chosen)
        assert set(halves) == {TUNING, HELD_OUT}
        assert min(halves.values()) >= len(chosen) / 3
