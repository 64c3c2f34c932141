"""What keeps failing is not called for a while."""

import pytest

from toolfold.execution import upstream
from toolfold.execution.upstream import OF_SOURCE, Circuit, CircuitBreakers


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_success_resets_the_count_of_failures(clock: Clock) -> None:
    breakers = CircuitBreakers(max_failures=3, cooldown_s=30.0, clock=clock)
    for _ in range(5):
        for _ in range(2):
            assert breakers.find(OF_SOURCE).wait_s == 0
            breakers.record_failure(OF_SOURCE)
        breakers.record_success(OF_SOURCE)
    assert breakers.find(OF_SOURCE) == Circuit("closed")


def test_failures_of_many_calls_take_bounded_memory(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "_MAX_CALLS", 100)
    breakers = CircuitBreakers(max_failures=1, cooldown_s=30.0, clock=clock)
    for number in range(300):
        breakers.record_failure(str(number))
    assert breakers.find("299").state == "open"
    assert len(breakers._failed) == 100
