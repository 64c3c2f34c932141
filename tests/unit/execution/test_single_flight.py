"""Equal calls that run at the same time make one request."""

from __future__ import annotations

import threading

import pytest

from toolfold.errors import InvalidArguments, RateLimited
from toolfold.execution.single_flight import SingleFlight


def test_equal_work_under_way_is_done_once() -> None:
    flights: SingleFlight[int] = SingleFlight()
    started, may_end, runs, results = threading.Event(), threading.Event(), [], []

    def work() -> int:
        runs.append(1)
        started.set()
        assert may_end.wait(5)
        return 7

    def call() -> None:
        results.append(flights.run("name", "owner", work, 5.0))

    threads = [threading.Thread(target=call) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert started.wait(5)
    with pytest.raises(TimeoutError):
        flights.run("name", "owner", work, 0.01)
    may_end.set()
    for thread in threads:
        thread.join()
    assert results == [7] * 5
    assert flights.run("name", "owner", lambda: 8, 5.0) == 8


@pytest.mark.parametrize(
    ("error", "owner", "follower_gets"),
    [
        (InvalidArguments("no", "look"), "leader", "the error"),
        (InvalidArguments("no", "look"), "another", "its own"),
        (RateLimited("no", "wait"), "another", "its own"),
    ],
)
def test_a_failure_is_shared_with_calls_of_the_same_key(error: Exception, owner: str, follower_gets: str) -> None:
    flights: SingleFlight[str] = SingleFlight()
    started, may_end = threading.Event(), threading.Event()

    def fails() -> str:
        started.set()
        assert may_end.wait(5)
        raise error

    def lead() -> None:
        with pytest.raises(type(error)):
            flights.run("name", "leader", fails, 5.0)

    got: list[str] = []

    def follow() -> None:
        try:
            got.append(flights.run("name", owner, lambda: "its own", 5.0))
        except type(error):
            got.append("the error")

    leader = threading.Thread(target=lead)
    leader.start()
    assert started.wait(5)
    follower = threading.Thread(target=follow)
    follower.start()
    follower.join(0.05)  # it waits
    assert not got
    may_end.set()
    follower.join()
    leader.join()
    assert got == [follower_gets]
