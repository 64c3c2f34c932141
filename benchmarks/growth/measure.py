"""Shape one answer in this process and print what it took: python -m benchmarks.growth.measure SHAPE SIZE ""."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.growth.shapes import SHAPES
from tests.support.rendering import render_result
from toolfold.budget import WorkBudget
from toolfold.errors import CallError
from toolfold.results.output import OutputOptions
from toolfold.results.select.parser import parse_select

DEADLINE_S = 25


def main(shape: str, size: int, select: str) -> None:
    selection = parse_select(select) if select else None
    render_result("a,b\n1,2", "csv", {}, OutputOptions(select=parse_select("a")))  # imports what is needed
    before = _memory("VmRSS")
    kind, body = SHAPES[shape](size)
    _reset_peak()
    started, cpu = time.monotonic(), time.thread_time()
    outcome = "whole"
    try:
        result = render_result(body, kind, {}, OutputOptions(select=selection), budget=WorkBudget(started + DEADLINE_S))
        outcome = "preview" if "preview" in result.structured else "whole"
    except CallError as error:
        outcome = error.code
    figures: dict[str, Any] = {
        "shape": shape,
        "select": select,
        "bytes": len(body.encode()),
        "outcome": outcome,
        "seconds": time.monotonic() - started,
        "cpu_s": time.thread_time() - cpu,
        "mb": _memory("VmHWM") - before,
    }
    print(json.dumps(figures))


def _memory(field: str) -> float:
    """Return a size of this process in MB, from /proc."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(field))


def _reset_peak() -> None:
    """Reset the peak of memory, which is that of making the answer."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
