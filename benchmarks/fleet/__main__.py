"""Measure several environments under 200 requests a second: ``make load-lambda``.

python -m benchmarks.fleet            print the table; two minutes
python -m benchmarks.fleet --write    put it into docs/reference/load.md
python -m benchmarks.fleet --quick    a few seconds; not to be written

What the environments logged is in build/fleet/log.jsonl afterwards.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.cold.services import described, machine
from benchmarks.fleet.environments import Fleet, new_environment, running_fleet
from benchmarks.fleet.measure import Load, Measured, measure
from benchmarks.fleet.requests import CALLS
from scripts import measured_tables

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/load.md"
LOG = ROOT / "build/fleet/log.jsonl"
COMMAND = "make load-lambda ARGS=--write"
ENVIRONMENTS = 4
FULL, QUICK = Load(200, 30, 4), Load(200, 4, 2)


def run(load: Load) -> list[tuple[str, int, Measured]]:
    """Return name, environments and outcome of each part of the measurement."""
    with running_fleet(ENVIRONMENTS) as (fleet, url):
        parts = [
            ("empty cache, no call made before", ENVIRONMENTS, measure(fleet, url, load, seed=1)),
            ("the same environments afterwards", ENVIRONMENTS, measure(fleet, url, load, seed=11)),
        ]
        with new_environment(fleet.deployment) as started:
            fleet.add(started)
            parts.append(("another environment started", ENVIRONMENTS + 1, measure(fleet, url, load, seed=21)))
            write_log(fleet)
    return parts


def write_log(fleet: Fleet) -> None:
    """Write the log of all environments."""
    LOG.parent.mkdir(parents=True, exist_ok=True)
    LOG.write_text("".join(f"{line}\n" for one in fleet.environments for line in one.log), encoding="utf-8")


def table(load: Load, parts: list[tuple[str, int, Measured]]) -> str:
    """Return the table of the page."""
    rows = [
        [
            name,
            f"{environments}",
            f"{len(measured.latencies_ms) + len(measured.failures):,}",
            f"{len(measured.failures)}",
            f"{len(measured.different)}",
            f"{measured.rate:,.0f}",
            f"{measured.percentile_ms(50):,.0f} ms",
            f"{measured.percentile_ms(99):,.0f} ms",
            f"{measured.upstream}",
            f"{measured.most_equal}",
        ]
        for name, environments, measured in parts
    ]
    columns = ("part", "environments", "requests", "failed", "different answers", "per second", "p50", "p99")
    columns += ("upstream requests", "of which equal, at most")
    return (
        f"{measured_tables.markdown_table(columns, rows)}\n"
        f"{load.rate:.0f} requests a second from {load.processes} processes of clients, {load.seconds:.0f} s for "
        f"each part, with {len(CALLS)} different calls.\nMeasured on {described(machine())}\n"
    )


def main() -> int:
    """Measure and write or print the table; report what must not happen."""
    options = measured_tables.parse_options(__doc__, "--write", "--quick")
    load = QUICK if options.quick else FULL
    parts = run(load)
    problems = [problem for _, _, measured in parts for problem in (*measured.failures, *measured.different)]
    print(*problems[:10], sep="\n", file=sys.stderr)
    return measured_tables.update_page(PAGE if options.write else None, COMMAND, table(load, parts)) or bool(problems)


if __name__ == "__main__":
    sys.exit(main())
