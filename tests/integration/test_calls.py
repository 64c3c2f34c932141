"""Calls over real HTTP: what is cached, limits, retries, deadlines, the circuit breaker, their log, and middleware."""

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.catalogs import tool_of
from tests.support.clocks import Clock, timestamp
from tests.support.executor import BUSY, DAILY, OK, Calls, Make
from tests.support.http import KEY
from tests.support.upstream import CSV, Reply, Upstream, notice
from toolfold import CallContext, Middleware
from toolfold.app import build_app
from toolfold.catalog.model import Catalog
from toolfold.errors import CallError, InvalidArguments, NoData, SettingsError
from toolfold.execution.call import CallLog, CallResult, load_middleware
from toolfold.execution.credentials import RequestCredentials
from toolfold.execution.executor import ToolExecutor
from toolfold.execution.pipeline import run_call
from toolfold.mock_api.server import MockApi
from toolfold.network import errors as network_errors
from toolfold.network.session import HttpClient
from toolfold.settings import Settings

OTHER = "OTHERKEY98765432"


class TestCache:
    def test_a_second_call_is_answered_from_the_cache_with_its_age(
        self, calls: Calls, upstream: Upstream, clock: Clock
    ) -> None:
        first = calls()
        clock.now += 90
        second = calls()
        assert (first.cached, first.age_s) == (False, 0)
        assert second == CallResult(first.body, "csv", True, 90, {})
        assert len(upstream.requests) == 1

    def test_bypass_cache_sends_a_request_and_caches_its_response(self, calls: Calls, upstream: Upstream) -> None:
        upstream.replies = [OK, (200, {}, b"timestamp,value\n2026-02-01,2"), BUSY]
        calls()
        assert not calls(bypass_cache=True).cached
        assert calls().body == "timestamp,value\n2026-02-01,2"

    def test_an_entry_expires_when_the_data_can_change(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        calls("TIME_SERIES_DAILY", symbol="IBM")
        clock.now = timestamp("2026-01-13 15:59")
        assert calls("TIME_SERIES_DAILY", symbol="IBM").cached
        clock.now = timestamp("2026-01-13 16:00")
        assert not calls("TIME_SERIES_DAILY", symbol="IBM").cached

    @pytest.mark.parametrize(("reply", "code"), [(DAILY, "RATE_LIMITED"), (BUSY, "UPSTREAM_ERROR")])
    def test_a_stale_entry_is_returned_when_the_source_fails(
        self, calls: Calls, upstream: Upstream, clock: Clock, reply: Reply, code: str
    ) -> None:
        first = calls()
        clock.now += 7 * 86400
        calls()
        clock.now += 44 * 3600  # monthly figures are good for twelve hours
        upstream.replies = [reply]
        late = calls.error()
        assert late.code == code  # but not for ever
        clock.now -= 24 * 3600
        for _ in range(3):  # also where an equal call has computed the answer
            last = calls()
            assert (last.body, last.cached, last.stale_reason) == (first.body, True, code)
            assert 20 * 3600 <= last.age_s < 20 * 3600 + 60
        assert calls.error(bypass_cache=True).code == code

    def test_stale_if_error_can_be_switched_off(self, make: Make, upstream: Upstream, clock: Clock) -> None:
        calls = make(STALE_IF_ERROR_S="0")
        calls()
        clock.now += 13 * 3600
        upstream.replies = [BUSY]
        assert calls.error().code == "UPSTREAM_ERROR"

    @pytest.mark.parametrize(
        ("tool", "one", "other", "same"),
        [
            ("CPI", {"interval": "monthly"}, {}, True),
            ("CPI", {"interval": "monthly", "datatype": "csv"}, {"datatype": "csv", "interval": "monthly"}, True),
            ("CPI", {"interval": "semiannual"}, {}, False),
            *(
                ("TIME_SERIES_WEEKLY", {"symbol": one}, {"symbol": other}, False)
                for one, other in (
                    *(("IBM", "ibm"), ("caf\u00e9", "cafe\u0301"), ("1", "1.0"), ("a b", "a+b")),
                    ("IBM&interval=1min", "IBM"),
                )
            ),
        ],
    )
    def test_defaults_and_order_of_arguments_do_not_change_the_key_and_spellings_do(
        self, calls: Calls, tool: str, one: dict[str, Any], other: dict[str, Any], same: bool
    ) -> None:
        calls(tool, **one)
        assert calls(tool, **other).cached is same

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("TIME_SERIES_DAILY_ADJUSTED", {"symbol": "IBM"}),  # premium
            ("TIME_SERIES_DAILY", {"symbol": "IBM"}),  # in part premium
            ("TIME_SERIES_WEEKLY", {"symbol": "IBM", "entitlement": "delayed"}),
        ],
    )
    def test_data_that_depends_on_a_plan_is_not_returned_to_another_key(
        self, calls: Calls, upstream: Upstream, name: str, arguments: dict[str, Any]
    ) -> None:
        upstream.replies = [lambda query: OK if query["apikey"] == KEY else notice("This is a premium endpoint")]
        calls(name, **arguments)
        assert calls.error(name, key=OTHER, **arguments).code == "PREMIUM_ONLY"
        assert calls(name, **arguments).cached

    def test_an_error_is_not_returned_to_another_key(self, calls: Calls, upstream: Upstream) -> None:
        upstream.replies = [lambda query: OK if query["apikey"] == OTHER else (200, {}, b"{}")]
        assert calls.error("TIME_SERIES_WEEKLY", symbol="IBM").code == "NO_DATA"
        assert calls("TIME_SERIES_WEEKLY", key=OTHER, symbol="IBM").body
        assert calls("TIME_SERIES_WEEKLY", symbol="IBM").cached  # cached data comes before a cached error
        assert len(upstream.requests) == 2


class TestSingleFlight:
    def test_a_joined_call_times_out_at_its_own_deadline(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        asked, may_answer = threading.Event(), threading.Event()

        def slow(query: dict[str, str]) -> Reply:
            asked.set()
            assert may_answer.wait(60)
            return OK

        upstream.replies = [slow]
        leader = threading.Thread(target=calls)
        leader.start()
        assert asked.wait(60)
        assert calls.error(deadline=clock.monotonic() + 0.05).code == "UPSTREAM_TIMEOUT"
        may_answer.set()
        leader.join()
        assert calls().cached


BURST = notice("spreading out your free API requests more sparingly (1 request per second)")


class TestLimits:
    def test_a_burst_refusal_is_retried_after_a_short_wait(
        self, calls: Calls, upstream: Upstream, clock: Clock
    ) -> None:
        upstream.replies = [BURST, OK]
        assert calls("CPI").body
        assert clock.slept == [2.0]
        calls("WTI")
        assert clock.slept[1:] == [pytest.approx(1.001)]

    # N1
    def test_what_the_mock_api_refused_and_answered_does_not_hold_for_the_service(
        self, make: Make, upstream: Upstream, mock_api: MockApi, clock: Clock, catalog: Catalog, tmp_path: Path
    ) -> None:
        cache = str(tmp_path / "cache.sqlite3")
        imitation = Calls(catalog, clock, mock_api.url, CACHE=cache)
        imitated = imitation("CPI")
        assert imitation.error("GLOBAL_QUOTE", symbol="FAULT.DAILY_QUOTA").code == "RATE_LIMITED"
        assert imitation.error("WTI").code == "RATE_LIMITED"
        service = make(CACHE=cache)
        answered = service("CPI")
        assert not answered.cached
        assert answered.body != imitated.body
        assert service("WTI").body
        assert len(upstream.requests) == 2
        # A later process that reads the same file knows what each address refused and answered.
        assert Calls(catalog, clock, mock_api.url, CACHE=cache).error("WTI").code == "RATE_LIMITED"
        assert Calls(catalog, clock, mock_api.url, CACHE=cache)("CPI").body == imitated.body
        assert make(CACHE=cache)("CPI").body == answered.body


class TestRetries:
    def test_retries_are_limited_and_back_off(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        upstream.replies = [BUSY]
        assert calls.error().code == "UPSTREAM_ERROR"
        assert len(upstream.requests) == 3
        first, second = clock.slept
        assert 0.15 <= first <= 0.3 <= second <= 0.6

    @pytest.mark.parametrize(("status", "pause"), [(503, "2"), (429, "3")])
    def test_retry_after_is_respected(
        self, calls: Calls, upstream: Upstream, clock: Clock, status: int, pause: str
    ) -> None:
        upstream.replies = [(status, {"retry-after": pause}, b""), OK]
        calls()
        assert clock.slept == [float(pause)]

    @pytest.mark.parametrize(("pause", "left_s"), [("60", 25), ("4", 25), ("2", 1)])
    def test_a_retry_after_beyond_the_limits_is_not_waited_for(
        self, calls: Calls, upstream: Upstream, clock: Clock, pause: str, left_s: float
    ) -> None:
        upstream.replies = [(503, {"retry-after": pause}, b"")]
        calls.error(deadline=clock.monotonic() + left_s)
        assert clock.slept == []

    def test_each_retry_counts_against_the_daily_limit(self, make: Make, upstream: Upstream) -> None:
        upstream.replies = [BUSY]
        calls = make(REQUESTS_PER_DAY="2")
        assert calls.error().code == "RATE_LIMITED"
        assert len(upstream.requests) == 2


class TestDeadline:
    def test_a_call_past_its_deadline_is_not_sent(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        assert calls.error(deadline=clock.monotonic() - 1).code == "UPSTREAM_TIMEOUT"
        assert upstream.requests == []


class TestBreaker:
    def test_a_source_that_cannot_be_reached_is_paused_and_tried_again(
        self, make: Make, upstream: Upstream, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls = make(BREAKER_FAILURES="3", RETRIES="0")
        with monkeypatch.context() as unplugged:
            unplugged.setattr(HttpClient, "request", not_connected)
            for _ in range(3):
                assert calls.error().message.startswith("Cannot connect to")
            refused = calls.error("WTI", key=OTHER)
            assert refused.as_dict() == {
                "code": "UPSTREAM_ERROR",
                "message": "Alpha Vantage cannot be reached, so calls to it are paused.",
                "suggestion": "Wait as long as retry_after_s says and call again.",
                "retry_after_s": 30,
                "retryable": True,
            }
        assert calls.error().details["retry_after_s"] == 30
        assert upstream.requests == []
        clock.now += 30
        assert calls.breaker.find().state == "half-open"
        assert calls().body
        assert calls.breaker.find().state == "closed"

    @pytest.mark.parametrize("reply", [BUSY, notice("Invalid API call", "Error Message")])
    def test_what_fails_after_it_was_sent_does_not_open_the_breaker(
        self, make: Make, upstream: Upstream, reply: Reply
    ) -> None:
        upstream.replies = [reply]
        calls = make(BREAKER_FAILURES="1", RETRIES="0", CACHE="off")
        for number in range(3):
            assert calls.error().code in ("UPSTREAM_ERROR", "INVALID_ARGUMENTS")
            assert len(upstream.requests) == number + 1

    def test_a_refusal_by_the_rate_limiter_does_not_close_the_breaker(
        self, make: Make, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(HttpClient, "request", not_connected)
        calls = make(BREAKER_FAILURES="1", REQUESTS_PER_DAY="1", RETRIES="0")
        calls.error()
        clock.now += 30
        assert calls.error().code == "RATE_LIMITED"
        assert calls.breaker.find().state == "half-open"


def not_connected(*_: Any, **__: Any) -> None:
    raise network_errors.ConnectionRefused("a.example")


def logged(catalog: Catalog, url: str, *names: str, arguments: Any = (), **how: Any) -> list[CallLog]:
    """Call tools one after the other, and return the logs of the calls."""
    settings = {"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url, "TOOLFOLD_BREAKER_FAILURES": "1"}
    logs: list[CallLog] = []
    executor = ToolExecutor(Settings.from_environment(settings), on_call=logs.append, clock=Clock().clocks(), **how)
    for name in names:
        tool = tool_of(catalog, name)
        with suppress(CallError):
            run_call(executor, CallContext(catalog, tool, dict(arguments), RequestCredentials(KEY)))
    return logs


def lines(logs: list[CallLog]) -> list[dict[str, Any]]:
    times = {"upstream_ms", "wait_ms", "error_message"}
    return [{name: value for name, value in log.fields().items() if name not in times} for log in logs]


def test_each_call_has_one_line_of_what_happened(catalog: Catalog, upstream: Upstream) -> None:
    upstream.replies = [BUSY, OK, (500, {}, b"")]
    assert lines(logged(catalog, upstream.url, "CPI", "CPI", "WTI", "WTI")) == [
        {"inner_tool": "CPI", "code": "OK", "cache": "miss", "upstream_requests": 2, "retries": 1,
         "response_chars": len(CSV)},
        {"inner_tool": "CPI", "code": "OK", "cache": "memory", "response_chars": len(CSV)},
        {"inner_tool": "WTI", "code": "UPSTREAM_ERROR", "cache": "miss", "upstream_requests": 1},
        {"inner_tool": "WTI", "code": "UPSTREAM_ERROR", "cache": "miss", "upstream_requests": 1},
    ]  # fmt: skip


def test_a_refused_call_is_logged_only_for_the_audit(catalog: Catalog, upstream: Upstream) -> None:
    for logs_audit in (False, True):
        logs = logged(catalog, upstream.url, "TIME_SERIES_WEEKLY", arguments={"nothing": 1}, logs_audit=logs_audit)
        assert lines(logs) == [{"inner_tool": "TIME_SERIES_WEEKLY", "code": "INVALID_ARGUMENTS"}] * logs_audit
        assert [log.audit["effect"] for log in logs] == ["read"] * logs_audit


HERE = __name__


class Upper(Middleware):
    """Writes symbols in capitals, and refuses one of them."""

    def before(self, call: CallContext) -> None:
        """Change the arguments."""
        symbol = str(call.arguments.get("symbol", "")).upper()
        if symbol == "SECRET":
            raise InvalidArguments("SECRET is not requested here.", "Send another symbol.")
        call.arguments = {**call.arguments, "symbol": symbol}


class Named(Middleware):
    """Writes its name below what passes, so that the order shows."""

    def __init__(self, name: str = "one") -> None:
        self.name = name

    def after(self, call: CallContext, result: CallResult) -> CallResult:
        """Add a line."""
        return replace(result, body=f"{result.body}\n{self.name}")

    def error(self, call: CallContext, error: CallError) -> CallError:
        """Add a word."""
        return error.changed(problem=f"{error.problem} {self.name}")


class Plain:
    """No middleware."""


class Broken(Middleware):
    """Cannot be made."""

    def __init__(self) -> None:
        raise OSError("no such file")


Run = Callable[..., CallResult]


@pytest.fixture
def run(catalog: Catalog, clock: Clock, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "KEYKEYKEYKEY1234")
    settings = Settings.from_environment({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream.url, "TOOLFOLD_RETRIES": "0"})
    made: dict[int, ToolExecutor] = {}

    def call(*middleware: Middleware, **arguments: Any) -> CallResult:
        key = id(middleware[0])
        if key not in made:
            made[key] = ToolExecutor(settings, clock=clock.clocks(), middleware=middleware)
        tool = tool_of(catalog, "TIME_SERIES_DAILY")
        return run_call(made[key], CallContext(catalog, tool, arguments))

    return call


def test_changed_arguments_are_what_is_validated_sent_and_cached(run: Run, upstream: Upstream) -> None:
    upper = Upper()
    first = run(upper, symbol="ibm")
    assert first.arguments["symbol"] == "IBM"
    assert first.entry is not None  # what equal calls computed is kept with a result that is not changed
    assert run(upper, symbol="Ibm").cached
    assert [query["symbol"] for query in upstream.requests] == ["IBM"]


def test_a_refused_call_is_not_sent(run: Run, upstream: Upstream) -> None:
    with pytest.raises(InvalidArguments, match="not requested here"):
        run(Upper(), symbol="secret")
    assert upstream.requests == []


def test_a_changed_result_is_not_what_is_cached(run: Run, upstream: Upstream) -> None:
    upstream.replies = [OK]
    inner, outer = Named("inner"), Named("outer")
    first, second = run(outer, inner, symbol="IBM"), run(outer, inner, symbol="IBM")
    assert (first.cached, second.cached) == (False, True)
    assert first.body == second.body
    assert first.body.endswith("\ninner\nouter")
    assert first.entry is second.entry is None


def test_an_error_passes_the_middleware_that_the_call_had_entered(run: Run, upstream: Upstream) -> None:
    upstream.replies = [notice("Invalid API call.", "Error Message")]
    with pytest.raises(CallError, match=r"inner outer$"):
        run(Named("outer"), Named("inner"), symbol="IBM")
    with pytest.raises(InvalidArguments, match=r"here\. outer$"):
        run(Named("outer"), Upper(), Named("inner"), symbol="secret")


def test_the_code_of_the_error_is_the_last_one(run: Run, upstream: Upstream) -> None:
    class Nothing(Middleware):
        def error(self, call: CallContext, error: CallError) -> CallError:
            return NoData("Nothing here.", "Send another symbol.")

    upstream.replies = [(500, {}, b"")]
    with pytest.raises(NoData, match="Nothing here") as caught:
        run(Nothing(), symbol="IBM")
    assert caught.value.code == "NO_DATA"


def test_the_settings_name_the_classes_and_their_order() -> None:
    settings = Settings.from_environment({"TOOLFOLD_MIDDLEWARE": f"{HERE}:Named, {HERE}:Upper"})
    assert [type(one) for one in load_middleware(settings.middleware)] == [Named, Upper]
    assert len(build_app(settings).executor.middleware) == 2


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (f"{HERE}:Plain", "is not derived from toolfold.Middleware"),
        (f"{HERE}:Broken", "cannot be made: OSError: no such file"),
        (f"{HERE}:Missing", "has no attribute 'Missing'"),
        ("no_such_module:Class", "No module named 'no_such_module'"),
    ],
)
def test_a_name_that_cannot_be_used_ends_the_start(name: str, problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        build_app(Settings.from_environment({"TOOLFOLD_MIDDLEWARE": name}))
