"""What a key may do is learned from the upstream, and held to without being asked again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.clocks import Clock, timestamp
from toolfold.cache.base import FailSafeStore, Memory
from toolfold.errors import RateLimited
from toolfold.execution.rate_limiter import RateLimiter
from toolfold.settings import Settings

DAILY = RateLimited("The calls of the day are used up.", "Tell the user.", retry_after_s=86400, limit="25 per day")
BURST = RateLimited("One call a second.", "Wait.", retry_after_s=2, limit="1 per second")
MINUTE = RateLimited("The calls of the minute are used up.", "Wait.", retry_after_s=60)
FOREVER = float("inf")

Make = Callable[..., RateLimiter]


@pytest.fixture
def clock() -> Clock:
    return Clock("2026-01-13 12:00")


@pytest.fixture
def make(clock: Clock) -> Make:
    def limits(shared: Memory | None = None, **environment: str) -> RateLimiter:
        settings = Settings.from_environment({f"TOOLFOLD_{name}": value for name, value in environment.items()})
        careful = None if shared is None else FailSafeStore(lambda: shared, 30.0, clock.monotonic)
        return RateLimiter(settings, Memory(1_000_000), careful, clock, clock.monotonic, clock.sleep)

    return limits


def refusal(limits: RateLimiter, key: str = "key", deadline: float = FOREVER) -> RateLimited:
    with pytest.raises(RateLimited) as caught:
        limits.admit("The source", key, deadline)
    return caught.value


def test_a_key_of_which_nothing_is_known_is_never_refused_by_our_count(make: Make, clock: Clock) -> None:
    limits = make()
    for _ in range(200):
        assert limits.admit("The source", "key", FOREVER) == 0
    assert limits.used("key") == 200
    assert clock.slept == []


class TestOfTheDay:
    def test_a_used_up_day_is_refused_at_once_with_the_seconds_to_the_reset(self, make: Make, clock: Clock) -> None:
        limits = make()
        for _ in range(3):
            limits.admit("The source", "key", FOREVER)
        told = limits.learn("key", DAILY)
        assert told.details == {"retry_after_s": 12 * 3600, "limit": "25 per day", "used": 3}
        clock.now += 1800
        again = refusal(limits)
        assert again.message == DAILY.message
        assert again.details == {"retry_after_s": 12 * 3600 - 1800, "limit": "25 per day", "used": 3}

    def test_other_keys_are_not_concerned(self, make: Make) -> None:
        limits = make()
        limits.learn("key", DAILY)
        assert limits.admit("The source", "another key", FOREVER) == 0

    def test_after_an_hour_one_call_finds_out_whether_it_is_still_so(self, make: Make, clock: Clock) -> None:
        limits = make()
        limits.learn("key", DAILY)
        clock.now += 3599
        refusal(limits)
        clock.now += 1
        assert limits.admit("The source", "key", FOREVER) == 0
        limits.learn("key", DAILY)
        refusal(limits)

    def test_at_midnight_in_new_york_it_is_over(self, make: Make, clock: Clock) -> None:
        clock.now = timestamp("2026-01-13 23:59")
        limits = make()
        limits.admit("The source", "key", FOREVER)
        assert limits.learn("key", DAILY).details["retry_after_s"] == 60
        clock.now = timestamp("2026-01-14 00:00")
        assert limits.used("key") == 0
        assert limits.admit("The source", "key", FOREVER) == 0

    def test_the_operators_limit_is_held_without_asking_the_upstream(self, make: Make, clock: Clock) -> None:
        limits = make(REQUESTS_PER_DAY="2")
        limits.admit("The source", "key", FOREVER)
        limits.admit("The source", "key", FOREVER)
        for _ in range(2):
            assert refusal(limits).details == {"retry_after_s": 12 * 3600, "limit": "2 per day", "used": 2}
        clock.now = timestamp("2026-01-14 00:00")
        assert limits.admit("The source", "key", FOREVER) == 0


class TestOfTheMinute:
    def test_it_is_refused_for_as_long_as_the_upstream_said(self, make: Make, clock: Clock) -> None:
        limits = make()
        limits.learn("key", MINUTE)
        clock.now += 20
        assert refusal(limits).details == {"retry_after_s": 40}
        clock.now += 40
        assert limits.admit("The source", "key", FOREVER) == 0


class TestOfTheSecond:
    def test_a_key_that_was_too_fast_waits_for_its_turn_from_then_on(self, make: Make, clock: Clock) -> None:
        limits = make()
        assert limits.learn("key", BURST) is BURST
        times = []
        for _ in range(4):
            limits.admit("The source", "key", FOREVER)
            times.append(round(clock.now - timestamp("2026-01-13 12:00"), 1))
        assert times == [0.0, 1.0, 2.0, 3.0]
        clock.now += 86400
        slept = len(clock.slept)
        limits.admit("The source", "key", FOREVER)
        limits.admit("The source", "key", FOREVER)
        assert len(clock.slept) == slept

    def test_the_gap_is_what_the_upstream_named(self, make: Make, clock: Clock) -> None:
        limits = make()
        limits.learn("key", RateLimited("", "", retry_after_s=2, limit="20 per second"))
        limits.admit("The source", "key", FOREVER)
        assert limits.admit("The source", "key", FOREVER) == pytest.approx(0.051)

    def test_the_operator_can_set_it(self, make: Make) -> None:
        limits = make(REQUESTS_PER_SECOND="2")
        limits.admit("The source", "key", FOREVER)
        assert limits.admit("The source", "key", FOREVER) == pytest.approx(0.501)

    @pytest.mark.parametrize(("setting", "left_s"), [("0.5", FOREVER), ("10", 0.5)])
    def test_a_wait_that_is_too_long_is_a_refusal(self, make: Make, clock: Clock, setting: str, left_s: float) -> None:
        limits = make(REQUESTS_PER_SECOND="1", MAX_QUEUE_WAIT_S=setting)
        limits.admit("The source", "key", FOREVER)
        assert refusal(limits, deadline=clock.monotonic() + left_s).details == {
            "retry_after_s": 2, "limit": "1 per second"
        }  # fmt: skip
        assert clock.slept == []
        assert limits.used("key") == 1

    def test_a_clock_that_jumps_back_does_not_make_it_wait_for_hours(self, make: Make, clock: Clock) -> None:
        limits = make(REQUESTS_PER_SECOND="1", MAX_QUEUE_WAIT_S="3")
        limits.admit("The source", "key", FOREVER)
        clock.now -= 7200
        assert limits.admit("The source", "key", FOREVER) == 0


class TestShared:
    def test_what_one_process_learns_the_others_know_soon(self, make: Make, clock: Clock) -> None:
        shared = Memory(1_000_000)
        one, two = make(shared), make(shared)
        assert two.admit("The source", "key", FOREVER) == 0
        one.learn("key", DAILY)
        clock.now += 15
        assert refusal(two).message == DAILY.message

    def test_they_count_together(self, make: Make) -> None:
        shared = Memory(1_000_000)
        one, two = make(shared, REQUESTS_PER_DAY="3"), make(shared, REQUESTS_PER_DAY="3")
        for limits in (one, two, one):
            limits.admit("The source", "key", FOREVER)
        assert one.used("key") == 3
        refusal(two)

    def test_they_take_turns(self, make: Make) -> None:
        shared = Memory(1_000_000)
        one, two = make(shared, REQUESTS_PER_SECOND="1"), make(shared, REQUESTS_PER_SECOND="1")
        assert one.admit("The source", "key", FOREVER) == 0
        assert two.admit("The source", "key", FOREVER) == pytest.approx(1.001)

    def test_a_damaged_note_is_no_note(self, make: Make) -> None:
        shared = Memory(1_000_000)
        shared.put("limits/key", b'{"something": "else"}', 1.0, 2.0)
        assert make(shared).admit("The source", "key", FOREVER) == 0

    def test_a_place_that_fails_leaves_each_process_its_own_count(self, make: Make, clock: Clock) -> None:
        limits = make(REQUESTS_PER_DAY="1", REQUESTS_PER_SECOND="1")

        def broken() -> Memory:
            raise ConnectionError

        limits._shared = FailSafeStore(broken, 30.0, clock.monotonic)
        limits.admit("The source", "key", FOREVER)
        assert refusal(limits).details["used"] == 1


def test_of_a_great_many_keys_the_first_are_forgotten(make: Make) -> None:
    limits = make()
    for number in range(1500):
        limits.admit("The source", f"key {number}", FOREVER)
        limits.learn(f"key {number}", MINUTE)
    assert limits.admit("The source", "key 0", FOREVER) == 0
    refusal(limits, "key 1499")
