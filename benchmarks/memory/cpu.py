"""A process that gets a part of a core, as Lambda gives it with little memory: stopped when it has used that up.

Linux does the same for Lambda by its CFS quota, which needs rights; this needs none. What the process waits is not used
up, and what it does not use is not saved up.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from benchmarks.cold.cost import CORE_MB
from tests.support.lambda_runtime import LambdaRuntime

_PERIOD_S = 0.02
_LOOK_S = 0.001


@contextmanager
def capped(runtime: LambdaRuntime, memory_mb: int) -> Iterator[None]:
    """Within, the one process that ``runtime`` starts has the CPU of ``memory_mb``."""
    over = threading.Event()
    thread = threading.Thread(target=_cap, args=(runtime, memory_mb / CORE_MB, over), daemon=True)
    if memory_mb < CORE_MB:
        thread.start()
    yield
    over.set()
    if memory_mb < CORE_MB:
        thread.join()


def _cap(runtime: LambdaRuntime, share: float, over: threading.Event) -> None:
    while not over.is_set():
        with suppress(RuntimeError):
            pid = runtime.pid
            break
        time.sleep(_LOOK_S / 4)
    else:
        return
    left_s = quota_s = _PERIOD_S * share
    used_s, period_ends, stopped = 0.0, time.perf_counter() + _PERIOD_S, False
    with suppress(ProcessLookupError, FileNotFoundError):
        while not over.is_set():
            time.sleep(_LOOK_S)
            used_s, before_s = _cpu_s(pid), used_s
            left_s -= used_s - before_s
            while time.perf_counter() >= period_ends:
                period_ends += _PERIOD_S
                left_s = min(left_s + quota_s, quota_s)
            if stopped != (left_s <= 0):
                stopped = not stopped
                os.kill(pid, signal.SIGSTOP if stopped else signal.SIGCONT)
        os.kill(pid, signal.SIGCONT)


def _cpu_s(pid: int) -> float:
    """CPU time of all threads so far."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with suppress(FileNotFoundError), open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9
