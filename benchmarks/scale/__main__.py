"""Measures toolfold as the catalog grows: ``make bench-scale``.

python -m benchmarks.scale            print the tables
python -m benchmarks.scale --write    put them into docs/reference/measurements.md
python -m benchmarks.scale --quick    up to 10,000 tools, one process each; not to be written
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks import harness, servers
from benchmarks.scale import generate
from benchmarks.timing import middle, short
from scripts.measured_tables import markdown_table
from tests.support import aws_services
from tests.support.catalogs import publish

SIZES = (generate.BUNDLED, 10_000, 100_000)
FEW = 40
"""Requests to the process behind moto, which copies the whole catalog for each requested range."""

LAMBDA_MB = 1024
ROUND = 200
"""Requests of a kind that each process is sent twice: first with a cold cache, then warm."""

COLUMNS = ("open", "`tools/list`", "first get", "first query", "`TOOL_GET`", "`TOOL_LIST(query)`")


def measure(options: argparse.Namespace) -> str:
    """Return the table."""
    sizes, processes = (SIZES[:-1], 1) if options.quick else (SIZES, 3)
    paths = {size: generate.catalog(size) for size in harness.track(sizes, lambda size: f"Making {size:,} tools")}
    with servers.slow_s3(generate.FOLDER / "bucket", paths) as (endpoint, places):
        times = _times(places, processes, **aws_services.variables(endpoint))
    sizes_mb = (f"{path.stat().st_size / 1e6:.1f}" for path in paths.values())
    rows = [
        [f"{size:,}", *of_size, catalog_mb, memory_mb]
        for size, of_size, catalog_mb, memory_mb in zip(paths, times, sizes_mb, _memory(paths), strict=True)
    ]
    title = f"### Catalog in S3 with {servers.DELAY_S * 1000:.0f} ms a request, in ms"
    return f"{title}\n\n{markdown_table(['tools', *COLUMNS, 'catalog, MB', 'memory, MB'], rows, left=0)}"


def _memory(paths: Mapping[int, Path]) -> list[str]:
    """Return the peak for each catalog in moto's S3, of a process that may have no more than a Lambda of 1,024 MB."""
    peaks = []
    with aws_services.serving() as endpoint:
        client = aws_services.client("s3", endpoint)
        client.create_bucket(Bucket="scale")
        for size, path in paths.items():
            publish(path.read_bytes(), f"s3://scale/{size}", client)
            figures = _process(f"s3://scale/{size}", size, LAMBDA_MB, FEW, **aws_services.variables(endpoint))
            peaks.append(f"{figures['memory']:.0f}")
    return peaks


def _times(places: Mapping[int, str], processes: int, **variables: str) -> list[list[str]]:
    rows = []
    for size, place in harness.track(places.items(), lambda item: f"Catalog in S3: {item[0]:,} tools"):
        measured = [_process(place, size, 0, ROUND, **variables) for _ in range(processes)]
        rows.append([short(middle(measured, name)) for name in COLUMNS])
    return rows


def _process(place: str, size: int, megabytes: int, requests: int, **variables: str) -> dict[str, Any]:
    asked = generate.requests_of(size, requests)
    return dict(harness.in_process("benchmarks.scale.measure:measure", place, *asked, megabytes, **variables))


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make bench-scale", measure, "docs/reference/measurements.md", "--quick"))
