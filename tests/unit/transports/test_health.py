"""What the Lambda handler reports: the state of its process, as the local server does, and failures of requests."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.support.catalogs import BUNDLED_TOOLS
from tests.support.http import KEY
from tests.support.lambda_handler import http_event, make_handler
from tests.support.mcp_requests import message, tool_call
from toolfold.app import build_app
from toolfold.mock_api.server import MockApi
from toolfold.protocol.http import LogFields
from toolfold.settings import Settings
from toolfold.telemetry import FAILURES, configure
from toolfold.transports.lambda_handler import LambdaHandler


def ask(handler: LambdaHandler, path: str = "/health", method: str = "GET") -> tuple[int, dict[str, Any]]:
    response = handler(http_event(path=path, method=method))
    return response["statusCode"], json.loads(response["body"]) if response["statusCode"] != 405 else {}


@pytest.mark.parametrize("path", ["/health", "/health/", "/prod/health"])
def test_it_is_answered_on_lambda_without_a_key(path: str) -> None:
    status, state = ask(make_handler({}), path)
    assert (status, state["status"], state["catalog"]["tools"]) == (200, "ok", BUNDLED_TOOLS)
    assert state["sources"] == {"alpha_vantage": {"circuit_breaker": "closed"}}


def test_a_catalog_that_cannot_be_read_is_503_without_its_path(tmp_path: Path) -> None:
    status, state = ask(make_handler({"TOOLFOLD_CATALOG": str(tmp_path / "none.json")}))
    assert (status, state["status"]) == (503, "unavailable")
    assert str(tmp_path) not in json.dumps(state)


def test_an_open_circuit_breaker_is_named_and_nothing_is_sent() -> None:
    handler = make_handler(
        {
            "TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": "http://127.0.0.1:9/query",  # refuses connections
            "TOOLFOLD_BREAKER_FAILURES": "1",
            "TOOLFOLD_RETRIES": "0",
        }
    )
    handler(http_event(tool_call("GLOBAL_QUOTE", {"symbol": "IBM"}), {"x-api-key": KEY}))
    status, state = ask(handler)
    assert (status, state["status"]) == (200, "degraded")
    assert state["sources"] == {"alpha_vantage": {"circuit_breaker": "open"}}


def test_it_asks_no_upstream_and_tells_no_secret(mock_api: MockApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    handler = make_handler({"TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL": mock_api.url, "TOOLFOLD_KEY_SALT": "salt-of-this"})
    before = len(mock_api.requests)
    _, state = ask(handler)
    assert len(mock_api.requests) == before
    assert not [secret for secret in (KEY, mock_api.url, "salt-of-this", "/") if secret in json.dumps(state)]


def test_probes_are_not_logged_while_all_is_well(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "toolfold")
    ask(make_handler({}))
    assert not [record for record in caplog.records if record.message == "request"]
    ask(make_handler({"TOOLFOLD_CATALOG": str(tmp_path / "none.json")}))
    (line,) = [vars(record) for record in caplog.records if record.message == "request"]
    assert (line["rpc"], line["error"], line["status"]) == ("health", "CATALOG_UNAVAILABLE", 503)


def failures(catalog: str, name: str, arguments: dict[str, object]) -> list[str]:
    """The codes that one call of a tool reports."""
    settings = Settings.from_environment({"TOOLFOLD_CATALOG": catalog})
    found: list[str] = []

    def note(fields: LogFields, catalog_age_s: float | None, *, is_probe: bool) -> None:
        assert (catalog_age_s, is_probe) == (None, False)
        found.extend(str(value) for name, value in fields.items() if name == "error" and value in FAILURES)

    handler = LambdaHandler(build_app(settings), configure(settings), note)
    handler(http_event(message("tools/call", {"name": name, "arguments": arguments})))
    return found


@pytest.mark.parametrize(
    ("name", "arguments"), [("TOOL_CALL", {"tool_name": "GLOBAL_QUOTE"}), ("GLOBAL_QUOTE", {"symbol": "IBM"})]
)
def test_a_catalog_that_cannot_be_read_is_a_failure_of_the_deployment(
    name: str, arguments: dict[str, object], tmp_path: Path
) -> None:
    assert failures(str(tmp_path / "none.json"), name, arguments) == ["CATALOG_UNAVAILABLE"]


def test_a_mistake_of_the_caller_is_none() -> None:
    assert failures("", "TOOL_CALL", {"tool_name": "NO_SUCH_TOOL"}) == []
