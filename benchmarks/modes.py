"""Measure the first and further answers to tools/list in each mode.

    python -m benchmarks.modes            print the table
    python -m benchmarks.modes --write    put it into docs/reference/measurements.md

A process is started for each mode and run. It makes the App of the Lambda handler and answers a request; the times are
those of its processor, in milliseconds, the medians of several runs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys

from benchmarks import harness
from scripts.measured_tables import markdown_table
from toolfold.catalog.profiles import MODES
from toolfold.cli import progress

RUNS = 7

PROGRAM = """
import json, sys, time
from toolfold.app import build_app
from toolfold.protocol.http import Request
from toolfold.settings import Settings
headers = (("content-type", "application/json"), ("accept", "application/json"))
body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
request = Request("POST", headers, body, path=sys.argv[1])
started, before = time.process_time(), len(sys.modules)
server = build_app(Settings.from_environment({})).server
response = server.handle_http(request)
first = time.process_time() - started
assert response.status == 200
times = []
for _ in range(300):
    at = time.process_time()
    server.handle_http(request)
    times.append(time.process_time() - at)
print(json.dumps([first * 1000, sorted(times)[150] * 1000, len(sys.modules) - before, len(response.body)]))
"""


def measure(_: argparse.Namespace) -> str:
    """Return the table."""
    rows = []
    for mode in progress.track(("", *MODES), lambda mode: f"tools/list of {mode or 'the default'}"):
        path = f"/mcp/{mode}" if mode else "/mcp"
        runs = [json.loads(harness.run_program(PROGRAM, path)) for _ in range(RUNS)]
        first, warm, modules, size = (statistics.median(run[at] for run in runs) for at in range(4))
        rows.append((f"`{path}`", f"{first:.1f}", f"{modules:.0f}", f"{warm:.3f}", f"{size / 1000:.1f}"))
    head = ("path", "first answer, ms", "modules imported for it", "further answers, ms", "kB of a page")
    return "### `tools/list` in each mode, in processor time\n\n" + markdown_table(head, rows)


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make bench-modes", measure, "docs/reference/measurements.md"))
