"""TOOL_LIST: what it finds, how it fills a budget, and the same through the meta-tools."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.catalogs import BUNDLED_TOOLS
from tests.support.examples import examples
from tests.support.meta_tools import tokens as real_tokens
from toolfold.build.compiler import compile_folder
from toolfold.catalog.search import search
from toolfold.catalog.store import FileStore, bundled_path, parse_catalog
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


def test_blank_query_keeps_the_filters() -> None:
    result = ask(query=" ", category="forex")
    assert len(names(result)) == 4
    assert result.text.startswith(result.structured["notice"])


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


@examples(60, many=2_000)
@given(
    query=st.sampled_from(["", "gold", "price of a share", "zzzz", "bollinger bands"]) | st.text(max_size=40),
    budget=st.integers(100, 400),
    detail=st.sampled_from(["full", "medium", "minimal"]) | st.none(),
    tag=st.lists(st.sampled_from(sorted(CATALOG.counts("tags"))), max_size=4),
)
def test_no_budget_is_exceeded_for_any_arguments(query: str, budget: int, detail: str | None, tag: list[str]) -> None:
    result = ask(query=query, token_budget=budget, detail=detail, tag=tag)
    assert tokens.count(result.text) <= budget
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
        assert whole is not None
        assert tool["description"] == whole.summary
        assert tool["parameters"]["properties"].keys() == whole.parameters["properties"].keys()
        assert tool["parameters"].get("required") == whole.parameters.get("required")
        for rule in tool["parameters"]["properties"].values():
            assert rule.keys() <= {"type", "items"}
        assert "example_call" not in tool


def test_minimal_level_is_name_and_summary() -> None:
    for tool in shown(ask(query="gold", detail="minimal")):
        assert tool.keys() <= {"name", "description", "access"}


def test_full_text_has_every_constraint_of_the_schema() -> None:
    for name in list(CATALOG)[::4]:
        whole = CATALOG.get(name)
        assert whole is not None
        result = ask(query=name.replace("_", " "), detail="full", limit=200, token_budget=100_000)
        entry = next((tool for tool in shown(result) if tool["name"] == name), None)
        assert entry is not None
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
    "wanted", [{"query": "price of a stock"}, {"tag": "price"}, {"category": "technical_indicators"}]
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


def test_offset_past_the_end_is_not_an_error() -> None:
    result = ask(category="forex", offset=4)
    assert result.structured["tools"] == []
    assert result.structured["matched"] == 4
    assert "start again with offset 0" in result.text


@pytest.mark.parametrize("query", ["株価", "🙈", "\u202e\u2066"])
def test_query_that_is_not_english_is_answered(query: str) -> None:
    result = ask(query=query)
    assert not result.is_error
    assert all(sign.isprintable() or sign == "\n" for sign in result.text)


def test_no_match_lists_the_categories() -> None:
    result = ask(query="???")
    assert result.structured["tools"] == []
    assert result.structured["matched"] == result.structured["returned"] == 0
    assert result.text.startswith(f"Nothing among {BUNDLED_TOOLS} tools fits the query. Next: ")
    assert "technical_indicators 53" in result.text
    assert tokens.count(ask(query="???", token_budget=100).text) <= 100


def test_no_match_within_filters_counts_matches_without_them() -> None:
    result = ask(query="aroon", category="forex")
    assert result.structured["matched"] == 0
    assert "leave out the filters" in result.text


def test_categories_and_tags_are_counted_over_the_whole_catalog() -> None:
    for wanted in ({}, {"tag": "price"}):
        structured = ask(**wanted).structured
        assert sum(structured["categories"].values()) == structured["total"] == len(CATALOG)
        assert structured["tags"] == {tag: CATALOG.counts("tags")[tag] for tag in structured["tags"]}
        assert len(structured["tags"]) == len(CATALOG.counts("tags"))
        assert list(structured["tags"].values()) == sorted(structured["tags"].values(), reverse=True)


# Its place among the meta-tools


def test_definition_has_arguments_that_the_code_accepts_and_those_that_most_calls_need(tools: MetaTools) -> None:
    properties = tools.definitions()[0]["inputSchema"]["properties"]
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
