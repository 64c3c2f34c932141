"""Measure the local server with clients that stall beside clients that do not: ``make load``.

python -m benchmarks.load            print the table; about a minute
python -m benchmarks.load --write    put it into docs/reference/local-server.md
python -m benchmarks.load --quick    few requests; not to be written
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from benchmarks.cold.services import described, machine
from benchmarks.load import clients
from benchmarks.load.servers import memory_mb, serving, startup_s
from scripts import measured_tables

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/local-server.md"
COMMAND = "make load ARGS=--write"
FULL, QUICK = 50, 5
CLIENTS = 400
STARTS = 7


def measure(requests: int) -> str:
    """Return the table."""
    rows = []
    for stalled in (0, 100):
        with serving() as (url, process):
            idle = memory_mb(process, "VmRSS")
            outcome = clients.run(url, CLIENTS, stalled, requests)
            peak = memory_mb(process, "VmHWM")
        rows.append(
            [
                f"{CLIENTS}",
                f"{stalled}",
                f"{len(outcome.latencies_s) + len(outcome.failures):,}",
                f"{len(outcome.failures)}",
                f"{len(outcome.latencies_s) / outcome.elapsed_s:,.0f}",
                f"{outcome.percentile_ms(50):,.0f} ms",
                f"{outcome.percentile_ms(99):,.0f} ms",
                f"{idle:.0f} MB",
                f"{peak:.0f} MB",
            ]
        )
        print(*outcome.failures[:5], sep="\n", file=sys.stderr)
    columns = ("clients", "stalled", "requests", "failed", "per second", "p50", "p99", "memory before", "at most")
    table = measured_tables.markdown_table(columns, rows, left=0)
    start = statistics.median(startup_s() for _ in range(STARTS))
    return (
        f"{table}\n`toolfold serve` accepts connections {start * 1000:.0f} ms after its start (median of {STARTS}). "
        f"Measured on {described(machine())}\n"
    )


def main() -> int:
    options = measured_tables.parse_options(__doc__, "--write", "--quick")
    measured = measure(QUICK if options.quick else FULL)
    return measured_tables.update_page(PAGE if options.write else None, COMMAND, measured)


if __name__ == "__main__":
    sys.exit(main())
