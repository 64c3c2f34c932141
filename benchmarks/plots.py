"""Draw the plots of a run: python plots.py PLOT RESULTS FOLDER, with the name of a function of this file.

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
COLORS = (BLUE, ORANGE, GREEN, "#D55E00", "#CC79A7", SKY, GREY, "#000000", "#B79F00", "#8B4513")
MARKERS = "osD^v<>Pp*"
PANELS = (("Processor time", "cpu_s", "seconds", 0.01), ("Peak memory above idle", "mb", "MB", 1.0))
STEPS = {"init": ("start of the process → first poll", BLUE),
         "tools/list": ("→ first tools/list answered", SKY),
         "TOOL_CALL, cached": ("→ first TOOL_CALL answered", ORANGE)}  # fmt: skip


def cold(measured: Mapping[str, Any], folder: Path) -> None:
    """Draw cold starts."""
    _cold_start(measured, folder / "cold-start.png")


def _cold_start(measured: Mapping[str, Any], path: Path) -> None:
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
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    _save(figure, "Cold start in Lambda's runtime client, Python 3.13, compiled packages", path)


def answer_growth(measured: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Draw time and memory of shaping an answer, by its size, for each shape."""
    measured = [one for one in measured if not one["select"]]
    shapes = list(dict.fromkeys(one["shape"] for one in measured))
    figure, all_axes = plt.subplots(1, 2, figsize=(11, 5.6))
    for axes, (title, key, unit, least) in zip(all_axes, PANELS, strict=True):
        for shape, color, marker in zip(shapes, COLORS, MARKERS, strict=False):
            _shape(axes, [one for one in measured if one["shape"] == shape], key, least, color, marker, shape)
        # A line that is in proportion to the size, above all others.
        largest = max(max(least, one[key]) / one["bytes"] for one in measured if one["bytes"] >= 1e6)
        axes.plot([1e5, 2.5e7], [largest * 1e5, largest * 2.5e7], "--", color="#999999", linewidth=1, label="linear")
        axes.set_yscale("log")
        sizes = ["10 KB", "100 KB", "1 MB", "5 MB", "25 MB"]
        _label(axes, title, "size of the answer", unit, [1e4, 1e5, 1e6, 5e6, 2.5e7], sizes)
    all_axes[1].axhline(512, color="#999999", linewidth=1)
    all_axes[1].annotate("limit: 512 MB", (1e4, 512), (0, 4), textcoords="offset points", fontsize=9, color=GREY)
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=6, frameon=False, fontsize=9)
    title = "Shaping an answer, by its size (hollow: refused as too large)"
    _save(figure, title, folder / "answer-growth.png", rect=(0, 0.1, 1, 1))


def _shape(
    axes: Any, cases: list[Mapping[str, Any]], key: str, least: float, color: str, marker: str, label: str
) -> None:
    points = [(one["bytes"], max(least, one[key]), one["outcome"] == "ANSWER_TOO_LARGE") for one in cases]
    answered = [point[:2] for point in points if not point[2]]
    axes.plot(*zip(*answered, strict=True), marker=marker, markersize=5, color=color, label=label, linewidth=1.3)
    refused = [point[:2] for point in points if point[2]]
    if refused:
        axes.plot(*zip(*refused, strict=True), marker, markersize=6, color=color, markerfacecolor="none")


def _label(axes: Any, title: str, of: str, unit: str, ticks: Sequence[float], names: Sequence[str]) -> None:
    """Set the scale and the labels of a panel whose sizes are in proportion to their logarithms."""
    axes.set_xscale("log")
    axes.set_xticks(ticks, names)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter("{x:,.5g}")
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(of)
    axes.set_ylabel(unit)
    axes.grid(color="#dddddd", linewidth=0.6)


def _save(figure: Any, title: str, path: Path, **layout: Any) -> None:
    figure.suptitle(title, fontweight="bold")
    figure.tight_layout(**layout)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    {"cold": cold, "answer_growth": answer_growth}[sys.argv[1]](
        json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")), Path(sys.argv[3])
    )
