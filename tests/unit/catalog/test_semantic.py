"""The search finds tools by words near them in meaning, where the compiler computed which these are."""

import pytest

from benchmarks.retrieval_public.public_sets import PublicTool, compile_tools
from toolfold.build import search_index
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import Fit, search
from toolfold.errors import CatalogUnavailable

TOOLS = (
    PublicTool("sendInvoice", "Send an invoice to a customer."),
    PublicTool("getForecast", "Weather forecast of a place for ten days."),
    PublicTool("bookRoom", "Book a meeting room for some hours."),
)
# Each position is less the one before it: rain is near the tools 1 and 2.
NEAR = {"umbrella": [1, 60], "debt": [0, 60], "meet": [0, 5, 2, 50], "rain": [1, 50, 1, 2]}


def catalog_with(monkeypatch: pytest.MonkeyPatch, lines: dict[str, list[int]]) -> Catalog:
    monkeypatch.setattr(search_index, "nearest_words", lambda tools: (lines, 0.6))
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
    catalog = catalog_with(monkeypatch, NEAR)
    assert sorted(found(catalog, query)) == sorted(names)
    assert found(catalog, query)[:1] == names[:1]


def test_a_tool_found_by_meaning_alone_fits_weakly(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = catalog_with(monkeypatch, {"umbrella": [1, search_index.MAX_WEIGHT]})
    assert search(catalog, "umbrella").fit is Fit.WEAK


def test_postings_without_a_weight_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(catalog_with(monkeypatch, {"umbrella": [0, 0]}), "umbrella") == []


def test_a_view_finds_the_tools_that_it_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = catalog_with(monkeypatch, NEAR)
    view = catalog.part([2], {})
    assert [hit.position for hit in search(view, "rain").hits] == [2]
    assert search(view, "umbrella").hits == ()


def test_without_semantic_postings_nothing_changes() -> None:
    catalog = compile_tools(TOOLS)
    assert not catalog.has_semantic_postings
    assert found(catalog, "umbrella") == []


@pytest.mark.parametrize("line", [[0], [0.5, 1]])
def test_damaged_postings_are_refused(monkeypatch: pytest.MonkeyPatch, line: list[int]) -> None:
    with pytest.raises(CatalogUnavailable):
        search(catalog_with(monkeypatch, {"umbrella": line}), "umbrella")


def test_without_the_vectors_a_catalog_is_compiled_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "has_vectors", lambda: False)
    assert search_index.nearest_words({0: {"name": ["rain"]}, 1: {"name": ["snow"]}}) == ({}, 0.0)
