"""A source that keeps failing is left alone, and tried again by one call at a time."""

from __future__ import annotations

import pytest

from toolfold.execution.circuit_breaker import CircuitBreaker


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(failures=3, cooldown_s=30.0, clock=clock)


def fail(breaker: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        assert breaker.enter() == 0
        breaker.failed()


def test_it_opens_after_so_many_failures_in_a_row(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    assert breaker.state == "closed"
    fail(breaker, 1)
    assert breaker.state == "open"
    assert breaker.enter() == 30.0


def test_a_success_between_them_starts_the_count_anew(breaker: CircuitBreaker) -> None:
    for _ in range(5):
        fail(breaker, 2)
        assert breaker.enter() == 0
        breaker.succeeded()
    assert breaker.state == "closed"


def test_after_the_pause_one_call_passes_and_the_others_wait_for_it(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 29
    assert breaker.enter() == 1.0
    clock.now += 1
    assert breaker.state == "half-open"
    assert breaker.enter() == 0
    assert breaker.enter() > 0
    breaker.succeeded()
    assert breaker.state == "closed"
    assert breaker.enter() == 0


def test_a_trial_that_fails_opens_it_again(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 30
    fail(breaker, 1)
    assert breaker.state == "open"
    assert breaker.enter() == 30.0


def test_a_trial_that_was_never_sent_leaves_room_for_another(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 30
    assert breaker.enter() == 0
    breaker.left()
    assert breaker.state == "half-open"
    assert breaker.enter() == 0
