"""Bounds on the processor time of a piece of work, for tests of input that could make it take minutes."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

QUIET_S = 0.045
"""Seconds of :func:`_reference` on the machine on which the bounds of tests were chosen."""


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


def slowness() -> float:
    """Return how many times slower this machine is now than a quiet one, at least 1."""
    started = time.process_time()
    _reference()
    return max(1.0, (time.process_time() - started) / QUIET_S)


def _reference() -> None:
    found = {}
    for number in range(300_000):
        found[number % 1_000] = str(number)
