"""What keeps failing is not called for a while."""

import pytest

from toolfold.execution.upstream import OF_SOURCE, Circuit, CircuitBreakers


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breakers(clock: Clock) -> CircuitBreakers:
    return CircuitBreakers(max_failures=3, cooldown_s=30.0, clock=clock)


def fail(breakers: CircuitBreakers, times: int) -> None:
    for _ in range(times):
        assert breakers.find(OF_SOURCE).wait_s == 0
        breakers.record_failure(OF_SOURCE)


def test_failures_in_a_row_open_it(breakers: CircuitBreakers) -> None:
    fail(breakers, 2)
    assert breakers.find(OF_SOURCE) == Circuit("closed")
    fail(breakers, 1)
    assert breakers.find(OF_SOURCE) == Circuit("open", 30.0)


def test_a_success_resets_the_count_of_failures(breakers: CircuitBreakers) -> None:
    for _ in range(5):
        fail(breakers, 2)
        breakers.record_success(OF_SOURCE)
    assert breakers.find(OF_SOURCE) == Circuit("closed")


def test_after_the_cooldown_calls_pass_and_a_success_closes_it(breakers: CircuitBreakers, clock: Clock) -> None:
    fail(breakers, 3)
    clock.now += 29
    assert breakers.find(OF_SOURCE) == Circuit("open", 1.0)
    clock.now += 1
    for _ in range(3):  # a slow call does not hold up the others
        assert breakers.find(OF_SOURCE) == Circuit("half-open")
    breakers.record_success(OF_SOURCE)
    assert breakers.find(OF_SOURCE) == Circuit("closed")


def test_a_failure_after_the_cooldown_opens_it_again(breakers: CircuitBreakers, clock: Clock) -> None:
    fail(breakers, 3)
    clock.now += 30
    fail(breakers, 1)
    assert breakers.find(OF_SOURCE) == Circuit("open", 30.0)


def test_failures_of_many_calls_take_bounded_memory(clock: Clock) -> None:
    breakers = CircuitBreakers(max_failures=1, cooldown_s=30.0, clock=clock)
    for number in range(30_000):
        breakers.record_failure(str(number))
    assert breakers.find("29999").state == "open"
    assert len(breakers._failed) <= 10_000
