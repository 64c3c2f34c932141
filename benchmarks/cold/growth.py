"""Measure cold start, memory, search and get of toolfold for catalogs of several sizes, in the real runtime client.

The catalogs are those of ``benchmarks.scale``, and S3 is the slow server of that benchmark.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import servers
from benchmarks.cold import events
from benchmarks.cold.servers import COMPILED, FOLDER, Package
from benchmarks.harness import ROOT
from benchmarks.scale import generate
from benchmarks.timing import elapsed_ms, memory_mb
from tests.support.lambda_runtime import LambdaRuntime
from toolfold.cli import progress

FILE, S3 = "file", "S3"
_SETTINGS = {"TOOLFOLD_CACHE": "memory", "TOOLFOLD_ALLOWED_HOSTS": "platform.example.org"}
"""What a gateway needs to serve the generated source (``scale.generate``)."""

WARM = 100
"""Searches after the first one, and as many gets of different tools."""


def measure(package: Package, sizes: Sequence[int], starts: int) -> list[dict[str, Any]]:
    """Return ``tools``, ``place`` and the figures of each start, for each size and place."""
    found: dict[tuple[int, str], list[dict[str, float]]] = {(size, place): [] for size in sizes for place in (FILE, S3)}
    paths = {size: ROOT / generate.catalog(size) for size in sizes}
    with servers.slow_s3(FOLDER / "bucket", paths) as (endpoint, places):
        variables = {(size, FILE): {"TOOLFOLD_CATALOG": str(path)} for size, path in paths.items()} | {
            (size, S3): {"TOOLFOLD_CATALOG": place, "AWS_ENDPOINT_URL": endpoint} for size, place in places.items()
        }
        requests = {size: generate.requests_of(size, WARM + 1) for size in sizes}
        for _ in progress.track(range(starts), lambda number: f"Starts with large catalogs, round {number + 1}"):
            for (size, place), figures in found.items():
                figures.append(_start(package, variables[size, place], *requests[size]))
    return [{"tools": size, "place": place, "starts": figures} for (size, place), figures in found.items()]


def _start(
    package: Package, variables: Mapping[str, str], names: Sequence[str], queries: Sequence[str]
) -> dict[str, float]:
    """Return the figures of two environments, one that searches and one that gets.

    The figures are the mean time to ``tools/list``, the time of the first request of each kind, the median of the
    others, and the larger peak of memory.
    """
    requests = {
        "search": [(events.tool("TOOL_LIST", query=query), "") for query in queries],
        "get": [(events.tool("TOOL_GET", tool_name=name), name) for name in names],
    }
    found: dict[str, float] = {}
    listed, memory = [], []
    for kind, sent in requests.items():
        with package.runtime(COMPILED, {**variables, **_SETTINGS}) as runtime:
            started = time.perf_counter()
            runtime.invoke(events.event("tools/list", {}))
            listed.append(elapsed_ms(started))
            first, *others = [_timed(runtime, event, word) for event, word in sent]
            found |= {f"first {kind}": first, kind: statistics.median(others)}
            memory.append(memory_mb(runtime.pid))
    return {"listed": statistics.mean(listed), **found, "memory": max(memory)}


def _timed(runtime: LambdaRuntime, event: events.Event, word: str) -> float:
    """Return the milliseconds of an invocation, after checking that its response contains ``word``."""
    answer = runtime.invoke(event)
    text = json.loads(answer["body"])["result"]["content"][0]["text"]
    if word not in text:
        raise events.WrongResponse(f"{event['body'][:200]} was answered with {text[:600]}")
    return runtime.duration_s * 1000
