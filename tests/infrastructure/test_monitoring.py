"""Alarms, dashboards and queries of deploy/monitoring.yaml, compared with what the function really writes.

A workload runs through handlers/gateway/app.py; its lines are collected. Whether CloudWatch raises an alarm at its
threshold is not imitated here: ``make verify-account`` is for a person with an account.
"""

import contextlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.aws_services import use_aws_endpoint
from tests.support.catalogs import publish
from tests.support.lambda_handler import CONTEXT, http_event, load_gateway
from tests.support.mcp_requests import message
from tests.support.ports import free_port
from tests.support.sam_template import load
from toolfold.catalog.store import bundled_path
from toolfold.errors import CALL_ERRORS
from toolfold.mock_api.server import MockApi
from toolfold.telemetry import FAILURES

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "deploy/monitoring.yaml"

OF_AWS = {
    "AWS/ApiGateway": ({"Count", "4xx", "5xx", "Latency"}, {"ApiId"}),
    "AWS/Lambda": ({"Errors", "Throttles", "Duration", "ConcurrentExecutions", "Invocations"}, {"FunctionName"}),
    "AWS/DynamoDB": ({"ReadThrottleEvents", "WriteThrottleEvents"}, {"TableName"}),
    "AWS/SQS": ({"ApproximateNumberOfMessagesVisible"}, {"QueueName"}),
}
"""Namespace of AWS → its metrics and the dimension that selects a resource."""

Shape = tuple[str, str, frozenset[str]]
"""Namespace, name and names of dimensions of a metric."""


class Emitted(NamedTuple):
    """What a workload wrote: all log lines, and the metrics in them."""

    lines: list[dict[str, Any]]
    metrics: set[Shape]

    def fields(self) -> set[str]:
        """Return the fields of the lines of requests and calls that are no metrics."""
        lines = [line for line in self.lines if line["message"] in ("request", "call")]
        return {field for line in lines for field in line if field[0].islower()}


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
    yield "TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": ["IBM", "AAPL"]}}
    yield "TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"nothing": 1}}
    yield "TOOL_CALL", {"tool_name": "NO_SUCH_TOOL"}
    yield "TOOL_CALL", {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "FAULT.HTTP503"}}


def invoke(handler: Any, name: str, arguments: Mapping[str, Any], **further: str) -> dict[str, Any]:
    """Call a meta-tool through the handler of the function, and return its structured content."""
    event = http_event(message("tools/call", {"name": name, "arguments": arguments}), further)
    event["requestContext"]["requestId"] = "api-1"
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
            "TOOLFOLD_BREAKER_FAILURES": "1",
            "ALPHA_VANTAGE_API_KEY": "mock-key",
            "TOOLFOLD_ANYONE_MAY_USE_THE_KEY": "true",
            "POWERTOOLS_SERVICE_NAME": "team",
        }.items():
            patch.setenv(name, value)
        gateway = load_gateway()
        for name, arguments in requests():
            if arguments.get("known"):
                [entry] = invoke(gateway.handler, "TOOL_GET", {"tool_name": "RSI"})["tools"]
                arguments["known"]["RSI"] = entry["hash"]
            invoke(gateway.handler, name, arguments)
        symbol = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}
        headers = {"x-api-key": "key-of-a-caller", "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
        invoke(gateway.handler, "TOOL_CALL", symbol, **headers)
        for code in FAILURES:
            gateway.telemetry.record_failure(code)
        gateway.telemetry.logger.error("an error of any kind")
        patch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", f"http://127.0.0.1:{free_port()}/query")
        gateway = load_gateway()
        for _ in range(2):  # at the second the circuit breaker is open
            invoke(gateway.handler, "TOOL_CALL", symbol, **headers)
        for item in s3.list_objects_v2(Bucket="monitored")["Contents"]:
            s3.delete_object(Bucket="monitored", Key=item["Key"])
        s3.delete_bucket(Bucket="monitored")
    lines = [json.loads(line) for line in output.getvalue().splitlines()]
    metrics = set()
    for line in lines:
        for directive in line.get("_aws", {}).get("CloudWatchMetrics", ()):
            for metric in directive["Metrics"]:
                assert isinstance(line[metric["Name"]], int | float)
                for dimensions in directive["Dimensions"]:
                    assert all(isinstance(line[name], str) for name in dimensions)
                    metrics.add((directive["Namespace"], metric["Name"], frozenset(dimensions)))
    return Emitted(lines, metrics)


@pytest.fixture(scope="module")
def resources() -> dict[str, dict[str, Any]]:
    return dict(load(TEMPLATE)["Resources"])


def of_type(resources: dict[str, dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    """Return logical id → properties of the resources of a type."""
    return {name: one["Properties"] for name, one in resources.items() if one["Type"] == kind}


def severity(alarm: Mapping[str, Any]) -> str:
    """Return ``page`` or ``notice``, by the topic of an alarm; empty for another one."""
    page = {"Ref": "PageTopicArn"}
    notice = {"Fn::If": ["OwnNoticeTopic", {"Ref": "NoticeTopicArn"}, page]}
    return {str([page]): "page", str([notice]): "notice"}.get(str(alarm["AlarmActions"]), "")


def widgets(resources: dict[str, dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the widgets of each dashboard."""
    bodies = of_type(resources, "AWS::CloudWatch::Dashboard").values()
    return [json.loads(one["DashboardBody"]["Fn::Sub"])["widgets"] for one in bodies]


def check(namespace: str, name: str, dimensions: Mapping[str, Any], emitted: Emitted) -> None:
    """Check that a metric exists, with these dimensions."""
    if namespace in OF_AWS:
        names, needed = OF_AWS[namespace]
        assert name in names
        assert dimensions.keys() == needed
        return
    assert (namespace, name, frozenset(dimensions)) in emitted.metrics
    if name == "Failures":
        assert dimensions["kind"] in set(FAILURES.values())
    elif "code" in dimensions:
        assert dimensions["code"] in CALL_ERRORS


class TestAlarms:
    def test_every_metric_of_an_alarm_is_written(self, resources: dict[str, dict[str, Any]], emitted: Emitted) -> None:
        for alarm in of_type(resources, "AWS::CloudWatch::Alarm").values():
            ids = {query["Id"] for query in alarm["Metrics"]}
            assert sum(query.get("ReturnData", True) for query in alarm["Metrics"]) == 1
            for query in alarm["Metrics"]:
                if "Expression" in query:
                    assert set(re.findall(r"[a-z]\w*", query["Expression"])) <= ids
                else:
                    metric = query["MetricStat"]["Metric"]
                    dimensions = {one["Name"]: one["Value"] for one in metric["Dimensions"]}
                    check(metric["Namespace"], metric["MetricName"], dimensions, emitted)

    def test_every_kind_of_failure_has_an_alarm(self, resources: dict[str, dict[str, Any]]) -> None:
        counted = {
            one["Value"]
            for alarm in of_type(resources, "AWS::CloudWatch::Alarm").values()
            for query in alarm["Metrics"]
            if "MetricStat" in query
            for one in query["MetricStat"]["Metric"]["Dimensions"]
            if one["Name"] == "kind"
        }
        assert set(FAILURES.values()) <= counted

    def test_one_request_raises_none(self, resources: dict[str, dict[str, Any]]) -> None:
        """One that a caller can raise alone counts many requests, or compares a share of many."""
        causes = {name: one["Metadata"]["Cause"] for name, one in resources.items() if name.endswith("Alarm")}
        assert set(causes.values()) == {"deployment", "upstream", "caller"}
        for name, alarm in of_type(resources, "AWS::CloudWatch::Alarm").items():
            expressions = [query["Expression"] for query in alarm["Metrics"] if "Expression" in query]
            least = [int(found) for text in expressions for found in re.findall(r"^IF\(m1 >= (\d+), ", text)]
            if causes[name] == "caller" and alarm["Threshold"] != {"Ref": "SurgeRequests"}:
                assert min(least or [alarm["Threshold"]]) >= 5, name

    def test_each_notifies_its_topic_also_when_it_is_over(self, resources: dict[str, dict[str, Any]]) -> None:
        for name, alarm in of_type(resources, "AWS::CloudWatch::Alarm").items():
            assert severity(alarm), name
            assert alarm["AlarmActions"] == alarm["OKActions"]
            assert alarm["TreatMissingData"] == "notBreaching"


class TestDashboards:
    def test_every_metric_in_them_is_written(self, resources: dict[str, dict[str, Any]], emitted: Emitted) -> None:
        for widget in (widget for one in widgets(resources) for widget in one):
            ids = set()
            for row in widget["properties"].get("metrics", ()):
                options = row[-1]
                ids.add(options.get("id"))
                if "expression" not in options:
                    check(row[0], row[1], dict(zip(row[2:-1:2], row[3:-1:2], strict=True)), emitted)
                elif found := re.fullmatch(r"SEARCH\('\{(.*?)\} MetricName=\"(\w+)\" .*", options["expression"]):
                    namespace, *names = found[1].split(",")
                    assert (namespace, found[2], frozenset(names)) in emitted.metrics
                else:
                    assert set(re.findall(r"[a-z]\w*", options["expression"])) <= ids


QUERY_WORDS = {"SOURCE", "filter", "fields", "stats", "sort", "limit", "by", "as", "and", "or", "desc", "asc"}
QUERY_WORDS |= {"count", "sum", "avg", "min", "max", "pct", "bin", "ispresent"}


def test_every_field_of_a_query_is_written(resources: dict[str, dict[str, Any]], emitted: Emitted) -> None:
    queries = {name: one["QueryString"] for name, one in of_type(resources, "AWS::Logs::QueryDefinition").items()}
    logs = [widget["properties"] for one in widgets(resources) for widget in one if widget["type"] == "log"]
    queries |= {one["title"]: one["query"] for one in logs}
    written = {field for line in emitted.lines for field in line} | {"@timestamp"}
    for name, query in queries.items():
        bare = re.sub(r"'[^']*'|\"[^\"]*\"|\b\d\w*", "", query)
        names = set(re.findall(r"@?[A-Za-z_]\w*", bare)) - set(re.findall(r"\bas (\w+)", bare)) - QUERY_WORDS
        assert names <= written, name
