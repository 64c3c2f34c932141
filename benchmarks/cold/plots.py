"""Draw the plots of a run: python plots.py RESULTS FOLDER writes cold-start.png and growth.png.

Runs in an environment of its own, with matplotlib and without toolfold.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

# The palette of Okabe and Ito, for readers with colour vision deficiency.
BLUE, SKY, ORANGE, GREEN, GREY = "#0072B2", "#56B4E9", "#E69F00", "#009E73", "#666666"
STEPS = {"init": ("start of the process → first poll", BLUE),
         "tools/list": ("→ first tools/list answered", SKY),
         "TOOL_CALL, cached": ("→ first TOOL_CALL answered", ORANGE)}  # fmt: skip

FIRST, OTHERS = ", first", ", the next hundred"


def main(results: Path, folder: Path) -> None:
    measured = json.loads(results.read_text(encoding="utf-8"))
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    cold_start(measured, folder / "cold-start.png")
    growth(measured["growth"], folder / "growth.png")


def cold_start(measured: Mapping[str, Any], path: Path) -> None:
    """Draw a bar of three steps for each server, labelled with the ends of the steps."""
    starts = measured["cold"]["compiled"]
    servers = measured["servers"]
    figure, axes = plt.subplots(figsize=(10, 5.2))
    longest = 0.0
    for row, one in enumerate(servers):
        steps = [step for step in STEPS if one["kind"] != "floor" or step != "TOOL_CALL, cached"]
        ends = [statistics.median(start[step] for start in starts[one["name"]]) for step in steps]
        left = 0.0
        for step, end in zip(steps, ends, strict=True):
            axes.barh(row, end - left, left=left, color=STEPS[step][1], height=0.62)
            left = end
        longest = max(longest, left)
        axes.annotate(" → ".join(f"{end:,.0f}" for end in ends) + " ms", (left, row), (5, 0),
                      textcoords="offset points", va="center", fontsize=9)  # fmt: skip
    axes.set_yticks(range(len(servers)), [one["short"] for one in servers])
    axes.invert_yaxis()
    axes.set_xlim(0, longest * 1.24)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("milliseconds, median")
    axes.legend(handles=[mpl.patches.Patch(color=color, label=label) for label, color in STEPS.values()],
                loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, frameon=False, fontsize=9)  # fmt: skip
    figure.suptitle("Cold start in Lambda's runtime client, Python 3.13, compiled packages", fontweight="bold")
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def growth(measured: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw cold start, memory, search and get by size of the catalog."""
    panels = (
        ("Cold start to the first tools/list", "milliseconds", (("listed", ""),)),
        ("Peak memory", "MB", (("memory", ""),)),
        ("TOOL_LIST(query), an invocation", "milliseconds", (("first search", FIRST), ("search", OTHERS))),
        ("TOOL_GET, an invocation", "milliseconds", (("first get", FIRST), ("get", OTHERS))),
    )
    figure, all_axes = plt.subplots(2, 2, figsize=(10, 7.2))
    for axes, (title, unit, lines) in zip(all_axes.flat, panels, strict=True):
        for key, when in lines:
            for place, color in (("file", GREEN), ("S3", BLUE)):
                _line(axes, measured, place, key, color=color, style="--" if when == OTHERS else "-",
                      label=f"catalog in {'a file' if place == 'file' else place}{when}")  # fmt: skip
        axes.set_xscale("log")
        sizes = sorted({one["tools"] for one in measured})
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.set_ylim(0, axes.get_ylim()[1] * 1.3)
        axes.set_title(title, fontsize=11)
        axes.set_xlabel("tools in the catalog")
        axes.set_ylabel(unit)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.yaxis.set_major_formatter("{x:,.5g}")
        axes.legend(frameon=False, fontsize=8.5, loc="upper left")
    figure.suptitle("toolfold as the catalog grows (S3: 20 ms a request)", fontweight="bold")
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _line(
    axes: Any, measured: Sequence[Mapping[str, Any]], place: str, key: str, *, color: str, style: str, label: str
) -> None:
    points = sorted(
        (one["tools"], statistics.median(start[key] for start in one["starts"]))
        for one in measured
        if one["place"] == place
    )
    axes.plot(*zip(*points, strict=True), style, marker="o", markersize=4, color=color, label=label)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
