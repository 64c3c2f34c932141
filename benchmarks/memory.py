"""Measures what each memory size costs: ``make bench-memory``.

python -m benchmarks.memory            print the tables; some five minutes
python -m benchmarks.memory --write    put them into docs/explanation/decisions/deployment.md
python -m benchmarks.memory --quick    two starts of each size instead of five; not to be written
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from benchmarks import harness
from benchmarks.cold import servers, services
from benchmarks.cold.cost import CORE_MB, MILLION, UPSTREAM_S, of_duration
from benchmarks.cold.events import CACHED, FRESH, LISTING, RequestSet, request_sets, tool
from benchmarks.cold.servers import COMPILED, MeasuredServer, Package
from benchmarks.cold.services import Services
from benchmarks.timing import elapsed_ms, memory_mb, repeated_ms, timed
from scripts.measured_tables import markdown_table
from tests.support.lambda_runtime import LambdaRuntime
from tests.support.upstream import Upstream
from toolfold.cli import progress

SIZES = (128, 256, 512, 768, 1024, CORE_MB)
ANSWERS = (1, 5, 24)
"""Megabytes, up to nearly all that is fetched (TOOLFOLD_MAX_RESPONSE_BYTES)."""

Figures = dict[str, list[float]]


def measure(options: argparse.Namespace) -> str:
    """Return the tables."""
    [ours] = [one for one in servers.measured_servers() if one.name == servers.AS_DEPLOYED]
    package = servers.build([ours])[ours.package]
    found: dict[int, Figures] = {size: {} for size in SIZES}
    with services.running() as running:
        rounds = [(number, size) for number in range(2 if options.quick else 5) for size in SIZES]
        for _, size in progress.track(rounds, lambda one: f"Round {one[0] + 1}, {one[1]} MB"):
            for name, figure in _one(package, ours, running, request_sets(), size).items():
                found[size].setdefault(name, []).append(figure)
        answers = [(kind, megabytes) for kind in ("csv", "json") for megabytes in ANSWERS]
        shown = progress.track(answers, lambda one: f"An answer of {one[1]} MB of {one[0]}")
        peaks = {(kind, megabytes): _peak(package, kind, megabytes) for kind, megabytes in shown}
    return f"On {harness.describe(harness.machine())}\n\n{_by_size(found)}\n{_by_answer(peaks)}"


def _one(
    package: Package, ours: MeasuredServer, running: Services, events: Mapping[str, RequestSet], size: int
) -> dict[str, float]:
    """Milliseconds of one cold start, of calls after it, and of a first call after a restoration."""
    figures: dict[str, float] = {}
    environment = {**running.variables, **ours.environment}
    running.clear_table()
    with package.runtime(COMPILED, environment) as runtime, capped(runtime, size):
        started = time.perf_counter()
        runtime.start()
        figures["init"] = elapsed_ms(started)
        for method in (LISTING, CACHED):
            _checked(runtime, events[method])
            figures[method] = elapsed_ms(started)
        figures["warm"] = statistics.median(repeated_ms(lambda: _checked(runtime, events[FRESH]), 15))
    running.clear_table()
    snapshot = {**environment, "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
    with package.runtime(COMPILED, snapshot) as runtime, capped(runtime, size):
        runtime.start()
        figures["restored"] = timed(_checked, runtime, events[CACHED])[1]
    return figures


def _checked(runtime: LambdaRuntime, events: RequestSet) -> None:
    events.check(0, runtime.invoke(events.at(0)))


def _peak(package: Package, kind: str, megabytes: int) -> float:
    """MB of the process at most, when an answer of so many megabytes was fetched, read and cut to a preview."""
    line, frame = {
        "csv": ("2026-01-02 10:00:00,%d.1234,192.2345,191.3456,192.4567,1234567\n", "timestamp,a,b,c,d,e\n%s"),
        "json": ('"row %d":{"1. open":"190.1","2. high":"192.2345","3. low":"191.3"},', '{"Data":{%s"last":{}}}'),
    }[kind]
    lines, size = [], 0
    while size < megabytes * 1_000_000:
        lines.append(line % len(lines))
        size += len(lines[-1])
    body = (frame % "".join(lines)).encode()
    with Upstream((200, {}, body)) as upstream:
        variables = {
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": upstream.url,
            "ALPHA_VANTAGE_API_KEY": "mock-key",
            "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
            "TOOLFOLD_CATALOG": "",
            "TOOLFOLD_CACHE": "memory",
        }
        with package.runtime(COMPILED, variables) as runtime:
            runtime.timeout_s = 180  # how long it takes is another matter
            call = tool("TOOL_CALL", tool_name="TIME_SERIES_DAILY", arguments={"symbol": "IBM"})
            answer = runtime.invoke(call)
            assert '"isError":true' not in answer["body"], answer["body"][:300]
            return memory_mb(runtime.pid)


_PERIOD_S = 0.02
_LOOK_S = 0.001


@contextmanager
def capped(runtime: LambdaRuntime, memory_mb: int) -> Iterator[None]:
    """Within, the one process that ``runtime`` starts has the CPU of ``memory_mb``: it is stopped when that is used up.

    Linux does the same for Lambda by its CFS quota, which needs rights; this needs none. What the process waits is not
    used up, and what it does not use is not saved up.
    """
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


def _by_size(found: Mapping[int, Figures]) -> str:
    rows = []
    for size, figures in found.items():
        init, listing, call, warm, restored = (
            statistics.median(figures[name]) for name in ("init", LISTING, CACHED, "warm", "restored")
        )
        cold, each = (of_duration(0, ms / 1000 + UPSTREAM_S, size) * MILLION for ms in (call, warm))
        row = [f"{size:,}", f"{min(1.0, size / CORE_MB):.2f}", *(f"{one:,.0f}" for one in (init, listing, call))]
        rows.append([*row, f"{restored:,.0f}", f"{warm:,.1f}", f"{cold:,.2f}", f"{each:,.2f}"])
    head = ["MB", "vCPU", "init", "`tools/list`", "`TOOL_CALL`", "restored", "warm", "$ cold", "$ warm"]
    return markdown_table(head, rows, left=0)


def _by_answer(peaks: Mapping[tuple[str, int], float]) -> str:
    rows = [
        [f"{megabytes}", f"{peaks['csv', megabytes]:,.0f}", f"{peaks['json', megabytes]:,.0f}"] for megabytes in ANSWERS
    ]
    return markdown_table(["answer, MB", "CSV", "JSON"], rows, left=0)


if __name__ == "__main__":
    page = "docs/explanation/decisions/deployment.md"
    sys.exit(harness.run(__doc__, "make bench-memory", measure, page, "--quick"))
