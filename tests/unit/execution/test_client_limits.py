"""How many calls one caller may make: never more, and never fewer."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clocks import Clock
from toolfold.cache.base import CacheStore, FailSafeStore
from toolfold.cache.response_cache import MemoryStore
from toolfold.catalog.entries import Auth, Source
from toolfold.catalog.model import Catalog
from toolfold.errors import ClientLimit
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.execution.limits import ClientLimits, caller_id
from toolfold.settings import Settings

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
                lambda: self.store,
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
        expected = minutes[minute] < PER_MINUTE and (step.is_cached or days[day] < PER_DAY)
        error = world.call(step.caller, step.process, step.is_cached)
        assert (error is None) == expected
        if error is None:
            minutes[minute] += 1
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
    assert error is not None
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
    world = World(per_minute=2, per_day=2)  # both are used up: the longer wait is stated
    world.call(), world.call()
    error = world.call()
    assert error is not None
    assert (error.details["resets_at"], error.details["limit"]) == ("2026-01-14T00:00:00Z", "2 per day")
    ends = datetime.fromisoformat(error.details["resets_at"]).timestamp()
    assert error.details["retry_after_s"] == ends - world.clock.now
    world.clock.now = ends - 0.1
    assert world.call() is not None
    world.clock.now = ends
    assert world.call() is None


def test_cached_answers_count_for_the_minute_alone_and_come_when_the_day_is_used_up() -> None:
    world = World(per_minute=3, per_day=1)
    assert [world.call(is_cached=cached) is None for cached in (True, False, False, True)] == [True, True, False, True]
    assert world.call(is_cached=True) is not None  # the fourth of this minute


def test_a_caller_that_is_refused_costs_no_further_writes() -> None:
    world, writes = World(per_day=0), list[str]()
    count_within = world.store.count_within
    world.store.count_within = lambda key, *rest: (writes.append(key), count_within(key, *rest))[1]  # type: ignore[method-assign]
    for _ in range(20):
        world.call()
    assert len(writes) == PER_MINUTE + 1


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
