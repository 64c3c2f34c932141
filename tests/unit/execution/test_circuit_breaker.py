"""What keeps failing is not called for a while."""

from __future__ import annotations

import pytest

from toolfold.execution.upstream import CircuitBreaker, CircuitBreakers


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
        assert breaker.wait_s == 0
        breaker.record_failure()


def test_failures_in_a_row_open_it(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    assert breaker.state == "closed"
    fail(breaker, 1)
    assert breaker.state == "open"
    assert breaker.wait_s == 30.0


def test_a_success_resets_the_count_of_failures(breaker: CircuitBreaker) -> None:
    for _ in range(5):
        fail(breaker, 2)
        breaker.record_success()
    assert breaker.state == "closed"


def test_after_the_cooldown_calls_pass_and_a_success_closes_it(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 29
    assert breaker.wait_s == 1.0
    clock.now += 1
    assert breaker.state == "half-open"
    for _ in range(3):  # a slow call does not hold up the others
        assert breaker.wait_s == 0
    breaker.record_success()
    assert breaker.state == "closed"
    assert breaker.wait_s == 0


def test_a_failure_after_the_cooldown_opens_it_again(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 30
    fail(breaker, 1)
    assert breaker.state == "open"
    assert breaker.wait_s == 30.0


def test_each_call_has_a_breaker_of_its_own(clock: Clock) -> None:
    breakers = CircuitBreakers(max_failures=3, cooldown_s=30.0, clock=clock)
    for _ in range(3):
        breakers.record_failure("one")
    assert breakers.get("one").wait_s == 30.0
    assert breakers.get("other").wait_s == 0
    breakers.record_success("one")
    assert breakers.get("one").state == "closed"


def test_failures_of_many_calls_take_bounded_memory(clock: Clock) -> None:
    breakers = CircuitBreakers(max_failures=1, cooldown_s=30.0, clock=clock)
    for number in range(30_000):
        breakers.record_failure(str(number))
    assert breakers.get("29999").state == "open"
    assert len(breakers._breakers) <= 10_000
