"""What CloudWatch makes of the metrics in a log: series, statistics, metric math, dashboards and alarms.

    cloudwatch = CloudWatch()
    for line in log:
        cloudwatch.read_line(line)
    cloudwatch.lines_of(widget["properties"], Span(start_s, end_s))

Only what template.yaml uses is there: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Dimensions = frozenset[tuple[str, str]]
Points = dict[float, float]
"""Start of each period that has data, in seconds → value."""

_SEARCH = re.compile(r"SEARCH\('\{([^}]+)\} (.*)', '(\w+)', (\d+)\)")
_TERM = re.compile(r"(\w+)=\"([^\"]*)\"")


class Metric(NamedTuple):
    """The identity of a metric."""

    namespace: str
    name: str
    dimensions: Dimensions


class Span(NamedTuple):
    """A time, in seconds since 1970; the end is not part of it."""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class Line:
    """A line of a widget."""

    label: str
    points: Points
    is_right: bool = False


class CloudWatch:
    """The metrics of an account."""

    def __init__(self) -> None:
        self._values: dict[Metric, list[tuple[float, float]]] = defaultdict(list)

    def put(self, namespace: str, name: str, value: float, at_s: float, **dimensions: str) -> None:
        """Add a value of a metric."""
        self._values[Metric(namespace, name, frozenset(dimensions.items()))].append((at_s, value))

    def read_line(self, line: Mapping[str, Any], at_s: float | None = None) -> None:
        """Add the metrics of a log line in the embedded metric format; others have none.

        Args:
            line: the line.
            at_s: when it was written; None: as it says.
        """
        envelope = line.get("_aws")
        if not envelope:
            return
        written_s = envelope["Timestamp"] / 1000 if at_s is None else at_s
        for directive in envelope["CloudWatchMetrics"]:
            for names in directive["Dimensions"]:
                dimensions = {name: str(line[name]) for name in names}
                for metric in directive["Metrics"]:
                    values = line[metric["Name"]]
                    for value in values if isinstance(values, list) else [values]:
                        self.put(directive["Namespace"], metric["Name"], value, written_s, **dimensions)

    def metrics(self) -> set[Metric]:
        """Return all metrics."""
        return set(self._values)

    def span(self) -> Span:
        """Return the time from the first value to the last."""
        times = [at_s for values in self._values.values() for at_s, _ in values]
        return Span(min(times), max(times) + 1)

    def statistic(self, metric: Metric, statistic: str, period_s: int, span: Span) -> Points:
        """Return the statistic of a metric for each period that has data."""
        periods: dict[float, list[float]] = defaultdict(list)
        for at_s, value in self._values.get(metric, ()):
            if span.start_s <= at_s < span.end_s:
                periods[span.start_s + (at_s - span.start_s) // period_s * period_s].append(value)
        return {start: _reduce(values, statistic) for start, values in sorted(periods.items())}

    def lines_of(self, properties: Mapping[str, Any], span: Span) -> list[Line]:
        """Return the visible lines of a metric widget with these properties."""
        length = int(span.end_s - span.start_s)
        period_s = length if properties.get("setPeriodToTimeRange") else properties.get("period", 300)
        known: dict[str, Points] = {}
        lines: list[Line] = []
        previous: Sequence[Any] = ()
        for row in properties["metrics"]:
            options = row[-1] if isinstance(row[-1], dict) else {}
            is_right, is_visible = options.get("yAxis") == "right", options.get("visible", True)
            if "expression" in options:
                found = list(self._expression(options, known, span))
            else:
                previous = [part for part in row if not isinstance(part, dict)]
                metric = Metric(previous[0], previous[1], frozenset(zip(previous[2::2], previous[3::2], strict=True)))
                statistic = options.get("stat", properties.get("stat", "Average"))
                found = [(options.get("label", metric.name), self.statistic(metric, statistic, period_s, span))]
            if "id" in options and len(found) == 1:
                known[options["id"]] = found[0][1]
            if is_visible:
                lines += [Line(label, points, is_right) for label, points in found]
        return lines

    def alarm_periods(self, alarm: Mapping[str, Any], span: Span) -> list[float]:
        """Return the starts of the periods in which an alarm is in the state ALARM; missing data breach nothing.

        Args:
            alarm: the properties of the resource, resolved.
            span: the time to evaluate.
        """
        if "Metrics" in alarm:
            known: dict[str, Points] = {}
            points: Points = {}
            period_s = 0
            for query in sorted(alarm["Metrics"], key=lambda one: "Expression" in one):
                if "Expression" in query:
                    points = evaluate(query["Expression"], known)
                else:
                    stat = query["MetricStat"]
                    period_s = int(stat["Period"])
                    known[query["Id"]] = self.statistic(_metric_of(stat["Metric"]), stat["Stat"], period_s, span)
        else:
            period_s = int(alarm["Period"])
            statistic = alarm.get("Statistic") or alarm["ExtendedStatistic"]
            points = self.statistic(_metric_of(alarm), statistic, period_s, span)
        compare = {
            "GreaterThanOrEqualToThreshold": lambda value: value >= float(alarm["Threshold"]),
            "GreaterThanThreshold": lambda value: value > float(alarm["Threshold"]),
        }[alarm["ComparisonOperator"]]
        breaching = {start for start, value in points.items() if compare(value)}
        needed = int(alarm["EvaluationPeriods"])
        return [one for one in sorted(breaching) if all(one - back * period_s in breaching for back in range(needed))]

    def _expression(
        self, options: Mapping[str, Any], known: Mapping[str, Points], span: Span
    ) -> Iterator[tuple[str, Points]]:
        found = _SEARCH.fullmatch(options["expression"])
        if found is None:
            yield options.get("label", options["expression"]), evaluate(options["expression"], known)
            return
        namespace, *names = found[1].split(",")
        wanted = dict(_TERM.findall(found[2]))
        metric_name = wanted.pop("MetricName")
        for metric in sorted(self._values, key=lambda one: (one.namespace, one.name, sorted(one.dimensions))):
            dimensions = dict(metric.dimensions)
            if (
                (metric.namespace, metric.name) == (namespace, metric_name)
                and set(dimensions) == set(names)
                and wanted.items() <= dimensions.items()
            ):
                rest = [dimensions[name] for name in names if name not in wanted]
                yield " ".join(rest), self.statistic(metric, found[3], int(found[4]), span)


def evaluate(expression: str, known: Mapping[str, Points]) -> Points:
    """Return the value of an expression for each period in which everything that it names has data."""
    names = [name for name in known if re.search(rf"\b{name}\b", expression)]
    periods = set.intersection(*(set(known[name]) for name in names)) if names else set()
    scope = {"__builtins__": {}, "IF": lambda condition, yes, no: yes if condition else no}
    lazy = re.sub(r"IF\((.*?),(.*),(.*)\)", r"((\2) if (\1) else (\3))", expression)
    points: Points = {}
    for period in sorted(periods):
        try:
            points[period] = float(eval(lazy, scope, {name: known[name][period] for name in names}))
        except ZeroDivisionError:
            continue
    return points


def _metric_of(properties: Mapping[str, Any]) -> Metric:
    dimensions = frozenset((one["Name"], one["Value"]) for one in properties.get("Dimensions", ()))
    return Metric(properties["Namespace"], properties["MetricName"], dimensions)


def _reduce(values: Sequence[float], statistic: str) -> float:
    match statistic:
        case "Sum":
            return math.fsum(values)
        case "Average":
            return math.fsum(values) / len(values)
        case "SampleCount":
            return len(values)
        case "Maximum":
            return max(values)
        case "Minimum":
            return min(values)
    share = float(statistic.removeprefix("p")) / 100
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
