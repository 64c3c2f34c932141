"""Measure time and memory of shaping an answer, for ten shapes from 10 KB to 25 MB: ``make bench-growth``.

python -m benchmarks.growth            print the table; some four minutes
python -m benchmarks.growth --write    write it into docs/reference/measurements.md
python -m benchmarks.growth --quick    up to 1 MB; cannot be written

The shapes are those of real tools, and those that a table or a preview is worst at. The command fails when a time or a
memory grows faster than the answer, or is over its limit.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import harness
from benchmarks.timing import memory_mb
from scripts.measured_tables import markdown_table
from tests.support.rendering import render_result
from toolfold.budget import WorkBudget
from toolfold.errors import CallError
from toolfold.results.output import OutputOptions
from toolfold.results.select.grammar import parse_select

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
DEADLINE_S, GRACE_S = 25, 1
"""What the transports keep back for sending the response."""

MIN_S, MIN_MB = 0.05, 10
"""Figures below are noise, not growth."""

Figures = dict[str, Any]


class Answer(NamedTuple):
    """The text of an upstream, and its kind: ``json`` or ``csv``."""

    kind: str
    body: str


def _filled(line: Callable[[int], str], size: int, separator: str) -> str:
    """Return lines of about ``size`` characters together."""
    lines, length, number = [], 0, 0
    while length < size:
        lines.append(line(number))
        length += len(lines[-1]) + len(separator)
        number += 1
    return separator.join(lines)


def _csv(header: str, line: Callable[[int], str]) -> Callable[[int], Answer]:
    return lambda size: Answer("csv", f"{header}\n{_filled(line, size, chr(10))}")


def _json(before: str, item: Callable[[int], str], after: str) -> Callable[[int], Answer]:
    return lambda size: Answer("json", before + _filled(item, size, ",") + after)


def _day(number: int) -> str:
    return f"{1000 + number // 336 % 9000}-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}"


_MEMBERS = '"open":"{0}.25","high":"{0}.75","low":"{0}.00","volume":{0}'

SHAPES: Mapping[str, Callable[[int], Answer]] = {
    "flat CSV": _csv("timestamp,open,high,low,volume", lambda n: f"{_day(n)},{n}.2500,{n}.7500,{n}.0000,{n * 1000}"),
    "wide CSV": _csv(
        ",".join(f"c{n}" for n in range(500)), lambda n: ",".join(f"{n + column}.5000" for column in range(500))
    ),
    "ragged CSV": _csv("a,b", lambda n: "x" + ",y" * (n % 500)),
    "list of objects": _json("[", lambda n: f'{{"date":"{_day(n)}",{_MEMBERS.format(n)}}}', "]"),
    "disjoint objects": _json("[", lambda n: f'{{"key{n}":"word {n}","other{n}":{n}.5}}', "]"),
    "date map": _json('{"series":{', lambda n: f'"{_day(n)}":{{{_MEMBERS.format(n)}}}', "}}"),
    "nested objects": _json("[", lambda n: f'{{"a":{{"b":{{"c":{{"name":"word {n}","text":"{"x" * 80}"}}}}}}}}', "]"),
    "nested lists": _json("[", lambda n: f'[[{n},[{n}.5,["word {n}","{"x" * 80}"]]]]', "]"),
    "one long text": _json('{"text":"', lambda n: f"lorem ipsum {n}", '"}'),
    "many keys": _json("{", lambda n: f'"{n}. name":"{n}.5"', "}"),
}


def measure(options: argparse.Namespace) -> harness.Measured:
    """Return the table, and what grows too fast."""
    sizes = SIZES[:3] if options.quick else SIZES
    cases = [
        (shape, size, select) for shape, select in (*((shape, "") for shape in SHAPES), *SELECTED) for size in sizes
    ]
    measured = [_measure(*case) for case in harness.track(cases, lambda case: f"{case[0]}, {_size(case[1])} {case[2]}")]
    harness.keep(measured, "growth")
    return _table(measured, sizes), list(_problems(measured))


def _measure(shape: str, size: int, select: str) -> Figures:
    """Return the least figures of some fresh processes: what else runs on the machine can only add to them."""
    count = 3 if size <= SIZES[2] else 2
    runs = [harness.in_process("benchmarks.growth:shape_answer", shape, size, select) for _ in range(count)]
    return runs[0] | {name: min(run[name] for run in runs) for name in ("seconds", "cpu_s", "mb")}


def shape_answer(shape: str, size: int, select: str) -> Figures:
    """Shape one answer in this process, and return what it took."""
    selection = parse_select(select) if select else None
    render_result("a,b\n1,2", "csv", {}, OutputOptions(select=parse_select("a")))  # imports what is needed
    before = memory_mb(field="VmRSS")
    kind, body = SHAPES[shape](size)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak of memory is that of making the answer
    started, cpu = time.monotonic(), time.thread_time()
    try:
        result = render_result(body, kind, {}, OutputOptions(select=selection), budget=WorkBudget(started + DEADLINE_S))
        outcome = "preview" if "preview" in result.structured else "whole"
    except CallError as error:
        outcome = error.code
    return {
        "shape": shape,
        "select": select,
        "bytes": len(body.encode()),
        "outcome": outcome,
        "seconds": time.monotonic() - started,
        "cpu_s": time.thread_time() - cpu,
        "mb": memory_mb() - before,
    }


def _by_case(measured: Sequence[Figures]) -> dict[str, list[Figures]]:
    cases: dict[str, list[Figures]] = {}
    for figures in measured:
        select = f", `{figures['select']}`" if figures["select"] else ""
        cases.setdefault(f"{figures['shape']}{select}", []).append(figures)
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
    head = ["shape", _size(sizes[-1]), "time ~ size^", "memory ~ size^"]
    rows = []
    for name, cases in _by_case(measured).items():
        exponents = ["" if one is None else f"{one:.2f}" for one in _exponents(cases)]
        if all(exponents):  # of others, the largest answers are refused, or take next to nothing
            rows.append([name, _cell(cases[-1]), *exponents])
    return markdown_table(head, rows)


def _size(size: int) -> str:
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} KB"


def _cell(figures: Figures) -> str:
    outcome = {"ANSWER_TOO_LARGE": "too large"}.get(figures["outcome"], figures["outcome"])
    return f"{figures['cpu_s']:.2g} s, {max(0, figures['mb']):.0f} MB, {outcome}"


if __name__ == "__main__":
    sys.exit(harness.run(__doc__, "make bench-growth", measure, "docs/reference/measurements.md", "--quick"))
