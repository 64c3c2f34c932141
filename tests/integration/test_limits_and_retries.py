"""Rate limits, retries, deadlines and the circuit breaker, over real HTTP."""

from pathlib import Path

import pytest

from tests.support.clocks import Clock
from tests.support.executor import BUSY, OK, Calls, Make
from tests.support.upstream import Upstream, notice
from toolfold.catalog.model import Catalog
from toolfold.mock_api.server import MockApi

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

    def test_retries_can_be_switched_off(self, make: Make, upstream: Upstream) -> None:
        upstream.replies = [BUSY]
        make(RETRIES="0").error()
        assert len(upstream.requests) == 1

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
    def test_a_failing_call_is_paused_and_tried_again(self, make: Make, upstream: Upstream, clock: Clock) -> None:
        upstream.replies = [(500, {}, b"")]
        calls = make(BREAKER_FAILURES="3")
        for _ in range(3):
            assert calls.error().message == "Alpha Vantage answered with HTTP status 500."
        refused = calls.error()
        assert refused.as_dict() == {
            "code": "UPSTREAM_ERROR",
            "message": "Alpha Vantage keeps failing, so this call is paused.",
            "suggestion": "Wait as long as retry_after_s says and call again; if it keeps failing, tell the user.",
            "retry_after_s": 30,
            "retryable": True,
        }
        assert len(upstream.requests) == 3
        upstream.replies = [OK]
        assert calls("WTI").body  # another call is not the reason
        clock.now += 30
        assert calls().body
        assert not calls.breakers._failed

    def test_errors_of_the_caller_do_not_open_the_breaker(self, make: Make, upstream: Upstream) -> None:
        upstream.replies = [notice("Invalid API call", "Error Message")]
        calls = make(BREAKER_FAILURES="1", CACHE="off")
        for _ in range(3):
            assert calls.error().code == "INVALID_ARGUMENTS"

    def test_a_refusal_by_the_rate_limiter_does_not_close_the_breaker(
        self, make: Make, upstream: Upstream, clock: Clock
    ) -> None:
        upstream.replies = [(500, {}, b"")]
        calls = make(BREAKER_FAILURES="1", REQUESTS_PER_DAY="1")
        calls.error()
        clock.now += 30
        assert calls.error().code == "RATE_LIMITED"
        [key] = calls.breakers._failed
        assert calls.breakers.find(key).state == "half-open"
