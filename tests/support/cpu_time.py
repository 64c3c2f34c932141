"""Bounds on the time of a piece of work, for tests of what could make it take minutes."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

QUIET_S = 0.045
"""Seconds of :func:`_reference` on the machine on which the bounds of tests were chosen."""

BUSY_S = 20.0
"""Seconds that a busy machine may add to a wait. What a test must not wait for takes longer, or has another result."""


@contextmanager
def cpu_within(seconds: float) -> Iterator[None]:
    """Fail when the block takes more than ``seconds`` of the process's processor time.

    The seconds are of a quiet machine: a block that takes longer is compared with work measured beside it, because
    the same instructions take several times as long where virtual processors share a core.
    """
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < seconds or spent < seconds * slowness(), f"{spent:.2f} s, {seconds} s allowed"


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """Fail when the block takes :data:`BUSY_S` longer than ``seconds``: it waits for what it must not wait for."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds + BUSY_S


def thread_s(action: Callable[[], object]) -> float:
    """Return the processor time of an action in this thread, without that of garbage: the least of three attempts."""
    gc.disable()
    try:
        return min(map(_timed, [action] * 3))
    finally:
        gc.enable()


def _timed(action: Callable[[], object]) -> float:
    started = time.thread_time()
    action()
    return time.thread_time() - started


def slowness() -> float:
    """Return how many times slower this machine is now than a quiet one, at least 1."""
    started = time.process_time()
    _reference()
    return max(1.0, (time.process_time() - started) / QUIET_S)


def _reference() -> None:
    found = {}
    for number in range(300_000):
        found[number % 1_000] = str(number)
