"""Draw the plot of a run: python plots.py RESULTS FOLDER writes answer-growth.png.

Runs in an environment of its own, with matplotlib and without toolfold.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

# The palette of Okabe and Ito, for readers with colour vision deficiency.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#666666", "#000000", "#B79F00", "#8B4513")
MARKERS = "osD^v<>Pp*"
PANELS = (("Processor time", "cpu_s", "seconds", 0.01), ("Peak memory above idle", "mb", "MB", 1.0))


def main(results: Path, folder: Path) -> None:
    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    measured = [one for one in json.loads(results.read_text(encoding="utf-8")) if not one["select"]]
    shapes = list(dict.fromkeys(one["shape"] for one in measured))
    figure, all_axes = plt.subplots(1, 2, figsize=(11, 5.6))
    for axes, (title, key, unit, least) in zip(all_axes, PANELS, strict=True):
        for shape, color, marker in zip(shapes, COLORS, MARKERS, strict=False):
            _line(axes, [one for one in measured if one["shape"] == shape], key, least, color, marker, shape)
        _linear(axes, measured, key, least)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks([1e4, 1e5, 1e6, 5e6, 2.5e7], ["10 KB", "100 KB", "1 MB", "5 MB", "25 MB"])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:,.5g}")
        axes.set_title(title, fontsize=11)
        axes.set_xlabel("size of the answer")
        axes.set_ylabel(unit)
        axes.grid(color="#dddddd", linewidth=0.6)
    all_axes[1].axhline(512, color="#999999", linewidth=1)
    all_axes[1].annotate("limit: 512 MB", (1e4, 512), (0, 4), textcoords="offset points", fontsize=9, color="#666666")
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=6, frameon=False, fontsize=9)
    figure.suptitle("Shaping an answer, by its size (hollow: refused as too large)", fontweight="bold")
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    figure.savefig(folder / "answer-growth.png", dpi=130)


def _line(axes: Any, cases: list[dict[str, Any]], key: str, least: float, color: str, marker: str, label: str) -> None:
    points = [(one["bytes"], max(least, one[key]), one["outcome"] == "ANSWER_TOO_LARGE") for one in cases]
    answered = [point[:2] for point in points if not point[2]]
    axes.plot(*zip(*answered, strict=True), marker=marker, markersize=5, color=color, label=label, linewidth=1.3)
    refused = [point[:2] for point in points if point[2]]
    if refused:
        axes.plot(*zip(*refused, strict=True), marker, markersize=6, color=color, markerfacecolor="none")


def _linear(axes: Any, measured: list[dict[str, Any]], key: str, least: float) -> None:
    """Draw a line that is in proportion to the size, above all others."""
    largest = max(max(least, one[key]) / one["bytes"] for one in measured if one["bytes"] >= 1e6)
    axes.plot([1e5, 2.5e7], [largest * 1e5, largest * 2.5e7], "--", color="#999999", linewidth=1, label="linear")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
