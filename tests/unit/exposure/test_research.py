"""``search`` and ``fetch``: what a query finds, which answers it is enough for, and what an id returns."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import KEY
from tests.support.exposure import app_of, listed, rpc
from tests.support.mcp_requests import message, request
from toolfold.app import App
from toolfold.errors import InsufficientScope
from toolfold.execution.credentials import RequestCredentials
from toolfold.exposure import research
from toolfold.exposure.profiles import select
from toolfold.mock_api.server import MockApi

PATH = "/mcp/research"


@pytest.fixture(scope="module")
def market(mock_api: MockApi) -> App:
    return app_of(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=mock_api.url, TOOLFOLD_RETRY_BACKOFF_S="0.001")


def run(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the result of a call, after checking that its text is the same JSON."""
    sent = request(message("tools/call", {"name": tool, "arguments": arguments}), x_api_key=KEY)._replace(path=PATH)
    result: dict[str, Any] = json.loads(app.server.handle_http(sent).body)["result"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert len(result["content"]) == 1
    return result


def ids(app: App, query: str) -> list[str]:
    return [one["id"] for one in run(app, "search", query=query)["structuredContent"]["results"]]


def answers(app: App, query: str) -> list[str]:
    return [id_ for id_ in ids(app, query) if "(" in id_]


def test_the_list_has_two_tools_that_only_read(bundled: App, app: App) -> None:
    for one in (bundled, app):
        shown = listed(one, PATH)
        assert [tool["name"] for tool in shown] == ["search", "fetch"]
        assert all(tool["annotations"]["readOnlyHint"] for tool in shown)
    instructions = rpc(bundled, PATH, "initialize", {"protocolVersion": "2025-11-25"})["result"]["instructions"]
    assert "search(query)" in instructions
    assert "select" not in instructions


def test_results_have_what_a_connector_reads(bundled: App) -> None:
    first, second, *_ = run(bundled, "search", query="IBM stock price")["structuredContent"]["results"]

    assert first == {
        "id": "GLOBAL_QUOTE(symbol='IBM')",
        "title": "GLOBAL_QUOTE(symbol='IBM'): Latest price, volume and day change of one stock",
        "url": "toolfold://alpha_vantage/GLOBAL_QUOTE%28symbol%3D%27IBM%27%29",
    }
    assert second["id"] == "GLOBAL_QUOTE"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("GLOBAL_QUOTE symbol=IBM", "GLOBAL_QUOTE(symbol='IBM')"),
        ('GLOBAL_QUOTE(symbol="TSCO.LON")', "GLOBAL_QUOTE(symbol='TSCO.LON')"),
        ("quote ticker=ibm", "GLOBAL_QUOTE(symbol='IBM')"),
        ('GLOBAL_QUOTE symbol=["IBM", "MSFT"]', "REALTIME_BULK_QUOTES(symbol='IBM,MSFT')"),
        ("latest price of $NVDA", "GLOBAL_QUOTE(symbol='NVDA')"),
        ("IBM STOCK PRICE", "GLOBAL_QUOTE(symbol='IBM')"),
        ("NVDA vs AMD daily prices", "TIME_SERIES_DAILY(symbol='AMD')"),
        ("intraday IBM 5min bars", "TIME_SERIES_INTRADAY(symbol='IBM', interval='5min')"),
        (
            "SMA of MSFT daily time_period=10 series_type=close",
            "SMA(symbol='MSFT', interval='daily', time_period=10, series_type='close')",
        ),
        ("quote ticker=Tesla", "SYMBOL_SEARCH(keywords='Tesla')"),
        ("top gainers today", "TOP_GAINERS_LOSERS()"),
        ("2 year treasury yield", "TREASURY_YIELD(maturity='2year')"),
        ("daily federal funds rate", "FEDERAL_FUNDS_RATE(interval='daily')"),
        ("delisted stocks", "LISTING_STATUS(state='delisted')"),
        ("MSFT earnings calendar", "EARNINGS_CALENDAR(symbol='MSFT')"),
        ("weekly prices of RELIANCE.BSE", "TIME_SERIES_WEEKLY(symbol='RELIANCE.BSE')"),
    ],
)
def test_a_query_with_all_that_a_tool_needs_finds_its_answer(bundled: App, query: str, expected: str) -> None:
    assert expected in ids(bundled, query)


@pytest.mark.parametrize(
    "query",
    [
        "apple share price",  # the name of a company is no ticker
        "tesla option chain",
        "give me a stock quote",
        "GOLD price",  # a word of the catalog
        "USD to EUR exchange rate",  # which is from, which is to
        "SMA of MSFT",  # without its interval and period
        "is NVDA overbought",
        "quote symbol=",
        "fermented tea recipes",
    ],
)
def test_nothing_that_the_query_does_not_say_is_in_an_id(bundled: App, query: str) -> None:
    assert not [id_ for id_ in ids(bundled, query) if "=" in id_]


@pytest.mark.parametrize("query", ["news about TSLA", "2 year treasury yield", "delisted stocks"])
def test_no_answer_is_about_another_thing_than_the_query(bundled: App, query: str) -> None:
    assert not [id_ for id_ in ids(bundled, query) if id_.endswith("()")]


def test_a_ticker_is_for_tools_about_such_names(bundled: App) -> None:
    assert not [id_ for id_ in answers(bundled, "EUR balance sheet") if "EUR" in id_]


def test_words_that_many_parameters_take_make_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = {f"order_{number}": {"enum": ["asc", "desc"]} for number in range(10)}
    reader = SimpleNamespace(
        properties=properties,
        ticker_patterns={},
        rename=lambda given: SimpleNamespace(arguments=given),
        resolve=lambda arguments: SimpleNamespace(arguments=arguments, problems=()),
    )
    monkeypatch.setattr(research, "reader_of", lambda *_: reader)
    catalog: Any = SimpleNamespace(position=lambda _: 0, synonyms=lambda _: ())
    tool: Any = SimpleNamespace(name="BERTHS", parameters={})

    assert len(list(research._calls(catalog, tool, "berths asc desc", {}))) == research._MAX_CALLS


def test_every_answer_that_is_found_can_be_fetched_in_full(market: App) -> None:
    found = answers(market, "IBM daily prices") + answers(market, "IBM historical option chain")
    assert {"TIME_SERIES_DAILY(symbol='IBM')", "HISTORICAL_OPTIONS(symbol='IBM')"} <= set(found)
    for id_ in ("TIME_SERIES_DAILY(symbol='IBM')", "HISTORICAL_OPTIONS(symbol='IBM')", "TOP_GAINERS_LOSERS()"):
        document = run(market, "fetch", id=id_)["structuredContent"]
        assert document["id"] == id_
        assert document["title"].startswith(f"{id_}: ")
        assert document["metadata"]["kind"] == "answer"
        assert not document["text"].startswith("# Preview")
    options = run(market, "fetch", id="HISTORICAL_OPTIONS(symbol='IBM')")["structuredContent"]
    assert options["text"].count("\n") == 500  # of which TOOL_CALL shows a preview


def test_the_id_of_a_tool_returns_its_description(market: App) -> None:
    document = run(market, "fetch", id="GLOBAL_QUOTE")["structuredContent"]

    described = json.loads(document["text"])
    assert described["example_call"] == {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
    assert document["metadata"] == {"tool": "GLOBAL_QUOTE", "source": "alpha_vantage", "kind": "description"}


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("fetch", {"id": "NO_SUCH"}, "TOOL_NOT_FOUND"),
        ("fetch", {"id": "NO_SUCH(symbol='IBM')"}, "TOOL_NOT_FOUND"),
        ("fetch", {"id": "TOOL_LIST()"}, "TOOL_NOT_FOUND"),
        ("fetch", {"id": "GLOBAL_QUOTE()"}, "INVALID_ARGUMENTS"),
        ("fetch", {"id": "GLOBAL_QUOTE(symbol=['IBM')"}, "INVALID_ARGUMENTS"),
        ("fetch", {"id": "GLOBAL_QUOTE(IBM)"}, "INVALID_ARGUMENTS"),
        ("fetch", {"id": "GLOBAL_QUOTE(symbol='IBM', symbol='AAPL')"}, "INVALID_ARGUMENTS"),
        ("fetch", {"id": f"GLOBAL_QUOTE(symbol='{'x' * 5_000}')"}, "INVALID_ARGUMENTS"),
        ("fetch", {"id": "GLOBAL_QUOTE(symbol='ZZNONE')"}, "NO_DATA"),
        ("fetch", {}, "INVALID_ARGUMENTS"),
        ("fetch", {"id": 7}, "INVALID_ARGUMENTS"),
        ("search", {"query": " "}, "INVALID_ARGUMENTS"),
    ],
)
def test_a_failure_is_an_error_that_a_model_reads(market: App, tool: str, arguments: dict[str, Any], code: str) -> None:
    result = run(market, tool, **arguments)

    assert result["isError"]
    assert result["structuredContent"]["error"]["code"] == code


def test_a_scope_that_the_access_token_lacks_is_for_http_to_answer(bundled: App) -> None:
    tools, reads = select(bundled.server.tools, "research"), RequestCredentials(scopes=frozenset({"tools:read"}))

    assert not tools.call("search", {"query": "IBM quote"}, reads).is_error
    with pytest.raises(InsufficientScope):
        tools.call("fetch", {"id": "GLOBAL_QUOTE(symbol='IBM')"}, reads)


def test_tools_that_change_data_are_neither_found_nor_called(app: App) -> None:
    assert "CLOSE_HARBOUR" in json.dumps(
        rpc(app, "/mcp", "tools/call", {"name": "TOOL_LIST", "arguments": {"query": "close a harbour"}})
    )
    assert not [id_ for id_ in ids(app, "close harbour=Oslo") if id_.startswith("CLOSE_HARBOUR")]
    refused = run(app, "fetch", id="CLOSE_HARBOUR(harbour='Oslo')")
    assert refused["structuredContent"]["error"]["code"] == "TOOL_NOT_EXPOSED"


def test_a_profile_may_have_the_mode(app: App) -> None:
    assert [tool["name"] for tool in listed(app, "/mcp/desk")] == ["search", "fetch"]
    found = rpc(app, "/mcp/desk", "tools/call", {"name": "search", "arguments": {"query": "IBM option chain"}})
    assert "OPTIONS" not in json.dumps(found)
