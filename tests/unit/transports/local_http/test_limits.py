"""Which connection is closed when all together use too much."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from toolfold.transports.local_http.connection import _SMALL_BYTES, ConnectionLimits


class Connection:
    def __init__(self) -> None:
        self.is_evicted = False

    def evict(self) -> None:
        self.is_evicted = True


def test_connection_that_has_waited_longest_is_closed_first() -> None:
    limits = ConnectionLimits(max_connections=2)
    first, second, third = Connection(), Connection(), Connection()
    for connection in (first, second):
        assert limits.admit(connection)
        limits.set_waiting(connection, True)
    limits.set_waiting(first, True)  # it has done something since
    assert limits.admit(third)
    assert (first.is_evicted, second.is_evicted) == (False, True)


def test_connection_that_is_answered_is_not_closed() -> None:
    limits = ConnectionLimits(max_connections=1, max_held_bytes=2 * _SMALL_BYTES)
    answered, other = Connection(), Connection()
    assert limits.admit(answered)
    limits.set_waiting(answered, False)
    assert limits.hold(answered, 2 * _SMALL_BYTES)
    assert not limits.admit(other)
    assert not answered.is_evicted


def test_small_requests_are_never_counted() -> None:
    limits = ConnectionLimits(max_held_bytes=0)
    connection = Connection()
    assert limits.admit(connection)
    assert limits.hold(connection, _SMALL_BYTES)
    assert not limits.hold(connection, _SMALL_BYTES + 1)


steps = st.tuples(
    st.sampled_from(["admit", "wait", "work", "hold", "remove"]), st.integers(0, 9), st.integers(0, 300_000)
)


@examples(300, many=5_000)
@given(st.lists(steps, max_size=60))
def test_limits_hold_after_any_steps(taken: list[tuple[str, int, int]]) -> None:
    limits = ConnectionLimits(max_connections=4, max_held_bytes=400_000)
    connections = [Connection() for _ in range(10)]
    refused = set()
    for step, number, size in taken:
        connection = connections[number]
        if connection.is_evicted:
            limits.remove(connection)
        elif step == "admit":
            limits.admit(connection)
        elif step == "hold":
            if not limits.hold(connection, size):
                refused.add(connection)
                limits.remove(connection)
        elif step == "remove":
            limits.remove(connection)
        else:
            limits.set_waiting(connection, step == "wait")
        assert len(limits._open) <= 4
        assert limits._held_bytes == sum(limits._held.values()) <= 400_000
        assert set(limits._waiting) | set(limits._held) <= limits._open
        assert not any(one.is_evicted for one in limits._open)
