"""A source that keeps failing is not called for a while, and then tried by one call at a time."""

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
    return CircuitBreaker(max_failures=3, cooldown_s=30.0, clock=clock)


def fail(breaker: CircuitBreaker, times: int) -> None:
    for _ in range(times):
        assert breaker.try_acquire() == 0
        breaker.record_failure()


def test_failures_in_a_row_open_it(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    assert breaker.state == "closed"
    fail(breaker, 1)
    assert breaker.state == "open"
    assert breaker.try_acquire() == 30.0


def test_a_success_resets_the_count_of_failures(breaker: CircuitBreaker) -> None:
    for _ in range(5):
        fail(breaker, 2)
        assert breaker.try_acquire() == 0
        breaker.record_success()
    assert breaker.state == "closed"


def test_after_the_cooldown_one_trial_call_passes(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 29
    assert breaker.try_acquire() == 1.0
    clock.now += 1
    assert breaker.state == "half-open"
    assert breaker.try_acquire() == 0
    assert breaker.try_acquire() > 0
    breaker.record_success()
    assert breaker.state == "closed"
    assert breaker.try_acquire() == 0


def test_a_failed_trial_opens_it_again(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 30
    fail(breaker, 1)
    assert breaker.state == "open"
    assert breaker.try_acquire() == 30.0


def test_a_released_trial_lets_another_one_pass(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 30
    assert breaker.try_acquire() == 0
    breaker.release()
    assert breaker.state == "half-open"
    assert breaker.try_acquire() == 0
