"""What the Lambda handler reports of a request."""

import json
from pathlib import Path

import pytest

from tests.support.mcp_requests import message
from toolfold.app import build_app
from toolfold.protocol.http import LogFields
from toolfold.settings import Settings
from toolfold.telemetry import FAILURES, configure
from toolfold.transports.lambda_handler import LambdaHandler

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def failures(catalog: str, name: str, arguments: dict[str, object]) -> list[str]:
    """The codes that one call of a tool reports."""
    settings = Settings.from_environment({"TOOLFOLD_CATALOG": catalog})
    found: list[str] = []

    def note(fields: LogFields, catalog_age_s: float | None, *, is_probe: bool) -> None:
        assert (catalog_age_s, is_probe) == (None, False)
        found.extend(str(value) for name, value in fields.items() if name == "error" and value in FAILURES)

    handler = LambdaHandler(build_app(settings), configure(settings), note)
    body = json.dumps(message("tools/call", {"name": name, "arguments": arguments}))
    http = {"http": {"method": "POST", "path": "/mcp"}}
    handler({"version": "2.0", "rawPath": "/mcp", "headers": JSON, "requestContext": http, "body": body})
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
