"""Draw a dashboard: python plots.py DATA PICTURE.

Runs in an environment of its own, with matplotlib and without toolfold.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.gridspec import GridSpec

# The palette of Okabe and Ito, for readers with colour vision deficiency.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#666666", "#000000", "#B79F00")
COLUMNS = 24


def main(data: Path, picture: Path) -> None:
    dashboard = json.loads(data.read_text(encoding="utf-8"))
    widgets = dashboard["widgets"]
    rows = max(widget["y"] + widget["height"] for widget in widgets)
    plt.rcParams.update({"font.size": 8, "axes.spines.top": False})
    figure = plt.figure(figsize=(16, 0.5 * (rows + 1)))
    grid = GridSpec(rows + 1, COLUMNS, figure=figure)
    heading = figure.add_subfigure(grid[0, :])
    heading.text(0.01, 0.5, f"{dashboard['title']}: a replayed day", fontweight="bold", fontsize=12, va="center")
    for widget in widgets:
        across = slice(widget["x"], widget["x"] + widget["width"])
        panel = figure.add_subfigure(grid[widget["y"] + 1 : widget["y"] + 1 + widget["height"], across])
        panel.text(0.03, 0.97, widget["title"], fontsize=9, fontweight="bold", va="top")
        if "rows" in widget:
            _table(panel, widget["rows"], widget["height"])
        elif widget["view"] == "singleValue":
            _values(panel, widget["lines"])
        else:
            _chart(panel, widget)
    figure.savefig(picture, dpi=100)


def _chart(panel: Any, widget: dict[str, Any]) -> None:
    axes = panel.add_axes((0.12, 0.25, 0.78, 0.6))
    right = axes.twinx() if any(line["right"] for line in widget["lines"]) else None
    axes.spines["right"].set_visible(right is not None)
    lines = widget["lines"]
    if widget["stacked"] and lines:
        step = min(b - a for a, b in _pairs(sorted({at for line in lines for at, _ in line["points"]})))
        bottoms: dict[float, float] = {}
        for line, color in zip(lines, COLORS, strict=False):
            starts = [at for at, _ in line["points"]]
            axes.bar(
                starts,
                [value for _, value in line["points"]],
                width=step,
                bottom=[bottoms.get(at, 0) for at in starts],
                align="edge",
                color=color,
                label=line["label"],
            )
            bottoms |= {at: bottoms.get(at, 0) + value for at, value in line["points"]}
    else:
        for line, color in zip(lines, COLORS, strict=False):
            where = right if line["right"] and right is not None else axes
            label = line["label"] + (" →" if line["right"] else "")
            x, y = ([point[at] for point in line["points"]] for at in (0, 1))
            where.plot(x, y, ".-", markersize=2.5, linewidth=1, color=color, label=label)
    for mark in widget["marks"]:
        axes.axhline(mark["value"], color="#D55E00", linewidth=0.8, linestyle="--")
        axes.annotate(mark["label"], (0.2, mark["value"]), (0, 2), textcoords="offset points", color="#D55E00")
    for which, bounds in (("left", axes), ("right", right)):
        if bounds is not None:
            limits = widget["axes"].get(which, {})
            bounds.set_ylim(bottom=limits.get("min", 0), top=limits.get("max"))
            bounds.yaxis.set_major_formatter("{x:,.10g}")
    if not any(line["points"] for line in lines):
        axes.set_yticks([])
        axes.annotate("no data", (0.5, 0.5), xycoords="axes fraction", ha="center", color="#666666")
    axes.set_xlim(0, 24)
    axes.set_xticks(range(0, 25, 4), [f"{hour:02}:00" for hour in range(0, 25, 4)])
    axes.grid(color="#e5e5e5", linewidth=0.5)
    axes.set_axisbelow(True)
    found = [
        pair for one in (axes, right) if one is not None for pair in zip(*one.get_legend_handles_labels(), strict=True)
    ]
    panel.legend(*zip(*found, strict=True), loc="lower center", ncols=3, frameon=False, fontsize=7.5)


def _values(panel: Any, lines: list[dict[str, Any]]) -> None:
    for number, (line, color) in enumerate(zip(lines, COLORS, strict=False)):
        at = (number + 0.5) / len(lines)
        value = line["points"][0][1] if line["points"] else 0
        text = f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.1f}"
        panel.text(at, 0.48, text, fontsize=24, ha="center", va="center", color=color, fontweight="bold")
        panel.text(at, 0.2, line["label"], fontsize=9, ha="center", va="center")


def _table(panel: Any, rows: list[dict[str, str]], height: int) -> None:
    if not rows:
        panel.text(0.5, 0.45, "no lines", ha="center", color="#666666")
        return
    axes = panel.add_axes((0.03, 0.02, 0.94, 0.84))
    axes.axis("off")
    names = list(dict.fromkeys(name for row in rows for name in row))
    shown = rows[: int(height * 1.7)]
    cells = [[_cell(row.get(name, "")) for name in names] for row in shown]
    table = axes.table(cells, colLabels=names, loc="upper left", cellLoc="left", edges="horizontal")
    table.auto_set_font_size(False)
    table.set_fontsize(8)
    for cell in table.get_celld().values():
        cell.set_edgecolor("#dddddd")
        cell.set_height(1 / (len(shown) + 1) if len(shown) > 6 else 0.15)


def _cell(text: str) -> str:
    try:
        return f"{float(text):,.6g}" if "." in text else text
    except ValueError:
        return text


def _pairs(values: list[float]) -> list[tuple[float, float]]:
    return list(itertools.pairwise(values)) or [(0.0, 1.0)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
