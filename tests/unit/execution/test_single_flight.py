"""Equal calls that run at the same time make one request."""

import threading

import pytest

from toolfold.errors import RateLimited, UpstreamTimeout
from toolfold.execution.services import SingleFlight


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
