"""TOOL_LIST with a list of requests: a group for each, within one budget."""

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


def groups(result: Result) -> dict[str, list[str]]:
    return {group["query"]: group["tools"] for group in result.structured["queries"]}


def test_each_request_has_its_tools() -> None:
    found = groups(listed(STEPS))
    assert [found[step][:1] for step in STEPS] == [["GLOBAL_QUOTE"], ["NEWS_SENTIMENT"], []]


def test_text_has_a_group_for_each_request() -> None:
    lines = listed(STEPS, detail="minimal").text.splitlines()
    assert lines[0].startswith("Next: TOOL_CALL the first of each group")
    assert lines[1] == "# latest price of a stock"
    assert lines[2].startswith("GLOBAL_QUOTE: ")
    assert lines[-1] == "# weather in Paris: nothing fits"


def test_a_tool_is_described_once_for_the_request_that_it_fits_best() -> None:
    text = listed(["US inflation rate", "consumer price index", "inflation rate and prices"], detail="minimal").text
    assert text.count("\nINFLATION: ") == 1
    assert "see also INFLATION" in text


def test_a_small_budget_leaves_no_request_without_a_tool() -> None:
    result = listed(["stock price", "US inflation", "price of gold"], token_budget=160)
    assert all(groups(result).values())
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
    assert "queries" not in listed(query).structured


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
