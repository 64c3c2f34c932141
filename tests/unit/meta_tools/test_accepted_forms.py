"""Calls as models send them: each works, or its error has the call to make next, and that call works."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.cpu_time import cpu_within
from tests.support.meta_tools import error, follow, proposed_call
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.mock_api.server import MockApi

LIST, GET, CALL = "TOOL_LIST", "TOOL_GET", "TOOL_CALL"
IBM = {"symbol": "IBM"}
QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": IBM}
GOLD = {"query": "gold price"}
DAILY = {"tool_name": "TIME_SERIES_DAILY", "arguments": IBM}

WORKING: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    # Other names of arguments
    *((LIST, {name: "gold price"}, LIST, GOLD) for name in ("q", "search", "keyword", "text", "prompt", "input")),
    (LIST, {"keywords": ["gold", "price"]}, LIST, GOLD),
    (LIST, {"searchQuery": "gold price", "maxResults": "3"}, LIST, {**GOLD, "limit": 3}),
    (LIST, {**GOLD, "top_k": 3}, LIST, {**GOLD, "limit": 3}),
    (LIST, {**GOLD, "limit": "five"}, LIST, {**GOLD, "limit": 5}),
    (LIST, {**GOLD, "n": 3}, LIST, {**GOLD, "limit": 3}),
    (LIST, {**GOLD, "cursor": "8"}, LIST, {**GOLD, "offset": 8}),
    (LIST, {"categories": ["forex"], "tagMode": "all", "tags": "price"}, LIST,
     {"category": "forex", "tag_mode": "all", "tag": "price"}),
    (LIST, {"access": "paid"}, LIST, {"access": "premium"}),
    (LIST, {"name": "RSI"}, LIST, {"query": "RSI"}),
    (GET, {"name": "RSI"}, GET, {"tool_name": "RSI"}),
    (GET, {"names": ["RSI", "SMA"]}, GET, {"tool_name": ["RSI", "SMA"]}),
    (GET, {"tools": "RSI,SMA"}, GET, {"tool_name": ["RSI", "SMA"]}),
    (GET, {"tool": "RSI", "level": "minimal"}, GET, {"tool_name": "RSI", "detail": "minimal"}),
    (GET, {"tool_name": "RSI(symbol, interval)"}, GET, {"tool_name": "RSI"}),
    *((CALL, {name: "GLOBAL_QUOTE", "arguments": IBM}, CALL, QUOTE)
      for name in ("name", "tool", "command", "function", "toolName", "function_name", "action")),
    *((CALL, {"tool_name": "GLOBAL_QUOTE", name: IBM}, CALL, QUOTE)
      for name in ("input", "args", "params", "parameters", "kwargs", "tool_input")),
    # Options
    (CALL, {**DAILY, "outputsize": "full", "select": "close; last 1"}, CALL,
     {**DAILY, "arguments": {**IBM, "outputsize": "full"}, "select": "close; last 1"}),  # F4
    # A parameter of the tool in another spelling comes before another name of an option: it is not TOOL_CALL's limit.
    (CALL, {"tool_name": "NEWS_SENTIMENT", "arguments": {"tickers": "IBM", "$limit": 3}}, CALL,
     {"tool_name": "NEWS_SENTIMENT", "arguments": {"tickers": "IBM", "limit": 3}}),
    (CALL, {"tool_name": "TIME_SERIES_DAILY", "symbol": "IBM", "select": "close; last 1"}, CALL,
     {**DAILY, "select": "close; last 1"}),
    (CALL, {**DAILY, "maxTokens": "900"}, CALL, {**DAILY, "max_tokens": 900}),
    (CALL, {**QUOTE, "options": {"select": "price"}}, CALL, {**QUOTE, "select": "price"}),
    (CALL, {**QUOTE, "symbol": "IBM"}, CALL, QUOTE),
    # One level too deep, or text for an object
    (LIST, {"queries": ["gold price", "oil price"]}, LIST, {"query": ["gold price", "oil price"]}),
    (LIST, {"arguments": GOLD}, LIST, GOLD),
    (LIST, {"params": json.dumps(GOLD)}, LIST, GOLD),
    (LIST, {"input": {"arguments": GOLD}, "limit": 2}, LIST, {**GOLD, "limit": 2}),
    (GET, {"arguments": {"name": "RSI"}}, GET, {"tool_name": "RSI"}),
    (CALL, {"tool_name": "GLOBAL_QUOTE", "arguments": {"arguments": IBM}}, CALL, QUOTE),
    (CALL, {"tool_name": "GLOBAL_QUOTE", "arguments": {"params": json.dumps(IBM)}}, CALL, QUOTE),
    (CALL, {"tool_name": "global_quote", "arguments": json.dumps(IBM)}, CALL, QUOTE),
    (CALL, {"arguments": QUOTE}, CALL, QUOTE),
    (CALL, {"tool_name": "GLOBAL_QUOTE", "arguments": QUOTE}, CALL, QUOTE),
    (CALL, {"tool_name": ["GLOBAL_QUOTE"], "arguments": [IBM]}, CALL, QUOTE),
    # A meta-tool in a meta-tool  # F10
    (CALL, {"tool_name": "TOOL_CALL", "arguments": QUOTE}, CALL, QUOTE),
    (CALL, {"tool_name": "tool_call", "arguments": {"tool_name": "TOOL_CALL", "arguments": QUOTE}}, CALL, QUOTE),
    (CALL, {"tool_name": "TOOL_CALL", "arguments": {**QUOTE, "select": "price"}}, CALL, {**QUOTE, "select": "price"}),
    (CALL, {"tool_name": "TOOL_LIST", "arguments": GOLD}, LIST, GOLD),
    (CALL, {"tool_name": "TOOL_LIST", "query": "gold price"}, LIST, GOLD),
    (CALL, {"tool_name": "TOOL_LIST"}, LIST, {}),
    (CALL, {"tool_name": "TOOL_GET", "arguments": {"tool_name": "RSI"}}, GET, {"tool_name": "RSI"}),
    (GET, {"name": "RSI", "known": {"RSI": "0a1b2c3d"}}, GET, {"tool_name": "RSI", "known": {"RSI": "0a1b2c3d"}}),
    (LIST, {**GOLD, "offset": 1e6}, LIST, {**GOLD, "offset": 1_000_000}),
    (LIST, {"query": 1700000000000}, LIST, {"query": "1700000000000"}),
    # Other spellings of a tool's name
    *((CALL, {"tool_name": name, "arguments": IBM}, CALL, QUOTE)
      for name in ("Global Quote", "global-quote", "globalQuote", "alpha_vantage.GLOBAL_QUOTE",
                   "functions.GLOBAL_QUOTE", "mcp__stocks__GLOBAL_QUOTE", "toolfold:GLOBAL_QUOTE", "GLOBAL_QUOTE()",
                   "`GLOBAL_QUOTE`")),
]  # fmt: skip
"""Meta-tool, arguments → the same call in the documented form."""

REFUSED: list[tuple[str, dict[str, Any], str, str, dict[str, Any]]] = [
    (LIST, {"querry": "gold"}, "Did you mean query?", LIST, {"query": "gold"}),
    (LIST, {"catgory": "forex"}, "Did you mean category?", LIST, {"category": "forex"}),
    (LIST, {**GOLD, "symbol": "IBM"}, "leaves out symbol", LIST, GOLD),
    (LIST, {**GOLD, "select": "close"}, "leaves out select", LIST, GOLD),
    (LIST, {**GOLD, "cursor": "abc"}, "≥0", LIST, GOLD),
    (LIST, {**GOLD, "page": 2}, "leaves out page", LIST, GOLD),  # the answer has the offset
    (LIST, {"query": {"text": "gold price"}}, "not an object", LIST, {}),
    (LIST, {**GOLD, "q": "silver"}, "Send query once", LIST, GOLD),
    (LIST, {**GOLD, "apikey": "SECRETSECRET"}, "leaves out apikey", LIST, GOLD),
    (LIST, QUOTE, "leaves out arguments", LIST, {"query": "GLOBAL_QUOTE"}),
    (LIST, {**GOLD, "limit": 0}, "integer, ≥1, ≤200", LIST, GOLD),
    (LIST, {**GOLD, "limit": "1000"}, "≤200", LIST, {**GOLD, "limit": 200}),
    (LIST, {**GOLD, "limit": "some"}, "must be an integer", LIST, GOLD),
    (LIST, {**GOLD, "offset": -1}, "≥0", LIST, GOLD),
    (LIST, {**GOLD, "token_budget": 5}, "≥100", LIST, {**GOLD, "token_budget": 100}),
    (LIST, {**GOLD, "detail": "high"}, "full|medium|minimal", LIST, GOLD),
    (LIST, {**GOLD, "detail": "ful"}, "full|medium|minimal", LIST, {**GOLD, "detail": "full"}),
    (LIST, {"tag": "price", "tag_mode": "both"}, "any|all", LIST, {"tag": "price"}),
    (LIST, {"access": "gratis"}, "free, mixed, premium", LIST, {}),
    (LIST, {"category": "forx"}, "Did you mean forex?", LIST, {"category": "forex"}),
    (LIST, {"tag": "momentun"}, "Did you mean momentum", LIST, {"tag": "momentum"}),
    (LIST, {"category": ["forex", "crypto"]}, "cryptocurrencies?", LIST, {"category": ["forex", "cryptocurrencies"]}),
    (LIST, {"tag": "technical"}, "There are", LIST, {"query": "technical"}),
    (LIST, {"query": True}, "must be a string", LIST, {}),
    (LIST, {"query": "gold " * 20_000}, "a sentence", LIST, {"query": "gold " * 19 + "gold"}),
    (GET, {"query": "moving average"}, "TOOL_LIST searches", LIST, {"query": "moving average"}),
    (GET, {"category": "forex"}, "TOOL_LIST searches", LIST, {"category": "forex"}),
    (GET, {"tool_name": "RSI", "limit": 3}, "leaves out limit", GET, {"tool_name": "RSI"}),
    (GET, {"tool_name": "RSI", "arguments": IBM}, "leaves out arguments", GET, {"tool_name": "RSI"}),
    (GET, {"tool_nmae": "RSI"}, "Did you mean tool_name?", GET, {"tool_name": "RSI"}),
    (GET, {"tool_name": "RSI", "detail": "all"}, "full|medium|minimal", GET, {"tool_name": "RSI"}),
    (GET, {"tool_name": "RSI", "known": "yes"}, "leaves out known", GET, {"tool_name": "RSI"}),
    (GET, {}, "TOOL_LIST searches", LIST, {}),
    (GET, {"tool_name": ["SMA", "RSI"] * 500}, "has 1,000 items", LIST, {}),
    *((CALL, given, "TOOL_LIST has the names", LIST, {})
      for given in ({}, {"tool_name": None, "arguments": {}}, {"tool_name": "", "arguments": {}})),
    (CALL, GOLD, "TOOL_LIST has the names", LIST, GOLD),
    (CALL, IBM, "TOOL_LIST has the names", LIST, {}),
    (CALL, {"tool_name": 7}, "one tool", LIST, {}),
    (CALL, {"tool_nme": "GLOBAL_QUOTE", "arguments": IBM}, "TOOL_LIST has the names", LIST, {}),
    (CALL, {**QUOTE, "tool_name": ["GLOBAL_QUOTE", "SMA"]}, "one tool", LIST, {}),
    (CALL, {"tool_name": {"name": "GLOBAL_QUOTE", "input": IBM}}, "one tool", LIST, {}),
    (CALL, {"GLOBAL_QUOTE": IBM}, "TOOL_LIST has the names", LIST, {}),
    (CALL, {"tool_name": "GLOBAL_QUOTE(symbol='A', symbol='B')"}, "Did you mean", GET, {"tool_name": "GLOBAL_QUOTE"}),
    (CALL, {**QUOTE, "tool_name": "GLOBAL_QUOT"}, "Did you mean GLOBAL_QUOTE(symbol, ", CALL, QUOTE),
    (CALL, {**QUOTE, "tool_name": "GLOBALQUOTE"}, "Did you mean GLOBAL_QUOTE(symbol, ", CALL, QUOTE),
    (CALL, {"tool_name": "stock_price", "arguments": {"ticker": "IBM"}}, "Did you mean GLOBAL_QUOTE(", CALL, QUOTE),
    (CALL, {"tool_name": "NOPE", "arguments": IBM}, "TOOL_LIST with what you need", LIST, {"query": "nope"}),
    (CALL, {"tool_name": "technical_indicators", "arguments": {"action": "OBV", "interval": "daily", **IBM}},
     "Did you mean OBV(", CALL, {"tool_name": "OBV", "arguments": {"interval": "daily", **IBM}}),
    (CALL, {"tool_name": "getWeather"}, "TOOL_LIST with what you need", LIST, {"query": "get weather"}),
    # a tool that is far from the name is not proposed without some of the arguments
    (CALL, {"tool_name": "top movers", "arguments": IBM}, "Did you mean TOP_GAINERS_LOSERS(", LIST,
     {"query": "top movers"}),
    (CALL, {"tool_name": "read_file", "arguments": {"path": "a.txt"}}, "Did you mean", LIST, {"query": "read file"}),
    (CALL, {"tool_name": "GLOBAL_QUOT", "arguments": {**IBM, "colour": 1}}, "Did you mean", GET,
     {"tool_name": "GLOBAL_QUOTE"}),
    (CALL, {**DAILY, "selct": "close; last 1"}, "Did you mean select?", CALL, {**DAILY, "select": "close; last 1"}),
    (CALL, {"tool_name": "GLOBAL_QUOTE", "argumets": IBM}, "Did you mean arguments?", CALL, QUOTE),
    (CALL, {**QUOTE, "symbol": "AAPL"}, "once", CALL, QUOTE),
    (CALL, {**QUOTE, "reason": "because"}, "It leaves out reason", CALL, QUOTE),
    (CALL, {**QUOTE, "apikey": "SECRETSECRET"}, "It leaves out apikey", CALL, QUOTE),
    (CALL, {**QUOTE, "arguments": "IBM"}, "as an object", CALL, QUOTE),
    (CALL, {**QUOTE, "arguments": ["IBM"]}, "as an object", CALL, QUOTE),
    *((CALL, {**QUOTE, "arguments": text}, "as an object", CALL, QUOTE)
      for text in ("symbol=IBM", "{'symbol': 'IBM'}", 'symbol: "IBM"')),
    (CALL, {**QUOTE, "arguments": "symbol=IBM, colour=red"}, "It leaves out colour", CALL, QUOTE),
    (CALL, {"tool_name": LIST, "arguments": {**GOLD, "colour": "red"}}, "It leaves out colour", LIST, GOLD),
    # Other names of steps of select: those that choose rows come before those that count them off
    (CALL, {**DAILY, "limit": 2, "select": "close < 300"}, "is not a parameter", CALL,
     {**DAILY, "select": "close < 300; limit 2"}),
    (CALL, {**DAILY, "arguments": {**IBM, "limit": 4}, "select": "last 9; sum(volume)"}, "is not a parameter", CALL,
     {**DAILY, "select": "last 9; limit 4; sum(volume)"}),
    (CALL, {**DAILY, "select": ["close", "last 9"], "limit": 2}, "is not a parameter", CALL,
     {**DAILY, "select": "close; last 9; limit 2"}),
    (CALL, {**DAILY, "sort": "-close", "columns": ["close"], "limit": 2}, "It leaves out sort, columns", CALL,
     {**DAILY, "select": "limit 2"}),
    (CALL, {**QUOTE, "max_tokens": 0}, "≥1", CALL, QUOTE),
    (CALL, {**QUOTE, "fresh": "perhaps"}, "true or false", CALL, QUOTE),
    (CALL, {**DAILY, "arguments": {**IBM, "outputsize": "ful"}}, "as in next_call", CALL,
     {**DAILY, "arguments": {**IBM, "outputsize": "full"}}),
    (CALL, {"tool_name": "SMA", "arguments": IBM}, "time_period, series_type are examples", CALL,
     {"tool_name": "SMA",
      "arguments": {**IBM, "interval": "daily", "time_period": 50, "series_type": "close"}}),
]  # fmt: skip
"""Meta-tool, arguments → part of the error, and the call that the error proposes."""


def ids(row: Any) -> str:
    return json.dumps(row)[:60] if isinstance(row, dict) else str(row)


@pytest.mark.parametrize(("name", "given", "meant", "documented"), WORKING, ids=ids)
def test_an_unambiguous_form_is_accepted(
    tools: MetaTools, name: str, given: dict[str, Any], meant: str, documented: dict[str, Any]
) -> None:
    expected = tools.call(meant, documented)
    assert not expected.is_error, expected.text
    assert tools.call(name, given).text.splitlines()[-1] == expected.text.splitlines()[-1]


@pytest.mark.parametrize(("name", "given", "hint", "following", "arguments"), REFUSED, ids=ids)
def test_an_error_has_the_call_that_works(
    tools: MetaTools, name: str, given: dict[str, Any], hint: str, following: str, arguments: dict[str, Any]
) -> None:
    result = tools.call(name, given)
    found = error(result)
    assert hint in f"{found['message']} {found['suggestion']}"
    assert proposed_call(found) == (following, arguments)
    assert "SECRET" not in result.text
    assert not follow(tools, result).is_error


@pytest.mark.parametrize("text", ['{"symbol": "A", "symbol": "B"}', "{'symbol': 'A', 'symbol': 'B'}"])
def test_a_name_twice_in_the_text_of_an_object_is_refused(tools: MetaTools, text: str) -> None:
    assert "symbol" in error(tools.call(CALL, {**QUOTE, "arguments": text}))["schema"]["properties"]
    assert tools.call(LIST, {"arguments": text.replace("symbol", "query")}).is_error


@pytest.mark.parametrize("name", [LIST, GET])
@pytest.mark.parametrize("given", [QUOTE, {"arguments": QUOTE}, {"tool_name": "TOOL_CALL", "arguments": QUOTE}])
def test_tools_that_only_read_never_perform_a_call(
    tools: MetaTools, mock_api: MockApi, name: str, given: dict[str, Any]
) -> None:
    before = len(mock_api.requests)
    tools.call(name, given)
    assert len(mock_api.requests) == before


DEEP: Any = IBM
for _ in range(90):
    DEEP = {"arguments": DEEP}


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (LIST, {"query": "A pasted document. " * 50_000}),
        (LIST, {"q": "x" * 1_000_000}),
        (LIST, {"x" * 1_000_000: 1}),
        (LIST, dict.fromkeys(map(str, range(100_000)), 1)),
        (LIST, DEEP),
        (GET, {"tool_name": ["RSI"] * 20_000}),
        (GET, {"tool_name": "RSI," * 20_000}),
        (GET, {"tool_name": "(" * 1_000_000}),
        (CALL, {"tool_name": "x" * 1_000_000}),
        (CALL, {"tool_name": "_" * 1_000_000}),
        (CALL, {"tool_name": "GLOBAL_QUOTE(" + "(" * 1_000_000}),
        (CALL, {"tool_name": ["GLOBAL_QUOTE"] * 20_000}),
        (CALL, {**QUOTE, "arguments": DEEP}),
        (CALL, {"arguments": DEEP}),
        (CALL, {**QUOTE, "arguments": "[" * 1_000_000}),
        (CALL, {**QUOTE, "arguments": '{"a":' * 100_000}),
        (CALL, {**QUOTE, "arguments": "a=" * 500_000}),
        (CALL, {**QUOTE, **dict.fromkeys(map(str, range(100_000)), 1)}),
        (CALL, {**QUOTE, **dict.fromkeys(map(str, range(900)), 1)}),
        (CALL, {**QUOTE, "arguments": {"symbol": "x" * 1_000_000}}),
        (CALL, {**QUOTE, "arguments": dict.fromkeys(map(str, range(100_000)), 1)}),
        (CALL, {**QUOTE, "arguments": json.dumps(dict.fromkeys(map(str, range(100_000)), 1))}),
        (CALL, {"tool_name": "TOOL_BATCH", "arguments": dict.fromkeys(map(str, range(100_000)), 1)}),
        (CALL, {"tool_name": "TOOL_BATCH", "arguments": {"calls": [QUOTE] * 100_000}}),
        (GET, {"tool_name": list(map(str, range(100_000)))}),
    ],
    ids=ids,
)
def test_huge_and_deep_arguments_are_refused_at_once(tools: MetaTools, name: str, given: Mapping[str, Any]) -> None:
    with cpu_within(2):
        result = tools.call(name, given)
    assert '"code":"INVALID_ARGUMENTS"' in result.text or '"code":"TOOL_NOT_FOUND"' in result.text
    assert len(result.text) < 5_000
