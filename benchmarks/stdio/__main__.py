"""Measure how long an agent waits for toolfold and its peers over stdio: ``make bench-stdio``.

python -m benchmarks.stdio            print the table; some two minutes, and the time to install the peers
python -m benchmarks.stdio --write    put it into docs/reference/measurements.md
python -m benchmarks.stdio --quick    few starts; not to be written
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cold.services import described, machine
from benchmarks.cold.tables import spread
from benchmarks.stdio.environments import FLOOR, ROOT, MeasuredServer, install, measured_servers, python_version
from benchmarks.stdio.measuring import INITIALIZE, LIST, TOOL_CALL, TOOL_LIST, Start, start
from scripts import measured_tables
from tests.conformance.helpers import start_server
from toolfold import __version__
from toolfold.cli import progress

PAGE = ROOT / "docs/reference/measurements.md"
COMMAND = "make bench-stdio ARGS=--write"
FULL, QUICK = 21, 3

NOTE = """\
From the start of the process until each of these has been answered, one after the other: `initialize`, `tools/list`,
`TOOL_LIST` without a query, `TOOL_CALL`. Median, and in brackets the quartiles; the servers take turns, one start at
a time, each with an empty cache folder. Ratios are to a Python that has imported nothing and answers its first line.
Memory is the most that the process had in use (VmHWM): when the tools had been listed, and in the end. Packages are
what the environment holds, with compiled files; nothing is compiled while it is measured.

toolfold is the wheel, started as `toolfold stdio`. FastMCP and the SDK have the same three tools with the same
definitions ([scripts/peers](../../scripts/peers)); they start without the core of toolfold and import it at the first
`TOOL_LIST`. They cache results in memory; the first `TOOL_CALL` of toolfold also creates its cache file.
marketdata-mcp-server is the server of Alpha Vantage. It requires `mcp>=1.12.3` and works only with `mcp<2`. Its calls
go to alphavantage.co and are therefore not measured.
"""


def main() -> int:
    options = measured_tables.parse_options(__doc__, "--write", "--quick")
    everyone = measured_servers()
    install(everyone)
    starts = measure(everyone, QUICK if options.quick else FULL)
    measured = page(everyone, starts, {"python": python_version(), **machine()})
    return measured_tables.update_page(PAGE if options.write else None, COMMAND, measured)


def measure(everyone: Sequence[MeasuredServer], times: int) -> dict[str, list[Start]]:
    """Return the starts of each server, made in turn, without the first one of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        mock_api = [sys.executable, "-m", "toolfold", "mock-api", "--port", "0"]
        home = {**path, "HOME": folder, "PYTHONPATH": str(ROOT / "layers/core")}
        with start_server(mock_api, env=home, log=Path(folder) / "log") as url:
            given = {**path, "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": url, "ALPHA_VANTAGE_API_KEY": "mock-key"}
            starts: dict[str, list[Start]] = {one.name: [] for one in everyone}
            for _ in progress.track(range(times + 1), lambda number: f"Starts over stdio, round {number + 1}"):
                for one in everyone:
                    starts[one.name].append(start(one, given))
    return {name: all_of_it[1:] for name, all_of_it in starts.items()}


def page(everyone: Sequence[MeasuredServer], starts: Mapping[str, Sequence[Start]], about: Mapping[str, Any]) -> str:
    """Return the table and its notes."""
    heads = [
        "",
        f"`{INITIALIZE}`, ms",
        "ratio",
        f"`{LIST}`",
        f"`{TOOL_LIST}`",
        f"`{TOOL_CALL}`",
        "memory, MB",
        "packages",
    ]
    rows = [_row(one, starts[one.name], starts[FLOOR]) for one in everyone]
    counted = len(starts[FLOOR])
    return "\n".join(
        [
            "### Start over stdio, beside the peers\n",
            f"Python {about['python']}; toolfold {__version__}; {counted} starts of each. {described(about)}\n",
            measured_tables.markdown_table(heads, rows),
            NOTE,
        ]
    )


def _row(one: MeasuredServer, starts: Sequence[Start], floor: Sequence[Start]) -> list[str]:
    times = {what: [start.answered_ms[what] for start in starts] for what in starts[0].answered_ms}
    first = statistics.median(times[INITIALIZE])
    ratio = first / statistics.median(start.answered_ms[INITIALIZE] for start in floor)
    later = [spread(times[what]) if what in times else "–" for what in (LIST, TOOL_LIST, TOOL_CALL)]
    memory = [
        statistics.median(getattr(start, name) for start in starts) for name in ("memory_started", "memory_in_the_end")
    ]
    of_memory = " → ".join(f"{size / 1e6:.0f}" for size in memory) if one.name != FLOOR else f"{memory[0] / 1e6:.0f}"
    count, size = one.installed
    packages = f"{count}: {size / 1e6:,.1f} MB" if one.name != FLOOR else "–"
    return [one.title, spread(times[INITIALIZE]), f"{ratio:.1f}", *later, of_memory, packages]


if __name__ == "__main__":
    sys.exit(main())
