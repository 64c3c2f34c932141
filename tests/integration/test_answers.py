"""Answers of the whole catalog: equal calls, and each tool's example."""

import copy
import re
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Any, Self

import pytest

from tests.support.catalogs import tool_of
from tests.support.clocks import Clock
from tests.support.examples import each_tenth
from tests.support.executor import Calls, settings_for
from tests.support.upstream import Upstream
from tests.unit.catalog.test_alpha_vantage_catalog import EXAMPLES
from toolfold import client_call as clocks
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution import argument_reader
from toolfold.execution import services as services_module
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result
from toolfold.mock_api.server import MockApi

SELECTS = [
    None, "close", "timestamp, high - low as range; last 5", "max(close)", "avg(close) group by month", "last 10 days",
    "close > 100; order by close; limit 3", "from 1999-01-01", "to 2040-01-01; last 2", "no_such_column", "limit 1",
    "jmespath: rows[0]", "jmespath: rows[?close > `1`].close | [0]", "jmespath: nothing", "select max(close) from rows",
    ["timestamp", "close"], {"columns": ["close"], "limit": 2}, "where volume is not null; first 2",
]  # fmt: skip

SERIES = {"tool_name": "TIME_SERIES_DAILY", "arguments": {"symbol": "IBM"}}
QUOTE = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "AAPL"}}

CALLS: list[dict[str, Any]] = [
    *({**SERIES, "select": select} for select in SELECTS if select is not None),
    *({"tool_name": name, "arguments": EXAMPLES[name]} for name in list(EXAMPLES)[::9]),
    *({**one, "max_tokens": 500} for one in (SERIES, QUOTE)),
    {**SERIES, "max_tokens": 100_000},
    *({**QUOTE, "arguments": {"symbol": "AAPL", "datatype": form}} for form in ("json", "csv")),
    {**SERIES, "arguments": {"symbol": "IBM", "datatype": "json"}, "select": "jmespath: keys(@)"},
    {**SERIES, "inspect": True},
    *({"tool_name": "SMA", "arguments": {**EXAMPLES["SMA"], "time_period": days}} for days in ([20, 50], "20", 20.0)),
    {"tool_name": "global_quote", "symbol": "aapl"},
    {"tool_name": "GLOBAL_QUOTE", "arguments": {"ticker": "$AAPL"}},
    {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "AAPL", "unknown": 1}},
    {"tool_name": "GLOBAL_QUOTE", "arguments": {}},
    {"tool_name": "OVERVIEW", "arguments": {"symbol": "IBM"}, "select": "PERatio"},
    {"tool_name": "BALANCE_SHEET", "arguments": {"symbol": "IBM"}, "select": "annualReports: totalAssets; last 2"},
    {"tool_name": "TOOL_BATCH", "arguments": {"calls": [QUOTE, SERIES, {**SERIES, "select": "close; last 3"}]}},
    {"tool_name": "TOOL_BATCH", "arguments": {"calls": [{**QUOTE, "arguments": {"symbol": "KO"}}, QUOTE]}},
    {"tool_name": "TOOL_BATCH", "arguments": {"calls": [QUOTE] * 3, "max_tokens": 500}},
    {"tool_name": "TOOL_BATCH", "arguments": {
        "calls": [{**SERIES, "id": "a", "select": "close; last 4"}, {**SERIES, "id": "b", "select": "open; last 3"}],
        "join": "timestamp"}},
    {"tool_name": "TOOL_PIPE", "arguments": {"steps": [
        {"as": "s", "tool_name": "SYMBOL_SEARCH", "arguments": {"keywords": "apple"}},
        {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": {"$ref": "s.rows[0].symbol"}}}], "return": "all"}},
]  # fmt: skip

_TIMES = frozenset({"elapsed_ms", "upstream_ms"})
_ORIGIN = frozenset({*_TIMES, "cached", "age_s", "reasoning", "upstream_requests"})
"""What differs between a call that sends a request and an equal one after it."""


def without(value: Any, left_out: frozenset[str]) -> Any:
    """Return a JSON value without some members, at any depth."""
    if isinstance(value, dict):
        return {key: without(item, left_out) for key, item in value.items() if key not in left_out}
    return [without(item, left_out) for item in value] if isinstance(value, list) else value


def shown(result: Result, left_out: frozenset[str] = _TIMES) -> Any:
    """Return all that a client sees of an answer, but for times. ``repr`` distinguishes types and orders."""
    blocks = [dict(block) for block in result.blocks]
    return result.is_error, result.text, repr(without(dict(result.structured), left_out)), blocks


Tools = Callable[..., MetaTools]


@pytest.fixture
def new_tools(mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> Tools:
    """Return a factory of meta-tools with a clock that stands still; without ``memo`` all is computed again."""

    def make(*, memo: bool = True, **how: Any) -> MetaTools:
        monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "CANARYKEY0123456")
        settings = settings_for(mock_api.url, RETRY_BACKOFF_S="0.001", **how.pop("settings", {}))
        clock = clocks.Clock(how.pop("time", Clock()))
        executor = ToolExecutor(settings, clock=clock, **how)
        with monkeypatch.context() as patched:
            if not memo:
                patched.setattr(services_module, "MAX_MEMO_BYTES", 0)
            assert bool(executor.services.memo._stored.maxsize) is memo
        return MetaTools(FileStore(bundled_path()), executor)

    return make


def check_equal(used: MetaTools, plain: MetaTools, calls: list[dict[str, Any]], **how: Any) -> None:
    """Check that answers of ``used`` are those of ``plain``, and repeated ones those of the first call."""
    for given in calls:
        first, expected = used.call("TOOL_CALL", given, **how), plain.call("TOOL_CALL", given, **how)
        assert shown(first) == shown(expected), given
        expected = plain.call("TOOL_CALL", given, **how)
        for _ in range(2):
            again = used.call("TOOL_CALL", given, **how)
            assert shown(again) == shown(expected), given
        assert shown(again, _ORIGIN) == shown(first, _ORIGIN), given


@pytest.mark.bulk
@pytest.mark.parametrize(
    ("calls", "whole"),
    [
        (CALLS[::14], False),
        pytest.param(CALLS, False, marks=pytest.mark.slow),
        pytest.param(CALLS[1::3], True, marks=pytest.mark.slow),
    ],
    ids=["some", "for a model", "whole"],
)
def test_answers_are_those_of_calls_that_compute_everything(
    new_tools: Tools, calls: list[dict[str, Any]], whole: bool
) -> None:
    used = new_tools()
    plain = new_tools(memo=False)
    check_equal(used, plain, calls, whole=whole)
    # In another order, with all in memory: no call has changed what others use.
    stored = used.executor.services.memo._stored
    assert 0 < used.executor.services.memo._stored.currsize <= services_module.MAX_MEMO_BYTES
    before = copy.deepcopy([(key, value) for key, (_, value, _) in stored.items()])
    check_equal(used, plain, calls[::-1], whole=whole)
    remaining = dict(stored.items())
    assert all(repr(remaining[key][1]) == repr(value) for key, value in before if key in remaining)


def test_answers_that_depend_on_the_key_are_those_of_the_key(upstream: Upstream, new_tools: Tools) -> None:
    tools = new_tools(settings={"SOURCE_ALPHA_VANTAGE_URL": upstream.url})
    upstream.replies = [
        lambda query: (200, {}, f"timestamp,close\n2026-01-02,{query['apikey'].removeprefix('mock-')}\n".encode())
    ]
    given = {"tool_name": "TIME_SERIES_INTRADAY", "arguments": {"symbol": "IBM", "interval": "5min"}}
    for _ in range(3):
        for key in ("11", "22", "33"):
            found = tools.call("TOOL_CALL", given, RequestCredentials(x_api_key=f"mock-{key}"))
            assert found.structured["result"]["rows"] == [["2026-01-02", int(key)]]
    assert len(upstream.requests) == 3


def test_answers_that_repeat_a_key_are_not_stored(calls: Calls, upstream: Upstream) -> None:
    upstream.replies = [(200, {}, b"timestamp,value\n2026-01-01,CANARYKEY0123456\n")]
    for _ in range(3):
        found = calls()
        assert found.entry is None
        assert "CANARYKEY" in found.body
    stored = calls.executor.services.memo._stored
    assert "CANARYKEY" not in repr([(key, value) for key, (_, value, _) in stored.items()])


def test_words_for_a_day_are_read_again_each_time(new_tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    class Today(datetime):
        current = 6

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls(2025, 3, cls.current, tzinfo=tz)

    monkeypatch.setattr(argument_reader, "datetime", Today)
    tools, found = new_tools(), []
    for Today.current in (6, 6, 7):
        result = tools.call("TOOL_CALL", {"tool_name": "HISTORICAL_OPTIONS", "symbol": "IBM", "date": "yesterday"})
        found.append({row[-1] for row in result.structured["result"]["rows"]} or result.structured["notes"])
    assert found[0] == found[1] != found[2]


def answered(tools: MetaTools, name: str, **more: Any) -> Any:
    result = tools.call("TOOL_CALL", {"tool_name": name, "arguments": {**EXAMPLES[name], **more}})
    assert not result.is_error, result.text
    return result.structured["result"]


@pytest.mark.bulk
@pytest.mark.parametrize("name", each_tenth(EXAMPLES))
def test_example_returns_the_documented_columns(tools: MetaTools, catalog: Catalog, name: str) -> None:
    tool = tool_of(catalog, name)
    data = answered(tools, name)
    tables = data.get("tables", {"": data} if "row_count" in data else {})
    assert all(table["row_count"] >= len(table["rows"]) > 0 for table in tables.values())
    assert all(len(row) == len(table["columns"]) for table in tables.values() for row in table["rows"])
    if "csv" in tool.formats:
        header, *rows = answered(tools, name, datatype="csv").splitlines()
        assert rows
        if tool.answer["csv"] is not None:
            assert header == tool.answer["csv"]
            columns = data["columns"] if tables else list(data)
            assert [column.lower() for column in columns] == [
                column.lower().translate(str.maketrans(" /", "__")) for column in header.split(",")
            ]


UNPUBLISHED = {"REALTIME_OPTIONS_FMV"}
"""Tools whose fields the vendor does not publish; what the mock API answers there is a guess."""


def shape_of(data: Any) -> tuple[dict[str, list[str]], set[str]]:
    """Return the columns of an answer's tables by name, and the names of its other fields."""
    if "row_count" in data:
        return {"rows": data["columns"]}, set(data.get("meta", {}))
    if "tables" in data:
        return {name: table["columns"] for name, table in data["tables"].items()}, set(data.get("meta", {}))
    return {}, set(data)


# F9
@pytest.mark.bulk
@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_returns_names_what_select_sees(tools: MetaTools, catalog: Catalog, name: str) -> None:
    tool = tool_of(catalog, name)
    tables, fields = shape_of(answered(tools, name))
    named = re.sub(r"\[[^\]]*\]|with require_greeks also ", "", tool.returns).split("; ")  # without members of members
    described = {key: part.split(": ", 1)[1].split(",") for part in named for key in part.split(": ")[0].split(", ")}
    if name in UNPUBLISHED or name.startswith("ANALYTICS_"):  # their columns depend on the arguments
        assert all(field in tool.returns for field in fields)
        return
    meta = {*described.pop("meta", ()), *described.pop("fields", ())}
    assert {key: set(columns) for key, columns in described.items()} == {
        key: set(columns) for key, columns in tables.items()
    }
    assert meta == fields or "csv" in tool.formats
