"""Equal calls that run at the same time make one request."""

from __future__ import annotations

import threading

import pytest

from toolfold.errors import RateLimited, UpstreamTimeout
from toolfold.execution.cached_upstreams import SingleFlight


def test_equal_work_under_way_is_done_once() -> None:
    flights: SingleFlight[int] = SingleFlight()
    started, may_end, runs, results = threading.Event(), threading.Event(), [], []

    def work() -> int:
        runs.append(1)
        started.set()
        assert may_end.wait(5)
        return 7

    def call() -> None:
        results.append(flights.run("name", work, 5.0))

    threads = [threading.Thread(target=call) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert started.wait(5)
    with pytest.raises(TimeoutError):
        flights.run("name", work, 0.01)
    assert flights.run("other name", lambda: 9, 0.01) == 9
    may_end.set()
    for thread in threads:
        thread.join()
    assert results == [7] * 5
    assert flights.run("name", lambda: 8, 5.0) == 8


def test_a_failure_is_shared_with_equal_calls() -> None:
    flights: SingleFlight[str] = SingleFlight()
    started, may_end = threading.Event(), threading.Event()

    def fails() -> str:
        started.set()
        assert may_end.wait(5)
        raise RateLimited("no", "wait")

    def lead() -> None:
        with pytest.raises(RateLimited):
            flights.run("name", fails, 5.0)

    got: list[str] = []

    def follow() -> None:
        try:
            got.append(flights.run("name", lambda: "its own", 5.0))
        except RateLimited:
            got.append("the error")

    leader, follower = threading.Thread(target=lead), threading.Thread(target=follow)
    leader.start()
    assert started.wait(5)
    follower.start()
    follower.join(0.05)  # it waits
    assert not got
    may_end.set()
    follower.join()
    leader.join()
    assert got == ["the error"]


@pytest.mark.parametrize(("leader_s", "expected"), [(0.05, "its own"), (60.0, "the error")])
def test_only_a_call_whose_time_was_over_is_repeated_by_one_with_more(leader_s: float, expected: str) -> None:
    flights: SingleFlight[str] = SingleFlight()
    started, may_end = threading.Event(), threading.Event()

    def late() -> str:
        started.set()
        assert may_end.wait(5)
        raise UpstreamTimeout("late", "again")

    def lead() -> None:
        with pytest.raises(UpstreamTimeout):
            flights.run("name", late, leader_s)

    leader = threading.Thread(target=lead)
    leader.start()
    assert started.wait(5)
    threading.Timer(0.06, may_end.set).start()
    try:
        got = flights.run("name", lambda: "its own", 5.0)
    except UpstreamTimeout:
        got = "the error"
    leader.join()
    assert got == expected
