"""TOOL_LIST with a list of requests: the best tool of each first, within one budget."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolfold.catalog.store import FileStore, bundled_path
from toolfold.errors import InvalidArguments
from toolfold.meta_tools.result import Result
from toolfold.meta_tools.tool_list import tool_list

CATALOG = FileStore(bundled_path())()

STEPS = ["latest price of a stock", "news about a company", "weather in Paris"]


def listed(query: Any, **more: Any) -> Result:
    return tool_list(CATALOG, {"query": query, **more})


def names(result: Result) -> list[str]:
    return [tool["name"] for tool in result.structured["tools"]]


def test_each_request_has_its_tool_in_full_and_what_has_none_is_named() -> None:
    result = listed(STEPS)
    assert names(result)[:2] == ["GLOBAL_QUOTE", "NEWS_SENTIMENT"]
    assert all("example_call" in tool for tool in result.structured["tools"][:2])
    assert result.text.splitlines()[0] == result.structured["notice"] == "weather in Paris: nothing fits."
    assert result.structured["next"].startswith("Next: TOOL_CALL one of the first 2")


def test_a_tool_is_described_once_and_one_that_fits_worse_comes_later() -> None:
    result = listed(["news about gold", "consumer price index", "US inflation rate", "inflation rate and prices"])
    assert names(result)[:2] == ["CPI", "INFLATION"]
    assert len(set(names(result))) == len(names(result))
    assert result.structured["notice"] == "news about gold: no tool fits closely."


def test_a_small_budget_leaves_no_request_without_a_tool() -> None:
    result = listed(["stock price", "US inflation", "price of gold"], token_budget=160)
    assert names(result)[:3] == ["GLOBAL_QUOTE", "INFLATION", "GOLD_SILVER_SPOT"]
    assert result.structured["more"] == {"offset": result.structured["returned"]}


def test_pages_have_every_tool_once() -> None:
    query, names, offset = ["stock price", "US inflation"], [], 0
    while offset is not None:
        page = listed(query, offset=offset, limit=3).structured
        names += [tool["name"] for tool in page["tools"]]
        offset = page["more"] and page["more"]["offset"]
    assert len(names) == len(set(names)) == page["matched"]


def test_filters_hold_for_every_request() -> None:
    result = listed(["stock price", "US inflation"], category="economic_indicators")
    shown = (CATALOG.get(tool["name"]) for tool in result.structured["tools"])
    assert {tool.category for tool in shown if tool is not None} == {"economic_indicators"}


@pytest.mark.parametrize("query", [["stock", "price"], ["stock price"], ["stock price", " ", "stock price"]])
def test_a_list_of_words_or_of_one_request_is_one_request(query: list[str]) -> None:
    assert names(listed(query)) == names(listed("stock price"))


def test_nothing_that_fits_says_what_to_do() -> None:
    assert "try other English keywords" in listed(["weather in Paris", "weather in Rome"]).text


@pytest.mark.parametrize(
    ("query", "problem", "proposed"),
    [
        ([f"request number {at}" for at in range(9)], "9 requests, and 8 are the most", 8),
        (["stock price", "x y" * 500], "1,500 characters", 2),
    ],
)
def test_too_many_or_too_long_requests_are_refused(query: list[str], problem: str, proposed: int) -> None:
    with pytest.raises(InvalidArguments, match=problem) as raised:
        listed(query)
    assert len(raised.value.details["next_call"]["TOOL_LIST"]["query"]) == proposed
    assert listed(**raised.value.details["next_call"]["TOOL_LIST"])


WORDS = st.lists(st.sampled_from(["price", "of", "gold", "stock", "news", "US", "inflation", "weather"]), min_size=2)


@settings(max_examples=40)
@given(st.lists(WORDS.map(" ".join), min_size=2, max_size=8, unique=True), st.integers(100, 3000))
def test_no_answer_exceeds_its_budget(query: list[str], budget: int) -> None:
    try:
        result = listed([text[:900] for text in query], token_budget=budget)
    except InvalidArguments:
        return
    assert result.structured["tokens"] <= budget
