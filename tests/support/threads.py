"""Concurrent calls."""

import threading
from collections.abc import Callable, Iterable


def run_concurrently(calls: Iterable[Callable[[], object]]) -> None:
    """Make each of ``calls`` on a thread of its own, and wait for all."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
