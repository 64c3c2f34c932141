"""Run by ``make bench-memory``: prints the tables of docs/decisions/memory-size.md; ``--write`` puts them there."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.measured_page import keep
from tests.benchmarks.cold import contenders, packages, services
from tests.benchmarks.cold.contenders import Contender
from tests.benchmarks.cold.events import FRESH, HELD, LISTING, Asked, asked, tool
from tests.benchmarks.cold.measuring import peak_memory, since, tell
from tests.benchmarks.cold.packages import COMPILED, Package
from tests.benchmarks.cold.services import Services
from tests.benchmarks.memory.cpu import FULL_CORE_MB, capped
from tests.support.lambda_runtime import LambdaRuntime
from tests.support.upstream import Upstream

PAGE = Path("docs/decisions/memory-size.md")
COMMAND = "make bench-memory ARGS=--write"

SIZES = (128, 256, 512, 768, 1024, FULL_CORE_MB)
GB_SECOND = 0.0000133334
"""Dollars, arm64 in us-east-1: https://aws.amazon.com/lambda/pricing/"""
UPSTREAM_S = 0.2
"""What an upstream takes, in the price of a call: its length is mostly waiting."""

ANSWERS = (1, 5, 24)
"""Megabytes, up to nearly all that is fetched (TOOLFOLD_MAX_ANSWER_BYTES)."""

Figures = dict[str, list[float]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-memory", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two starts of each size instead of five")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE}")
    options = parser.parse_args()
    [ours] = [one for one in contenders.contenders() if one.name == contenders.AS_DEPLOYED]
    package = packages.build([ours])[ours.package]
    found: dict[int, Figures] = {size: {} for size in SIZES}
    with services.running() as running:
        for number in range(2 if options.quick else 5):
            for size in SIZES:
                for name, figure in _one(package, ours, running, asked(), size).items():
                    found[size].setdefault(name, []).append(figure)
            tell(f"round {number + 1}")
        peaks = {
            (kind, megabytes): _peak(package, kind, megabytes) for kind in ("csv", "json") for megabytes in ANSWERS
        }
    tables = f"{_machine()}\n\n{_by_size(found)}\n\n{_by_answer(peaks)}\n"
    if options.write:
        return keep(PAGE, COMMAND, tables, write=True)
    print(tables)
    return 0


def _one(
    package: Package, ours: Contender, running: Services, events: Mapping[str, Asked], size: int
) -> dict[str, float]:
    """Milliseconds of one cold start, of calls after it, and of a first call after a restoration."""
    figures: dict[str, float] = {}
    environment = {**running.variables, **ours.environment}
    running.forget()
    with package.runtime(COMPILED, environment) as runtime, capped(runtime, size):
        started = time.perf_counter()
        runtime.start()
        figures["init"] = since(started)
        for method in (LISTING, HELD):
            _checked(runtime, events[method])
            figures[method] = since(started)
        figures["warm"] = statistics.median(_timed(runtime, events[FRESH]) for _ in range(15))
    running.forget()
    snapshot = {**environment, "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
    with package.runtime(COMPILED, snapshot) as runtime, capped(runtime, size):
        runtime.start()
        figures["restored"] = _timed(runtime, events[HELD])
    return figures


def _timed(runtime: LambdaRuntime, events: Asked) -> float:
    started = time.perf_counter()
    _checked(runtime, events)
    return since(started)


def _checked(runtime: LambdaRuntime, events: Asked) -> None:
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
            "ALPHA_VANTAGE_API_KEY": "sandbox",
            "TOOLFOLD_CATALOG": "",
            "TOOLFOLD_CACHE": "memory",
        }
        with package.runtime(COMPILED, variables) as runtime:
            runtime.timeout_s = 180  # how long it takes is another matter
            call = tool("TOOL_CALL", tool_name="TIME_SERIES_DAILY", arguments={"symbol": "IBM"})
            answer = runtime.invoke(call)
            assert '"isError":true' not in answer["body"], answer["body"][:300]
            return peak_memory(runtime.pid)


def _by_size(found: Mapping[int, Figures]) -> str:
    rows = []
    for size, figures in found.items():
        init, listing, call, warm, restored = (
            statistics.median(figures[name]) for name in ("init", LISTING, HELD, "warm", "restored")
        )
        cold, each = (_dollars(size, seconds) for seconds in (call / 1000 + UPSTREAM_S, warm / 1000 + UPSTREAM_S))
        row = [f"{size:,}", f"{min(1.0, size / FULL_CORE_MB):.2f}", *(f"{one:,.0f}" for one in (init, listing, call))]
        rows.append([*row, f"{restored:,.0f}", f"{warm:,.1f}", f"{cold:,.2f}", f"{each:,.2f}"])
    head = ["MB", "vCPU", "init", "`tools/list`", "`TOOL_CALL`", "restored", "warm", "$ cold", "$ warm"]
    return _table(head, rows)


def _dollars(size: int, seconds: float) -> float:
    """What a million invocations of that length cost."""
    return size / 1024 * seconds * GB_SECOND * 1_000_000


def _by_answer(peaks: Mapping[tuple[str, int], float]) -> str:
    rows = [
        [f"{megabytes}", f"{peaks['csv', megabytes]:,.0f}", f"{peaks['json', megabytes]:,.0f}"] for megabytes in ANSWERS
    ]
    return _table(["answer, MB", "CSV", "JSON"], rows)


def _machine() -> str:
    about = services.machine()
    return f"On {about['processor']}, {about['cores']} cores, {about['system']}."


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---:"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    raise SystemExit(main())
