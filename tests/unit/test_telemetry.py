"""Logs, metrics and traces: what is written, and what never is."""

from __future__ import annotations

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
from toolfold.execution.call_log import CallLog
from toolfold.settings import Settings
from toolfold.telemetry import Telemetry, configure

SECRET = "https://example.com/?apikey=secret"
EVENT = {"requestContext": {"requestId": "api-gateway-1"}}

Lines = Callable[[], list[dict[str, Any]]]

library_logger = logging.getLogger("toolfold")


@pytest.fixture(autouse=True)
def level_restored() -> Iterator[None]:
    before = library_logger.level
    configured().metrics.clear_metrics()  # of other tests: Powertools keeps them in the class
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
    return configure(Settings.from_environment(environment))


def invoke(telemetry: Telemetry, handler: Callable[..., Any]) -> Any:
    """Call ``handler`` as Lambda does, with the decorators of handlers/gateway/app.py."""
    logged = telemetry.logger.inject_lambda_context(
        telemetry.metrics.log_metrics(handler),
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
        assert isinstance(line["cold_start"], bool)

    def test_child_loggers_write_the_same_lines(self, telemetry: Telemetry, lines: Lines) -> None:
        logging.getLogger("toolfold.network").warning("slow")

        assert [line["message"] for line in lines()] == ["slow"]

    def test_the_level_of_the_settings_applies(self, lines: Lines) -> None:
        configured(TOOLFOLD_LOG_LEVEL="ERROR")
        library_logger.warning("not written")
        library_logger.error("written")

        assert [line["message"] for line in lines()] == ["written"]

    def test_configuring_twice_writes_each_line_once(self, lines: Lines) -> None:
        configured()
        configured()
        library_logger.warning("once")

        assert len(lines()) == 1

    def test_sampled_invocations_are_logged_at_debug(self, monkeypatch: pytest.MonkeyPatch, lines: Lines) -> None:
        monkeypatch.setenv("POWERTOOLS_LOGGER_SAMPLE_RATE", "1")
        telemetry = configured()
        for _ in range(2):
            invoke(telemetry, lambda event, context: library_logger.debug("details"))

        assert [line["message"] for line in lines()][-1:] == ["details"]

    def test_the_service_can_be_named(self, monkeypatch: pytest.MonkeyPatch, lines: Lines) -> None:
        monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "other-stack")
        configured()
        library_logger.warning("named")
        monkeypatch.delenv("POWERTOOLS_SERVICE_NAME")
        configured()

        assert lines()[0]["service"] == "other-stack"

    def test_a_trace_of_x_ray_is_named(
        self, telemetry: Telemetry, lines: Lines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f;Sampled=1")
        library_logger.warning("traced")

        assert lines()[0]["xray_trace_id"] == "1-5759e988-bd862e3fe1be46a994272793"

    def test_values_that_are_not_json_are_written_as_text(self, telemetry: Telemetry, lines: Lines) -> None:
        library_logger.warning("odd", extra={"value": set})

        assert lines()[0]["value"] == "<class 'set'>"


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


class TestMetrics:
    def test_a_call_is_counted_by_its_outcome(self, telemetry: Telemetry, lines: Lines) -> None:
        call = CallLog("GLOBAL_QUOTE")
        call.code = "RATE_LIMITED"
        telemetry.record_call(call)

        line = lines()[0]
        (metrics,) = line.pop("_aws")["CloudWatchMetrics"]
        assert metrics["Namespace"] == "toolfold"
        assert metrics["Metrics"] == [{"Name": "Calls", "Unit": "Count"}]
        assert sorted(metrics["Dimensions"][0]) == ["code", "service"]
        assert line == {"service": "toolfold", "code": "RATE_LIMITED", "Calls": [1.0]}

    def test_a_failure_of_the_deployment_is_counted_by_its_code(self, telemetry: Telemetry, lines: Lines) -> None:
        telemetry.record_request({"rpc": "health", "error": "CATALOG_UNAVAILABLE"})

        (line,) = lines()
        assert (line["Failures"], line["code"]) == ([1.0], "CATALOG_UNAVAILABLE")

    def test_the_namespace_can_be_named(self, monkeypatch: pytest.MonkeyPatch, lines: Lines) -> None:
        monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "elsewhere")
        configured().record_call(CallLog("GLOBAL_QUOTE"))

        assert lines()[0]["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "elsewhere"

    def test_a_metric_that_cannot_be_written_fails_no_call(
        self, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, lines: Lines
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise OSError(SECRET)

        monkeypatch.setattr("toolfold.telemetry.single_metric", fail)
        telemetry.record_call(CallLog("GLOBAL_QUOTE"))

        assert [line["message"] for line in lines()] == ["metric not written: OSError"]

    def test_an_invocation_writes_its_other_metrics_in_one_line(self, telemetry: Telemetry, lines: Lines) -> None:
        hit = CallLog("GLOBAL_QUOTE", cache="memory")
        failed = CallLog("WTI", code="UPSTREAM_ERROR", requests=2, upstream_s=0.5)
        refused = CallLog("WTI", code="RATE_LIMITED", quota_used_percent=100.0, is_operator_key=True)

        def handler(event: object, context: object) -> None:
            for call in (hit, failed, refused):
                telemetry.record_call(call)
            telemetry.record_request({"tool": "TOOL_CALL", "tokens": 120}, 90.4)

        invoke(telemetry, handler)

        *_, line = lines()
        (metrics,) = line.pop("_aws")["CloudWatchMetrics"]
        assert metrics["Dimensions"] == [["service"]]
        assert line == {
            "service": "toolfold",
            "CallErrors": [0.0, 1.0, 0.0],
            "CacheHits": [1.0, 0.0, 0.0],
            "UpstreamLatency": [500.0],
            "QuotaUsed": [100.0],
            "TokensAnswered": [120.0],
            "CatalogAge": [90.0],
        }

    def test_the_quota_of_a_callers_own_key_is_no_metric(self, telemetry: Telemetry, lines: Lines) -> None:
        call = CallLog("WTI", quota_used_percent=96.0)
        invoke(telemetry, lambda event, context: telemetry.record_call(call))

        assert not [line for line in lines() if "QuotaUsed" in line]

    @pytest.mark.parametrize(("matched", "empty"), [(0, 1.0), (12, 0.0)])
    def test_a_search_is_counted_and_what_it_saves(
        self, telemetry: Telemetry, lines: Lines, matched: int, empty: float
    ) -> None:
        fields = {"tool": "TOOL_LIST", "searched": 1, "matched": matched, "tokens": 400, "tokens_saved": 33_000}
        invoke(telemetry, lambda event, context: telemetry.record_request(fields))

        (line,) = lines()
        assert (line["EmptySearches"], line["TokensAnswered"], line["TokensSaved"]) == ([empty], [400.0], [33_000.0])

    def test_the_first_response_of_a_client_writes_no_metric(self, telemetry: Telemetry, lines: Lines) -> None:
        invoke(telemetry, lambda event, context: telemetry.record_request({"rpc": "tools/list"}, 90.0))

        assert lines() == []

    def test_recording_a_call_takes_less_than_a_tenth_of_a_millisecond(
        self, telemetry: Telemetry, lines: Lines
    ) -> None:
        call, fields = CallLog("WTI", requests=1, upstream_s=0.1), {"tool": "TOOL_CALL", "tokens": 120}

        def record() -> None:
            telemetry.record_call(call)
            telemetry.record_request(fields, 90.0)
            telemetry.metrics.flush_metrics()

        record()
        started = time.process_time()
        for _ in range(200):
            record()
        assert (time.process_time() - started) / 200 < 0.000_3  # three times the bound: machines differ
        lines()

    def test_an_invocation_without_a_call_writes_no_metric_and_no_warning(
        self, telemetry: Telemetry, lines: Lines
    ) -> None:
        invoke(telemetry, lambda event, context: None)

        assert lines() == []


class TestTraces:
    def test_without_tracing_the_handler_is_left_as_it_is(self, telemetry: Telemetry) -> None:
        assert telemetry.tracer is None
        assert telemetry.capture_lambda_handler(invoke) is invoke

    @pytest.mark.parametrize(("trace", "is_imported"), [("false", False), ("true", True)])
    def test_the_x_ray_sdk_is_imported_only_for_tracing(self, trace: str, is_imported: bool) -> None:
        program = (
            "import sys\n"
            "from toolfold.settings import Settings\n"
            "from toolfold.telemetry import configure\n"
            f"configure(Settings.from_environment({{'TOOLFOLD_TRACE': '{trace}'}}))\n"
            "print('aws_xray_sdk' in sys.modules)\n"
        )
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

        assert ran.stdout.strip() == str(is_imported)

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
