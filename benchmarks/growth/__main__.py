"""Measure time and memory of shaping an answer, for ten shapes from 10 KB to 25 MB: ``make bench-growth``.

python -m benchmarks.growth            print the table; some four minutes
python -m benchmarks.growth --write    write it into docs/reference/answer-size.md, with a plot
python -m benchmarks.growth --quick    up to 1 MB; cannot be written

Fails when a time or a memory grows faster than the answer, or is over its limit.
"""

from __future__ import annotations

import json
import math
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.growth.measure import DEADLINE_S
from benchmarks.growth.shapes import SHAPES
from scripts import measured_tables
from scripts.measured_tables import markdown_table
from toolfold.cli import progress

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/answer-size.md"
PICTURE = ROOT / "docs/images/answer-growth.png"
FOLDER = ROOT / "build/growth"
COMMAND = "make bench-growth ARGS=--write"
PLOTTER = ROOT / ".venv-bench/bin/python"

SIZES = (10_000, 100_000, 1_000_000, 5_000_000, 25_000_000)
SELECTED = (
    ("flat CSV", "timestamp,open; last 20"),
    ("list of objects", "jmespath: [?low=='1.00']"),
    ("date map", "max(open)"),
    ("flat CSV", "SELECT timestamp, volume FROM data WHERE high > 1000 AND volume % 7000 = 0"),
    ("flat CSV", "SELECT substr(timestamp, 1, 4) AS year, avg(volume), median(high) FROM data GROUP BY year"),
    ("list of objects", "SELECT * FROM data ORDER BY volume DESC"),
)
"""Shapes that are also measured with a select."""

MAX_EXPONENT = 1.25
"""Time and memory in proportion to size ** exponent: 1 is linear, 2 quadratic; the rest is noise and caches."""

MAX_MB = 512
GRACE_S = 1
"""What the transports keep back for sending the response."""

MIN_S, MIN_MB = 0.05, 10
"""Figures below are noise, not growth."""

Figures = dict[str, Any]


def main() -> int:
    options = measured_tables.parse_options(__doc__, "--write", "--quick")
    sizes = SIZES[:3] if options.quick else SIZES
    cases = [(shape, size, select) for shape, select in _cases() for size in sizes]
    measured = [
        _measure(*case) for case in progress.track(cases, lambda case: f"{case[0]}, {_size(case[1])} {case[2]}")
    ]
    FOLDER.mkdir(parents=True, exist_ok=True)
    results = FOLDER / "results.json"
    results.write_text(json.dumps(measured), encoding="utf-8")
    if options.write:
        subprocess.run([PLOTTER, "-P", Path(__file__).with_name("plots.py"), results, FOLDER], check=True)
        shutil.copy(FOLDER / PICTURE.name, PICTURE)
    measured_tables.update_page(PAGE if options.write else None, COMMAND, _table(measured, sizes))
    problems = list(_problems(measured))
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


def _cases() -> Iterator[tuple[str, str]]:
    yield from ((shape, "") for shape in SHAPES)
    yield from SELECTED


def _measure(shape: str, size: int, select: str) -> Figures:
    """Return the least figures of some fresh processes: what else runs on the machine can only add to them."""
    command = [sys.executable, "-m", "benchmarks.growth.measure", shape, str(size), select]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)
        for _ in range(3 if size <= SIZES[2] else 2)
    ]
    figures: Figures = {**runs[0]}
    for name in ("seconds", "cpu_s", "mb"):
        figures[name] = min(run[name] for run in runs)
    return figures


def _name(figures: Figures) -> str:
    return f"{figures['shape']}, `{figures['select']}`" if figures["select"] else str(figures["shape"])


def _by_case(measured: Sequence[Figures]) -> dict[str, list[Figures]]:
    cases: dict[str, list[Figures]] = {}
    for figures in measured:
        cases.setdefault(_name(figures), []).append(figures)
    return cases


def _exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """Return the exponent that fits best, or None for fewer than three points."""
    if len(points) < 3:
        return None
    return statistics.linear_regression(*zip(*((math.log(x), math.log(y)) for x, y in points), strict=True)).slope


def _exponents(cases: Sequence[Figures]) -> tuple[float | None, float | None]:
    """Return the exponents of time and of memory; a refused answer has cost nothing that could grow."""
    answered = [one for one in cases if one["outcome"] != "ANSWER_TOO_LARGE"]
    return (
        _exponent([(one["bytes"], one["cpu_s"]) for one in answered if one["cpu_s"] > MIN_S]),
        _exponent([(one["bytes"], one["mb"]) for one in answered if one["mb"] > MIN_MB]),
    )


def _problems(measured: Sequence[Figures]) -> Iterator[str]:
    for name, cases in _by_case(measured).items():
        for what, exponent in zip(("time", "memory"), _exponents(cases), strict=True):
            if exponent is not None and exponent > MAX_EXPONENT:
                yield f"{name}: {what} grows with the size to the power of {exponent:.2f}"
        for one in cases:
            if one["seconds"] > DEADLINE_S + GRACE_S or one["mb"] > MAX_MB:
                yield f"{name}, {one['bytes']:,} bytes: {one['seconds']:.1f} s, {one['mb']:.0f} MB"


def _table(measured: Sequence[Figures], sizes: Sequence[int]) -> str:
    head = ["shape", *(_size(size) for size in sizes), "time ~ size^", "memory ~ size^"]
    rows = []
    for name, cases in _by_case(measured).items():
        exponents = ["" if one is None else f"{one:.2f}" for one in _exponents(cases)]
        rows.append([name, *map(_cell, cases), *exponents])
    return markdown_table(head, rows)


def _size(size: int) -> str:
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} KB"


def _cell(figures: Figures) -> str:
    outcome = {"ANSWER_TOO_LARGE": "too large"}.get(figures["outcome"], figures["outcome"])
    return f"{figures['cpu_s']:.2g} s, {max(0, figures['mb']):.0f} MB, {outcome}"


if __name__ == "__main__":
    sys.exit(main())
