"""Draw the dashboards of template.yaml as CloudWatch would, with data of a replayed day: ``make dashboards``.

python -m tests.benchmarks.dashboards            replay the day and print its figures; less than a minute
python -m tests.benchmarks.dashboards --write    draw docs/images/dashboard-*.png, and write the figures into the docs

The widgets are those of the template. Log lines and metrics of toolfold are those that its handler writes. What API
Gateway, Lambda and DynamoDB would report is derived from the same requests, because none of them runs here.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts import measured_tables
from tests.benchmarks.dashboards.replay import Day, replay_day
from tests.support import stack
from tests.support.cloudwatch import CloudWatch, Line, Span
from tests.support.logs_insights import run_query
from toolfold.cli import main as run_toolfold

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "build/dashboards"
PAGE = ROOT / "docs/reference/metrics.md"
COMMAND = "make dashboards ARGS=--write"
PLOTTER = ROOT / ".venv-bench/bin/python"
IDLE_S = 600
"""Time without a request after which the next one starts a new environment here: no promise of AWS, but usual."""


def main() -> int:
    options = measured_tables.parse_options(__doc__, "--write")
    started = time.monotonic()
    day = replay_day()
    cloudwatch = _cloudwatch(day)
    FOLDER.mkdir(parents=True, exist_ok=True)
    log = FOLDER / "day.log"
    log.write_text("".join(json.dumps(line) + "\n" for line in day.lines if "message" in line), encoding="utf-8")
    figures = f"```console\n$ toolfold stats --log day.log\n{_stats(log)}```\n"
    print(f"replayed in {time.monotonic() - started:.0f} s", file=sys.stderr)
    deployed = stack.deployed(Dashboards="true")
    for dashboard in deployed.of_type("AWS::CloudWatch::Dashboard").values():
        name = dashboard["DashboardName"].removeprefix(f"{stack.NAME}-")
        body = json.loads(dashboard["DashboardBody"])
        widgets = [_drawn(widget, cloudwatch, day) for widget in body["widgets"]]
        data = FOLDER / f"{name}.json"
        data.write_text(json.dumps({"title": dashboard["DashboardName"], "widgets": widgets}), encoding="utf-8")
        if options.write:
            picture = f"dashboard-{name}.png"
            subprocess.run([PLOTTER, "-P", Path(__file__).with_name("plots.py"), data, FOLDER / picture], check=True)
            shutil.copy(FOLDER / picture, ROOT / "docs/images" / picture)
    return measured_tables.update_page(PAGE if options.write else None, COMMAND, figures)


def _stats(log: Path) -> str:
    """Return what ``toolfold stats`` prints about a log."""
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
        run_toolfold(["stats", "--log", str(log)])
    return printed.getvalue()


def _cloudwatch(day: Day) -> CloudWatch:
    """Return the metrics of a day: those in the log, and those that AWS would add."""
    cloudwatch = CloudWatch()
    for line in day.lines:
        cloudwatch.read_line(line)
    function = {"FunctionName": f"{stack.NAME}-gatewayfunction"}
    api = {"ApiId": f"{stack.NAME}-api"}
    ended_s = 0.0
    for request in day.requests:
        at_s, duration_s = request.at_s, request.duration_s
        for name, value in (("Count", 1), ("4xx", 400 <= request.status < 500), ("5xx", request.status >= 500)):
            cloudwatch.put("AWS/ApiGateway", name, value, at_s, **api)
        cloudwatch.put("AWS/ApiGateway", "Latency", 1000 * duration_s, at_s, **api)
        cloudwatch.put("AWS/Lambda", "Duration", 1000 * duration_s, at_s, **function)
        for name in ("Errors", "Throttles"):
            cloudwatch.put("AWS/Lambda", name, 0, at_s, **function)
        cloudwatch.put("AWS/Lambda", "ConcurrentExecutions", 1, at_s, **function)
        for name in ("ReadThrottleEvents", "WriteThrottleEvents"):
            cloudwatch.put("AWS/DynamoDB", name, 0, at_s, TableName=f"{stack.NAME}-cachetable")
        if at_s - ended_s > IDLE_S:
            names = {"function_name": function["FunctionName"], "service": stack.NAME}
            cloudwatch.put("toolfold", "ColdStart", 1, at_s, **names)
        ended_s = at_s + duration_s
    return cloudwatch


def _drawn(widget: Mapping[str, Any], cloudwatch: CloudWatch, day: Day) -> dict[str, Any]:
    """Return a widget with its data."""
    properties = widget["properties"]
    place = {name: widget[name] for name in ("x", "y", "width", "height")}
    drawn: dict[str, Any] = {**place, "title": properties["title"], "view": properties["view"]}
    if widget["type"] == "log":
        query = properties["query"].partition("| ")[2]
        return {**drawn, "rows": run_query(query, [line for line in day.lines if "message" in line])}
    span = Span(day.start_s, day.start_s + 86_400)
    lines = cloudwatch.lines_of(properties, span)
    annotations = properties.get("annotations", {}).get("horizontal", [])
    return {
        **drawn,
        "stacked": properties.get("stacked", False),
        "axes": properties.get("yAxis", {}),
        "marks": annotations,
        "lines": [_line(line, day.start_s) for line in lines],
    }


def _line(line: Line, start_s: float) -> dict[str, Any]:
    hours: Sequence[tuple[float, float]] = [((at_s - start_s) / 3600, value) for at_s, value in line.points.items()]
    return {"label": line.label, "right": line.is_right, "points": hours}


if __name__ == "__main__":
    sys.exit(main())
