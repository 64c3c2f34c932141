"""Spans of calls, as a collector of OpenTelemetry receives them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.local_server import Handler, LocalServer
from tests.support.mcp_requests import tool_call

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
QUOTE = b'{"Global Quote": {"01. symbol": "IBM", "05. price": "200.5"}}'


class Collector(Handler):
    """Keeps the spans that are posted to ``/v1/traces``, and is the service that is called as well."""

    url: str
    spans: list[Any]
    traceparents: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        request = ExportTraceServiceRequest.FromString(body)
        self.spans += [(found.resource, span) for found in request.resource_spans
                       for scope in found.scope_spans for span in scope.spans]  # fmt: skip
        self.reply(200, {}, b"")

    def do_GET(self) -> None:
        self.traceparents.append(self.headers["traceparent"])
        is_known = "IBM" in self.path
        self.reply(200 if is_known else 500, {"content-type": "application/json"}, QUOTE if is_known else b"{}")


@pytest.fixture
def collector() -> Iterator[type[Collector]]:
    Collector.spans, Collector.traceparents = [], []
    with LocalServer(Collector) as server:
        Collector.url = f"http://127.0.0.1:{server.server_port}"
        yield Collector


def attributes(of: Any) -> dict[str, Any]:
    return {one.key: one.value.string_value or one.value.bool_value for one in of.attributes}


def call(symbol: str) -> bytes:
    meta = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    return json.dumps(tool_call("GLOBAL_QUOTE", {"symbol": symbol}, _meta=meta)).encode()


def session(collector: type[Collector], symbols: list[str], **environment: str) -> str:
    """Call a tool with each symbol in a session over stdio, and return what the process wrote to stderr."""
    environment = {"PATH": os.environ["PATH"], "TOOLFOLD_CACHE": "memory", "ALPHA_VANTAGE_API_KEY": "demo-key-1234",
                   "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": f"{collector.url}/query", **environment}  # fmt: skip
    lines = b"".join(call(symbol) + b"\n" for symbol in symbols)
    done = subprocess.run([sys.executable, "-m", "toolfold", "stdio"], input=lines,
                          env=environment, capture_output=True, timeout=60, check=True)  # fmt: skip
    assert done.stdout.count(b"\n") == len(symbols)
    return done.stderr.decode()


def test_each_call_is_a_span_of_the_clients_trace_and_the_parent_of_its_request(collector: type[Collector]) -> None:
    session(collector, ["IBM", "WRONG"], OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    # The calls run at the same time.
    (resource, span), (_, failed) = sorted(collector.spans, key=lambda pair: "error.type" in attributes(pair[1]))
    assert attributes(resource)["service.name"] == "toolfold"
    assert span.name == "execute_tool GLOBAL_QUOTE"
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    assert attributes(span) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "GLOBAL_QUOTE",
        "toolfold.source": "alpha_vantage",
        "toolfold.cached": False,
    }
    assert f"00-{TRACE}-{span.span_id.hex()}-01" in collector.traceparents
    assert attributes(failed)["error.type"] == "UPSTREAM_ERROR"
    assert "WRONG" not in str(failed)


@pytest.mark.slow
def test_the_name_of_the_service_is_that_of_the_environment(collector: type[Collector]) -> None:
    session(collector, ["IBM"], OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_SERVICE_NAME="desk")
    ((resource, _),) = collector.spans
    assert attributes(resource)["service.name"] == "desk"


@pytest.mark.parametrize("is_none", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_nothing_is_exported_without_an_endpoint_or_an_exporter(collector: type[Collector], is_none: bool) -> None:
    wanted = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_TRACES_EXPORTER": "none"} if is_none else {}
    assert session(collector, ["IBM"], **wanted) == ""
    assert collector.spans == []
    assert collector.traceparents == [f"00-{TRACE}-{PARENT}-01"]
