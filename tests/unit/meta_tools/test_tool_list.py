"""TOOL_LIST: what it finds and filters, how it fills a budget, and what it does not accept."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.catalogs import BUNDLED_TOOLS
from tests.support.examples import examples
from tests.support.meta_tools import tokens as real_tokens
from tests.unit.build.test_schema import SOURCE, changed, written
from toolfold.build.compiler import compile_folder
from toolfold.catalog.search import search
from toolfold.catalog.store import FileStore, bundled_path, parse_catalog
from toolfold.errors import InvalidArguments
from toolfold.meta_tools import list_request, tool_get, tool_list
from toolfold.meta_tools.definitions import TOOLS, detail_level_of
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.reader import read_arguments
from toolfold.meta_tools.result import Result
from toolfold.results import tokens

CATALOG = FileStore(bundled_path())()
QUESTION = "give me aapl price"


def ask(**arguments: Any) -> Result:
    return tool_list.tool_list(CATALOG, read_arguments(CATALOG, "TOOL_LIST", arguments))


def shown(result: Result) -> list[dict[str, Any]]:
    return list(result.structured["tools"])


def names(result: Result) -> list[str]:
    return [tool["name"] for tool in shown(result)]


def tiers(result: Result) -> list[int]:
    return [tool_get.LEVELS[detail_level_of(tool)] for tool in shown(result)]


def a_query_with(leaders: Any) -> str:
    """A title of the catalog that as many tools fit equally well as ``leaders`` says."""
    titles = [tool.title for tool in map(CATALOG.get, CATALOG) if tool is not None]
    return next(title for title in titles if leaders(search(CATALOG, title).top_ties))


# The whole


def test_no_arguments_lists_every_tool_in_one_line() -> None:
    result = ask()
    assert result.text == CATALOG.listing
    assert names(result) == list(CATALOG)
    assert shown(result)[7] == {
        "name": "GLOBAL_QUOTE",
        "description": "Latest price, volume and day change of one stock",
        "category": "core_stock_apis",
        "access": "mixed",
    }
    assert result.structured["matched"] == result.structured["returned"] == result.structured["total"] == len(CATALOG)
    assert set(tiers(result)) == {3}
    assert result.structured["more"] is None


@pytest.mark.parametrize("blank", ["", "\n\t", "\u200b"])
def test_blank_query_lists_everything_with_a_notice(blank: str) -> None:
    result = ask(query=blank)
    assert result.text == f"{result.structured['notice']}\n{CATALOG.listing}"
    assert "blank" in result.structured["notice"]


def test_large_catalog_lists_its_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_request, "MAX_LISTED_TOOLS", 100)
    monkeypatch.setattr(list_request, "MAX_NAMES", 5)
    result = ask()
    assert result.structured["tools"] == []
    assert result.structured["matched"] == BUNDLED_TOOLS
    assert result.structured["more"] is None  # a pager that leaves out an offset of 0 would ask for ever
    assert len(result.structured["tags"]) == 5
    assert result.text.startswith("Next: TOOL_LIST(query)")
    assert f"{BUNDLED_TOOLS} tools" in result.text
    assert tokens.count(result.text) < 300
    assert len(names(ask(offset=0))) == BUNDLED_TOOLS


# A query


def test_best_match_has_everything_a_call_needs() -> None:
    result = ask(query=QUESTION)
    first = shown(result)[0]
    assert (first["name"], detail_level_of(first)) == ("GLOBAL_QUOTE", "full")
    assert first["parameters"]["required"] == ["symbol"]
    assert first["example_call"] == {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
    assert {"description", "category", "access", "returns", "hash"} <= first.keys()


def test_clear_winner_is_the_only_full_entry_within_430_tokens() -> None:
    result = ask(query=a_query_with(lambda leaders: leaders == 1))
    assert tiers(result).count(1) == 1
    assert tiers(result)[0] == 1
    assert result.structured["next"].startswith("Next: TOOL_CALL the first")
    assert real_tokens(ask(query=QUESTION).text) <= 430


def test_tied_tools_are_all_shown_in_full() -> None:
    query = a_query_with(lambda leaders: leaders in (2, 3))
    result = ask(query=query, token_budget=3000)
    assert tiers(result).count(1) == search(CATALOG, query).top_ties
    assert f"one of the first {tiers(result).count(1)}" in result.text.splitlines()[0]


@pytest.mark.parametrize("query", ["moving average", "company profile and dividends"])
def test_detail_decreases_with_rank(query: str) -> None:
    ranked = [CATALOG.summary(hit.position).name for hit in search(CATALOG, query).hits]
    for budget in range(100, 3001, 100):
        result = ask(query=query, token_budget=budget)
        assert names(result) == ranked[: len(names(result))]
        assert tiers(result) == sorted(tiers(result))


WORDS = st.sampled_from(["price", "of", "gold", "stock", "news", "US", "inflation", "weather"])
REQUESTS = st.lists(st.lists(WORDS, min_size=2, max_size=9).map(" ".join), min_size=2, max_size=8, unique=True)


@examples(100, many=2_000)
@given(
    query=st.sampled_from(["", "gold", "株価", "bollinger bands"]) | st.text(max_size=40) | REQUESTS,
    budget=st.integers(100, 3000),
    detail=st.sampled_from(["full", "medium", "minimal"]) | st.none(),
    tag=st.lists(st.sampled_from(sorted(CATALOG.counts("tags"))), max_size=4),
)
def test_no_answer_exceeds_its_budget(query: Any, budget: int, detail: str | None, tag: list[str]) -> None:
    result = ask(query=query, token_budget=budget, detail=detail, tag=tag)
    assert tokens.count(result.text) == result.structured["tokens"] <= budget
    assert all(sign.isprintable() or sign == "\n" for sign in result.text)
    json.dumps(result.structured)


def test_full_entry_leaves_budget_for_the_next_lines() -> None:
    query = a_query_with(lambda leaders: leaders == 1)
    for budget in range(250, 700, 25):
        result = ask(query=query, token_budget=budget)
        if tiers(result)[0] == 1:
            assert len(names(result)) >= min(4, result.structured["matched"])


def test_medium_level_has_names_types_and_required() -> None:
    for tool in shown(ask(query="candles of a stock", detail="medium", limit=20, token_budget=3000)):
        assert detail_level_of(tool) == "medium"
        whole = CATALOG.get(tool["name"])
        assert tool["description"] == whole.summary
        assert tool["parameters"]["properties"].keys() == whole.parameters["properties"].keys()
        assert tool["parameters"].get("required") == whole.parameters.get("required")
        for rule in tool["parameters"]["properties"].values():
            assert rule.keys() <= {"type", "items"}
        assert "example_call" not in tool


def test_full_text_has_every_constraint_of_the_schema() -> None:
    for name in list(CATALOG)[::4]:
        whole = CATALOG.get(name)
        result = ask(query=name.replace("_", " "), detail="full", limit=200, token_budget=100_000)
        entry = next((tool for tool in shown(result) if tool["name"] == name), None)
        assert detail_level_of(entry) == "full"
        assert entry["parameters"] == whole.parameters
        jsonschema.validate(entry["example_call"]["arguments"], whole.parameters)
        block = result.text[result.text.index(f"{name}: " if whole.access != "premium" else f"{name} (premium): ") :]
        block = block[: block.index("\nExample: ")]
        for parameter, rule in whole.parameters["properties"].items():
            line = next(line for line in block.splitlines() if line.startswith((f"- {parameter} ", f"- {parameter}:")))
            assert rule["description"] in line
            assert all(str(value) in line for value in rule.get("enum", ()))
            assert ("required" in line.partition("):")[0]) == (parameter in whole.parameters.get("required", ()))
            if "default" in rule:
                assert f"default {rule['default']}".lower() in line.lower()


@pytest.mark.parametrize(
    "wanted",
    [
        {"query": "price of a stock"},
        {"query": ["stock price", "US inflation"]},
        {"tag": "price"},
        {"category": "technical_indicators"},
    ],
)
def test_pages_partition_the_matches(wanted: dict[str, Any]) -> None:
    first = ask(**wanted, limit=7)
    pages, more = names(first), first.structured["more"]
    while more is not None:
        page = ask(**wanted, limit=7, **more)
        assert page.structured["offset"] == more["offset"] == len(pages)
        pages += names(page)
        more = page.structured["more"]
    assert len(pages) == len(set(pages)) == first.structured["matched"]
    assert names(ask(**wanted, limit=200, token_budget=100_000, detail="minimal")) == pages


@pytest.mark.parametrize(
    ("arguments", "matched", "said"),
    [
        ({"query": "???"}, 0, f"Nothing among {BUNDLED_TOOLS} tools fits the query. Next: "),
        ({"query": "???"}, 0, "technical_indicators 53"),
        ({"query": "???", "token_budget": 100}, 0, "Next: "),
        ({"query": "aroon", "category": "forex"}, 0, "leave out the filters"),
        ({"query": ["weather in Paris", "weather in Rome"]}, 0, "try other English keywords"),
        ({"category": "forex", "tag": "agriculture"}, 0, "No tool passes all of the filters."),
        ({"category": "forex", "offset": 4}, 4, "start again with offset 0"),
    ],
)
def test_list_without_a_tool_is_no_error_and_says_what_to_do(
    arguments: dict[str, Any], matched: int, said: str
) -> None:
    result = ask(**arguments)
    found = result.structured
    assert (result.is_error, found["tools"], found["matched"], found["returned"]) == (False, [], matched, 0)
    assert said in result.text
    assert tokens.count(result.text) <= arguments.get("token_budget", 1000)


def test_categories_and_tags_are_counted_over_the_whole_catalog() -> None:
    for wanted in ({}, {"tag": "price"}):
        structured = ask(**wanted).structured
        assert sum(structured["categories"].values()) == structured["total"] == len(CATALOG)
        assert structured["tags"] == {tag: CATALOG.counts("tags")[tag] for tag in structured["tags"]}
        assert len(structured["tags"]) == len(CATALOG.counts("tags"))
        assert list(structured["tags"].values()) == sorted(structured["tags"].values(), reverse=True)


# Its place among the meta-tools


def test_definition_has_arguments_that_the_code_accepts_and_those_that_most_calls_need(tools: MetaTools) -> None:
    properties = json.loads(tools.list_page().tools)[0]["inputSchema"]["properties"]
    assert tuple(properties) == ("query", "category", "limit", "offset")
    assert set(properties) < set(TOOLS[list_request.TOOL].arguments)


def test_a_list_of_many_sources_names_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_request, "MAX_LISTED_TOOLS", 10)
    names = [f"service_{number}" for number in range(67)]
    description = "Reads and changes the records of the service, such as orders, customers and their invoices, by day."
    for number, name in enumerate(names):
        tools = [
            {"name": f"get_record_{tool}", "path": f"/{tool}", "description": "Returns a record of it."}
            for tool in range(number % 2 + 1)
        ]
        (tmp_path / name).mkdir()
        (tmp_path / name / "source.yaml").write_text(
            json.dumps({"description": description, "base_url": "https://example.com", "tools": tools})
        )
    catalog = parse_catalog(compile_folder(tmp_path).encode())
    result = tool_list.tool_list(catalog, {})
    assert all(f"{name} (" in result.text for name in names)
    assert real_tokens(result.text) <= 1500
    assert {one["id"] for one in result.structured["sources"]} == set(names)
    alone = tool_list.tool_list(catalog, read_arguments(catalog, "TOOL_LIST", {"sources": True}))
    assert all(f"{name} (" in alone.text for name in names)
    assert ": Service_1. Reads and" in alone.text.replace("Service 1", "Service_1")
    assert real_tokens(alone.text) <= 1500
    assert (alone.structured["tools"], alone.structured["sources"]) == ([], result.structured["sources"])
    assert tool_list.tool_list(catalog, {"source": False}).text == result.text
    of_all = [tool_list.tool_list(catalog, {"query": "record", **given}) for given in ({"source": True}, {})]
    assert of_all[0].text == of_all[1].text


def refusal(**arguments: Any) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as caught:
        ask(**read_arguments(CATALOG, "TOOL_LIST", arguments))
    error = caught.value
    assert error.message.startswith("TOOL_LIST: ")
    assert error.suggestion
    assert all(sign.isprintable() for sign in error.message + error.suggestion)
    return error


# Filters


def matching(**wanted: Any) -> set[str]:
    return set(names(ask(**wanted, limit=200, token_budget=100_000, detail="minimal")))


def test_filters_hold_together_with_and_without_a_query() -> None:
    result = ask(category="core_stock_apis", tag="history", access="free")
    passing = matching(category="core_stock_apis") & matching(tag="history") & matching(access="free")
    assert names(result) == [name for name in CATALOG if name in passing]
    assert names(result)
    assert set(names(ask(query="price history", category="forex"))) <= matching(category="forex")
    blank = ask(query=" ", category="forex")
    assert (len(names(blank)), blank.text.startswith(blank.structured["notice"])) == (4, True)
    assert matching(access="free") == matching(access=["free", "mixed"])  # F8
    assert "GLOBAL_QUOTE" in matching(access="free") - matching(access="premium")


def test_tag_mode_any_or_all() -> None:
    stock, price = matching(tag="stock"), matching(tag="price")
    assert matching(tag=["stock", "price"]) == matching(tag=["stock", "price"], tag_mode="any") == stock | price
    assert matching(tag=["price", "stock"], tag_mode="ALL") == stock & price != set()


@pytest.mark.parametrize(("query", "is_strong"), [("price", False), ("help me", False), ("give me aapl price", True)])
def test_a_weak_match_is_to_be_compared(query: str, is_strong: bool) -> None:  # F10
    step = ask(query=query).structured["next"]
    assert ("TOOL_CALL" in step) == is_strong
    assert ("compare" in step) != is_strong


@pytest.mark.parametrize(
    ("lenient", "plain"),
    [
        ({"category": "US Economy"}, {"category": "economic_indicators"}),
        ({"category": ["forex", "commodities"]}, {"category": "forex,commodities"}),
        ({"tag": '["stock", "price"]'}, {"tag": ["stock", "price"]}),
        ({"tag": "Moving Average"}, {"tag": "moving-average"}),
        ({"access": ["free", "mixed"]}, {"access": "mixed, free"}),
        ({"tag": "price", "limit": "5", "offset": " 2 "}, {"tag": "price", "limit": 5, "offset": 2.0}),
        ({"query": "gold\nsilver\x07"}, {"query": "gold silver"}),
        ({"query": "gold", "limit": None, "category": None}, {"query": "gold"}),
    ],
)
def test_lenient_forms_of_arguments_are_accepted(lenient: dict[str, Any], plain: dict[str, Any]) -> None:
    assert ask(**lenient) == ask(**plain)


# What cannot be used


@pytest.mark.parametrize(
    ("arguments", "message", "suggestion"),
    [
        ({"category": "crypto"}, "there is no category 'crypto'", "Did you mean cryptocurrencies?"),
        ({"category": "weather"}, "there is no category 'weather'", "forex"),
        ({"tag": ["price", "stonks"]}, "there is no tag 'stonks'", "stock"),
        ({"tag": "xxxxxxxx"}, "there is no tag", "history"),
        ({"tag": "a\x1b[31m\u202e"}, r"there is no tag 'a\x1b[31m\u202e'", "query"),
        ({"limit": 2.5}, "a number (2.5)", "leaves out limit"),
        ({"limit": float("nan")}, "limit must be", "leaves out limit"),
        ({"token_budget": [5]}, "not an array", "next_call"),
        ({"query": "price " * 2000}, "query has 11,999 characters, and 1,000 are the most", "keywords"),
        ({"tag": [1]}, "tag item 1 must be a string", "next_call"),
        ({"tag": "[broken"}, "there is no tag", "query"),
        ({"tag": ["price"] * 51}, "tag has 51 items", "next_call"),
        ({"zzz": 1}, "zzz is not a parameter of this tool: takes query, ", "leaves out zzz"),
    ],
    ids=str,
)  # fmt: skip
def test_invalid_argument_is_rejected_in_one_sentence(
    arguments: Mapping[str, Any], message: str, suggestion: str
) -> None:
    error = refusal(**arguments)
    assert message in error.message
    assert suggestion in error.suggestion
    assert len(error.message) < 180


def test_error_lists_the_closest_names_and_quotes_at_most_64_characters() -> None:
    assert refusal(category="forx").as_dict()["closest"] == ["forex"]
    for error in (refusal(tag="\x00" * 500), refusal(**{"k" * 900: 1}), refusal(limit="9" * 99)):
        assert max(map(len, re.split(r"[' ]", error.message))) <= 64


def test_budget_too_small_for_one_tool_names_the_minimum(tmp_path: Path) -> None:
    # Glyphs of a script that costs three tokens each.
    compiled = compile_folder(written(tmp_path, SOURCE, changed(summary="\U00012000" * 110)))
    path = tmp_path / "catalog.json"
    path.write_text(compiled, encoding="utf-8")
    catalog = FileStore(path)()
    with pytest.raises(InvalidArguments, match="token_budget 100 is too small for a single tool") as caught:
        tool_list.tool_list(catalog, {"query": "forecast", "token_budget": 100})
    assert caught.value.suggestion == "Leave it out, or send at least 1000."


@pytest.mark.parametrize(
    ("query", "more", "first", "notice"),
    [
        (["latest price of a stock", "news about a company", "weather in Paris"], {},
         ["GLOBAL_QUOTE", "NEWS_SENTIMENT"], "weather in Paris: nothing fits."),
        # A tool is described once, and one that fits worse comes later.
        (["news about gold", "consumer price index", "US inflation rate", "inflation rate and prices"], {},
         ["CPI", "INFLATION"], "news about gold: no tool fits closely."),
        (["stock price", "US inflation", "price of gold"], {"token_budget": 160},
         ["GLOBAL_QUOTE", "INFLATION", "GOLD_SILVER_SPOT"], None),
    ],
)  # fmt: skip
def test_each_request_has_its_tool_and_what_has_none_is_named(
    query: list[str], more: dict[str, Any], first: list[str], notice: str | None
) -> None:
    result = ask(query=query, **more)
    found = result.structured
    assert (names(result)[: len(first)], found.get("notice")) == (first, notice)
    assert len(set(names(result))) == len(names(result))
    if more:
        assert found["more"] == {"offset": found["returned"]}
    else:
        assert all("example_call" in tool for tool in found["tools"][:2])
        assert result.text.splitlines()[0] == notice
        assert found["next"].startswith("Next: TOOL_CALL one of the first")


def test_filters_hold_for_every_request() -> None:
    result = ask(query=["stock price", "US inflation"], category="economic_indicators")
    shown = (CATALOG.get(tool["name"]) for tool in result.structured["tools"])
    assert {tool.category for tool in shown if tool is not None} == {"economic_indicators"}


@pytest.mark.parametrize("query", [["stock", "price"], ["stock price"], ["stock price", " ", "stock price"]])
def test_a_list_of_words_or_of_one_request_is_one_request(query: list[str]) -> None:
    assert names(ask(query=query)) == names(ask(query="stock price"))


@pytest.mark.parametrize(
    ("query", "problem", "proposed"),
    [
        ([f"request number {at}" for at in range(9)], "9 requests, and 8 are the most", 8),
        (["stock price", "x y" * 500], "1,500 characters", 2),
    ],
)
def test_too_many_or_too_long_requests_are_refused(query: list[str], problem: str, proposed: int) -> None:
    with pytest.raises(InvalidArguments, match=problem) as raised:
        ask(query=query)
    assert len(raised.value.details["next_call"]["TOOL_LIST"]["query"]) == proposed
    assert ask(**raised.value.details["next_call"]["TOOL_LIST"])
