"""Measures what a day of calls costs: ``make bench-calls``.

python -m benchmarks.calls            print the tables
python -m benchmarks.calls --write    put them into docs/reference/measurements.md
python -m benchmarks.calls --quick    200 calls; not to be written
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence

from benchmarks import harness
from benchmarks.calls import report
from benchmarks.calls.replay import (
    DAY,
    CallResult,
    PassThrough,
    Toolfold,
    memoized_responses,
    replay,
    serve_mock_api,
)
from benchmarks.calls.workload import CALLS, Call, generate_calls
from tests.support.clocks import Clock
from toolfold.cli import progress
from toolfold.cli.progress import Steps

QUICK = 200
DAYS = 7
"""Days that are replayed."""

Make = Callable[[str, Clock], Toolfold | PassThrough]


def run(options: argparse.Namespace) -> str:
    """Return the tables."""
    # Refusals of the day are expected here, and are counted.
    logging.getLogger("toolfold").setLevel(logging.ERROR)
    with memoized_responses(), progress.Steps(DAYS, has_lines=True, is_animated=False) as steps:
        return measure(generate_calls(QUICK if options.quick else CALLS), steps)


def measure(calls: Sequence[Call], steps: Steps) -> str:
    def day(title: str, make: Make, *, plan: str | None = None) -> list[CallResult]:
        steps.start(title)
        clock = Clock(DAY)
        with serve_mock_api(clock, plan) as upstream:
            return replay(calls, upstream, clock, make(upstream.url, clock))

    unlimited = day("passed through", lambda url, _: PassThrough(url))
    ours = day("toolfold", Toolfold)
    csv = day("passed through, CSV", lambda url, _: PassThrough(url, "csv"))
    parts = [report.describe_calls(calls)]
    title = "One free key for all"
    held = day(title, Toolfold, plan="free")
    passed = day(f"{title}, passed through", lambda url, _: PassThrough(url), plan="free")
    parts.append(report.comparison_table(title, held, passed, unlimited, free=True))
    parts.append(report.comparison_table("A key without limits", ours, unlimited, unlimited, free=False))
    ways: dict[str, Make] = {
        "toolfold without `select`": lambda url, clock: Toolfold(url, clock, selecting=False),
        "toolfold without a cache": lambda url, clock: Toolfold(url, clock, cache="off"),
    }
    days = {"toolfold": ours, **{title: day(title, make) for title, make in ways.items()}}
    parts.append(report.variants_table(days, unlimited, csv))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make bench-calls", run, "docs/reference/measurements.md", "--quick"))
