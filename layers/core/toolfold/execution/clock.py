"""The clocks of a call, replaceable in tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Clock:
    """Three clocks that belong together.

    Attributes:
        now: the time of day, in seconds since 1970.
        monotonic: for deadlines.
        sleep: waits for some seconds.
    """

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
