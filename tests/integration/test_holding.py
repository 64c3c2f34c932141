"""How calls are held, over real HTTP: cached, joined, spaced, repeated, given up, and given back in time."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.clocks import Clock, at
from tests.support.upstream import CSV, Reply, Upstream, said
from toolfold.backends import http_api
from toolfold.calling.keeper import Keeper
from toolfold.calling.outcome import Outcome
from toolfold.catalog.model import Catalog
from toolfold.errors import CallError
from toolfold.settings import Settings

KEY, OTHER = "CANARYKEY0123456", "OTHERKEY98765432"
OK: Reply = (200, {}, CSV.encode())
DAILY = said("our standard API rate limit is 25 requests per day")
BURST = said("spreading out your free API requests more sparingly (1 request per second)")
BUSY: Reply = (503, {}, b"<html>busy</html>")


@pytest.fixture
def clock() -> Clock:
    return Clock("2026-01-13 12:00")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as running:
        yield running


class Calls:
    """Calls through one keeper, with a clock of the test's own."""

    def __init__(self, catalog: Catalog, clock: Clock, url: str, **environment: str) -> None:
        settings = Settings.from_environment(
            {
                "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url,
                **{f"TOOLFOLD_{name}": value for name, value in environment.items()},
            }
        )
        self.keeper = Keeper(settings, http_api.call, http_api.address_of, clock, clock.monotonic, clock.sleep)
        self.catalog = catalog

    def __call__(self, name: str = "CPI", key: str = KEY, **how: Any) -> Outcome:
        fresh, deadline = how.pop("fresh", False), how.pop("deadline", None)
        tool = self.catalog.get(name)
        assert tool is not None
        return self.keeper.call(self.catalog.source(tool.source), tool, how, key, fresh, deadline)

    def error(self, name: str = "CPI", **how: Any) -> CallError:
        with pytest.raises(CallError) as caught:
            self(name, **how)
        return caught.value


Make = Callable[..., Calls]


@pytest.fixture
def make(catalog: Catalog, clock: Clock, upstream: Upstream) -> Make:
    return lambda **environment: Calls(catalog, clock, upstream.url, **environment)


@pytest.fixture
def calls(make: Make) -> Calls:
    return make()


class TestCache:
    def test_a_second_call_costs_the_upstream_nothing_and_says_its_age(
        self, calls: Calls, upstream: Upstream, clock: Clock
    ) -> None:
        first = calls()
        clock.now += 90
        second = calls()
        assert (first.cached, first.age_s) == (False, 0)
        assert second == Outcome(first.body, "csv", True, 90, {})
        assert len(upstream.asked) == 1

    def test_fresh_asks_again_and_what_it_brings_is_held(self, calls: Calls, upstream: Upstream) -> None:
        upstream.replies = [OK, (200, {}, b"timestamp,value\n2026-02-01,2"), BUSY]
        calls()
        assert not calls(fresh=True).cached
        assert calls().body == "timestamp,value\n2026-02-01,2"

    def test_it_is_over_when_the_data_can_have_changed(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        calls("TIME_SERIES_DAILY", symbol="IBM")
        clock.now = at("2026-01-13 15:59")
        assert calls("TIME_SERIES_DAILY", symbol="IBM").cached
        clock.now = at("2026-01-13 16:00")
        assert not calls("TIME_SERIES_DAILY", symbol="IBM").cached

    @pytest.mark.parametrize(
        ("reply", "code"), [(DAILY, "RATE_LIMITED"), (BUSY, "UPSTREAM_ERROR"), (None, "UPSTREAM_ERROR")]
    )
    def test_an_answer_past_its_time_is_better_than_none_and_says_so(
        self, calls: Calls, upstream: Upstream, clock: Clock, reply: Reply | None, code: str
    ) -> None:
        first = calls()
        clock.now += 7 * 86400
        calls()
        clock.now += 44 * 3600  # monthly figures are good for twelve hours
        upstream.replies = [reply or (200, {}, b"")]
        late = calls.error()
        assert late.code == code  # but not for ever
        clock.now -= 24 * 3600
        last = calls()
        assert (last.body, last.cached, last.late) == (first.body, True, code)
        assert 20 * 3600 <= last.age_s < 20 * 3600 + 60
        assert calls.error(fresh=True).code == code

    def test_nothing_late_is_given_where_that_is_not_wanted(self, make: Make, upstream: Upstream, clock: Clock) -> None:
        calls = make(LATE_S="0")
        calls()
        clock.now += 13 * 3600
        upstream.replies = [BUSY]
        assert calls.error().code == "UPSTREAM_ERROR"

    def test_what_was_given_to_one_premium_key_is_not_given_late_to_another(
        self, calls: Calls, upstream: Upstream, clock: Clock
    ) -> None:
        calls("TIME_SERIES_DAILY_ADJUSTED", symbol="IBM")
        clock.now += 30 * 3600
        upstream.replies = [BUSY]
        assert calls.error("TIME_SERIES_DAILY_ADJUSTED", key=OTHER, symbol="IBM").code == "UPSTREAM_ERROR"

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ({"interval": "monthly"}, {}, True),
            ({"datatype": "csv"}, {}, True),
            ({"interval": "monthly", "datatype": "csv"}, {"datatype": "csv", "interval": "monthly"}, True),
            ({"interval": "semiannual"}, {}, False),
        ],
    )
    def test_defaults_and_order_make_no_difference(
        self, calls: Calls, upstream: Upstream, one: dict[str, Any], other: dict[str, Any], same: bool
    ) -> None:
        calls(**one)
        assert calls(**other).cached is same

    def test_the_spelling_of_a_symbol_does(self, calls: Calls) -> None:
        calls("TIME_SERIES_WEEKLY", symbol="IBM")
        assert not calls("TIME_SERIES_WEEKLY", symbol="ibm").cached

    def test_what_every_plan_gets_is_shared_among_keys(self, calls: Calls, upstream: Upstream) -> None:
        calls("TIME_SERIES_WEEKLY", symbol="IBM")
        assert calls("TIME_SERIES_WEEKLY", key=OTHER, symbol="IBM").cached

    @pytest.mark.parametrize(
        ("name", "arguments"),
        [
            ("TIME_SERIES_DAILY_ADJUSTED", {"symbol": "IBM"}),  # premium
            ("TIME_SERIES_DAILY", {"symbol": "IBM"}),  # in part premium
            ("TIME_SERIES_WEEKLY", {"symbol": "IBM", "entitlement": "delayed"}),
        ],
    )
    def test_what_a_plan_decides_is_never_served_to_another_key(
        self, calls: Calls, upstream: Upstream, name: str, arguments: dict[str, Any]
    ) -> None:
        upstream.replies = [lambda query: OK if query["apikey"] == KEY else said("This is a premium endpoint")]
        calls(name, **arguments)
        assert calls.error(name, key=OTHER, **arguments).code == "PREMIUM_ONLY"
        assert calls(name, **arguments).cached

    def test_another_address_is_another_upstream(self, catalog: Catalog, clock: Clock, upstream: Upstream) -> None:
        with Upstream() as sandbox:
            one, two = (Calls(catalog, clock, url) for url in (upstream.url, sandbox.url))
            two.keeper._cache = one.keeper._cache
            one()
            assert not two().cached

    @pytest.mark.parametrize(
        ("reply", "code", "remembered_s"),
        [
            (said("Invalid API call.", "Error Message"), "INVALID_ARGUMENTS", 300),
            ((200, {}, b"{}"), "NO_DATA", 300),
            ((500, {}, b""), "UPSTREAM_ERROR", 0),
            (said("Something new."), "UPSTREAM_ERROR", 0),
            (said("apikey is invalid or missing", "Error Message"), "AUTH_REJECTED", 0),
            (said("This is a premium endpoint"), "PREMIUM_ONLY", 300),
        ],
    )
    def test_errors_that_would_come_again_are_remembered_for_a_short_time(
        self, calls: Calls, upstream: Upstream, clock: Clock, reply: Reply, code: str, remembered_s: int
    ) -> None:
        upstream.replies = [reply]
        first = calls.error()
        clock.now += remembered_s - 1
        assert calls.error().as_dict() == first.as_dict()
        assert first.code == code
        assert len(upstream.asked) == (1 if remembered_s else 2)
        clock.now += 2
        upstream.replies = [OK]
        assert not calls().cached

    def test_an_error_is_never_served_to_another_key(self, calls: Calls, upstream: Upstream) -> None:
        upstream.replies = [lambda query: OK if query["apikey"] == OTHER else (200, {}, b"{}")]
        assert calls.error("TIME_SERIES_WEEKLY", symbol="IBM").code == "NO_DATA"
        assert calls("TIME_SERIES_WEEKLY", key=OTHER, symbol="IBM").body
        assert calls("TIME_SERIES_WEEKLY", symbol="IBM").cached  # what is held goes before what is remembered
        assert len(upstream.asked) == 2

    def test_it_can_be_switched_off(self, make: Make, upstream: Upstream) -> None:
        calls = make(CACHE="off")
        assert not calls().cached
        assert not calls().cached
        assert len(upstream.asked) == 2

    def test_a_file_outlives_the_process(self, make: Make, tmp_path: Any, upstream: Upstream) -> None:
        place = str(tmp_path / "answers.sqlite")
        make(CACHE=place)()
        assert make(CACHE=place)().cached
        assert len(upstream.asked) == 1

    def test_one_that_cannot_be_opened_costs_nothing_but_a_line(
        self, make: Make, tmp_path: Any, upstream: Upstream, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "folder").write_text("a file, where a folder is wanted")
        calls = make(CACHE=str(tmp_path / "folder" / "answers.sqlite"))
        assert not calls().cached
        assert calls().cached
        assert [record.levelname for record in caplog.records if record.name == "toolfold"].count("WARNING") == 1


class TestTogether:
    def test_equal_calls_at_once_make_one_request(self, calls: Calls, upstream: Upstream) -> None:
        asked, may_answer = threading.Event(), threading.Event()

        def slow(query: dict[str, str]) -> Reply:
            asked.set()
            assert may_answer.wait(5)
            return OK

        upstream.replies = [slow]
        outcomes: list[Outcome] = []
        threads = [threading.Thread(target=lambda: outcomes.append(calls())) for _ in range(8)]
        for thread in threads:
            thread.start()
        assert asked.wait(5)
        may_answer.set()
        for thread in threads:
            thread.join()
        assert len(upstream.asked) == 1
        assert len({outcome.body for outcome in outcomes}) == 1
        assert len(outcomes) == 8

    def test_one_that_cannot_wait_is_told_so(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        asked, may_answer = threading.Event(), threading.Event()

        def slow(query: dict[str, str]) -> Reply:
            asked.set()
            assert may_answer.wait(5)
            return OK

        upstream.replies = [slow]
        leader = threading.Thread(target=calls)
        leader.start()
        assert asked.wait(5)
        assert calls.error(deadline=clock.monotonic() + 0.05).code == "UPSTREAM_TIMEOUT"
        may_answer.set()
        leader.join()
        assert calls().cached


class TestLimits:
    def test_a_used_up_day_costs_the_upstream_one_request(self, calls: Calls, upstream: Upstream) -> None:
        upstream.replies = [DAILY]
        for tool in ("CPI", "WTI", "COPPER"):
            error = calls.error(tool)
            assert error.code == "RATE_LIMITED"
            assert error.details == {"retry_after_s": 12 * 3600, "limit": "25 per day", "used": 1}
        assert len(upstream.asked) == 1

    def test_what_is_held_is_still_answered(self, calls: Calls, upstream: Upstream) -> None:
        calls("CPI")
        upstream.replies = [DAILY]
        calls.error("WTI")
        assert calls("CPI").cached

    def test_too_fast_is_a_short_wait_and_not_a_failure(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        upstream.replies = [BURST, OK]
        assert calls("CPI").body
        assert clock.slept == [2.0]
        calls("WTI")
        assert clock.slept[1:] == [pytest.approx(1.001)]

    def test_too_fast_again_is_said_so(self, calls: Calls, upstream: Upstream) -> None:
        upstream.replies = [BURST]
        error = calls.error()
        assert (error.code, error.details) == ("RATE_LIMITED", {"retry_after_s": 2, "limit": "1 per second"})
        assert len(upstream.asked) == 2

    def test_a_429_is_waited_for_when_that_is_short(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        upstream.replies = [(429, {"retry-after": "3"}, b""), OK]
        assert calls().body
        assert clock.slept == [3.0]

    def test_and_passed_on_when_it_is_long(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        upstream.replies = [(429, {"retry-after": "7"}, b"")]
        assert calls.error().details == {"retry_after_s": 7}
        clock.now += 5
        assert calls.error("WTI").details == {"retry_after_s": 2}
        assert len(upstream.asked) == 1


class TestRetries:
    @pytest.mark.parametrize(
        "passing",
        [BUSY, (502, {}, b""), (504, {}, b""), (200, {}, b""), (0, {}, b""), (200, {"content-length": "999"}, b"time")],
        ids=["503", "502", "504", "empty", "closed", "cut off"],
    )
    def test_what_passes_by_itself_is_tried_again(self, calls: Calls, upstream: Upstream, passing: Reply) -> None:
        upstream.replies = [passing, passing, OK]
        if passing[2] == b"time":  # the rest never comes: the server closes
            upstream.replies = [(200, {"content-length": "999", "connection": "close"}, b"time"), OK]
        assert calls().body
        assert not calls.keeper._breakers["alpha_vantage"]._failures

    def test_not_for_ever_and_with_growing_pauses(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        upstream.replies = [BUSY]
        assert calls.error().code == "UPSTREAM_ERROR"
        assert len(upstream.asked) == 3
        first, second = clock.slept
        assert 0.15 <= first <= 0.3 <= second <= 0.6

    @pytest.mark.parametrize(
        "lasting",
        [(500, {}, b""), (404, {}, b""), (302, {"location": "http://127.0.0.1:1/"}, b""), (200, {}, b"<html>"),
         (200, {}, b'{"a": '), said("Invalid API call", "Error Message"), said("Something new.")],
        ids=["500", "404", "302", "html", "broken JSON", "wrong arguments", "notice"],
    )  # fmt: skip
    def test_what_would_only_fail_again_is_not(self, calls: Calls, upstream: Upstream, lasting: Reply) -> None:
        upstream.replies = [lasting]
        calls.error()
        assert len(upstream.asked) == 1

    def test_the_upstream_may_ask_for_a_pause(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        upstream.replies = [(503, {"retry-after": "2"}, b""), OK]
        calls()
        assert clock.slept == [2.0]

    @pytest.mark.parametrize(("pause", "left_s"), [("60", 25), ("2", 1)])
    def test_but_none_that_nobody_can_wait_for(
        self, calls: Calls, upstream: Upstream, clock: Clock, pause: str, left_s: float
    ) -> None:
        upstream.replies = [(503, {"retry-after": pause}, b"")]
        calls.error(deadline=clock.monotonic() + left_s)
        assert clock.slept == []

    def test_they_can_be_switched_off(self, make: Make, upstream: Upstream) -> None:
        upstream.replies = [BUSY]
        make(RETRIES="0").error()
        assert len(upstream.asked) == 1

    def test_each_counts_against_the_day(self, make: Make, upstream: Upstream) -> None:
        upstream.replies = [BUSY]
        calls = make(REQUESTS_PER_DAY="2")
        assert calls.error().code == "RATE_LIMITED"
        assert len(upstream.asked) == 2


class TestDeadline:
    def test_an_answer_that_comes_too_late_is_given_up_in_time(
        self, calls: Calls, upstream: Upstream, clock: Clock
    ) -> None:
        may_answer = threading.Event()

        def never(query: dict[str, str]) -> Reply:
            may_answer.wait(5)
            return OK

        upstream.replies = [never]
        started = time.monotonic()
        error = calls.error(deadline=clock.monotonic() + 0.2)
        took = time.monotonic() - started
        may_answer.set()
        assert error.code == "UPSTREAM_TIMEOUT"
        assert took < 2

    def test_a_call_without_time_is_not_sent(self, calls: Calls, upstream: Upstream, clock: Clock) -> None:
        assert calls.error(deadline=clock.monotonic() - 1).code == "UPSTREAM_TIMEOUT"
        assert upstream.asked == []


class TestBreaker:
    def test_a_source_that_is_down_is_left_alone_and_tried_again(
        self, make: Make, upstream: Upstream, clock: Clock
    ) -> None:
        upstream.replies = [(500, {}, b"")]
        calls = make(BREAKER_FAILURES="3")
        for _ in range(3):
            assert calls.error().message == "Alpha Vantage answered with HTTP status 500."
        refused = calls.error()
        assert refused.as_dict() == {
            "code": "UPSTREAM_ERROR",
            "message": "Alpha Vantage has been failing and is left alone for a while.",
            "suggestion": "Wait as long as retry_after_s says and call again; if it keeps failing, tell the user.",
            "retry_after_s": 30,
            "retryable": True,
        }
        assert len(upstream.asked) == 3
        clock.now += 30
        upstream.replies = [OK]
        assert calls().body
        assert calls("WTI").body

    def test_failures_that_are_the_callers_open_nothing(self, make: Make, upstream: Upstream) -> None:
        upstream.replies = [said("Invalid API call", "Error Message")]
        calls = make(BREAKER_FAILURES="1", CACHE="off")
        for _ in range(3):
            assert calls.error().code == "INVALID_ARGUMENTS"

    def test_a_refusal_of_our_own_does_not_close_it(self, make: Make, upstream: Upstream, clock: Clock) -> None:
        upstream.replies = [(500, {}, b"")]
        calls = make(BREAKER_FAILURES="1", REQUESTS_PER_DAY="1")
        calls.error()
        clock.now += 30
        assert calls.error().code == "RATE_LIMITED"
        assert calls.keeper._breakers["alpha_vantage"].state == "half-open"


class TestLog:
    def lines(self, caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
        names = ("inner_tool", "code", "cached", "upstream_requests", "retries", "characters", "breaker")
        return [{name: vars(line)[name] for name in names} for line in caplog.records if line.message == "call"]

    def test_each_call_leaves_one_line(self, make: Make, upstream: Upstream, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "toolfold")
        calls = make(BREAKER_FAILURES="1")
        upstream.replies = [BUSY, OK, (500, {}, b"")]
        calls()
        calls()
        calls.error("WTI")
        calls.error("WTI")
        assert self.lines(caplog) == [
            {"inner_tool": "CPI", "code": "OK", "cached": "no", "upstream_requests": 2, "retries": 1,
             "characters": len(CSV) - 1, "breaker": "closed"},
            {"inner_tool": "CPI", "code": "OK", "cached": "memory", "upstream_requests": 0, "retries": 0,
             "characters": len(CSV) - 1, "breaker": "closed"},
            {"inner_tool": "WTI", "code": "UPSTREAM_ERROR", "cached": "no", "upstream_requests": 1, "retries": 0,
             "characters": 0, "breaker": "open"},
            {"inner_tool": "WTI", "code": "UPSTREAM_ERROR", "cached": "no", "upstream_requests": 0, "retries": 0,
             "characters": 0, "breaker": "open"},
        ]  # fmt: skip

    def test_it_holds_names_and_figures_only(
        self, calls: Calls, upstream: Upstream, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG, "toolfold")
        calls("TIME_SERIES_WEEKLY", symbol="SECRETSYMBOL")
        text = json.dumps([vars(line) for line in caplog.records if line.name == "toolfold"], default=str)
        assert "SECRETSYMBOL" not in text
        assert KEY not in text
