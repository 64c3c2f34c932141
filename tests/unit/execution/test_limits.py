"""How many calls one caller and one key may make: never more, and never fewer."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clocks import Clock, timestamp
from toolfold.cache.response_cache import MemoryStore
from toolfold.cache.stores import CacheStore, FailSafeStore
from toolfold.catalog.entries import Auth, Source
from toolfold.catalog.model import Catalog
from toolfold.errors import ClientLimit, RateLimited
from toolfold.execution import upstream
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.execution.limits import ClientLimits, caller_id
from toolfold.execution.upstream import RateLimiter
from toolfold.settings import Settings
from toolfold.sources.alpha_vantage import next_midnight

PER_MINUTE, PER_DAY = 3, 7
DAY_S = 86_400


class Switch(MemoryStore):
    """A store that can fail."""

    is_down = False

    def count_within(self, *given: Any, **how: Any) -> Any:
        if self.is_down:
            raise ConnectionError
        return super().count_within(*given, **how)


class World:
    """Two processes that share a store and a clock."""

    def __init__(self, per_minute: int = PER_MINUTE, per_day: int = PER_DAY) -> None:
        self.clock, self.store = Clock("2026-01-13 12:00"), Switch(0)
        self.failures: list[str] = []
        configuration = Settings.from_environment(
            {"TOOLFOLD_CALLS_PER_MINUTE": str(per_minute), "TOOLFOLD_CALLS_PER_DAY": str(per_day)}
        )
        self.processes = []
        for name in ("one", "two"):
            shared: FailSafeStore[CacheStore] = FailSafeStore(
                self.store,
                30.0,
                self.clock.monotonic,
                on_failure=lambda _, name=name: self.failures.append(name),  # type: ignore[misc]
            )
            self.processes.append(ClientLimits(configuration, shared, self.clock.clocks()))

    def call(self, caller: str = "me", process: int = 0, is_cached: bool = False) -> ClientLimit | None:
        try:
            self.processes[process].admit(caller, is_cached=is_cached)
        except ClientLimit as error:
            return error
        return None


class Step(NamedTuple):
    after_s: float
    caller: str
    process: int
    is_cached: bool


STEPS = st.lists(
    st.builds(
        Step,
        # Also back: the clock of a machine is corrected.
        st.sampled_from([0.0, 0.0, 0.4, 7.0, 31.0, 59.9, 60.0, 3600.0, 0.6 * DAY_S, -0.2]),
        st.sampled_from("ab"),
        st.integers(0, 1),
        st.booleans(),
    ),
    max_size=60,
)


@settings(max_examples=80, deadline=None)
@given(STEPS)
def test_a_caller_is_admitted_up_to_its_limits_and_refused_only_beyond(steps: Sequence[Step]) -> None:
    world = World()
    minutes, days, admitted_at = Counter[tuple[str, int]](), Counter[tuple[str, int]](), list[tuple[str, float]]()
    for step in steps:
        world.clock.now += step.after_s
        now = world.clock.now
        minute, day = (step.caller, int(now // 60)), (step.caller, int(now // DAY_S))
        is_counted = minutes[minute] < PER_MINUTE
        expected = is_counted and (step.is_cached or days[day] < PER_DAY)
        error = world.call(step.caller, step.process, step.is_cached)
        assert (error is None) == expected
        minutes[minute] += is_counted  # also a call that is refused for the day
        if error is None:
            days[day] += not step.is_cached
            admitted_at.append((step.caller, now))
    for caller, start in admitted_at:
        assert sum(who == caller and start <= at < start + 60 for who, at in admitted_at) <= 2 * PER_MINUTE


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 1), st.sampled_from([0.0, 1.0, 31.0])), max_size=40))
def test_without_the_shared_store_each_process_holds_the_limits(steps: list[tuple[bool, int, float]]) -> None:
    world = World(per_day=0)
    admitted = Counter[tuple[int, int]]()
    for world.store.is_down, process, after_s in steps:
        world.clock.now += after_s
        admitted[process, int(world.clock.now // 60)] += world.call(process=process) is None
    assert all(count <= PER_MINUTE for count in admitted.values())


def test_a_refusal_states_the_limit_and_when_it_ends() -> None:
    world = World()
    world.clock.now += 13.5
    assert [world.call() for _ in range(PER_MINUTE)] == [None] * PER_MINUTE
    error = world.call()
    assert error.as_dict() == {
        "code": "CLIENT_LIMIT",
        "message": "The 3 calls that one client may make here in a minute are used up.",
        "suggestion": "Wait as long as retry_after_s says and call again.",
        "retry_after_s": 47,
        "resets_at": "2026-01-13T17:01:00Z",
        "limit": "3 per minute",
        "used": 3,
    }
    world.clock.now += 46.5
    assert world.call() is None


def test_a_used_up_day_ends_at_midnight_utc() -> None:
    world = World(per_minute=9, per_day=2)
    world.call(), world.call()
    error = world.call()
    assert (error.details["resets_at"], error.details["limit"]) == ("2026-01-14T00:00:00Z", "2 per day")
    ends = datetime.fromisoformat(error.details["resets_at"]).timestamp()
    assert error.details["retry_after_s"] == ends - world.clock.now
    world.clock.now = ends - 0.1
    assert world.call() is not None
    world.clock.now = ends
    assert world.call() is None


def test_a_failure_of_the_store_is_reported_once_and_refuses_nobody() -> None:
    world = World()
    world.call(), world.call()
    world.store.is_down = True
    assert world.call() is None
    assert world.call() is not None  # what this process admitted before counts
    assert world.failures == ["one"]
    assert world.call(process=1) is None
    assert world.failures == ["one", "two"]


def credentials(**given: Any) -> RequestCredentials:
    return RequestCredentials(**given)


@pytest.fixture
def source(catalog: Catalog) -> Source:
    return catalog.source("alpha_vantage")


def test_callers_are_told_apart_by_token_then_by_key_then_by_address(source: Source) -> None:
    callers = [
        NO_CREDENTIALS,
        credentials(address="192.0.2.1"),
        credentials(address="192.0.2.2"),
        credentials(address="2001:db8:0:1::1"),
        credentials(address="2001:db8:0:2::1"),
        credentials(bearer="KEY1"),
        credentials(x_api_key="KEY2"),
        credentials(named={source.id: "KEY3"}, bearer="KEY1"),
        credentials(caller="0011223344556677"),
        credentials(caller="KEY1"),  # an id is not a key of the same letters
    ]
    assert len({caller_id(source, one, "salt") for one in callers}) == len(callers)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (credentials(bearer="KEY1", address="192.0.2.1"), credentials(x_api_key="KEY1", address="192.0.2.2")),
        (credentials(caller="ab", bearer="KEY1"), credentials(caller="ab", named={"alpha_vantage": "KEY2"})),
        (credentials(address="2001:db8::1"), credentials(address="2001:db8::ffff:1")),
        (credentials(address="::ffff:192.0.2.1"), credentials(address="192.0.2.1")),
        (credentials(address="fe80::1%eth0"), credentials(address="fe80::1%eth1")),
        (credentials(address="a:b"), credentials(address="a:b", named={"other_source": "KEY1"})),
    ],
)
def test_what_belongs_to_one_caller(source: Source, one: RequestCredentials, other: RequestCredentials) -> None:
    assert caller_id(source, one, "salt") == caller_id(source, other, "salt")


@pytest.mark.parametrize("auth", [None, Auth("SOME_KEY", caller_key=False)])
def test_a_made_up_key_that_is_not_sent_makes_no_other_caller(source: Source, auth: Auth | None) -> None:
    closed = source._replace(auth=auth)
    made_up = [credentials(bearer=f"KEY{number}", named={closed.id: f"KEY{number}"}) for number in range(5)]
    assert len({caller_id(closed, one, "salt") for one in made_up}) == 1


def test_the_hash_of_a_caller_depends_on_the_deployment_and_shows_nothing(source: Source) -> None:
    one = credentials(bearer="CANARYKEY0123456")
    assert caller_id(source, one, "a") != caller_id(source, one, "b")
    assert "CANARY" not in caller_id(source, one, "a")


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
        careful = None if shared is None else FailSafeStore(shared, 30.0, clock.monotonic)
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
        assert limits.acquire("another key", FOREVER) == 0
        clock.now += 1800
        again = refusal(limits)
        assert again.message == DAILY.message
        assert again.details == {"retry_after_s": 12 * 3600 - 1800, "limit": "25 per day", "used": 3}

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
    monkeypatch.setattr(upstream, "_MAX_KEYS", 200)
    limits = make()
    for number in range(300):
        limits.record_refusal(f"key {number}", MINUTE)
    assert len(limits._states) == 200
    refusal(limits, "key 299")


def test_a_flood_of_made_up_keys_does_not_unlock_a_key(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "_MAX_KEYS", 200)
    limits = make(REQUESTS_PER_DAY="2")
    limits.record_refusal("refused", MINUTE)
    for _ in range(2):
        limits.acquire("used up", FOREVER)
    for number in range(150):
        limits.acquire(f"key {number}", FOREVER)
    refusal(limits, "refused")
    refusal(limits, "used up")
