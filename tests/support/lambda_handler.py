"""The Lambda handler in this process, and the context that Lambda passes to it."""

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from toolfold.app import build_app
from toolfold.settings import Settings
from toolfold.telemetry import configure
from toolfold.transports.lambda_handler import LambdaHandler

CONTEXT = SimpleNamespace(
    function_name="gateway",
    memory_limit_in_mb=1024,
    invoked_function_arn="arn:aws:lambda:eu-central-1:123456789012:function:gateway",
    aws_request_id="request-1",
    get_remaining_time_in_millis=lambda: 29_000,
)


def make_handler(environment: Mapping[str, str]) -> LambdaHandler:
    settings = Settings.from_environment(environment)
    return LambdaHandler(build_app(settings, logs_audit=True), configure(settings))


def http_event(
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    path: str = "/mcp",
    method: str = "POST",
    address: str = "127.0.0.1",
    **more: Any,
) -> dict[str, Any]:
    """Return the event of a request, in payload format 2.0; a body other than text is sent as JSON."""
    return {
        "version": "2.0",
        "rawPath": path,
        "headers": {"content-type": "application/json", "accept": "application/json", **(headers or {})},
        "requestContext": {"http": {"method": method, "path": path, "sourceIp": address}},
        "body": body if isinstance(body, str | None) else json.dumps(body),
        **more,
    }


def load_gateway() -> Any:
    """Return a new module of handlers/gateway/app.py, as Lambda makes it from the environment."""
    path = Path(__file__).parents[2] / "handlers/gateway/app.py"
    spec = importlib.util.spec_from_file_location("gateway_app", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
