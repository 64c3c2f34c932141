"""Measure the first and further answers to tools/list in each mode.

    python -m benchmarks.modes            print the table
    python -m benchmarks.modes --write    put it into docs/reference/measurements.md

A process is started for each mode and run. It makes the App of the Lambda handler and answers a request; the times are
those of its processor, in milliseconds, the medians of several runs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from scripts import measured_tables
from scripts.measured_tables import markdown_table
from toolfold.catalog.profiles import MODES
from toolfold.cli import progress

COMMAND = "make bench-modes ARGS=--write"
PAGE = Path("docs/reference/measurements.md")
RUNS = 7

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Of the processes: a package has its bytecode, so that compiling it is not measured."""

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


def measure() -> str:
    """Return the table."""
    rows = []
    for mode in progress.track(("", *MODES), lambda mode: f"tools/list of {mode or 'the default'}"):
        path = f"/mcp/{mode}" if mode else "/mcp"
        runs = [
            json.loads(
                subprocess.run(
                    [sys.executable, "-c", PROGRAM, path], env=ENVIRONMENT, capture_output=True, check=True
                ).stdout
            )
            for _ in range(RUNS)
        ]
        first, warm, modules, size = (statistics.median(run[at] for run in runs) for at in range(4))
        rows.append((f"`{path}`", f"{first:.1f}", f"{modules:.0f}", f"{warm:.3f}", f"{size / 1000:.1f}"))
    head = ("path", "first answer, ms", "modules imported for it", "further answers, ms", "kB of a page")
    return "### `tools/list` in each mode, in processor time\n\n" + markdown_table(head, rows)


def main() -> int:
    """Print or write the table; return the exit code."""
    options = measured_tables.parse_options(__doc__, "--write")
    return measured_tables.update_page(PAGE if options.write else None, COMMAND, measure())


if __name__ == "__main__":
    sys.exit(main())
