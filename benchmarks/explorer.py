"""Measure the JSON resources of the explorer: ``make bench-explorer``.

python -m benchmarks.explorer            print the tables; half a minute

Each catalog is served by a process of its own. Times are those of its processor, in milliseconds, from the event of a
request to its response, without sockets.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from benchmarks import harness
from benchmarks.scale import generate
from benchmarks.timing import percentile, timed
from scripts.measured_tables import markdown_table
from tests.support.explorer import ask, make_router
from toolfold.app import build_app
from toolfold.cli import progress
from toolfold.explorer.feed import MAX_ENTRIES, CallFeed
from toolfold.explorer.router import Router
from toolfold.settings import Settings

SIZES = (generate.BUNDLED, 10_000)
QUERIES, TYPED = 200, 40
"""Requests that are searched, and how many of them are typed letter by letter."""

LIMITS_MS = {129: 5.0, 10_000: 60.0}
"""Tools → most milliseconds of the median search that no one has made before."""

CALL = {
    "message": "call",
    "inner_tool": "RSI",
    "code": "OK",
    "cache": "miss",
    "upstream_requests": 1,
    "upstream_ms": 9.5,
}
REQUEST = {"message": "request", "tool": "TOOL_LIST", "ms": 3.0, "tokens": 300, "searched": 1, "matched": 4}

FIRST_RESPONSE = """
import sys
from toolfold.app import build_app
from toolfold.protocol.http import Request
from toolfold.settings import Settings
headers = (("content-type", "application/json"), ("accept", "application/json"))
request = Request("POST", headers, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', path="/mcp")
assert build_app(Settings.from_environment({})).server.handle_http(request).status == 200
print(sum(name.startswith(("toolfold.explorer", "toolfold.log_analysis")) for name in sys.modules))
"""


def measure(_: argparse.Namespace) -> harness.Measured:
    """Return the tables, and the sizes at which a search takes longer than it may."""
    sizes = progress.track(SIZES, lambda size: f"{size:,} tools")
    found = {size: harness.in_process("benchmarks.explorer:measure_size", size) for size in sizes}
    slow = [
        f"A search in {size:,} tools takes longer than {LIMITS_MS[size]:g} ms."
        for size, figures in found.items()
        if figures["search, new"][0] > LIMITS_MS[size]
    ]
    return "\n".join((_resources(found), _first_response(), harness.measured_on())), slow


def measure_size(size: int) -> dict[str, list[float]]:
    """Return the resource → median and 99th percentile of its time, and the bytes of its answer."""
    router, names, queries = _serve(size)
    found: dict[str, list[float]] = {}
    found["start"] = _timed(router, ["start"] * 50)
    found["catalog, first"] = _timed(router, ["catalog"])
    found["catalog"] = _timed(router, ["catalog"] * 50)
    found["catalog, compressed"] = [*found["catalog"][:2], len(gzip.compress(ask(router, "/ui/api/catalog").body, 6))]
    _timed(router, ["search?q=warm"])  # measures the lengths of texts
    targets = [f"search?q={quote(query)}" for query in queries]
    found["search, new"] = _timed(router, targets)
    found["search, again"] = _timed(router, targets)
    typed = [query[:end] for query in queries[:TYPED] for end in range(1, len(query) + 1)]
    found["search as a request is typed"] = _timed(router, [f"search?q={quote(text)}" for text in typed])
    found["tool, new"] = _timed(router, [f"tool?name={name}" for name in names])
    found["watch, nothing new"] = _timed(router, [f"watch?after={2 * MAX_ENTRIES}"] * 50)
    found[f"watch, {MAX_ENTRIES} calls and requests"] = _timed(router, ["watch?after=0"] * 50)
    return found


def _serve(size: int) -> tuple[Router, Sequence[str], Sequence[str]]:
    variables = {"TOOLFOLD_CATALOG": str(generate.catalog(size)), "TOOLFOLD_ALLOWED_HOSTS": "platform.example.org"}
    app = build_app(Settings.from_environment({} if size == generate.BUNDLED else variables))
    feed = CallFeed()
    for _ in range(MAX_ENTRIES):
        feed.add_line(CALL)
        feed.add_line(REQUEST)
    names, queries = generate.requests_of(size, QUERIES)
    return make_router(app=app, feed=feed, endpoint="http://127.0.0.1:8790/mcp"), names, queries


def _timed(router: Router, targets: Sequence[str]) -> list[float]:
    times, size = [], 0
    for target in targets:
        response, took = timed(ask, router, f"/ui/api/{target}", clock=time.process_time)
        times.append(took)
        assert response.status == 200, response.body
        size = max(size, len(response.body))
    return [statistics.median(times), percentile(times, 99), size]


def _resources(found: dict[int, dict[str, Any]]) -> str:
    head = ["", *(f"{size:,} tools, {what}" for size in found for what in ("median ms", "99 %", "kB at most"))]
    rows = []
    for name in found[SIZES[0]]:
        cells: list[str] = []
        for figures in found.values():
            median, p99, size = figures[name]
            cells += [f"{median:.2f}", f"{p99:.2f}", f"{size / 1000:,.1f}"]
        rows.append([name, *cells])
    return markdown_table(head, rows)


def _first_response() -> str:
    """Return a sentence about what the explorer adds to the first response of a gateway."""
    found = int(harness.run_program(FIRST_RESPONSE))
    return f"Modules of the explorer that the first response of a gateway imports: {found}.\n"


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make bench-explorer", measure))
