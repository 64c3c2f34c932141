"""Which responses and errors are cached, for which key and for how long, over real HTTP; and single flight."""

import threading
from typing import Any

import pytest

from tests.support.clocks import Clock, timestamp
from tests.support.executor import BUSY, DAILY, OK, Calls, Make
from tests.support.http import KEY
from tests.support.upstream import Reply, Upstream, notice
from toolfold.execution.call import CallResult

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
        ("one", "other", "same"),
        [
            ({"interval": "monthly"}, {}, True),
            ({"interval": "monthly", "datatype": "csv"}, {"datatype": "csv", "interval": "monthly"}, True),
            ({"interval": "semiannual"}, {}, False),
        ],
    )
    def test_defaults_and_order_of_arguments_do_not_change_the_key(
        self, calls: Calls, upstream: Upstream, one: dict[str, Any], other: dict[str, Any], same: bool
    ) -> None:
        calls(**one)
        assert calls(**other).cached is same

    def test_the_spelling_of_a_symbol_changes_the_key(self, calls: Calls) -> None:
        calls("TIME_SERIES_WEEKLY", symbol="IBM")
        assert not calls("TIME_SERIES_WEEKLY", symbol="ibm").cached

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

    def test_the_cache_can_be_switched_off(self, make: Make, upstream: Upstream) -> None:
        calls = make(CACHE="off")
        assert not calls().cached
        assert not calls().cached
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
