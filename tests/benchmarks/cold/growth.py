"""toolfold's cold start, memory, search and get as the catalog grows, in the real runtime client.

The catalogs are those of ``tests.benchmarks.scale``. S3 is its server too, which waits before each answer about as long
as S3 does: moto copies a whole catalog for each part of it, and would measure itself.
"""

from __future__ import annotations

import json
import shutil
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tests.benchmarks.cold import events
from tests.benchmarks.cold.contenders import ROOT
from tests.benchmarks.cold.measuring import peak_memory, since, tell
from tests.benchmarks.cold.packages import COMPILED, FOLDER, Package
from tests.benchmarks.scale import generate
from tests.benchmarks.scale.__main__ import catalog
from tests.benchmarks.scale.slow_s3 import FolderClient, SlowS3
from tests.support.lambda_runtime import LambdaRuntime
from toolfold.build.publisher import publish

DELAY_S = 0.02
FILE, S3 = "file", "S3"
WARM = 100
"""Searches, and as many gets of different tools, after the first of each."""


def measure(package: Package, sizes: Sequence[int], starts: int) -> list[dict[str, Any]]:
    """For each size and place ``tools``, ``place`` and the figures of each start."""
    found: dict[tuple[int, str], list[dict[str, float]]] = {(size, place): [] for size in sizes for place in (FILE, S3)}
    with _places(sizes) as variables:
        asked = {size: generate.requests_of(size, WARM + 1) for size in sizes}
        for number in range(starts):
            for (size, place), figures in found.items():
                figures.append(_start(package, variables[size, place], *asked[size]))
            tell(f"growth: {number + 1} of {starts}")
    return [{"tools": size, "place": place, "starts": figures} for (size, place), figures in found.items()]


@contextmanager
def _places(sizes: Sequence[int]) -> Iterator[dict[tuple[int, str], Mapping[str, str]]]:
    """Make and publish the catalogs; the variables that lead to each."""
    bucket = FOLDER / "bucket"
    shutil.rmtree(bucket, ignore_errors=True)
    paths = {size: ROOT / catalog(size) for size in sizes}
    for size, path in paths.items():
        publish(path.read_bytes(), f"s3://growth/{size}", FolderClient(bucket))
    with SlowS3(bucket, DELAY_S) as server:
        yield {
            **{(size, FILE): {"TOOLFOLD_CATALOG": str(path)} for size, path in paths.items()},
            **{
                (size, S3): {"TOOLFOLD_CATALOG": f"s3://growth/{size}", "AWS_ENDPOINT_URL": server.address}
                for size in sizes
            },
        }


def _start(
    package: Package, variables: Mapping[str, str], names: Sequence[str], queries: Sequence[str]
) -> dict[str, float]:
    """Two environments, one that searches and one that gets: what both took to ``tools/list``, the first of each kind,
    the median of the others, and the larger peak of memory."""
    asked = {
        "search": [(events.tool("TOOL_LIST", query=query), "") for query in queries],
        "get": [(events.tool("TOOL_GET", tool_name=name), name) for name in names],
    }
    found: dict[str, float] = {}
    listed, memory = [], []
    for kind, sent in asked.items():
        with package.runtime(COMPILED, {**variables, "TOOLFOLD_CACHE": "memory"}) as runtime:
            started = time.perf_counter()
            runtime.invoke(events.event("tools/list", {}))
            listed.append(since(started))
            first, *others = [_timed(runtime, event, word) for event, word in sent]
            found |= {f"first {kind}": first, kind: statistics.median(others)}
            memory.append(peak_memory(runtime.pid))
    return {"listed": statistics.mean(listed), **found, "memory": max(memory)}


def _timed(runtime: LambdaRuntime, event: events.Event, word: str) -> float:
    """Milliseconds of an invocation whose answer must hold ``word``."""
    answer = runtime.invoke(event)
    text = json.loads(answer["body"])["result"]["content"][0]["text"]
    if word not in text:
        raise events.WrongAnswer(f"{event['body'][:200]} was answered with {text[:600]}")
    return runtime.duration_s * 1000
