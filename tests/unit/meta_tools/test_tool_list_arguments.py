"""TOOL_LIST: what its filters let through, which shapes arguments may have, and how it answers what it cannot use."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unit.build.test_schema import SOURCE, changed, written
from tests.unit.meta_tools.test_tool_list import CATALOG, ask, names
from toolfold.build.compiler import compile_folder
from toolfold.catalog.store import FileStore
from toolfold.errors import InvalidArguments
from toolfold.meta_tools import tool_list
from toolfold.meta_tools.reader import read_arguments
from toolfold.results import tokens


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


def test_all_filters_apply_in_catalog_order() -> None:
    result = ask(category="core_stock_apis", tag="history", access="free")
    assert names(result) == [name for name in CATALOG if name in matching(category="core_stock_apis")
                             and name in matching(tag="history") and name in matching(access="free")]  # fmt: skip
    assert names(result)


def test_tag_mode_any_or_all() -> None:
    stock, price = matching(tag="stock"), matching(tag="price")
    assert matching(tag=["stock", "price"]) == matching(tag=["stock", "price"], tag_mode="any") == stock | price
    assert matching(tag=["price", "stock"], tag_mode="ALL") == stock & price != set()


def test_free_includes_what_is_free_in_part() -> None:  # F8
    assert matching(access="free") == matching(access=["free", "mixed"])
    assert "GLOBAL_QUOTE" in matching(access="free")
    assert "GLOBAL_QUOTE" not in matching(access="premium")


@pytest.mark.parametrize(("query", "is_strong"), [("price", False), ("help me", False), ("give me aapl price", True)])
def test_a_weak_match_is_to_be_compared(query: str, is_strong: bool) -> None:  # F10
    step = ask(query=query).structured["next"]
    assert ("TOOL_CALL" in step) == is_strong
    assert ("compare" in step) != is_strong


def test_query_with_filters_finds_only_tools_that_pass_them() -> None:
    assert set(names(ask(query="price history", category="forex"))) <= matching(category="forex")


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


def test_filters_without_a_match_are_not_an_error() -> None:
    result = ask(category="forex", tag="agriculture")
    assert result.structured["matched"] == 0
    assert result.text.startswith("No tool passes all of the filters.")


# What cannot be used


@pytest.mark.parametrize(
    ("arguments", "message", "suggestion"),
    [
        ({"category": "crypto"}, "there is no category 'crypto'", "Did you mean cryptocurrencies?"),
        ({"category": "weather"}, "there is no category 'weather'", "forex"),
        ({"tag": ["price", "stonks"]}, "there is no tag 'stonks'", "stock"),
        ({"tag": "xxxxxxxx"}, "there is no tag", "history"),
        ({"tag": "a\x1b[31m\u202e"}, r"there is no tag 'a\x1b[31m\u202e'", "query"),
        ({"tag_mode": "some"}, "tag_mode 'some' is not an allowed value: any|all", "next_call"),
        ({"limit": 0}, "limit 0 is too small: integer, ≥1, ≤200", "leaves out limit"),
        ({"limit": 2.5}, "a number (2.5)", "leaves out limit"),
        ({"limit": float("nan")}, "limit must be", "leaves out limit"),
        ({"token_budget": [5]}, "not an array", "next_call"),
        ({"query": {"a": 1}}, "query must be a string", "leaves out query"),
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


def test_error_lists_the_closest_names() -> None:
    assert refusal(category="forx").as_dict()["closest"] == ["forex"]


def test_error_quotes_at_most_64_characters() -> None:
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
    needed = caught.value.details["needed"]
    assert f"Send token_budget {needed} or more" in caught.value.suggestion
    result = tool_list.tool_list(catalog, {"query": "forecast", "token_budget": needed})
    assert names(result) == ["FORECAST"]
    assert tokens.count(result.text) <= needed
