"""Times and memory, and how they are summed up. Imports little: it is part of processes that are measured.

python -m benchmarks.timing MODULE:FUNCTION ARGUMENTS    what :func:`benchmarks.harness.start` starts
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def elapsed_ms(started: float) -> float:
    """Return the milliseconds since ``started``."""
    return (time.perf_counter() - started) * 1000


def timed(do: Callable[..., T], *arguments: Any) -> tuple[T, float]:
    """Return what ``do`` returns, and the milliseconds that it takes."""
    started = time.perf_counter()
    done = do(*arguments)
    return done, elapsed_ms(started)


def each_ms(do: Callable[[Any], Any], arguments: Iterable[Any]) -> list[float]:
    """Return the milliseconds of ``do`` for each of ``arguments``."""
    return [timed(do, argument)[1] for argument in arguments]


def middle(runs: Iterable[Mapping[str, Any]], figure: str) -> float:
    """Return the median of a figure of several runs."""
    return statistics.median(run[figure] for run in runs)


def spread(values: Sequence[float]) -> str:
    """Return the median, with the quartiles in brackets."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{median:,.0f} ({low:,.0f}–{high:,.0f})"


def short(value: float) -> str:
    """Return three digits, or all of a large number."""
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def memory_mb(pid: int | str = "self", field: str = "VmHWM") -> float:
    """Return the memory of a process: ``VmHWM`` at most, ``VmRSS`` now.

    Not by ``getrusage``: its figure starts with that of the process which started this one.
    """
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    print(json.dumps(getattr(importlib.import_module(module), name)(*json.loads(sys.argv[2]))))
