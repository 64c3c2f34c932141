"""Clocks that move only when a test moves them."""

import time
from datetime import datetime
from zoneinfo import ZoneInfo

from toolfold import client_call

NEW_YORK = ZoneInfo("America/New_York")


def timestamp(clock: str) -> float:
    """Return a local time in New York, e.g. ``2026-01-13 12:00``, in seconds since 1970."""
    return datetime.fromisoformat(clock).replace(tzinfo=NEW_YORK).timestamp()


class Clock:
    """One clock for the time of day, the monotonic time and sleeping; sleeping only moves it."""

    def __init__(self, start: str = "2026-01-13 12:00") -> None:
        self.now = self._start = timestamp(start)
        self._started = time.monotonic()
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def clocks(self) -> client_call.Clock:
        return client_call.Clock(self, self.monotonic, self.sleep)

    def monotonic(self) -> float:
        """Return monotonic seconds. They start at the real ones, because sockets use those."""
        return self._started + self.now - self._start
