"""What calls share: equal calls that run at the same time, circuit breakers, and the health of sources."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.clocks import Clock
from toolfold.cache.base import FailSafeStore
from toolfold.errors import (
    CallError,
    InvalidArguments,
    NoData,
    RateLimited,
    SourceChanged,
    UpstreamError,
    UpstreamTimeout,
)
from toolfold.execution import upstream
from toolfold.execution.credentials import NO_CREDENTIALS, RequestCredentials
from toolfold.execution.services import KEPT_REQUEST_S, KEPT_S, KeptRequests, SourceHealth
from toolfold.execution.upstream import OF_SOURCE, Circuit, CircuitBreakers
from toolfold.sources.base import ConnectionFailed, ConnectionNotPossible, ConnectTimeout, NotConnected, SingleFlight


def follow(leader_s: float, failure: CallError) -> str:
    """Return what a call gets that joins an equal one, which has ``leader_s`` seconds and fails."""
    flights: SingleFlight[str] = SingleFlight()
    started, may_end = threading.Event(), threading.Event()

    def fails() -> str:
        started.set()
        assert may_end.wait(5)
        raise failure

    def lead() -> None:
        with pytest.raises(type(failure)):
            flights.run("name", fails, leader_s)

    leader = threading.Thread(target=lead)
    leader.start()
    assert started.wait(5)
    threading.Timer(0.06, may_end.set).start()
    try:
        return flights.run("name", lambda: "its own", 5.0)
    except CallError as error:
        return error.code
    finally:
        leader.join()


@pytest.mark.parametrize(
    ("leader_s", "failure", "expected"),
    [
        (5.0, RateLimited("no", "wait"), "RATE_LIMITED"),
        (60.0, UpstreamTimeout("late", "again"), "UPSTREAM_TIMEOUT"),
        (0.05, UpstreamTimeout("late", "again"), "its own"),
    ],
)
def test_a_failure_is_shared_unless_the_time_of_the_first_call_was_over(
    leader_s: float, failure: CallError, expected: str
) -> None:
    assert follow(leader_s, failure) == expected


def test_a_success_resets_the_count_of_failures() -> None:
    breakers = CircuitBreakers(max_failures=3, cooldown_s=30.0, clock=lambda: 100.0)
    for _ in range(5):
        for _ in range(2):
            assert breakers.find(OF_SOURCE).wait_s == 0
            breakers.record_failure(OF_SOURCE)
        breakers.record_success(OF_SOURCE)
    assert breakers.find(OF_SOURCE) == Circuit("closed")


def test_failures_of_many_calls_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "_MAX_CALLS", 100)
    breakers = CircuitBreakers(max_failures=1, cooldown_s=30.0, clock=lambda: 100.0)
    for number in range(300):
        breakers.record_failure(str(number))
    assert breakers.find("299").state == "open"
    assert len(breakers._failed) == 100


def tool(name: str = "a__x", source: str = "a") -> Any:
    return SimpleNamespace(name=name, source=source)


@pytest.mark.parametrize(
    ("failure", "state"),
    [
        (NotConnected, "unreachable"),
        (ConnectionNotPossible, "unreachable"),
        (ConnectTimeout, "unreachable"),
        (ConnectionFailed, "failing"),
        (UpstreamTimeout, "slow"),
        (SourceChanged, "changed"),
        (UpstreamError, None),
        (InvalidArguments, None),
        (NoData, None),
    ],
)
def test_a_failure_counts_that_no_caller_can_cause(failure: type[CallError], state: str | None) -> None:
    health = SourceHealth(lambda: 0.0)
    health.record_failure(tool(), failure("It failed.", ""))
    assert {source: one.state for source, one in health.troubles().items()} == ({"a": state} if state else {})


def test_a_failure_is_forgotten() -> None:
    now = 0.0
    health = SourceHealth(lambda: now)
    health.record_failure(tool(), NotConnected("It is down.", ""))
    now = KEPT_S + 1
    assert not health.troubles()


@pytest.mark.parametrize("is_alone", [True, False])
def test_what_the_cache_does_not_take_is_kept_by_a_process_that_is_alone(is_alone: bool) -> None:
    clock = Clock("2026-01-13 12:00")

    def refuse() -> Any:
        raise OSError

    kept = KeptRequests(FailSafeStore(refuse, 30.0, clock.monotonic), clock.clocks(), "salt", is_alone=is_alone)
    assert kept.add({"text": "x" * 300_000}) is None
    added = kept.add({"text": "x"})
    assert (added is not None) == is_alone
    if added is not None:
        assert kept.get(added[0]) == added[1]
        assert [kept.use_once(added[0]) for _ in range(2)] == [True, False]
        clock.now += KEPT_REQUEST_S
        assert kept.get(added[0]) is None
    assert not kept.use_once("A" * 22)  # of a store that says nothing
    caller, of_others = RequestCredentials(x_api_key="x"), KeptRequests(None, clock.clocks(), "", is_alone=True)
    assert kept.caller(NO_CREDENTIALS) == ""
    assert kept.caller(caller) != of_others.caller(caller)  # without the salt, keys could be found by trying
