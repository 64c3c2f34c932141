"""Finding tools by words: cut alike on both sides, mended where one letter is wrong, silent where nothing fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.test_alpha_vantage_catalog import CATEGORIES, FOLDER
from toolfold.catalog import index, yaml_lines
from toolfold.catalog.model import Catalog
from toolfold.catalog.search import closest, find
from toolfold.catalog.store import FileStore, embedded_path
from toolfold.catalog.words import stem, terms, words

CATALOG = FileStore(embedded_path())()


def found(catalog: Catalog, query: str, most: int = 10) -> list[str]:
    return [catalog.brief(hit.position).name for hit in find(catalog, query).hits[:most]]


def first(catalog: Catalog, query: str) -> str:
    return found(catalog, query)[0]


@pytest.mark.parametrize(
    "forms",
    [("price", "prices", "priced", "pricing"), ("stock", "stocks"), ("company", "companies"), ("run", "running")],
)
def test_forms_of_a_word_are_one_term(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


def test_words_that_mean_nothing_alone_are_left_out() -> None:
    assert words("What is the Price of it, please?") == ["price"]


def test_accents_and_apostrophes_make_no_other_word() -> None:
    assert terms("Société's") == terms("societe")


@given(st.text())
def test_any_text_has_terms(text: str) -> None:
    assert all(term for term in terms(text))


@given(st.text(max_size=60))
def test_any_query_is_answered(query: str) -> None:
    hits = find(CATALOG, query).hits
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 <= hit.position < len(CATALOG) for hit in hits)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("moving average of the closing price, exponential", "EMA"),
        ("RSI", "RSI"),
        ("balance sheet", "BALANCE_SHEET"),
        ("list of all members of congress", "POLITICIAN_METADATA"),
        ("unemploymnt", "UNEMPLOYMENT"),
        ("blance shet", "BALANCE_SHEET"),
    ],
)
def test_the_tool_that_is_meant_comes_first(catalog: Catalog, query: str, name: str) -> None:
    assert first(catalog, query) == name


@pytest.mark.parametrize("query", ["", "   ", "the of and", "qqqq zzzz", "123456", "?!"])
def test_nothing_is_found_by_nothing(catalog: Catalog, query: str) -> None:
    assert found(catalog, query) == []


def test_closest_names_come_by_spelling_and_by_words(catalog: Catalog) -> None:
    assert closest(catalog, "GLOBAL_QUOT")[0] == "GLOBAL_QUOTE"
    assert "BALANCE_SHEET" in closest(catalog, "SHEET_OF_BALANCES")
    assert closest(catalog, "QQQQ" * 100) == []


def test_a_rarer_word_and_a_heavier_field_weigh_more() -> None:
    built = index.build([{"name": ["alpha"], "description": ["beta gamma"]}, {"description": ["alpha gamma"]}])
    (_, in_name, _, in_description), (_, alone) = built["alpha"], built["beta"]
    assert in_name > in_description
    assert alone > in_description == built["gamma"][1]


def test_every_tool_of_alpha_vantage_says_what_people_say() -> None:
    for category in CATEGORIES:
        for tool in yaml_lines.read(FOLDER / "alpha_vantage" / f"{category}.yaml").data["tools"]:
            assert 8 <= len(tool["asks"]) <= 15, tool["name"]
            assert len(set(tool["asks"])) == len(tool["asks"]), tool["name"]
            assert tool["aliases"], tool["name"]
