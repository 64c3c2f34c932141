"""Measures cold and warm Lambda functions, toolfold beside its peers: ``make bench-lambda``.

python -m tests.benchmarks.cold            print the tables; some twenty minutes
python -m tests.benchmarks.cold --write    put them into docs/reference/measurements.md and docs/reference/cost.md, with pictures
python -m tests.benchmarks.cold --quick    few starts and invocations, small catalogs; not to be written

Everything that was measured is left in build/cold/results.json, and the pictures beside it.
"""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any

from scripts import measured_tables
from tests.benchmarks.cold import cost, growth, packages, services, tables, traffic
from tests.benchmarks.cold.contenders import AS_DEPLOYED, EMBEDDED, ROOT, contenders
from tests.benchmarks.cold.events import asked
from tests.benchmarks.cold.measuring import Bench
from tests.benchmarks.cold.packages import COMPILED, FOLDER, PLAIN
from tests.benchmarks.cold.targets import targets
from toolfold import __version__
from toolfold.catalog.store import bundled_path

PAGE = ROOT / "docs/reference/measurements.md"
COSTS = ROOT / "docs/reference/cost.md"
IMAGES = ROOT / "docs/images"
COMMAND = "make bench-lambda ARGS=--write"
PLOTTER = ROOT / ".venv-bench/bin/python"


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is measured: ``starts`` by variant, ``invocations`` of each method that go round so many ``tools``, and
    the ``sizes`` of catalogs with the ``grown`` starts of each."""

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
    subprocess.run([PLOTTER, "-P", ROOT / "tests/benchmarks/cold/plots.py", kept, FOLDER], check=True)
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
    """Everything that the tables and pictures are made of."""
    everyone = contenders()
    built = packages.build(everyone)
    with services.running() as running:
        bench = Bench(everyone, built, running, asked(amount.tools))
        cold = bench.cold(amount.starts)
        warm = bench.warm(amount.invocations)
        ours = {one.name: one for one in everyone}
        handler = bench.handler(ours[EMBEDDED], amount.invocations)
        sent = traffic.count(built["toolfold"], ours[AS_DEPLOYED], running, asked())
    return {
        "toolfold": __version__,
        "python": packages.python_version(),
        "awslambdaric": packages.runtime_client(),
        "machine": services.machine(),
        "tools": amount.tools,
        "contenders": [
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
        "growth": growth.measure(built["toolfold"], amount.sizes, amount.grown),
    }


if __name__ == "__main__":
    sys.exit(main())
