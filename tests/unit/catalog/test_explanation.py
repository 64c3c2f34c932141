"""Why a tool matches: the parts of each score add up to the score of the search itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.retrieval_public.public_sets import PublicTool, compile_tools, name_of
from tests.support.examples import examples
from toolfold.catalog.explanation import Explanation, Part, explain
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import search
from toolfold.catalog.store import open_store
from toolfold.catalog.view import CatalogView
from toolfold.settings import Settings

CATALOG = open_store(Settings.from_environment({}))()
WORDS = ["price", "dividnds", "of", "AAPL", "RSI", "CORN", "monthly", "precio", "and", "then", "earnings.", "株価"]
REQUESTS = st.lists(st.sampled_from(WORDS) | st.text(max_size=5), min_size=1, max_size=10).map(" ".join)


def parts_of(explanation: Explanation, name: str, catalog: Catalog = CATALOG) -> tuple[Part, ...]:
    [found] = [hit.parts for hit in explanation.hits if catalog.summary(hit.position).name == name]
    return found


@pytest.mark.hypothesis
@examples(20, many=3000)
@given(REQUESTS)
def test_parts_add_up_to_the_score_of_the_search(query: str) -> None:
    found = search(CATALOG, query, is_whole=True)
    explained = explain(CATALOG, query, 15)
    assert explained.result == found
    assert [(hit.position, hit.score) for hit in explained.hits] == list(found.hits[:15])
    for hit in explained.hits:
        assert sum(part.score for part in hit.parts) == pytest.approx(hit.score)
        assert all(part.score > 0 and part.field for part in hit.parts)


def test_a_corrected_word_is_marked_and_others_are_not() -> None:
    terms = {term.word: term for term in explain(CATALOG, "dividnds and prices of IBM", 1).terms}
    assert terms["dividnds"].is_corrected
    assert terms["dividnds"].term == "dividend"
    assert not terms["prices"].is_corrected
    assert not terms["ibm"].is_corrected


def test_a_repeated_word_counts_less_than_twice() -> None:
    [once] = explain(CATALOG, "dividends", 1).terms
    twice = explain(CATALOG, "dividends dividends", 1).terms[0]
    assert once.weight == 1.0
    assert twice.weight == pytest.approx(4 / 3)


def test_a_name_in_the_query_is_a_part_of_its_own() -> None:
    [named] = [
        part for part in parts_of(explain(CATALOG, "GLOBAL_QUOTE", 3), "GLOBAL_QUOTE") if part.field == "its_name"
    ]
    assert (named.term, named.score) == ("GLOBAL_QUOTE", 1000)


def test_a_request_with_parts_names_the_part_that_counts() -> None:
    explained = explain(CATALOG, "the latest closing price of IBM, and then the earnings call transcript of MSFT", 5)
    best = explained.hits[0]
    assert any(part.field == "part_of_request" and part.term for part in best.parts)


def test_a_tool_that_does_what_the_request_wants_names_that() -> None:
    catalog = compile_tools([PublicTool("deletePlaylist"), PublicTool("addPlaylist"), PublicTool("play")])
    [best, *_] = explain(catalog, "please remove a playlist", 2).hits
    assert catalog.summary(best.position).name == name_of(0)
    assert [part.term for part in best.parts if part.field == "action"] == ["remov"]
    assert sum(part.score for part in best.parts) == pytest.approx(best.score)


def test_a_view_of_the_catalog_is_explained_as_well() -> None:
    listed = [position for position in range(len(CATALOG)) if position % 3 == 0]
    view = CatalogView(CATALOG, listed, {})
    for hit in explain(view, "daily price history", 10).hits:
        assert sum(part.score for part in hit.parts) == pytest.approx(hit.score)


def test_nothing_is_explained_of_a_query_without_hits() -> None:
    explained = explain(CATALOG, "xqvq zzkz", 10)
    assert (explained.terms, explained.hits) == ((), ())
