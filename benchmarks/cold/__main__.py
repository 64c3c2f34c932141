"""Measure cold and warm Lambda functions, toolfold beside its peers: ``make bench-lambda``.

python -m benchmarks.cold            print the tables; some twenty minutes
python -m benchmarks.cold --write    write them into measurements.md and cost.md in docs/reference
python -m benchmarks.cold --quick    few starts and invocations; cannot be written

All figures are in build/cold/results.json afterwards.
"""

from __future__ import annotations

import argparse
import logging
import sys
from typing import Any, NamedTuple

from benchmarks import harness
from benchmarks.cold import measuring, servers, tables
from benchmarks.cold.events import request_sets
from benchmarks.cold.servers import AS_DEPLOYED, measured_servers
from toolfold import __version__

COMMAND = "make bench-lambda"


class Amount(NamedTuple):
    """Cold starts of each server, warm invocations of each method, and how many tools the requests name in turn."""

    starts: int
    invocations: int
    tools: int


FULL, QUICK = Amount(20, 2_000, 129), Amount(5, 100, 10)


def run(options: argparse.Namespace) -> str:
    """Print or write the measured figures, and return the tables of the costs."""
    logging.getLogger("toolfold").setLevel(logging.ERROR)
    results = measure(QUICK if options.quick else FULL)
    harness.keep(results, "cold")
    for target in tables.targets(results):
        if target.ratio > target.limit:
            print(f"missed: {target.title}: {target.ratio:.3g}×", file=sys.stderr)
    harness.finish(options, COMMAND, tables.page(results), "docs/reference/measurements.md")
    return tables.costs(results, results["memory_mb"])


def measure(amount: Amount) -> dict[str, Any]:
    """Return all figures of a run."""
    everyone = measured_servers()
    built = servers.build(everyone)
    with measuring.services() as running:
        bench = measuring.Bench(everyone, built, running, request_sets(amount.tools))
        cold = bench.cold(amount.starts)
        warm = bench.warm(amount.invocations)
        ours = {one.name: one for one in everyone}
        sent = measuring.count(built["toolfold"], ours[AS_DEPLOYED], running, request_sets())
    return {
        "toolfold": __version__,
        "python": servers.python_version(),
        "awslambdaric": servers.runtime_client(),
        "machine": harness.machine(),
        "tools": amount.tools,
        "servers": [{name: getattr(one, name) for name in ("name", "title", "kind", "package")} for one in everyone],
        "cold": cold,
        "warm": warm,
        "traffic": sent,
        "memory_mb": built["toolfold"].memory_mb,
        "sizes": {name: package.size() for name, package in built.items()},
    }


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, COMMAND, run, "docs/reference/cost.md", "--quick"))
