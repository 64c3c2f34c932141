"""Logs, metrics and traces: what is written, and what never is."""

import dataclasses
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aws_lambda_powertools.logging import correlation_paths

from tests.support.lambda_handler import CONTEXT
from toolfold.execution.call import CallLog
from toolfold.settings import Settings
from toolfold.telemetry import Telemetry, configure

SECRET = "https://example.com/?apikey=secret"
EVENT = {"requestContext": {"requestId": "api-gateway-1"}}

Lines = Callable[[], list[dict[str, Any]]]
Fields = dict[str, str | int | float]

library_logger = logging.getLogger("toolfold")


@pytest.fixture(autouse=True)
def level_restored() -> Iterator[None]:
    before = library_logger.level
    yield
    library_logger.setLevel(before)


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Lines:
    """What was written to stdout since the last call, one object for each line."""
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def telemetry() -> Telemetry:
    return configured()


def configured(**environment: str) -> Telemetry:
    telemetry = configure(Settings.from_environment(environment))
    telemetry._is_cold = False
    return telemetry


def metrics_of(line: dict[str, Any]) -> dict[str, tuple[list[str], float]]:
    """Return name → dimensions and value of each metric in a line, as CloudWatch reads it."""
    directives = line["_aws"]["CloudWatchMetrics"]
    assert {one["Namespace"] for one in directives} == {"toolfold"}
    assert abs(line["_aws"]["Timestamp"] / 1000 - time.time()) < 60
    return {
        metric["Name"]: (one["Dimensions"][0], line[metric["Name"]]) for one in directives for metric in one["Metrics"]
    }


def invoke(telemetry: Telemetry, handler: Callable[..., Any]) -> Any:
    """Call ``handler`` as Lambda does, with the decorators of handlers/gateway/app.py."""
    logged = telemetry.logger.inject_lambda_context(
        handler,
        correlation_id_path=correlation_paths.API_GATEWAY_HTTP,
        log_event=False,
    )
    return telemetry.capture_lambda_handler(logged)(EVENT, CONTEXT)


class TestLogs:
    def test_library_logs_are_json_lines(self, telemetry: Telemetry, lines: Lines) -> None:
        library_logger.warning("call of %s", "RSI", extra={"code": "NO_DATA", "ms": 1.5})

        (line,) = lines()
        assert line["timestamp"].endswith("+00:00")
        expected = {"level": "WARNING", "message": "call of RSI", "service": "toolfold", "code": "NO_DATA", "ms": 1.5}
        assert expected.items() <= line.items()

    def test_library_logs_have_the_correlation_id_of_the_invocation(self, telemetry: Telemetry, lines: Lines) -> None:
        invoke(telemetry, lambda event, context: library_logger.info("call"))

        (line,) = lines()
        assert line["correlation_id"] == "api-gateway-1"
        assert line["function_request_id"] == CONTEXT.aws_request_id
        assert line.keys() == {
            "level", "message", "timestamp", "service", "function_request_id", "correlation_id"
        }  # fmt: skip

    def test_a_trace_that_x_ray_keeps_is_named(
        self, telemetry: Telemetry, lines: Lines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for sampled in "10":
            root = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f"
            monkeypatch.setenv("_X_AMZN_TRACE_ID", f"{root};Sampled={sampled}")
            library_logger.warning("traced")

        kept, dropped = lines()
        assert kept["xray_trace_id"] == "1-5759e988-bd862e3fe1be46a994272793"
        assert "xray_trace_id" not in dropped


class TestSecrets:
    def test_an_exception_is_logged_by_its_class_alone(self, telemetry: Telemetry, lines: Lines) -> None:
        try:
            raise ValueError(SECRET)
        except ValueError:
            library_logger.exception("failed")

        (line,) = lines()
        assert line["exception_name"] == "ValueError"
        assert "secret" not in json.dumps(line)

    def test_events_are_not_logged_even_if_the_environment_asks_for_it(
        self, monkeypatch: pytest.MonkeyPatch, lines: Lines
    ) -> None:
        monkeypatch.setenv("POWERTOOLS_LOGGER_LOG_EVENT", "true")
        invoke(configured(), lambda event, context: None)

        assert lines() == []


BY_CODE, BY_SERVICE = ["service", "code"], ["service"]

HIT = CallLog("GLOBAL_QUOTE", cache="memory", response_chars=160)
FAILED = CallLog("WTI", code="UPSTREAM_ERROR", requests=2, upstream_s=0.5, quota_used_percent=96.0)
REFUSED = CallLog("WTI", code="RATE_LIMITED", quota_used_percent=100.0, is_operator_key=True)
INVALID = CallLog("WTI", code="INVALID_ARGUMENTS", is_counted=False, audit={"effect": "read"})


class TestOneLine:
    def test_a_request_and_its_call_are_one_line_with_their_metrics(self, telemetry: Telemetry, lines: Lines) -> None:
        fields: Fields = {"tool": "TOOL_CALL", "inner_tool": "GLOBAL_QUOTE", "tokens": 120}
        telemetry.record_call(dataclasses.replace(HIT, audit={"effect": "read", "principal": "key-1"}))
        assert lines() == []
        telemetry.record_request(fields, 90.4)

        (line,) = lines()
        audited = {"effect": "read", "principal": "key-1"}
        called = {"code": "OK", "cache": "memory", "response_chars": 160}
        assert ({"message": "request", **fields, **called, **audited}).items() <= line.items()
        assert metrics_of(line) == {
            "Calls": (BY_CODE, 1),
            "CallErrors": (BY_SERVICE, 0),
            "CacheHits": (BY_SERVICE, 1),
            "TokensAnswered": (BY_SERVICE, 120),
            "CatalogAge": (BY_SERVICE, 90),
        }

    def test_several_calls_have_a_line_each_and_the_request_one_of_its_own(
        self, telemetry: Telemetry, lines: Lines
    ) -> None:
        for call in (HIT, FAILED, REFUSED, INVALID):
            telemetry.record_call(call)
        telemetry.record_request({"tool": "TOOL_CALL", "tokens": 120})
        telemetry.record_request({"tool": "TOOL_LIST"})

        hit, failed, refused, invalid, request, later = lines()
        assert [line["message"] for line in (hit, failed, refused, invalid, request)] == [*["call"] * 4, "request"]
        assert metrics_of(hit).keys() == {"Calls", "CallErrors", "CacheHits"}
        assert metrics_of(failed)["CallErrors"] == (BY_SERVICE, 1)
        assert metrics_of(failed)["UpstreamLatency"] == (BY_SERVICE, 500)
        assert (failed["quota_used_percent"], "QuotaUsed" in metrics_of(failed)) == (96.0, False)  # of its caller
        assert metrics_of(refused)["QuotaUsed"] == (BY_SERVICE, 100)
        assert (invalid["code"], invalid["effect"], "_aws" in invalid) == ("INVALID_ARGUMENTS", "read", False)
        assert metrics_of(request) == {"TokensAnswered": (BY_SERVICE, 120)}
        assert "code" not in later

    def test_a_call_is_logged_when_its_request_is_not_answered_or_is_a_probe(
        self, telemetry: Telemetry, lines: Lines
    ) -> None:
        telemetry.record_call(HIT)
        telemetry.flush()
        telemetry.record_call(HIT)
        telemetry.record_request({"rpc": "ui"}, is_probe=True)

        assert [line["message"] for line in lines()] == ["call", "call"]

    def test_a_line_of_a_cached_call_is_short(self, telemetry: Telemetry, lines: Lines) -> None:
        """docs/reference/cost.md: a cached call costs at most $2 a million, $0.60 of which are for logs."""
        fields: Fields = {"rpc": "tools/call", "tool": "TOOL_CALL", "tokens": 70, "status": 200, "ms": 1.65}
        audit = {"principal": f"key-{0:032}", "effect": "read", "arguments": f"{0:032}"}
        request_id = {"function_request_id": f"{0:036}"}
        telemetry.logger.append_keys(**request_id, correlation_id="AbCdEfGhIjKlMnO=")
        telemetry.record_call(dataclasses.replace(HIT, audit=audit, quota_used_percent=50.0, is_operator_key=True))
        telemetry.record_request(fields, 90_000.0)

        (line,) = lines()
        assert len(json.dumps(line, separators=(",", ":"))) < 950


class TestMetrics:
    def test_a_failure_of_the_deployment_is_counted_by_its_code(self, telemetry: Telemetry, lines: Lines) -> None:
        telemetry.record_request({"rpc": "health", "error": "CATALOG_UNAVAILABLE"})

        failure, _ = lines()
        assert (failure["code"], metrics_of(failure)) == ("CATALOG_UNAVAILABLE", {"Failures": (BY_CODE, 1)})
        dimensions = failure["_aws"]["CloudWatchMetrics"][0]["Dimensions"]
        assert (failure["kind"], dimensions) == ("unavailable", [BY_CODE, ["service", "kind"]])

    @pytest.mark.parametrize("is_operator_key", [True, False])
    def test_a_rejected_key_is_a_failure_only_if_it_is_that_of_the_deployment(
        self, telemetry: Telemetry, lines: Lines, is_operator_key: bool
    ) -> None:
        telemetry.record_call(CallLog("WTI", code="AUTH_REJECTED", is_operator_key=is_operator_key))

        assert [line["code"] for line in lines()] == ["KEY_REJECTED"] * is_operator_key

    def test_a_publication_is_counted_with_the_age_of_the_catalog(self, telemetry: Telemetry, lines: Lines) -> None:
        telemetry.record_publication("unchanged", 4.2)

        (line,) = lines()
        assert (line["code"], metrics_of(line)) == (
            "unchanged", {"Publications": (BY_CODE, 1), "CatalogAge": (BY_SERVICE, 4)}
        )  # fmt: skip

    @pytest.mark.parametrize(("matched", "empty"), [(0, 1), (12, 0)])
    def test_a_search_is_counted_and_what_it_saves(
        self, telemetry: Telemetry, lines: Lines, matched: int, empty: int
    ) -> None:
        fields: Fields = {"tool": "TOOL_LIST", "searched": 1, "matched": matched, "tokens": 400, "tokens_saved": 33_000}
        telemetry.record_request(fields)

        (line,) = lines()
        assert {name: value for name, (_, value) in metrics_of(line).items()} == {
            "EmptySearches": empty, "TokensAnswered": 400, "TokensSaved": 33_000
        }  # fmt: skip

    @pytest.mark.parametrize(("kind", "counted"), [("on-demand", True), ("provisioned-concurrency", False)])
    def test_the_first_response_of_an_environment_has_no_metric_but_the_cold_start(
        self, monkeypatch: pytest.MonkeyPatch, lines: Lines, kind: str, counted: bool
    ) -> None:
        monkeypatch.setenv("AWS_LAMBDA_INITIALIZATION_TYPE", kind)
        telemetry = configure(Settings.from_environment({}))
        for _ in range(2):
            telemetry.record_request({"rpc": "tools/list"}, 90.0)

        first, second = lines()
        assert ("_aws" in first, "_aws" in second) == (counted, False)
        if counted:
            assert metrics_of(first) == {"ColdStart": (BY_SERVICE, 1)}


class TestTraces:
    def test_the_handler_is_traced_without_its_response(self) -> None:
        """In a process of its own, since the SDK patches botocore."""
        program = (
            "from aws_xray_sdk.core import xray_recorder\n"
            "from toolfold.settings import Settings\n"
            "from toolfold.telemetry import configure\n"
            "telemetry = configure(Settings.from_environment({'TOOLFOLD_TRACE': 'true'}))\n"
            "xray_recorder.emitter.send_entity = lambda entity: print(entity.serialize())\n"
            "def handler(event, context):\n"
            "    return 'SECRET'\n"
            "telemetry.capture_lambda_handler(handler)({}, None)\n"
        )
        trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
        environment = {**os.environ, "LAMBDA_TASK_ROOT": "/var/task", "_X_AMZN_TRACE_ID": trace}
        command = [sys.executable, "-c", program]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

        assert json.loads(ran.stdout)["name"] == "## handler"
        assert "SECRET" not in ran.stdout
