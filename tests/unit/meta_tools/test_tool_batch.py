"""TOOL_BATCH: several calls in one, each with its own result or error."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.meta_tools import error, tokens
from tests.support.request_time import end_requests_after
from tests.support.upstream import Reply, Upstream, quote_reply
from toolfold.client_call import Clock
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.plan import Plan
from toolfold.meta_tools.result import Result
from toolfold.mock_api.server import MockApi

QUOTE, DAILY = "GLOBAL_QUOTE", "TIME_SERIES_DAILY"


def quote(symbol: str, **more: Any) -> dict[str, Any]:
    return {"id": symbol, "tool_name": QUOTE, "arguments": {"symbol": symbol}, **more}


def daily(symbol: str, **more: Any) -> dict[str, Any]:
    return quote(symbol, tool_name=DAILY, **more)


def batch(tools: MetaTools, calls: Any, **more: Any) -> Result:
    return tools.call("TOOL_BATCH", {"calls": calls, **more})


def test_results_are_in_order_with_their_ids(tools: MetaTools) -> None:
    result = batch(tools, [quote("MSFT"), {"tool_name": "CPI", "select": "last 1"}, quote("AAPL", select="price")])
    found = result.structured["results"]
    assert [one["id"] for one in found] == ["MSFT", "c2", "AAPL"]
    alone = tools.call("TOOL_CALL", {"tool_name": QUOTE, "arguments": {"symbol": "MSFT"}}).structured
    assert found[0]["result"] == alone["result"]
    assert {"cached", "source", "upstream_ms", "alternatives", "reasoning"} <= found[0].keys()
    assert list(found[2]["result"]) == ["price"]
    assert result.structured["summary"] == {"total": 3, "succeeded": 3, "failed": 0, "skipped": 0}
    assert result.structured["continue"] is None
    assert all(one["elapsed_ms"] > 0 for one in found)
    calls = [{"tool_name": "CPI"}, {"id": "c1", "tool_name": "CPI"}, {"id": 7, "tool_name": "CPI"}]
    assert [one["id"] for one in batch(tools, calls, select="last 1").structured["results"]] == ["c2", "c1", "7"]
    for select in ("close > 1.5 and open > 2.5; last 1", "SELECT * FROM data ORDER BY date DESC LIMIT 1"):
        named = batch(tools, [daily("AAPL", id="1"), daily("MSFT", id="2")], select=select).structured["results"]
        assert [one["result"]["rows"][0][0] for one in named] == ["2026-01-13"] * 2  # a number names no result


@pytest.mark.parametrize(
    ("calls", "parallel", "skipped", "sent"),
    [
        ([quote("AAPL"), {"id": "bad", "tool_name": "NO_SUCH"}, quote("MSFT")], 8, [False, False, True], 1),
        # One after the other: not even an answer that is in memory follows.
        ([quote("NOSUCH1"), quote("KO"), quote("PEP")], 1, [False, True, True], 1),
    ],
)
def test_with_stop_on_error_nothing_follows_a_failure(
    tools: MetaTools, mock_api: MockApi, calls: list[Any], parallel: int, skipped: list[bool], sent: int
) -> None:
    batch(tools, [quote("KO")])
    mock_api.clear_requests()
    found = batch(tools, calls, stop_on_error=True, max_parallel=parallel).structured
    assert [one.get("skipped", False) for one in found["results"]] == skipped
    assert (found["summary"]["failed"], found["summary"]["skipped"]) == (1, sum(skipped))
    assert len(mock_api.requests) == sent


@pytest.mark.parametrize(
    "given",
    [
        {"tool_name": "TOOL_BATCH", "arguments": {"calls": [quote("AAPL")]}},
        {"tool_name": "tool_batch", "calls": [quote("AAPL")]},
        {"tool_name": "TOOL_BATCH", "arguments": json.dumps({"calls": [quote("AAPL")]})},
        {"tool_name": "TOOL_BATCH", "arguments": {"calls": json.dumps([quote("AAPL")])}},
        {"tool_name": "TOOL_BATCH", "arguments": {"call": [quote("AAPL")], "tokens": 400}},
        {"tool_name": "TOOL_BATCH", "arguments": {"requests": [{"id": "AAPL", "name": QUOTE, "symbol": "AAPL"}]}},
        {
            "tool_name": "TOOL_BATCH",
            "arguments": {
                "commands": [{"id": "AAPL", "command": QUOTE, "input": {"symbol": "AAPL"}}],
                "options": {"stopOnError": True, "parallelism": 2},
            },
        },
    ],
)
def test_batch_is_called_through_tool_call_in_any_form(tools: MetaTools, given: dict[str, Any]) -> None:
    result = tools.call("TOOL_CALL", given)
    assert [one["id"] for one in result.structured["results"]] == ["AAPL"]
    assert result.structured["results"][0]["result"]["symbol"] == "AAPL"


def test_failed_calls_stand_beside_the_others(tools: MetaTools) -> None:
    inspected, second = batch(tools, [quote("AAPL", inspect=True), quote("KO", inspect=False)]).structured["results"]
    assert (inspected["error"]["message"].startswith("inspect is for a TOOL_CALL"), second["ok"]) == (True, True)
    calls = [quote("AAPL"), quote("NOSUCH1"), {"tool_name": "NO_SUCH"}, 7, {"id": "x", "tool_name": "TOOL_LIST"}]
    calls.append({"tool_name": "SMA", "arguments": {"symbol": "IBM", "interval": "weely"}})
    # References between calls belong to a pipe.
    values = ({"$ref": "AAPL.symbol"}, "{{AAPL.symbol}}", "prev.rows[0].symbol")
    referring = batch(tools, [quote("AAPL"), *(quote(f"r{n}", arguments={"symbol": v}) for n, v in enumerate(values))])
    assert ["TOOL_PIPE" in one["error"]["suggestion"] for one in referring.structured["results"][1:]] == [True] * 3
    result = batch(tools, calls)
    assert not result.is_error
    assert [one.get("error", {}).get("code") for one in result.structured["results"]] == [
        None, "NO_DATA", "TOOL_NOT_FOUND", "INVALID_ARGUMENTS", "INVALID_ARGUMENTS", "INVALID_ARGUMENTS",
    ]  # fmt: skip
    assert result.structured["summary"] == {"total": 6, "succeeded": 1, "failed": 5, "skipped": 0}
    assert result.text.startswith("# 1 of 6 calls succeeded, 5 failed\n")
    assert "TOOL_CALL" in result.structured["results"][5]["error"]["next_call"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "calls is missing"),
        ({"calls": []}, "calls has 0 items"),
        ({"calls": [], "continue": "x"}, "the token in continue is not one of TOOL_BATCH and this caller"),
        ({"calls": 5}, "calls must be an array, not a number (5): array of 1 to 50 values"),
        ({"calls": [{}] * 10_000}, "calls has 10,000 items: array of 1 to 50 values"),
        ({"calls": [quote("A"), quote("A")]}, "'A' is the name of two calls, 0 and 1"),
        ({"calls": [quote("x" * 65)]}, "cannot be the name of a call"),
        ({"calls": [quote("AAPL")], "max_parallel": 17}, "max_parallel 17 is too large"),
        ({"calls": [quote("AAPL")], "stop_on_error": "perhaps"}, "stop_on_error must be true or false"),
        ({"calls": [quote("AAPL")], "paralel": 3}, "paralel is not a parameter of this tool"),
        ({"calls": [quote("AAPL")], "join": {"on": "date", "how": "left"}}, "join must be a string"),
        ({"calls": [quote("AAPL")], "join": 5}, "join must be a string"),
        ({"continue": "nonsense"}, "the token in continue is not one of TOOL_BATCH and this caller"),
        ({"continue": 7}, "continue must be a string"),
        ({"calls": [quote("AAPL", select="price")], "select": "top 1"}, "Each call has a select of its own"),
    ],
)
def test_batch_that_cannot_be_read_sends_nothing(
    tools: MetaTools, mock_api: MockApi, arguments: dict[str, Any], said: str
) -> None:
    mock_api.clear_requests()
    found = error(tools.call("TOOL_BATCH", arguments))
    assert (found["code"], said in found["message"]) == ("INVALID_ARGUMENTS", True), found["message"]
    assert mock_api.requests == []


def test_list_in_a_call_of_a_batch_is_a_table_and_counts_each_value(tools: MetaTools) -> None:
    (csv,) = batch(tools, [daily("IBM", arguments={"symbol": "IBM", "datatype": "csv"})]).structured["results"]
    assert csv["result"]["columns"][0] == "timestamp"
    assert csv["notes"] == ["datatype was left out: answers of several calls have one form."]
    lists = {"id": "many", "tool_name": QUOTE, "arguments": {"symbol": ["AAPL", "MSFT"]}}
    found = batch(tools, [lists, quote("IBM")]).structured["results"]
    assert [row[0] for row in found[0]["result"]["rows"]] == ["AAPL", "MSFT"]
    over = {"tool_name": QUOTE, "arguments": {"symbol": [f"A{number}" for number in range(50)]}}
    (_, refused) = batch(tools, [{"tool_name": "CPI", "select": "last 1"}, over]).structured["results"]
    assert "more than 50 calls, each value of a list counted" in refused["error"]["message"]


def test_answers_of_one_form_are_one_table_of_text(tools: MetaTools) -> None:
    result = batch(tools, [quote("AAPL"), quote("MSFT"), quote("NOSUCH1")])
    lines = result.text.splitlines()
    assert lines[0] == "# 2 of 3 calls succeeded, 1 failed"
    assert lines[1].startswith("id,symbol,open,")
    assert lines[2].startswith("AAPL,AAPL,")
    assert lines[4] == "# NOSUCH1 failed"
    assert json.loads(lines[5])["error"]["code"] == "NO_DATA"


def test_budget_of_tokens_is_shared(tools: MetaTools) -> None:
    limited = [daily("AAPL", max_tokens=500), daily("MSFT", max_tokens=500)]
    assert tokens(batch(tools, limited).text) <= 1_000
    calls = [daily("AAPL"), quote("MSFT"), daily("IBM"), {"id": "cpi", "tool_name": "CPI", "select": "last 1"}]
    result = batch(tools, calls, max_tokens=1500)
    assert tokens(result.text) <= 1700
    first, quoted, third, last = result.structured["results"]
    assert "preview" not in quoted
    assert "preview" not in last
    assert abs(first["preview"]["rows_shown"] - third["preview"]["rows_shown"]) <= 1
    assert first["preview"]["rows_shown"] >= 3


@pytest.mark.parametrize("join", [{"join": "date"}, {}])
def test_results_are_joined_by_date(tools: MetaTools, join: dict[str, str]) -> None:
    result = batch(tools, [daily("AAPL"), daily("MSFT")], **join, select="AAPL_close, MSFT_close; last 2")
    alone = [
        tools.call("TOOL_CALL", {"tool_name": DAILY, "arguments": {"symbol": one}, "select": "close; last 2"})
        for one in ("AAPL", "MSFT")
    ]
    assert result.structured["result"]["columns"] == ["timestamp", "AAPL_close", "MSFT_close"]
    columns = [[row[1] for row in one.structured["result"]["rows"]] for one in alone]
    assert [list(row[1:]) for row in result.structured["result"]["rows"]] == [
        list(row) for row in zip(*columns, strict=True)
    ]
    assert all("result" not in one for one in result.structured["results"])


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ("AAPL_close / CPI_value as ratio", ["timestamp", "ratio"]),
        ("AAPL.close, CPI.value", ["timestamp", "AAPL_close", "CPI_value"]),
        ("AAPL.close, open, CPI_value", ["timestamp", "AAPL_close", "AAPL_open", "CPI_value"]),
    ],
)
def test_column_may_be_named_with_its_call(tools: MetaTools, select: str, columns: list[str]) -> None:
    calls = [daily("AAPL"), {"id": "CPI", "tool_name": "CPI"}]
    result = batch(tools, calls, select=f"{select}; last 1").structured["result"]
    assert (result["columns"], result["rows"][0][0]) == (columns, "2025-12-01")
    steps = [{"as": call.pop("id"), **call} for call in calls]
    steps.append({"join": ["AAPL", "CPI"], "select": f"{select}; last 1"})
    assert tools.call("TOOL_PIPE", {"steps": steps}).structured["result"] == result


def test_notes_of_results_are_those_of_their_table(tools: MetaTools) -> None:
    calls = [
        daily("AAPL", select="max(close)"),
        {**quote("AAPL"), "id": "q", "arguments": {"symbol": ["KO", "NOSUCH1"]}},
    ]
    text = batch(tools, calls, select="SELECT count(*) AS n FROM AAPL, q").text
    assert [line.split(".")[0] for line in text.splitlines()[:2]] == [
        "# Computed from the 100 rows since 2025-08-25",
        "# NOSUCH1 failed: NO_DATA",
    ]


@pytest.mark.parametrize(
    ("more", "rows"),
    [
        ({"select": "SELECT count(*) FROM AAPL JOIN MSFT USING (date) WHERE AAPL.date >= '2020-01-01'"}, [[1562]]),
        ({"join": "date", "select": "2020; AAPL_close; last 1"}, [["2020-12-31", 186.09]]),
    ],
)
def test_results_have_the_rows_that_their_select_requests(
    tools: MetaTools, more: dict[str, Any], rows: list[Any]
) -> None:
    result = batch(tools, [daily("AAPL"), daily("MSFT")], **more)
    assert result.structured["result"]["rows"] == rows
    assert result.text.startswith('# outputsize "full" was used')
    steps = [{"as": call.pop("id"), **call} for call in (daily("AAPL"), daily("MSFT"))]
    on = {"on": more["join"]} if "join" in more else {}
    joined = {"join": ["AAPL", "MSFT"], "select": more["select"], **on}
    assert tools.call("TOOL_PIPE", {"steps": [*steps, joined]}).structured["result"]["rows"] == rows


@pytest.mark.parametrize("select", ["top 1 by close", "max(close) by symbol", "AAPL_close - MSFT_close as gap; last 1"])
def test_select_of_a_batch_is_that_of_each_call(tools: MetaTools, select: str) -> None:
    given = {"id": "a", "tool_name": DAILY, "arguments": {"symbol": ["AAPL", "MSFT"]}}
    of_all, own = batch(tools, [given], select=select), batch(tools, [{**given, "select": select}])
    assert of_all.structured["results"][0]["result"] == own.structured["results"][0]["result"]


QUOTES = [quote("AAPL"), quote("MSFT"), quote("IBM")]
STATEMENTS = [
    {"id": name, "tool_name": name, "arguments": {"symbol": "IBM"}} for name in ("CASH_FLOW", "BALANCE_SHEET")
]


@pytest.mark.parametrize(
    ("calls", "select", "column", "cells"),
    [
        # Single things are ranked together.
        (QUOTES, "top 1 by price", "id", ["MSFT"]),
        (QUOTES, "order by price", "id", ["AAPL", "IBM", "MSFT"]),
        (QUOTES, "price > 200; last 1", "id", ["IBM"]),
        (QUOTES, "SELECT id FROM data ORDER BY price DESC LIMIT 1", "id", ["MSFT"]),
        # The id of a call is its table alone, and names its columns and tables, in quotes as well.
        ([daily("AAPL", id="data"), daily("MSFT")], "SELECT count(*) AS n FROM data", "n", [100]),
        ([daily("AAPL", id="A-1"), daily("MSFT", id="B 2")], '"A-1_close" / "B 2.close" as ratio; last 1',
         "timestamp", ["2026-01-13"]),
        (STATEMENTS, 'SELECT 1 AS n FROM "CASH_FLOW.annualReports" LIMIT 1', "n", [1]),
        # Single rows are side by side.
        ([quote("KO", select="price"), quote("MSFT", select="price")],
         "SELECT KO.price < MSFT.price AS n FROM KO, MSFT", "n", [1]),
        (QUOTES[:2], "MSFT.price - AAPL.price as gap", "latestDay", ["2026-01-13"]),
    ],
)  # fmt: skip
def test_select_of_results_is_over_all_of_them(
    tools: MetaTools, calls: list[Any], select: str, column: str, cells: list[Any]
) -> None:
    result = batch(tools, calls, select=select).structured["result"]
    assert [row[result["columns"].index(column)] for row in result["rows"]] == cells


def test_sql_reads_results_by_their_ids(tools: MetaTools) -> None:
    calls = [{**daily("AAPL"), "id": "a"}, {**daily("MSFT"), "id": "m"}]
    for first, order in (("a.date", "1"), ("a.date", "date"), ("date", "date")):
        sql = f"SELECT {first}, a.close - m.close AS spread FROM a JOIN m USING (date) ORDER BY {order} DESC LIMIT 2"
        found = batch(tools, calls, select=sql).structured["result"]
        assert (found["row_count"], found["rows"][0][0]) == (2, "2026-01-13")
    each = batch(tools, calls, select="SELECT max(close) FROM data").structured["results"]
    assert all(one["result"]["row_count"] == 1 for one in each)


@pytest.mark.parametrize(
    ("calls", "more", "said"),
    [
        (QUOTES[:2], {"join": "colour"}, "has no column colour"),
        (QUOTES[:2], {"select": "SELECT nothing_here FROM AAPL"}, "nothing_here"),
        ([daily("AAPL"), daily("MSFT")], {"join": "date", "select": "no_such_column"}, "no_such_column"),
        ([daily("AAPL"), daily("NOSUCH1")], {"join": "date"}, "at least two"),
        ([quote("NOSUCH1", id="a"), quote("AAPL", id="b")], {"select": "SELECT a.price, b.price FROM a, b"},
         "Of a there is no answer: see results."),
    ],
)  # fmt: skip
def test_results_that_cannot_be_put_together_say_why(
    tools: MetaTools, calls: list[Any], more: dict[str, Any], said: str
) -> None:
    found = error(batch(tools, calls, **more))
    assert (found["code"], said in f"{found['message']} {found['suggestion']}") == ("INVALID_ARGUMENTS", True), found
    assert [one["ok"] for one in found["results"]] == ["NOSUCH1" not in str(call) for call in calls]


def _slow(release: threading.Event) -> Callable[[dict[str, str]], Reply]:
    def reply(query: dict[str, str]) -> Reply:
        if query["symbol"].startswith("SLOW"):
            release.wait(60)
        return quote_reply(query)

    return reply


def test_machine_that_stalls_after_the_last_response_loses_no_answer(
    make_tools: Callable[..., MetaTools], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stall(plan: Plan, *given: Any) -> None:
        finish(plan, *given)
        plan.budget.deadline = min(plan.budget.deadline, time.monotonic())

    finish = Plan._finish
    monkeypatch.setattr(Plan, "_finish", stall)
    found = batch(make_tools(), [quote("IBM"), quote("AAPL")])
    assert found.structured["summary"]["succeeded"] == 2


def test_rest_of_a_batch_is_performed_with_its_token(
    make_tools: Callable[..., MetaTools], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    with Upstream(_slow(release)) as upstream:
        tools = make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=upstream.url)
        calls = [quote("OK1"), *(quote(f"SLOW{number}") for number in range(10)), quote("OK2")]
        with monkeypatch.context() as patch:
            end_requests_after(patch, answers=1)
            first = batch(tools, calls, max_parallel=4)
        release.set()
        token = first.structured["continue"]
        assert first.structured["results"][0]["ok"]
        assert first.structured["summary"]["skipped"] == 11
        assert f'{{"continue":"{token}"}}' in first.text
        second = tools.call("TOOL_CALL", {"tool_name": "TOOL_BATCH", "arguments": {"continue": token}})
        ids = [one["id"] for one in second.structured["results"]]
        assert ids == [call["id"] for call in calls[1:]]
        assert second.structured["summary"]["succeeded"] == 11
        assert second.structured["continue"] is None
        other = RequestCredentials(x_api_key="another")
        for wrong, credentials in ((token[:-1], NO_CREDENTIALS), ("A" + token, NO_CREDENTIALS), (token, other)):
            refused = error(tools.call("TOOL_BATCH", {"continue": wrong}, credentials))["message"]
            assert "not one of TOOL_BATCH and this caller" in refused
        of_batch = error(tools.call("TOOL_PIPE", {"continue": token}))
        assert "not one of TOOL_PIPE" in of_batch["message"]
        clock = tools.executor.services.clock
        tools.executor.services.kept_requests._clock = Clock(lambda: clock.now() + 901)
        assert "has expired" in error(tools.call("TOOL_BATCH", {"continue": token}))["message"]


def test_call_that_takes_all_the_time_is_not_left_for_ever(
    make_tools: Callable[..., MetaTools], monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    with Upstream(_slow(release)) as upstream:
        tools = make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=upstream.url)
        with monkeypatch.context() as patch:
            end_requests_after(patch, answers=1)
            first = batch(tools, [quote("OK1"), quote("SLOW1")]).structured
        given = {"continue": first["continue"]}
        second = tools.call("TOOL_BATCH", given, deadline=time.monotonic() + 1).structured
        release.set()
    assert [(one["summary"]["skipped"], one["summary"]["failed"]) for one in (first, second)] == [(1, 0), (0, 1)]
    assert second["continue"] is None
    assert second["results"][0]["error"]["code"] == "UPSTREAM_TIMEOUT"
