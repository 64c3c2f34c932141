"""Measures toolfold as the catalog grows: ``make bench-scale``.

python -m benchmarks.scale            print the tables
python -m benchmarks.scale --write    put them into docs/reference/scale.md
python -m benchmarks.scale --quick    up to 10,000 tools, one process each; not to be written
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.scale import generate
from benchmarks.scale.slow_s3 import FolderClient, SlowS3
from scripts import measured_tables
from toolfold.build.publisher import publish
from toolfold.catalog.layout import FORMAT
from toolfold.catalog.store import bundled_path
from toolfold.cli import progress

PAGE = Path("docs/reference/scale.md")
COMMAND = "make bench-scale ARGS=--write"
FOLDER = Path("build/scale")
SIZES = (129, 1_000, 10_000, 100_000)
FEW = 40
"""Requests to the process behind moto, which copies the whole catalog for each requested range."""

DELAY_S = 0.02
LAMBDA_MB = 1024
ROUND = 200
"""Requests of a kind that each process is sent twice: first with a cold cache, then warm."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "open": ("open",),
    "`tools/list`": ("tools/list", "p50"),
    "first get": ("first_get",),
    "first query": ("first_query",),
    "get, new": ("get", "new"),
    "get": ("get", "p50"),
    "query, new": ("query", "new"),
    "query": ("query", "p50"),
    "p99": ("query", "p99"),
    "`TOOL_GET`": ("TOOL_GET", "p50"),
    "`TOOL_LIST(query)`": ("TOOL_LIST", "p50"),
}


def main() -> int:
    options = measured_tables.parse_options(__doc__, "--write", "--quick")
    sizes, processes = (SIZES[:-1], 1) if options.quick else (SIZES, 3)
    paths = {size: catalog(size) for size in progress.track(sizes, lambda size: f"Making {size:,} tools")}
    files = _times("Catalog in a file", {size: (str(path), {}) for size, path in paths.items()}, processes)
    parts = ["Milliseconds.\n", files, in_slow_s3(paths, processes), in_moto(paths)]
    return measured_tables.update_page(PAGE if options.write else None, COMMAND, "\n".join(parts))


def catalog(size: int) -> Path:
    """The catalog of that size, made if it is not there."""
    if size == SIZES[0]:
        return bundled_path()
    path = FOLDER / f"{size}-format-{FORMAT}.json"  # a file of another layout is not used again
    FOLDER.mkdir(parents=True, exist_ok=True)
    generate.write(size, path)
    return path


def in_slow_s3(paths: Mapping[int, Path], processes: int) -> str:
    """The table for S3 with a delay: what ``publish`` would put into the bucket, served from a folder."""
    served = FOLDER / "bucket"
    shutil.rmtree(served, ignore_errors=True)
    for size, path in paths.items():
        publish(path.read_bytes(), f"s3://scale/{size}", FolderClient(served))
    with SlowS3(served, DELAY_S) as server:
        places = {size: (f"s3://scale/{size}", _aws(server.address)) for size in paths}
        return _times(f"Catalog in S3, {DELAY_S * 1000:.0f} ms a request", places, processes)


def in_moto(paths: Mapping[int, Path]) -> str:
    """The table of memory: each catalog in moto's S3, served by a process that may have no more than a Lambda of
    1,024 MB."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        variables = _aws("http://{}:{}".format(*server.get_host_and_port()))
        client = boto3.client(
            "s3", endpoint_url=variables["AWS_ENDPOINT_URL"], aws_access_key_id="x", aws_secret_access_key="x",
            region_name="us-east-1",
        )  # fmt: skip
        client.create_bucket(Bucket="scale")
        rows = []
        for size, path in paths.items():
            publish(path.read_bytes(), f"s3://scale/{size}", client)
            head = path.open("rb").readline()
            figures = _process(f"s3://scale/{size}", size, variables, LAMBDA_MB, FEW)
            rows.append(
                f"| {size:,} | {path.stat().st_size / 1e6:.1f} | {len(head) / 1e3:.0f} "
                f"| {figures['memory_before']:.0f} | {figures['memory']:.0f} |"
            )
    finally:
        server.stop()
    return "\n".join(
        [
            f"### Memory, with the catalog in S3 (moto) and an address space of {LAMBDA_MB:,} MB\n",
            "| tools | catalog, MB | head, kB | process before, MB | at its peak, MB |",
            "|---:|---:|---:|---:|---:|",
            *rows,
            "",
        ]
    )


def _times(title: str, places: Mapping[int, tuple[str, Mapping[str, str]]], processes: int) -> str:
    rows = []
    for size, (place, variables) in progress.track(places.items(), lambda item: f"{title}: {item[0]:,} tools"):
        measured = [_process(place, size, variables) for _ in range(processes)]
        cells = [statistics.median(_at(figures, way) for figures in measured) for way in COLUMNS.values()]
        rows.append(
            f"| {size:,} | " + " | ".join(f"{cell:.3g}" if cell < 100 else f"{cell:.0f}" for cell in cells) + " |"
        )
    head = f"| tools | {' | '.join(COLUMNS)} |\n|{'---:|' * (len(COLUMNS) + 1)}"
    return f"### {title}\n\n{head}\n" + "\n".join(rows) + "\n"


def _at(figures: Any, way: tuple[str, ...]) -> float:
    for key in way:
        figures = figures[key]
    return float(figures)


def _process(
    place: str, size: int, variables: Mapping[str, str], megabytes: int | None = None, requests: int = ROUND
) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale.measure", place]
    command += [] if megabytes is None else [str(megabytes)]
    names, queries = generate.requests_of(size, requests)
    asked = json.dumps({"names": names, "queries": queries})
    environment = {**os.environ, **variables}
    done = subprocess.run(command, input=asked, env=environment, capture_output=True, text=True, check=False)
    lines = [line.removeprefix("figures:") for line in done.stdout.splitlines() if line.startswith("figures:")]
    if done.returncode or not lines:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return dict(json.loads(lines[0]))


def _aws(endpoint: str) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


if __name__ == "__main__":
    sys.exit(main())
