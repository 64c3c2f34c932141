"""Measure cold and warm Lambda functions, toolfold beside its peers: ``make bench-lambda``.

python -m benchmarks.cold            print the tables; some twenty minutes
python -m benchmarks.cold --write    write them into measurements.md and cost.md in docs/reference, with plots
python -m benchmarks.cold --quick    few starts and invocations, small catalogs; cannot be written

All figures are in build/cold/results.json afterwards, and the plots beside it.
"""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.cold import cost, growth, packages, services, tables, traffic
from benchmarks.cold.events import request_sets
from benchmarks.cold.measured_servers import AS_DEPLOYED, EMBEDDED, ROOT, measured_servers
from benchmarks.cold.measuring import Bench
from benchmarks.cold.packages import COMPILED, FOLDER, PLAIN
from benchmarks.cold.targets import targets
from scripts import measured_tables
from toolfold import __version__
from toolfold.catalog.store import bundled_path

PAGE = ROOT / "docs/reference/measurements.md"
COSTS = ROOT / "docs/reference/cost.md"
IMAGES = ROOT / "docs/images"
COMMAND = "make bench-lambda ARGS=--write"
PLOTTER = ROOT / ".venv-bench/bin/python"


@dataclass(frozen=True, slots=True)
class Amount:
    """The size of a run.

    Attributes:
        starts: Cold starts of each server, by variant.
        invocations: Warm invocations of each method.
        tools: Number of tools that the requests name in turn.
        sizes: Sizes of the catalogs whose growth is measured.
        grown: Cold starts for each of these sizes.
    """

    starts: dict[str, int]
    invocations: int
    tools: int
    sizes: tuple[int, ...]
    grown: int


FULL = Amount({COMPILED: 20, PLAIN: 20}, 2_000, 129, (129, 1_000, 10_000, 100_000), 5)
QUICK = Amount({COMPILED: 5, PLAIN: 2}, 100, 10, (129, 1_000), 2)


def main() -> int:
    options = measured_tables.parse_options(__doc__, "--write", "--quick")
    logging.getLogger("toolfold").setLevel(logging.ERROR)
    results = measure(QUICK if options.quick else FULL)
    kept = FOLDER / "results.json"
    kept.write_text(json.dumps(results), encoding="utf-8")
    subprocess.run([PLOTTER, "-P", ROOT / "benchmarks/cold/plots.py", kept, FOLDER], check=True)
    measured = tables.page(results)
    costs = cost.page(results, results["memory_mb"])
    for target in targets(results):
        if not target.is_met:
            print(f"missed: {target.title}: {target.measured:.3g}{target.unit}", file=sys.stderr)
    if options.write:
        IMAGES.mkdir(exist_ok=True)
        for picture in ("cold-start.png", "growth.png"):
            shutil.copy(FOLDER / picture, IMAGES / picture)
    for page, tables_of_it in ((PAGE, measured), (COSTS, costs)):
        measured_tables.update_page(page if options.write else None, COMMAND, tables_of_it)
    return 0


def measure(amount: Amount) -> dict[str, Any]:
    """Return all figures of a run."""
    everyone = measured_servers()
    built = packages.build(everyone)
    grown = growth.measure(built["toolfold"], amount.sizes, amount.grown)
    with services.running() as running:
        bench = Bench(everyone, built, running, request_sets(amount.tools))
        cold = bench.cold(amount.starts)
        warm = bench.warm(amount.invocations)
        ours = {one.name: one for one in everyone}
        handler = bench.handler(ours[EMBEDDED], amount.invocations)
        sent = traffic.count(built["toolfold"], ours[AS_DEPLOYED], running, request_sets())
    return {
        "toolfold": __version__,
        "python": packages.python_version(),
        "awslambdaric": packages.runtime_client(),
        "machine": services.machine(),
        "tools": amount.tools,
        "servers": [
            {"name": one.name, "title": one.title, "short": one.short, "kind": one.kind, "package": one.package}
            for one in everyone
        ],
        "cold": cold,
        "warm": warm,
        "handler": handler,
        "traffic": sent,
        "catalog_bytes": bundled_path().stat().st_size,
        "memory_mb": built["toolfold"].memory_mb,
        "sizes": {name: asdict(package.size()) for name, package in built.items()},
        "growth": grown,
    }


if __name__ == "__main__":
    sys.exit(main())
