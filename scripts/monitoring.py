"""Write ``deploy/monitoring.yaml``: alarms, dashboards and saved queries of a deployment, from the tables below.

    python -m scripts.monitoring            write the template
    python -m scripts.monitoring --check    fail if it is not what the tables make of it

Which metrics exist, and what each counts, is in docs/reference/metrics.md; what to do about an alarm in
docs/how-to/operate.md. tests/infrastructure/test_monitoring.py compares all names with what the function writes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

TARGET = Path(__file__).parents[1] / "deploy/monitoring.yaml"

PARAMETERS = """\
Parameters:
  Stack:
    Type: String
    Description: Name of the stack of toolfold.
  ApiId:
    Type: String
    Description: Its output ApiId.
  FunctionName:
    Type: String
    Description: Its output FunctionName.
  TableName:
    Type: String
    Description: Its output TableName.
  PageTopicArn:
    Type: String
    AllowedPattern: "^arn:aws[a-z-]*:sns:.+$"
    ConstraintDescription: must be the ARN of a topic of SNS.
    Description: Topic for alarms that need an operator at once.
  NoticeTopicArn:
    Type: String
    Default: ""
    AllowedPattern: "^$|^arn:aws[a-z-]*:sns:.+$"
    ConstraintDescription: must be empty or the ARN of a topic of SNS.
    Description: Topic for all other alarms. Empty uses PageTopicArn.
  SurgeRequests:
    Type: Number
    MinValue: 1
    Default: 1500
    Description: Requests in five minutes, three times in a row, that are a surge. The default is five a second.
  CatalogMaxAgeHours:
    Type: Number
    MinValue: 0
    Default: 0
    Description: Age of the catalog at which a schedule of the publisher has failed. 0 for no alarm.
  FailureQueueName:
    Type: String
    Default: ""
    Description: Name of the queue of failed runs of the publisher. Empty for no alarm.

Conditions:
  OwnNoticeTopic: !Not [!Equals [!Ref NoticeTopicArn, ""]]
  HasMaxAge: !Not [!Equals [!Ref CatalogMaxAgeHours, 0]]
  HasPublisher: !Not [!Equals [!Ref FailureQueueName, ""]]
"""

_HEAD = """\
# Written by `python -m scripts.monitoring` from the tables in scripts/monitoring.py. Do not edit.
AWSTemplateFormatVersion: "2010-09-09"
Description: Alarms, dashboards and saved queries of a deployment of toolfold.

"""

# ── Metrics ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Metric(NamedTuple):
    """A metric of CloudWatch.

    Attributes:
        namespace, name: As CloudWatch has them.
        dimensions: Name → value; ``${…}`` is a parameter of the template.
    """

    namespace: str
    name: str
    dimensions: Mapping[str, str]


def own(name: str, **dimensions: str) -> Metric:
    """Return a metric that the function writes."""
    return Metric("toolfold", name, {"service": "${Stack}", **dimensions})


def of_api(name: str) -> Metric:
    """Return a metric of API Gateway."""
    return Metric("AWS/ApiGateway", name, {"ApiId": "${ApiId}"})


def of_function(name: str) -> Metric:
    """Return a metric of Lambda."""
    return Metric("AWS/Lambda", name, {"FunctionName": "${FunctionName}"})


# ── Alarms ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class Alarm(NamedTuple):
    """An alarm. It is raised when ``value`` is at ``threshold`` or above, in each of ``periods`` periods.

    Attributes:
        name: Logical id.
        severity: ``page`` for what needs an operator at once, else ``notice``.
        cause: Who can raise it alone: ``deployment`` (a setting, a permission, AWS), ``upstream``, or ``caller``, one
            request of whom must not be enough: ``minimum``.
        description: What it says when it is raised.
        metrics: What it counts: ``m0``, ``m1`` in ``value``.
        threshold: A number, or the name of a parameter.
        stats: Statistic of each metric; empty: ``Sum`` of all.
        value: Expression of metric math; empty: the one metric.
        minimum: Requests, calls or failures in a period below which it is not raised.
        period_s: Length of a period.
        periods: How many in a row.
        condition: Condition of the template; empty: always there.
    """

    name: str
    severity: Literal["page", "notice"]
    cause: Literal["deployment", "upstream", "caller"]
    description: str
    metrics: Sequence[Metric]
    threshold: float | str
    stats: Sequence[str] = ()
    value: str = ""
    minimum: int = 0
    period_s: int = 300
    periods: int = 1
    condition: str = ""


_SHARE = "IF(m1 >= {minimum}, 100 * m0 / m1, 0)"
"""Percent of ``m1`` that ``m0`` is, where there are enough of them to tell."""

ALARMS = (
    Alarm(
        "UnavailableAlarm", "page", "deployment",
        "Requests fail because the catalog, a key, the issuer of tokens or the store of approvals cannot be used.",
        (own("Failures", kind="unavailable"),), threshold=3,
    ),
    Alarm(
        "FunctionErrorsAlarm", "page", "caller", "Invocations ended with an exception or by time-out.",
        (of_function("Errors"),), threshold=5, minimum=5, period_s=900,
    ),
    Alarm(
        "ApiErrorsAlarm", "page", "caller",
        "API Gateway answered one request in ten, of at least twenty, with a status 5xx.",
        (of_api("5xx"), of_api("Count")), threshold=10, value=_SHARE, minimum=20,
    ),
    Alarm(
        "InternalErrorsAlarm", "notice", "caller", "Requests failed because of a defect in toolfold.",
        (own("Failures", kind="defect"),), threshold=5, minimum=5,
    ),
    Alarm(
        "DegradedAlarm", "notice", "deployment",
        "Requests are answered, but the cache, the bucket of results, newer catalogs or limits per caller do not work.",
        (own("Failures", kind="degraded"),), threshold=3,
    ),
    Alarm(
        "CallErrorsAlarm", "notice", "upstream",
        "For ten minutes one call in ten, of at least twenty, failed through its source or through toolfold.",
        (own("CallErrors"), own("CallErrors")), stats=("Sum", "SampleCount"), threshold=10, value=_SHARE, minimum=20,
        periods=2,
    ),
    Alarm(
        "SlowRequestsAlarm", "notice", "upstream",
        "For ten minutes one invocation in a hundred, of at least twenty, took 20 of 29 seconds.",
        (of_function("Duration"), of_function("Invocations")), stats=("p99", "Sum"), threshold=20_000,
        value="IF(m1 >= {minimum}, m0, 0)", minimum=20, periods=2,
    ),
    Alarm(
        "QuotaAlarm", "notice", "caller", "The key of the deployment has used four fifths of its calls of the day.",
        (own("QuotaUsed"), own("QuotaUsed")), stats=("Maximum", "SampleCount"), threshold=80,
        value="IF(m1 >= {minimum}, m0, 0)", minimum=5,
    ),
    Alarm(
        "FunctionThrottlesAlarm", "notice", "caller", "Lambda refused invocations, because too many ran at once.",
        (of_function("Throttles"),), threshold=10, minimum=10,
    ),
    Alarm(
        "ThrottledCallersAlarm", "notice", "caller",
        "A hundred calls were refused, because their callers have used up what they are allowed.",
        (own("Calls", code="CLIENT_LIMIT"),), threshold=100, minimum=100,
    ),
    Alarm(
        "SurgeAlarm", "notice", "caller", "For fifteen minutes there were more requests than SurgeRequests.",
        (of_api("Count"),), threshold="SurgeRequests", minimum=1500, periods=3,
    ),
    Alarm(
        "StaleCatalogAlarm", "notice", "deployment",
        "The publisher has not confirmed the catalog for CatalogMaxAgeHours.",
        (own("CatalogAge"),), stats=("Maximum",), threshold="CatalogMaxAgeHours", value="m0 / 3600", period_s=3600,
        condition="HasMaxAge",
    ),
    Alarm(
        "PublisherFailuresAlarm", "notice", "deployment",
        "A run of the publisher failed three times; the catalog stays as it was.",
        (Metric("AWS/SQS", "ApproximateNumberOfMessagesVisible", {"QueueName": "${FailureQueueName}"}),),
        stats=("Maximum",), threshold=1, condition="HasPublisher",
    ),
)  # fmt: skip


def alarm_resource(alarm: Alarm) -> Iterator[str]:
    """Yield the lines of an alarm."""
    topic = "!Ref PageTopicArn"
    if alarm.severity == "notice":
        topic = "!If [OwnNoticeTopic, !Ref NoticeTopicArn, !Ref PageTopicArn]"
    value = alarm.value.format(minimum=alarm.minimum)
    stats = alarm.stats or ["Sum"] * len(alarm.metrics)
    yield f"  {alarm.name}:"
    yield "    Type: AWS::CloudWatch::Alarm"
    if alarm.condition:
        yield f"    Condition: {alarm.condition}"
    yield "    Properties:"
    yield f"      AlarmDescription: {alarm.description}"
    yield "      Metrics:"
    if value:
        yield f'        - {{ Id: value, Expression: "{value}" }}'
    for number, (metric, stat) in enumerate(zip(alarm.metrics, stats, strict=True)):
        named = ", ".join(f"{{ Name: {name}, Value: {_reference(text)} }}" for name, text in metric.dimensions.items())
        found = f"{{ Namespace: {metric.namespace}, MetricName: {metric.name}, Dimensions: [{named}] }}"
        measured = f"MetricStat: {{ Metric: {found}, Period: {alarm.period_s}, Stat: {stat} }}"
        yield f"        - {{ Id: m{number}, {'ReturnData: false, ' if value else ''}{measured} }}"
    yield f"      EvaluationPeriods: {alarm.periods}"
    yield f"      Threshold: {'!Ref ' if isinstance(alarm.threshold, str) else ''}{alarm.threshold}"
    yield "      ComparisonOperator: GreaterThanOrEqualToThreshold"
    yield "      TreatMissingData: notBreaching"
    yield f"      AlarmActions: [{topic}]"
    yield f"      OKActions: [{topic}]"


def _reference(text: str) -> str:
    return f"!Ref {text[2:-1]}" if text.startswith("${") else text


# ── Dashboards ───────────────────────────────────────────────────────────────────────────────────────────────────────

Row = list[Any]


def line(metric: Metric, label: str, stat: str = "Sum", **options: Any) -> Row:
    """Return a line of a widget."""
    pairs = [part for pair in metric.dimensions.items() for part in pair]
    return [metric.namespace, metric.name, *pairs, {"stat": stat, "label": label, **options}]


def percent(metric: Metric, label: str, id_: str) -> list[Row]:
    """Return the lines of an average of 0 and 1, in percent."""
    shown = [{"id": f"{id_}_percent", "expression": f"100 * {id_}", "label": label}]
    return [line(metric, "", "Average", id=id_, visible=False), shown]


def by_code(name: str, period_s: int) -> Row:
    """Return a line for each code of a metric."""
    search = f"SEARCH('{{toolfold,service,code}} MetricName=\"{name}\" service=\"${{Stack}}\"', 'Sum', {period_s})"
    return [{"id": name.lower(), "label": "", "expression": search}]


class Widget(NamedTuple):
    """A widget of a dashboard: lines of metrics, or a query of the log.

    Attributes:
        title: Its title.
        metrics: Its lines.
        query: the query of Logs Insights, without ``SOURCE``.
        width, height: Of 24 columns; in rows.
        options: Other properties.
    """

    title: str
    metrics: Sequence[Row] = ()
    query: str = ""
    width: int = 8
    height: int = 6
    options: Mapping[str, Any] = {}


_UPSTREAM = own("UpstreamLatency")
_SEARCHES = own("EmptySearches")
_FROM_ZERO = {"yAxis": {"left": {"min": 0}}}

OPERATIONS = (
    Widget("Requests", [
        line(of_api("Count"), "requests"), line(of_api("4xx"), "4xx, with throttled requests"),
        line(of_api("5xx"), "5xx"),
    ]),
    Widget("Time of a request, ms", [
        line(of_api("Latency"), "p50", "p50"), line(of_api("Latency"), "p99", "p99"),
        line(of_function("Duration"), "p99 of the function", "p99"),
    ]),
    Widget("Function: errors, throttles, environments", [
        line(of_function("Errors"), "errors"), line(of_function("Throttles"), "throttles"),
        line(of_function("ConcurrentExecutions"), "at once", "Maximum"), line(own("ColdStart"), "cold starts"),
    ]),
    Widget("Calls by outcome", [by_code("Calls", 300)], options={"stacked": True}),
    Widget("Failed through the source or toolfold, %", percent(own("CallErrors"), "share of calls", "failed"),
           options={**_FROM_ZERO, "annotations": {"horizontal": [{"label": "alarm", "value": 10}]}}),
    Widget("Failures of the deployment", [by_code("Failures", 300)]),
    Widget("Time in the upstream, ms", [line(_UPSTREAM, "p50", "p50"), line(_UPSTREAM, "p99", "p99")]),
    Widget("Limits", [
        line(own("Calls", code="RATE_LIMITED"), "calls refused for a key"),
        line(own("Calls", code="CLIENT_LIMIT"), "calls refused for a caller"),
        line(own("QuotaUsed"), "quota used, %", "Maximum", yAxis="right"),
    ], options={"yAxis": {"left": {"min": 0}, "right": {"min": 0, "max": 100}}}),
    Widget("Table throttled, and age of the catalog", [
        line(Metric("AWS/DynamoDB", "ReadThrottleEvents", {"TableName": "${TableName}"}), "reads throttled"),
        line(Metric("AWS/DynamoDB", "WriteThrottleEvents", {"TableName": "${TableName}"}), "writes throttled"),
        line(own("CatalogAge"), "", "Minimum", id="age", visible=False),
        [{"id": "days", "expression": "age / 86400", "label": "days since it was published", "yAxis": "right"}],
    ]),
    Widget("Last errors", width=24, query="filter level = 'ERROR' | fields @timestamp, message, correlation_id"
           " | sort @timestamp desc | limit 20"),
)  # fmt: skip

PRODUCT = (
    Widget("In this time", [
        line(_SEARCHES, "searches", "SampleCount"), line(own("CallErrors"), "calls", "SampleCount"),
        line(own("TokensSaved"), "tokens saved"), *percent(own("CacheHits"), "answered from the cache, %", "hits"),
        *percent(_SEARCHES, "searches that found nothing, %", "empty"),
    ], width=24, height=4, options={"view": "singleValue", "setPeriodToTimeRange": True}),
    Widget("Searches", [line(_SEARCHES, "searches", "SampleCount"), line(_SEARCHES, "found nothing")]),
    Widget("Calls by outcome", [by_code("Calls", 3600)], options={"stacked": True}),
    Widget("Tools described, by detail level", [
        line(own(f"Schemas{level}"), level.lower()) for level in ("Full", "Medium", "Minimal", "Unchanged")
    ], options={"stacked": True}),
    Widget("Tokens", [line(own("TokensAnswered"), "answered"), line(own("TokensSaved"), "saved")]),
    Widget("Answered from the cache, %", percent(own("CacheHits"), "share of calls", "hits"), options=_FROM_ZERO),
    Widget("Meta-tools", query="filter ispresent(tool) | stats count() as requests, count(error) as failed,"
           " avg(tokens) as mean_tokens by tool | sort requests desc"),
    Widget("Tools", width=24, query="filter ispresent(cache) | stats count() as calls, sum(upstream_requests)"
           " as requests, pct(upstream_ms, 99) as upstream_p99 by inner_tool, code | sort calls desc | limit 20"),
)  # fmt: skip

DASHBOARDS = {"operations": (OPERATIONS, 300, "-PT3H"), "product": (PRODUCT, 3600, "-P1D")}
"""Suffix of the name → widgets, period in seconds, and the time that is shown first."""


def dashboard_body(widgets: Sequence[Widget], period_s: int, start: str) -> str:
    """Return the JSON of a dashboard, with a line for each widget, in the order of the table."""
    x = y = height = 0
    shown = []
    for widget in widgets:
        if x + widget.width > 24:
            x, y = 0, y + height
        height = widget.height
        properties: dict[str, Any] = {"title": widget.title, "region": "${AWS::Region}"}
        if widget.query:
            source = f"SOURCE '/aws/lambda/${{Stack}}-gateway' | {widget.query}"
            properties |= {"view": "table", "query": source}
        else:
            properties |= {"period": period_s, "view": "timeSeries", "metrics": list(widget.metrics), **widget.options}
        area = {"x": x, "y": y, "width": widget.width, "height": widget.height}
        shown.append(json.dumps({"type": "log" if widget.query else "metric", **area, "properties": properties}))
        x += widget.width
    return f'{{"start": "{start}", "widgets": [\n' + ",\n".join(shown) + "\n]}"


def dashboard_resource(name: str) -> Iterator[str]:
    """Yield the lines of a dashboard."""
    yield f"  {name.title()}Dashboard:"
    yield "    Type: AWS::CloudWatch::Dashboard"
    yield "    Properties:"
    yield f'      DashboardName: !Sub "${{Stack}}-{name}"'
    yield "      DashboardBody: !Sub |"
    for text in dashboard_body(*DASHBOARDS[name]).splitlines():
        yield f"        {text}"


# ── Saved queries ────────────────────────────────────────────────────────────────────────────────────────────────────

QUERIES = {
    "tools": """\
filter ispresent(cache)
| stats count() as calls, pct(ms, 50) as p50, pct(ms, 99) as p99, avg(tokens) as mean_tokens by inner_tool, code
| sort calls desc""",
    "cache-and-upstream": """\
filter ispresent(cache)
| stats count() as calls, sum(upstream_requests) as requests, pct(upstream_ms, 99) as p99,
        max(wait_ms) as longest_wait, max(quota_used_percent) as quota_used by code, cache
| sort calls desc""",
    "slowest-calls": """\
filter ispresent(cache)
| fields @timestamp, inner_tool, code, error_message, upstream_ms, wait_ms, retries, circuit_breaker, correlation_id
| sort upstream_ms desc
| limit 50""",
    "searches-that-found-nothing": """\
filter searched = 1 and matched = 0
| fields @timestamp, correlation_id
| sort @timestamp desc""",
    "errors": """\
filter level = "ERROR"
| stats count() as lines, max(@timestamp) as last by message
| sort lines desc""",
    "callers": """\
filter ispresent(effect)
| stats count() as calls by principal, code, effect
| sort calls desc""",
}
"""Name → query of Logs Insights. They cost nothing until they are run."""


def query_resource(name: str, query: str) -> Iterator[str]:
    """Yield the lines of a saved query."""
    yield f"  {name.title().replace('-', '')}Query:"
    yield "    Type: AWS::Logs::QueryDefinition"
    yield "    Properties:"
    yield f'      Name: !Sub "toolfold/${{Stack}}/{name}"'
    yield '      LogGroupNames: [!Sub "/aws/lambda/${Stack}-gateway"]'
    yield "      QueryString: |"
    for text in query.splitlines():
        yield f"        {text}"


def template() -> str:
    """Return the text of ``deploy/monitoring.yaml``."""
    blocks = [alarm_resource(alarm) for alarm in ALARMS] + [dashboard_resource(name) for name in DASHBOARDS]
    blocks.append(text for name, query in QUERIES.items() for text in query_resource(name, query))
    return _HEAD + PARAMETERS + "\nResources:\n" + "\n\n".join("\n".join(block) for block in blocks) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the template."""
    parser = argparse.ArgumentParser(description="Write deploy/monitoring.yaml from the tables in this file.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if the file is not up to date")
    options = parser.parse_args(arguments)
    if not options.check:
        TARGET.write_text(template(), encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != template():
        print(f"{TARGET.name} is not what its tables make of it. Run: python -m scripts.monitoring", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
