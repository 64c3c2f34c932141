"""TOOL_CALL: how it may be called, the forms of its answers, what it describes, and long answers in turn."""

import contextlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.meta_tools import call, error, tokens
from tests.support.threads import run_concurrently
from toolfold.errors import AnswerTooLarge
from toolfold.execution.call import CallResult
from toolfold.execution.credentials import NO_CREDENTIALS
from toolfold.meta_tools.answer_reader import LARGE_CHARS
from toolfold.meta_tools.dispatcher import MetaRequest, MetaTools
from toolfold.meta_tools.plan import Plan
from toolfold.meta_tools.result import dumps_compact
from toolfold.mock_api.server import MockApi


def test_result_without_datatype_has_typed_values(tools: MetaTools) -> None:
    quote = call(tools, "GLOBAL_QUOTE", {"symbol": "AAPL"})
    assert list(quote.structured["result"]) == [
        "symbol", "open", "high", "low", "price", "volume", "latestDay", "previousClose", "change", "changePercent",
    ]  # fmt: skip
    assert isinstance(quote.structured["result"]["price"], float)
    assert json.loads(quote.text) == quote.structured["result"]
    series = call(tools, "TIME_SERIES_WEEKLY_ADJUSTED", {"symbol": "IBM"}, select="timestamp,adjusted close; last 2")
    assert series.text.startswith("timestamp,adjusted_close\n2026-01-")
    assert [type(cell) for cell in series.structured["result"]["rows"][0]] == [str, float]


@pytest.mark.parametrize(
    ("name", "arguments", "form"),
    [
        ("GLOBAL_QUOTE", {"symbol": "AAPL", "datatype": "csv"}, str),
        ("GLOBAL_QUOTE", {"symbol": "AAPL", "datatype": "JSON"}, dict),
        ("MARKET_STATUS", {"datatype": "json"}, dict),
        ("IPO_CALENDAR", {"datatype": "csv"}, str),
    ],
)
def test_result_with_datatype_is_the_upstreams(tools: MetaTools, name: str, arguments: Any, form: type) -> None:
    result = call(tools, name, arguments)
    assert isinstance(result.structured["result"], form)
    assert "columns" not in result.structured["result"]
    assert result.text == (result.structured["result"] if form is str else dumps_compact(result.structured["result"]))


@pytest.mark.parametrize(
    "own",
    [
        {"select": "clsoe"}, {"select": 7}, {"select": "max(close"}, {"max_tokens": True}, {"fresh": "perhaps"},
    ],
)  # fmt: skip
def test_invalid_option_is_rejected_before_a_request_is_sent(tools: MetaTools, mock_api: MockApi, own: Any) -> None:
    before = len(mock_api.requests)
    assert error(call(tools, "TIME_SERIES_DAILY", {"symbol": "KO"}, **own))["code"] == "INVALID_ARGUMENTS"
    # Whether there is such a column only the answer says.
    assert (len(mock_api.requests) == before) == (own != {"select": "clsoe"})


def test_fresh_bypasses_the_cache(tools: MetaTools, mock_api: MockApi) -> None:
    arguments = {"symbol": "IBM"}
    call(tools, "GLOBAL_QUOTE", arguments)
    before = len(mock_api.requests)
    assert call(tools, "GLOBAL_QUOTE", arguments, fresh=True).structured["cached"] is False
    assert len(mock_api.requests) == before + 1


def test_answer_over_the_token_budget_is_a_preview(make_tools: Callable[..., MetaTools], tmp_path: Path) -> None:
    tools = make_tools(TOOLFOLD_MAX_TOKENS="1000", TOOLFOLD_MAX_TOKENS_CEILING="2000", TOOLFOLD_OFFLOAD=str(tmp_path))
    arguments = {"symbol": "IBM", "outputsize": "full"}
    for asked, budget in ((None, 1000), (10**6, 2000)):
        result = call(tools, "TIME_SERIES_DAILY_ADJUSTED", arguments, max_tokens=asked)
        assert 0.7 * budget < tokens(result.text) <= 1.1 * budget
        assert Path(result.structured["preview"]["full"]["path"]).stat().st_size > 300_000
    kept = list(tmp_path.iterdir())
    off = make_tools(TOOLFOLD_MAX_TOKENS="1000", TOOLFOLD_OFFLOAD="off")
    assert set(call(off, "TIME_SERIES_DAILY_ADJUSTED", arguments).structured["preview"]["full"]) == {"tokens"}
    assert list(tmp_path.iterdir()) == kept


@pytest.mark.parametrize("arguments", ['{"symbol": ', "[1]", 7, '{"a":' + "9" * 5000 + "}"])
def test_arguments_of_another_type_are_rejected_with_the_call_or_the_schema(tools: MetaTools, arguments: Any) -> None:
    found = error(call(tools, "GLOBAL_QUOTE", arguments))
    assert found["code"] == "INVALID_ARGUMENTS"
    has_schema = "symbol" in found.get("schema", {}).get("properties", {})
    assert has_schema != ("next_call" in found)


@pytest.mark.parametrize(
    ("name", "arguments", "filled"),
    [
        ("GLOBAL_QUOTE", None, ["symbol"]),
        ("GLOBAL_QUOTE", {"ticker": "AAPL"}, []),
        ("TIME_SERIES_DAILY", {"symbol": "AAPL", "datatype": "csv"}, []),
        ("SMA", {"symbol": "AAPL"}, ["interval", "time_period", "series_type"]),
        ("INCOME_STATEMENT", None, ["symbol"]),
    ],
)
def test_inspect_describes_a_real_answer(
    tools: MetaTools, mock_api: MockApi, name: str, arguments: Any, filled: list[str]
) -> None:
    mock_api.clear_requests()
    result = call(tools, name, arguments, inspect=True)
    assert len(mock_api.requests) == 1
    found = result.structured["result"]
    assert found["from_example"] == filled
    jsonschema.Draft202012Validator.check_schema(found["schema"])
    jsonschema.validate(found["first_rows"], found["schema"])
    for table, counts in found["counts"]["tables"].items():
        assert len(found["first_rows"][table]) == min(3, counts["rows"])


def test_inspect_is_read_from_text_and_refused_otherwise(tools: MetaTools) -> None:
    several = {"symbol": ["IBM", "MSFT"]}
    assert call(tools, "GLOBAL_QUOTE", several, inspect=True).structured["result"]["arguments"] == several
    assert "schema" in call(tools, "CPI", inspect="true").structured["result"]
    assert "schema" not in call(tools, "CPI", inspect=False, select="last 1").structured["result"]
    assert "inspect must be true or false" in error(call(tools, "CPI", inspect="perhaps"))["message"]


def test_metadata_is_in_the_structured_answer_alone(tools: MetaTools) -> None:
    first = call(tools, "GLOBAL_QUOTE", {"symbol": "AAPL"})
    again = call(tools, "GLOBAL_QUOTE", {"symbol": "AAPL"})
    sent, cached = first.structured, again.structured
    assert (sent["upstream_requests"], sent["cached"]) == (1, False)
    assert sent["elapsed_ms"] >= sent["upstream_ms"] > 0
    assert (cached["upstream_requests"], cached["upstream_ms"], cached["cached"]) == (0, 0, True)
    assert sent["source"] == "alpha_vantage"
    assert sent["alternatives"]
    assert ("warnings" in sent, sent["reasoning"]) == (False, "From 1 request to the source.")
    assert cached["reasoning"] == "From the cache."
    assert first.text == again.text
    assert tokens(first.text) < 90
    preview = call(tools, "TIME_SERIES_DAILY", {"symbol": "AAPL"}, max_tokens=500)
    assert any("left out" in warning for warning in preview.structured["warnings"])
    both = call(tools, "GLOBAL_QUOTE", {"symbol": ["IBM", "MSFT"]})
    assert both.structured["upstream_requests"] == 2


@pytest.mark.parametrize("name", ["TOOL_PIPE", "TOOL_SCRIPT", "TOOL_CALL"])
def test_meta_tools_are_described(tools: MetaTools, name: str) -> None:
    (entry,) = tools.call("TOOL_GET", {"tool_name": name}).structured["tools"]
    assert entry["parameters"]["type"] == "object"
    (known,) = tools.call("TOOL_GET", {"tool_name": name, "known": {name: entry["hash"]}}).structured["tools"]
    assert known["unchanged"] is True


Open = Callable[..., Plan]


@pytest.fixture
def turns(tools: MetaTools) -> threading.Semaphore:
    return tools.executor.services.large_answer_turns


@pytest.fixture
def session(tools: MetaTools) -> Open:
    def open_session(deadline: float | None = None) -> Plan:
        return Plan(MetaRequest(tools, tools.catalog(), {}, NO_CREDENTIALS, deadline))

    return open_session


def begin(plan: Plan, chars: int) -> None:
    """Begin to shape an answer of so many characters."""
    tool = plan.catalog.get("GLOBAL_QUOTE")
    assert tool is not None
    plan.begin_shaping(tool, CallResult("x" * chars, "text", False, 0, {}))


def test_large_answers_are_shaped_one_at_a_time(session: Open) -> None:
    running, most = 0, 0

    def shape() -> None:
        nonlocal running, most
        with contextlib.closing(session()) as calls:
            begin(calls, LARGE_CHARS + 1)
            running += 1
            most = max(most, running)
            time.sleep(0.01)
            running -= 1

    run_concurrently([shape] * 8)
    assert most == 1


def test_small_answers_of_one_call_wait_once_they_are_large_together(session: Open, turns: threading.Semaphore) -> None:
    with contextlib.closing(session()) as calls:
        begin(calls, LARGE_CHARS)
        assert turns.acquire(blocking=False)  # a small one needs no turn
        turns.release()
        begin(calls, 1)
        begin(calls, LARGE_CHARS)  # a call waits for one turn only
        assert not turns.acquire(blocking=False)
    assert turns.acquire(blocking=False)


def test_waiting_ends_at_the_deadline(session: Open, turns: threading.Semaphore) -> None:
    turns.acquire()
    with pytest.raises(AnswerTooLarge, match="others"):
        begin(session(time.monotonic() + 0.05), LARGE_CHARS + 1)
    turns.release()


def test_turn_is_given_back_after_a_failure(session: Open, turns: threading.Semaphore) -> None:
    for _ in range(2):
        with contextlib.suppress(KeyError), contextlib.closing(session()) as calls:
            begin(calls, LARGE_CHARS + 1)
            raise KeyError
    assert turns.acquire(blocking=False)
