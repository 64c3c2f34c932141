"""The search finds tools by words near them in meaning, where the compiler computed which these are."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.retrieval_public.public_sets import PublicTool, compile_tools
from toolfold.build import semantic_index
from toolfold.catalog.model import Catalog
from toolfold.catalog.reader import FIRST_POSTING, MAX_GAP, MAX_WEIGHT, decode_postings
from toolfold.catalog.search import Fit, search
from toolfold.errors import CatalogUnavailable

TOOLS = (
    PublicTool("sendInvoice", "Send an invoice to a customer."),
    PublicTool("getForecast", "Weather forecast of a place for ten days."),
    PublicTool("bookRoom", "Book a meeting room for some hours."),
)
NEAR = {"umbrella": [(1, 60)], "debt": [(0, 60)], "meet": [(0, 5), (2, 50)], "rain": [(1, 50), (2, 2)]}


def catalog_with(monkeypatch: pytest.MonkeyPatch, lines: dict[str, str]) -> Catalog:
    monkeypatch.setattr(semantic_index, "build", lambda tools: (lines, 0.6))
    return compile_tools(TOOLS, semantic=True)


def found(catalog: Catalog, query: str) -> list[str]:
    return [TOOLS[hit.position].name for hit in search(catalog, query).hits]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("umbrella for the customer", ["sendInvoice", "getForecast"]),
        ("a debt for the room", ["bookRoom", "sendInvoice"]),
        ("umbrellas", ["getForecast"]),
        ("xyzzy", []),
    ],
)
def test_a_tool_without_a_word_of_the_query_is_found(
    monkeypatch: pytest.MonkeyPatch, query: str, names: list[str]
) -> None:
    catalog = catalog_with(monkeypatch, {term: semantic_index.encode(near) for term, near in NEAR.items()})
    assert sorted(found(catalog, query)) == sorted(names)
    assert found(catalog, query)[:1] == names[:1]


def test_a_tool_found_by_meaning_alone_fits_weakly(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = catalog_with(monkeypatch, {"umbrella": semantic_index.encode([(1, MAX_WEIGHT)])})
    assert search(catalog, "umbrella").fit is Fit.WEAK


def test_postings_without_a_weight_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(catalog_with(monkeypatch, {"umbrella": "##"}), "umbrella") == []


def test_a_view_finds_the_tools_that_it_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = catalog_with(monkeypatch, {term: semantic_index.encode(near) for term, near in NEAR.items()})
    view = catalog.part([2], {})
    assert [hit.position for hit in search(view, "rain").hits] == [0]
    assert search(view, "umbrella").hits == ()


def test_without_semantic_postings_nothing_changes() -> None:
    catalog = compile_tools(TOOLS)
    assert not catalog.has_semantic_postings
    assert found(catalog, "umbrella") == []


@given(st.dictionaries(st.integers(0, 3 * MAX_GAP), st.integers(0, MAX_WEIGHT), max_size=30))
def test_encoded_postings_are_decoded(postings: dict[int, int]) -> None:
    written = json.loads(json.dumps(semantic_index.encode(sorted(postings.items())), ensure_ascii=False))
    positions, weights = decode_postings(written)
    read = dict(zip(positions, weights, strict=True))
    assert positions == sorted(read)
    assert {at: weight for at, weight in read.items() if weight} == {at: w for at, w in postings.items() if w}


@pytest.mark.parametrize(
    "line",
    [
        "#",
        "!!",
        chr(FIRST_POSTING + 3) + "$",  # beyond the last tool
        "#" + chr(FIRST_POSTING + MAX_WEIGHT + 1),
        "\ud800\udfff",
        "# ",
        "#$" * 10 + chr(0x10FFFF) + "$",
    ],
)
def test_damaged_postings_are_refused(monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    catalog = catalog_with(monkeypatch, {"umbrella": "$$"})
    catalog._sections["semantic"]._cached["umbrella"] = line
    with pytest.raises(CatalogUnavailable):
        search(catalog, "umbrella")


def test_without_the_vectors_a_catalog_is_compiled_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic_index, "is_available", lambda: False)
    assert semantic_index.build({0: {"name": ["rain"]}, 1: {"name": ["snow"]}}) == ({}, 0.0)
