"""Dashboards, alarms and queries of template.yaml, compared with what the function really writes.

A workload runs through handlers/gateway/app.py; its log lines and metrics are collected. Every widget, alarm and query
may name only what is among them, and the documentation has to describe all of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aws_lambda_powertools.metrics.provider.cold_start import reset_cold_start_flag

from tests.support import stack
from tests.support.aws_services import use_aws_endpoint
from tests.support.cloudwatch import CloudWatch, Metric, Span
from tests.support.lambda_handler import CONTEXT, load_gateway
from tests.support.mcp_requests import message
from toolfold.build.publisher import publish
from toolfold.catalog.store import bundled_path
from toolfold.errors import CALL_ERRORS
from toolfold.mock_api.server import MockApi
from toolfold.settings import Settings
from toolfold.telemetry import DEGRADATIONS, FAILURES, configure

ROOT = Path(__file__).parents[2]
OPERATE = (ROOT / "docs/how-to/operate.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")
TOPIC = "arn:aws:sns:us-east-1:123456789012:alarms"

OF_AWS = {
    "AWS/ApiGateway": ({"Count", "4xx", "5xx", "Latency", "IntegrationLatency"}, {"ApiId"}),
    "AWS/Lambda": ({"Errors", "Throttles", "Duration", "ConcurrentExecutions", "Invocations"}, {"FunctionName"}),
    "AWS/DynamoDB": ({"ReadThrottleEvents", "WriteThrottleEvents"}, {"TableName"}),
    "AWS/SQS": ({"ApproximateNumberOfMessagesVisible"}, {"QueueName"}),
}
"""Namespace of AWS → its metrics and the dimension that selects a resource."""

Lines = list[dict[str, Any]]


class Emitted(NamedTuple):
    """What a workload wrote.

    Attributes:
        lines: All log lines.
        metrics: The metrics in them.
    """

    lines: Lines
    metrics: CloudWatch

    def fields(self, name: str) -> set[str]:
        """Return the fields of the lines with this message."""
        return {field for line in self.lines if line.get("message") == name for field in line}


def requests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield meta-tools and their arguments: everything that writes a metric or a field of its own."""
    yield "TOOL_LIST", {"query": "stock price"}
    yield "TOOL_LIST", {"query": "moving average", "limit": 30}
    yield "TOOL_LIST", {"query": "zzzzqqqq xxyyzz"}
    for detail in ("full", "medium", "minimal"):
        yield "TOOL_GET", {"tool_name": "RSI", "detail": detail}
    yield "TOOL_GET", {"tool_name": "RSI", "known": {"RSI": "unknown"}}
    for _ in range(2):
        yield "TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
    yield "TOOL_CALL", {"tool_name": "NO_SUCH_TOOL"}


def invoke(handler: Any, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call a meta-tool through the handler of the function, and return its structured content."""
    body = json.dumps(message("tools/call", {"name": name, "arguments": arguments}))
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    context = {"requestId": "api-1", "http": {"method": "POST", "path": "/mcp"}}
    event = {"version": "2.0", "rawPath": "/mcp", "headers": headers, "requestContext": context, "body": body}
    return dict(json.loads(handler(event, CONTEXT)["body"])["result"]["structuredContent"])


@pytest.fixture(scope="module")
def emitted(mock_api: MockApi, endpoint: str) -> Emitted:
    import boto3

    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as output:
        use_aws_endpoint(endpoint, patch)
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="monitored")
        publish(bundled_path().read_bytes(), "s3://monitored/catalog", s3)
        for name, value in {
            "TOOLFOLD_CATALOG": "s3://monitored/catalog",
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url,
            "TOOLFOLD_REQUESTS_PER_DAY": "100",
            "ALPHA_VANTAGE_API_KEY": "mock-key",
            "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
            "POWERTOOLS_SERVICE_NAME": stack.NAME,
            "POWERTOOLS_METRICS_NAMESPACE": "toolfold",
        }.items():
            patch.setenv(name, value)
        reset_cold_start_flag()  # one per process, and other tests may have been the first
        gateway = load_gateway()
        gateway.metrics.clear_metrics()
        for name, arguments in requests():
            if arguments.get("known"):
                [entry] = invoke(gateway.handler, "TOOL_GET", {"tool_name": "RSI"})["tools"]
                arguments["known"]["RSI"] = entry["hash"]
            invoke(gateway.handler, name, arguments)
        patch.setenv("TOOLFOLD_CATALOG", "s3://monitored/nowhere")
        patch.setenv("AWS_ACCESS_KEY_ID", "")
        without_catalog = configure(Settings.from_environment())
        without_catalog.record_request({"error": "CATALOG_UNAVAILABLE"})
        gateway.logger.error("an error of any kind")
        for item in s3.list_objects_v2(Bucket="monitored")["Contents"]:
            s3.delete_object(Bucket="monitored", Key=item["Key"])
        s3.delete_bucket(Bucket="monitored")
    lines = [json.loads(line) for line in output.getvalue().splitlines()]
    metrics = CloudWatch()
    for line in lines:
        metrics.read_line(line)
    return Emitted(lines, metrics)


@pytest.fixture(scope="module")
def deployed() -> stack.Stack:
    return stack.deployed(Dashboards="true", AlarmTopicArn=TOPIC)


@pytest.fixture(scope="module")
def known(emitted: Emitted, deployed: stack.Stack) -> set[tuple[str, str, frozenset[str]]]:
    """Namespace, name and names of dimensions of every metric that exists."""
    found = {_shape(metric) for metric in emitted.metrics.metrics()}
    for properties in deployed.of_type("AWS::Logs::MetricFilter").values():
        for one in properties["MetricTransformations"]:
            dimensions = frozenset(dimension["Key"] for dimension in one.get("Dimensions", ()))
            found.add((one["MetricNamespace"], one["MetricName"], dimensions))
    return found


def _shape(metric: Metric) -> tuple[str, str, frozenset[str]]:
    return metric.namespace, metric.name, frozenset(name for name, _ in metric.dimensions)


def check(metric: Metric, known: set[tuple[str, str, frozenset[str]]]) -> None:
    """Check that a metric exists, with these dimensions."""
    namespace, name, dimensions = _shape(metric)
    if namespace in OF_AWS:
        names, needed = OF_AWS[namespace]
        assert name in names
        assert dimensions == needed
    else:
        assert (namespace, name, dimensions) in known
    values = dict(metric.dimensions)
    assert values.get("service", stack.NAME) == stack.NAME
    if "code" in values:
        assert values["code"] in ({*FAILURES, *DEGRADATIONS} if name == "Failures" else {"OK", *CALL_ERRORS})
    assert all(values.values())


def widgets(deployed: stack.Stack) -> list[dict[str, Any]]:
    dashboards = deployed.of_type("AWS::CloudWatch::Dashboard").values()
    return [widget for one in dashboards for widget in json.loads(one["DashboardBody"])["widgets"]]


class TestDashboards:
    def test_there_are_two_and_only_on_request(self, deployed: stack.Stack) -> None:
        names = {one["DashboardName"] for one in deployed.of_type("AWS::CloudWatch::Dashboard").values()}
        assert names == {f"{stack.NAME}-operations", f"{stack.NAME}-product"}
        assert not stack.deployed().of_type("AWS::CloudWatch::Dashboard")

    def test_every_metric_in_them_is_written(
        self, deployed: stack.Stack, known: set[tuple[str, str, frozenset[str]]]
    ) -> None:
        for widget in widgets(deployed):
            ids = set()
            for row in widget["properties"].get("metrics", ()):
                options = row[-1] if isinstance(row[-1], dict) else {}
                ids.add(options.get("id"))
                if "expression" not in options:
                    parts = [part for part in row if isinstance(part, str)]
                    dimensions = frozenset(zip(parts[2::2], parts[3::2], strict=True))
                    check(Metric(parts[0], parts[1], dimensions), known)
                elif found := re.fullmatch(r"SEARCH\('\{(.*?)\} MetricName=\"(\w+)\" .*", options["expression"]):
                    namespace, *names = found[1].split(",")
                    assert (namespace, found[2], frozenset(names)) in known
                else:
                    assert set(re.findall(r"[a-z]\w*", options["expression"])) <= ids

    def test_every_metric_widget_draws_lines_of_the_workload(self, deployed: stack.Stack, emitted: Emitted) -> None:
        function = stack.physical_name("GatewayFunction", deployed.resources["GatewayFunction"])
        emitted.metrics.put("toolfold", "ColdStart", 1, time.time(), function_name=function, service=stack.NAME)
        span = emitted.metrics.span()
        for widget in widgets(deployed):
            rows = widget["properties"].get("metrics", ())
            if any(row[0] == "toolfold" for row in rows):
                lines = emitted.metrics.lines_of(widget["properties"], span)
                assert any(line.points for line in lines), widget["properties"]["title"]

    def test_widgets_do_not_overlap(self, deployed: stack.Stack) -> None:
        for one in deployed.of_type("AWS::CloudWatch::Dashboard").values():
            taken: set[tuple[int, int]] = set()
            for widget in json.loads(one["DashboardBody"])["widgets"]:
                assert widget["x"] + widget["width"] <= 24
                area = {
                    (x, y)
                    for x in range(widget["x"], widget["x"] + widget["width"])
                    for y in range(widget["y"], widget["y"] + widget["height"])
                }
                assert not area & taken
                taken |= area


class TestAlarms:
    def test_every_metric_of_an_alarm_is_written(
        self, deployed: stack.Stack, known: set[tuple[str, str, frozenset[str]]]
    ) -> None:
        for alarm in deployed.of_type("AWS::CloudWatch::Alarm").values():
            stats = [query["MetricStat"]["Metric"] for query in alarm.get("Metrics", ()) if "MetricStat" in query]
            for found in stats or [alarm]:
                dimensions = frozenset((one["Name"], one["Value"]) for one in found.get("Dimensions", ()))
                check(Metric(found["Namespace"], found["MetricName"], dimensions), known)

    @pytest.mark.parametrize(
        ("alarm", "metric", "values", "rings"),
        [
            ("EmptySearchesAlarm", "EmptySearches", [1] * 5 + [0] * 15, True),
            ("EmptySearchesAlarm", "EmptySearches", [1] * 3 + [0] * 17, False),
            ("EmptySearchesAlarm", "EmptySearches", [1] * 19, False),  # too few to tell
            ("CallErrorsAlarm", "CallErrors", [1] * 2 + [0] * 18, True),
            ("CallErrorsAlarm", "CallErrors", [1] * 1 + [0] * 19, False),
            ("UpstreamQuotaAlarm", "QuotaUsed", [10, 84], True),
            ("UpstreamQuotaAlarm", "QuotaUsed", [10, 79], False),
        ],
    )
    def test_shares_ring_from_their_threshold_on(
        self, deployed: stack.Stack, alarm: str, metric: str, values: list[float], rings: bool
    ) -> None:
        cloudwatch = CloudWatch()
        for start_s in (0,) if metric == "EmptySearches" else (0, 300):
            for value in values:
                cloudwatch.put("toolfold", metric, value, start_s + 1, service=stack.NAME)
        found = deployed.of_type("AWS::CloudWatch::Alarm")
        periods = {name: cloudwatch.alarm_periods(one, Span(0, 7200)) for name, one in found.items()}
        assert {name for name, starts in periods.items() if starts} == ({alarm} if rings else set())


QUERY_WORDS = {"SOURCE", "filter", "fields", "stats", "sort", "limit", "by", "as", "and", "or", "desc", "asc"}
QUERY_WORDS |= {"count", "sum", "avg", "min", "max", "pct", "bin", "ispresent"}


def test_health_has_a_throttle_of_its_own(deployed: stack.Stack) -> None:
    [stage] = deployed.of_type("AWS::ApiGatewayV2::Stage").values()
    assert stage["RouteSettings"]["GET /health"] == {"ThrottlingRateLimit": 5, "ThrottlingBurstLimit": 10}


class TestQueries:
    def test_every_field_in_them_is_written(self, deployed: stack.Stack, emitted: Emitted) -> None:
        queries = {name: one["QueryString"] for name, one in deployed.of_type("AWS::Logs::QueryDefinition").items()}
        logs = [widget["properties"] for widget in widgets(deployed) if widget["type"] == "log"]
        queries |= {one["title"]: one["query"] for one in logs}
        assert len(queries) >= 7
        for name, query in queries.items():
            about = re.search(r"message = ['\"](\w+)['\"]", query)
            known_fields = emitted.fields(about[1]) if about else {field for line in emitted.lines for field in line}
            bare = re.sub(r"'[^']*'|\"[^\"]*\"|\b\d\w*", "", query)
            aliases = set(re.findall(r"\bas (\w+)", bare))
            names = set(re.findall(r"@?[A-Za-z_]\w*", bare)) - aliases - QUERY_WORDS
            assert names - {"@timestamp"} <= known_fields, name

    def test_each_reads_the_log_of_the_function(self, deployed: stack.Stack) -> None:
        group = stack.physical_name("GatewayLogGroup", deployed.resources["GatewayLogGroup"])
        for one in deployed.of_type("AWS::Logs::QueryDefinition").values():
            assert one["LogGroupNames"] == [group]


class TestDocumentation:
    def test_the_reference_has_every_metric(self, known: set[tuple[str, str, frozenset[str]]]) -> None:
        rows = [line for line in REFERENCE.partition("## Metrics")[2].splitlines() if line.startswith("| `")]
        documented = {name for row in rows for name in re.findall(r"`([A-Z]\w+)`", row.split("|")[1])}
        assert documented >= {name for _, name, _ in known}

    @pytest.mark.parametrize(("title", "name"), [("The line of a request", "request"), ("The line of a call", "call")])
    def test_the_reference_has_every_field(self, emitted: Emitted, title: str, name: str) -> None:
        section = REFERENCE.partition(f"## {title}")[2].partition("\n## ")[0]
        rows = [line for line in section.splitlines() if line.startswith("| `")]
        documented = {field for row in rows for field in re.findall(r"`(\w+)`", row.split("|")[1])}
        base = {field for line in emitted.lines if line.get("message", "").startswith("an error") for field in line}
        written = emitted.fields(name) - base - {"message"}
        assert written <= documented
        assert documented - written <= {"caller", "rejected", "refused"}  # of requests that this workload has not

    def test_the_runbook_has_every_alarm(self) -> None:
        resources = stack.translated()["Resources"]
        alarms = {name for name, one in resources.items() if one["Type"] == "AWS::CloudWatch::Alarm"}
        assert set(re.findall(r"^\| `(\w+Alarm)` \|", OPERATE, re.MULTILINE)) == alarms

    def test_the_runbook_has_every_error_code(self) -> None:
        section = OPERATE.partition("## By error code")[2].partition("\n## ")[0]
        assert set(re.findall(r"^\| `([A-Z_]+)` \|", section, re.MULTILINE)) == set(CALL_ERRORS)
