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
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import harness
from benchmarks.cold import cost, measuring, servers, services, tables
from benchmarks.cold.events import request_sets
from benchmarks.cold.servers import AS_DEPLOYED, COMPILED, measured_servers
from toolfold import __version__
from toolfold.catalog.store import bundled_path

COMMAND = "make bench-lambda"


@dataclass(frozen=True, slots=True)
class Amount:
    """The size of a run.

    Attributes:
        starts: Cold starts of each server, by variant.
        invocations: Warm invocations of each method.
        tools: Number of tools that the requests name in turn.
    """

    starts: dict[str, int]
    invocations: int
    tools: int


FULL = Amount({COMPILED: 20}, 2_000, 129)
QUICK = Amount({COMPILED: 5}, 100, 10)


def run(options: argparse.Namespace) -> str:
    """Print or write the measured figures, and return the tables of the costs."""
    logging.getLogger("toolfold").setLevel(logging.ERROR)
    results = measure(QUICK if options.quick else FULL)
    harness.keep(results, "cold")
    for target in tables.targets(results):
        if not target.is_met:
            print(f"missed: {target.title}: {target.measured:.3g}×", file=sys.stderr)
    harness.finish(options, COMMAND, tables.page(results), "docs/reference/measurements.md")
    return cost.page(results, results["memory_mb"])


def measure(amount: Amount) -> dict[str, Any]:
    """Return all figures of a run."""
    everyone = measured_servers()
    built = servers.build(everyone)
    with services.running() as running:
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
        "servers": [
            {"name": one.name, "title": one.title, "short": one.short, "kind": one.kind, "package": one.package}
            for one in everyone
        ],
        "cold": cold,
        "warm": warm,
        "traffic": sent,
        "catalog_bytes": bundled_path().stat().st_size,
        "memory_mb": built["toolfold"].memory_mb,
        "sizes": {name: asdict(package.size()) for name, package in built.items()},
    }


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, COMMAND, run, "docs/reference/cost.md", "--quick"))
