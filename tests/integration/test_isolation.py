"""Nothing that one caller chooses changes what another is answered, waits for, or may still call; over real HTTP."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.catalogs import tool_of
from tests.support.clocks import Clock
from tests.support.cpu_time import ends_within
from tests.support.executor import BUSY, Calls, Make
from tests.support.upstream import Reply, Upstream, notice
from toolfold.catalog.model import Catalog
from toolfold.errors import UpstreamError
from toolfold.execution.call import CallContext
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.execution.pipeline import run_call
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.settings import Settings

HONEST = "HONESTKEY0123456"
OPERATOR = "OPERATORKEY98765"

CSV_ROWS = "timestamp,value\n2024-03-01,81.5\n2024-02-01,77.25\n"
OVERVIEW = {"Symbol": "IBM", "Name": "International Business Machines", "Sector": "TECHNOLOGY", "PERatio": "22.5"}


def honest_reply(query: dict[str, str]) -> Reply:
    """Return what the upstream sends to every key that it knows."""
    if query.get("symbol") == "NONE":
        return 200, {}, b"{}"
    if query.get("symbol") == "BUSY":
        return BUSY
    if query["function"] == "OVERVIEW":
        return 200, {}, json.dumps({**OVERVIEW, "Symbol": query["symbol"]}).encode()
    if query["function"] == "GLOBAL_QUOTE":
        return 200, {}, json.dumps({"Global Quote": {"01. symbol": query["symbol"], "05. price": "81.5"}}).encode()
    if query["function"].startswith("TIME_SERIES"):
        return 200, {}, b"timestamp,open,high,low,close,volume\n2024-03-01,1,2,0.5,1.5,12345678\n"
    return 200, {}, CSV_ROWS.encode()


ECHOES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "url": lambda key: quote(key, safe=""),
    "base64": lambda key: base64.b64encode(b"user:" + key.encode()).decode(),
}
"""How a key may be repeated; ``tests/unit/test_redaction.py`` has all encodings."""


def echo(encode: Callable[[str], str]) -> Callable[[dict[str, str]], Reply]:
    """Return an upstream that adds the key to its data."""

    def reply(query: dict[str, str]) -> Reply:
        status, headers, body = honest_reply(query)
        text, shown = body.decode(), encode(query["apikey"])
        if text.startswith("{"):
            return status, headers, text.replace("{", f'{{"{shown}": "{shown}", ', 1).replace(", }", "}").encode()
        return status, headers, f"{text}{shown},81.5{',' * (text.partition(chr(10))[0].count(',') - 1)}\n".encode()

    return reply


OTHER_DATA = {
    "message": b'{"message": "Your key is not known here.", "status": 403}',
    "other data": b'{"welcome": {"text": "hello"}}',
}


class TestSharing:
    @pytest.mark.parametrize("name", ECHOES)
    @pytest.mark.parametrize("tool", ["WTI", "COMPANY_OVERVIEW"])
    def test_an_answer_that_repeats_a_key_is_kept_for_that_key(
        self, calls: Calls, upstream: Upstream, name: str, tool: str
    ) -> None:  # R1, R13
        hostile = "hostile/KEY+0123"
        upstream.replies = [lambda query: (honest_reply if query["apikey"] == HONEST else echo(ECHOES[name]))(query)]
        arguments = {"symbol": "IBM"} if tool == "COMPANY_OVERVIEW" else {}
        first = calls(tool, key=hostile, **arguments)
        assert first.redactor.appears_in(first.body)
        assert not first.redactor.appears_in(first.redactor.redact_text(first.body))
        assert calls(tool, key=hostile, **arguments).cached
        honest = calls(tool, key=HONEST, **arguments)
        assert not honest.cached
        assert not first.redactor.appears_in(honest.body)
        if tool == "WTI":  # shared between keys
            assert calls(tool, key=hostile, **arguments).body == honest.body  # what is newer

    def test_the_operators_key_is_found_in_an_answer_to_another_key(
        self, catalog: Catalog, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", OPERATOR)
        upstream.replies = [(200, {}, f"timestamp,value\n{OPERATOR},1\n".encode())]
        executor = ToolExecutor(Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream.url}))
        tool = tool_of(catalog, "WTI")
        result = run_call(executor, CallContext(catalog, tool, {}, RequestCredentials("SOMEOTHERKEY1234")))
        assert OPERATOR in result.body
        assert OPERATOR not in result.redactor.redact_text(result.body)
        assert not run_call(executor, CallContext(catalog, tool, {}, RequestCredentials(HONEST))).cached

    @pytest.mark.parametrize("body", OTHER_DATA.values(), ids=OTHER_DATA.keys())
    def test_what_is_not_the_tools_data_is_not_shared(self, calls: Calls, upstream: Upstream, body: bytes) -> None:
        upstream.replies = [lambda query: honest_reply(query) if query["apikey"] == HONEST else (200, {}, body)]
        with suppress(UpstreamError):
            calls("WTI", key="HOSTILEKEY0000000")
        assert calls("WTI", key=HONEST).body == CSV_ROWS


class TestWaiting:
    def test_no_caller_waits_for_the_equal_call_of_another(self, calls: Calls, upstream: Upstream) -> None:
        with blocked(upstream) as started:
            hostile = threading.Thread(target=calls, kwargs={"key": "HOSTILEKEY0000000"})
            hostile.start()
            assert started.wait(60)
            with ends_within(0):
                assert calls(key=HONEST).body
        hostile.join()

    def test_a_queue_of_one_key_does_not_delay_another(self, make: Make, upstream: Upstream, clock: Clock) -> None:
        calls = make(REQUESTS_PER_SECOND="1")
        for tool in ("CPI", "WTI", "COPPER"):
            calls(tool, key="HOSTILEKEY0000000")
        slept = len(clock.slept)
        assert slept
        calls("COPPER", key=HONEST, bypass_cache=True)
        assert len(clock.slept) == slept


@contextmanager
def blocked(upstream: Upstream) -> Iterator[threading.Event]:
    """Let calls wait, other than those of one key."""
    started, may_end = threading.Event(), threading.Event()

    def reply(query: dict[str, str]) -> Reply:
        if query["apikey"] != HONEST:
            started.set()
            may_end.wait(60)
        return honest_reply(query)

    upstream.replies = [reply]
    try:
        yield started
    finally:
        may_end.set()


class TestFailures:
    @pytest.mark.parametrize(("encode", "repeated"), [(str, "25"), (quote, "25"), (str, "25? Here 25")])
    def test_a_refusal_that_repeats_an_argument_blocks_no_key(
        self, calls: Calls, upstream: Upstream, encode: Callable[[str], str], repeated: str
    ) -> None:
        text = "our standard API rate limit is 25 requests per day"
        said = notice(f"Unknown symbol: {text.replace('25', repeated)}.")
        upstream.replies = [lambda query: honest_reply(query) if query["symbol"] == "IBM" else said]
        assert calls.error("TIME_SERIES_WEEKLY", symbol=encode(text)).code == "UPSTREAM_ERROR"
        assert calls("TIME_SERIES_WEEKLY", symbol="IBM").body

    def test_a_key_in_a_notice_is_replaced_before_the_notice_is_cut(self, calls: Calls, upstream: Upstream) -> None:
        upstream.replies = [notice("x" * 290 + HONEST + " and more")]
        said = calls.error(key=HONEST).details["upstream_says"]
        assert "x[key] and" in said
        assert len(said) == 300


class TestRetryAfter:  # R22
    @pytest.mark.parametrize(
        ("value", "seconds"),
        [("7", 7), ("0", 1), ("1.2", 2), ("", 60), ("-5", 60), ("5, 7", 60), ("\u00b2", 60),
         ("999999999", 43_200), ("9" * 5000, 43_200), ("Fri, 31 Dec 9999 23:59:59 GMT", 60),
         ("Mon, 12 Jan 2026 17:00:00 GMT", 60), ("Fri, 99 Foo 9999 99:99:99 GMT", 60)],
    )  # fmt: skip
    def test_the_text_and_the_field_agree(self, make: Make, upstream: Upstream, value: str, seconds: int) -> None:
        upstream.replies = [(429, {"retry-after": value.encode().decode("latin-1")}, b"")]
        error = make(MAX_QUEUE_WAIT_S="0.5").error()
        assert error.code == "RATE_LIMITED"
        assert error.details["retry_after_s"] == seconds
        assert error.suggestion == "Wait as long as retry_after_s says and call again."


class TestArguments:
    @pytest.fixture
    def tools(self, catalog: Catalog, upstream: Upstream) -> MetaTools:
        configuration = Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream.url})
        return MetaTools(lambda: catalog, ToolExecutor(configuration))

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("TOOL_CALL", {"tool_name": "CPI", "arguments": {"interval": "\ud800"}}),
            ("TOOL_CALL", {"tool_name": "CPI", "arguments": {"interval": [{"a": ["\ud800"]}]}}),
            ("TOOL_CALL", {"tool_name": "CPI", "arguments": '{"interval": "\\ud800"}'}),
            ("TOOL_LIST", {"query": ["\ud800"]}),
            ("TOOL_GET", {"tool_name": ["CPI", "\ud800"]}),
        ],
    )
    def test_a_lone_surrogate_is_an_invalid_argument(
        self, tools: MetaTools, upstream: Upstream, name: str, arguments: dict[str, Any]
    ) -> None:  # R16
        result = tools.call(name, arguments, RequestCredentials(HONEST))
        assert result.structured["error"]["code"] == "INVALID_ARGUMENTS"
        result.text.encode()
        assert not upstream.requests

    @pytest.mark.parametrize("symbol", ["A" * 100_000, "%" * 6_000])
    def test_arguments_that_make_a_long_url_are_not_sent(
        self, tools: MetaTools, upstream: Upstream, symbol: str
    ) -> None:  # R24
        call = {"tool_name": "TIME_SERIES_WEEKLY", "arguments": {"symbol": symbol}}
        error = tools.call("TOOL_CALL", call, RequestCredentials(HONEST)).structured["error"]
        assert error["code"] == "INVALID_ARGUMENTS"
        assert "16,000 are allowed" in error["message"]
        assert len(json.dumps(error)) < 2_000
        assert not upstream.requests

    @pytest.mark.parametrize("key", ["k" * 1_000_000, "key\r\nX: 1", "\ud800key"])
    def test_a_key_that_no_service_gives_out_is_not_sent(
        self, tools: MetaTools, upstream: Upstream, key: str
    ) -> None:  # R24
        error = tools.call("TOOL_CALL", {"tool_name": "CPI"}, RequestCredentials(key)).structured["error"]
        assert error["code"] == "AUTH_REQUIRED"
        assert not upstream.requests

    @pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, str(2**63 + 1)])
    def test_large_integers_are_sent_exactly(self, tools: MetaTools, upstream: Upstream, number: Any) -> None:  # R24
        arguments = {"symbol": "IBM", "interval": "daily", "time_period": number, "series_type": "close"}
        upstream.replies = [(200, {}, b"time,SMA\n2024-03-01,81.5\n")]
        tools.call("TOOL_CALL", {"tool_name": "SMA", "arguments": arguments}, RequestCredentials(HONEST))
        assert [query["time_period"] for query in upstream.requests] == ([str(number)] if int(number) > 0 else [])

    def test_large_integers_are_returned_exactly(self, tools: MetaTools, upstream: Upstream) -> None:  # R24
        upstream.replies = [(200, {}, b'{"data": [{"date": "2024-03-01", "value": 9007199254740993}]}')]
        call = {"tool_name": "WTI", "arguments": {"datatype": "json"}}
        result = tools.call("TOOL_CALL", call, RequestCredentials(HONEST))
        assert "9007199254740993" in result.text
        assert result.structured["result"]["data"][0]["value"] == 9007199254740993


@pytest.mark.parametrize(
    "envelope",
    ['{"Information": "%s"}', '{"Information": ["%s"]}', '{"Information": {"text": "%s", "code": 429}}',
     '[{"Information": "%s"}]', '{"information": "%s"}', '{"Note": [{"message": "%s"}]}',
     '{"data": {"Information": "%s"}, "status": "error"}', '{"Information": ["%s"], "data": []}', "%s, \n%s"],
)  # fmt: skip
def test_a_refusal_is_recognized_in_every_envelope(calls: Calls, upstream: Upstream, envelope: str) -> None:  # R24
    text = "our standard API rate limit is 25 requests per day"
    upstream.replies = [(200, {}, envelope.replace("%s", text).encode())]
    assert calls.error("WTI").code == "RATE_LIMITED"
    assert calls.error("NEWS_SENTIMENT").code == "RATE_LIMITED"
    assert len(upstream.requests) == 1
