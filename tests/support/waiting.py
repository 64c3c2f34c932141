"""Waits for what another thread or process does."""

import time
from collections.abc import Callable

PATIENCE_S = 60.0
"""Seconds that nothing takes, however busy the machine is."""


def wait_until(is_done: Callable[[], object]) -> None:
    """Return as soon as a condition is true; fail after :data:`PATIENCE_S`."""
    end = time.monotonic() + PATIENCE_S
    while not is_done():
        assert time.monotonic() < end, "what was waited for has not happened"
        time.sleep(0.005)
