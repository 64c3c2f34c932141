"""What the plan of an API key allows is learned from refusals, and kept to without another request."""

from collections.abc import Callable

import pytest

from tests.support.clocks import Clock, timestamp
from toolfold.cache.base import FailSafeStore
from toolfold.cache.response_cache import MemoryStore
from toolfold.errors import RateLimited
from toolfold.execution import limits as limits_module
from toolfold.execution.limits import RateLimiter
from toolfold.settings import Settings
from toolfold.sources.alpha_vantage import next_midnight

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
    def limits(shared: MemoryStore | None = None, **environment: str) -> RateLimiter:
        settings = Settings.from_environment({f"TOOLFOLD_{name}": value for name, value in environment.items()})
        careful = None if shared is None else FailSafeStore(lambda: shared, 30.0, clock.monotonic)
        return RateLimiter("The source", next_midnight, settings, MemoryStore(1_000_000), careful, clock.clocks())

    return limits


def refusal(limits: RateLimiter, key: str = "key", deadline: float = FOREVER) -> RateLimited:
    with pytest.raises(RateLimited) as caught:
        limits.acquire(key, deadline)
    return caught.value


def test_a_key_without_known_limits_is_never_refused(make: Make, clock: Clock) -> None:
    limits = make()
    for _ in range(200):
        assert limits.acquire("key", FOREVER) == 0
    assert limits.usage_today("key") == 200
    assert clock.slept == []


class TestDailyQuota:
    def test_a_used_up_quota_is_refused_with_the_seconds_to_the_reset(self, make: Make, clock: Clock) -> None:
        limits = make()
        for _ in range(3):
            limits.acquire("key", FOREVER)
        told = limits.record_refusal("key", DAILY)
        assert told.details == {"retry_after_s": 12 * 3600, "limit": "25 per day", "used": 3}
        clock.now += 1800
        again = refusal(limits)
        assert again.message == DAILY.message
        assert again.details == {"retry_after_s": 12 * 3600 - 1800, "limit": "25 per day", "used": 3}

    def test_other_keys_are_not_refused(self, make: Make) -> None:
        limits = make()
        limits.record_refusal("key", DAILY)
        assert limits.acquire("another key", FOREVER) == 0

    def test_after_an_hour_one_call_rechecks_the_quota(self, make: Make, clock: Clock) -> None:
        limits = make()
        limits.record_refusal("key", DAILY)
        clock.now += 3599
        refusal(limits)
        clock.now += 1
        assert limits.acquire("key", FOREVER) == 0
        limits.record_refusal("key", DAILY)
        refusal(limits)

    def test_the_refusal_ends_when_the_quota_is_reset(self, make: Make, clock: Clock) -> None:
        clock.now = timestamp("2026-01-13 23:59")
        limits = make()
        limits.acquire("key", FOREVER)
        assert limits.record_refusal("key", DAILY).details["retry_after_s"] == 60
        clock.now = timestamp("2026-01-14 00:00")
        assert limits.usage_today("key") == 0
        assert limits.acquire("key", FOREVER) == 0

    def test_the_operators_daily_limit_needs_no_request(self, make: Make, clock: Clock) -> None:
        limits = make(REQUESTS_PER_DAY="2")
        limits.acquire("key", FOREVER)
        limits.acquire("key", FOREVER)
        for _ in range(2):
            assert refusal(limits).details == {"retry_after_s": 12 * 3600, "limit": "2 per day", "used": 2}
        clock.now = timestamp("2026-01-14 00:00")
        assert limits.acquire("key", FOREVER) == 0


class TestPerSecond:
    def test_a_key_that_was_too_fast_is_spaced_for_a_day(self, make: Make, clock: Clock) -> None:
        limits = make()
        assert limits.record_refusal("key", BURST) is BURST
        times = []
        for _ in range(4):
            limits.acquire("key", FOREVER)
            times.append(round(clock.now - timestamp("2026-01-13 12:00"), 1))
        assert times == [0.0, 1.0, 2.0, 3.0]
        clock.now += 86400
        slept = len(clock.slept)
        limits.acquire("key", FOREVER)
        limits.acquire("key", FOREVER)
        assert len(clock.slept) == slept

    def test_the_operator_can_set_the_rate(self, make: Make) -> None:
        limits = make(REQUESTS_PER_SECOND="2")
        limits.acquire("key", FOREVER)
        assert limits.acquire("key", FOREVER) == pytest.approx(0.501)

    @pytest.mark.parametrize(("setting", "left_s"), [("0.5", FOREVER), ("10", 0.5)])
    def test_a_queue_that_is_too_long_is_a_refusal(self, make: Make, clock: Clock, setting: str, left_s: float) -> None:
        limits = make(REQUESTS_PER_SECOND="1", MAX_QUEUE_WAIT_S=setting)
        limits.acquire("key", FOREVER)
        assert refusal(limits, deadline=clock.monotonic() + left_s).details == {
            "retry_after_s": 2, "limit": "1 per second"
        }  # fmt: skip
        assert clock.slept == []
        assert limits.usage_today("key") == 1

    def test_a_clock_set_back_causes_no_long_wait(self, make: Make, clock: Clock) -> None:
        limits = make(REQUESTS_PER_SECOND="1", MAX_QUEUE_WAIT_S="3")
        limits.acquire("key", FOREVER)
        clock.now -= 7200
        assert limits.acquire("key", FOREVER) == 0


class TestShared:
    def test_a_refusal_is_shared_between_processes(self, make: Make, clock: Clock) -> None:
        shared = MemoryStore(1_000_000)
        one, two = make(shared), make(shared)
        assert two.acquire("key", FOREVER) == 0
        one.record_refusal("key", DAILY)
        clock.now += 15
        assert refusal(two).message == DAILY.message

    def test_processes_count_together(self, make: Make) -> None:
        shared = MemoryStore(1_000_000)
        one, two = make(shared, REQUESTS_PER_DAY="3"), make(shared, REQUESTS_PER_DAY="3")
        for limits in (one, two, one):
            limits.acquire("key", FOREVER)
        assert one.usage_today("key") == 3
        refusal(two)

    def test_processes_take_turns(self, make: Make) -> None:
        shared = MemoryStore(1_000_000)
        one, two = make(shared, REQUESTS_PER_SECOND="1"), make(shared, REQUESTS_PER_SECOND="1")
        assert one.acquire("key", FOREVER) == 0
        assert two.acquire("key", FOREVER) == pytest.approx(1.001)


def test_refusals_of_many_keys_take_bounded_memory(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "_MAX_KEYS", 200)
    limits = make()
    for number in range(300):
        limits.record_refusal(f"key {number}", MINUTE)
    assert len(limits._states) == 200
    refusal(limits, "key 299")


def test_a_flood_of_made_up_keys_does_not_unlock_a_key(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "_MAX_KEYS", 200)
    limits = make(REQUESTS_PER_DAY="2")
    limits.record_refusal("refused", MINUTE)
    for _ in range(2):
        limits.acquire("used up", FOREVER)
    for number in range(150):
        limits.acquire(f"key {number}", FOREVER)
    refusal(limits, "refused")
    refusal(limits, "used up")
