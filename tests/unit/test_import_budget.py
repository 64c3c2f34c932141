"""What the first response may import: each of the forbidden modules is felt at every cold start."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FORBIDDEN = {"mcp", "mcp_types", "boto3", "botocore", "pydantic", "requests", "jsonschema", "aws_xray_sdk"}
"""The first response needs none of these."""

ALSO_LATER = {"yaml", "urllib3", "obstore", "difflib", "http.client", "asyncio", "anyio"}
"""Nor these, with the embedded catalog."""

FIRST_RESPONSES = ["initialize", "tools-list", "server-discover", "tool-list", "tool-get", "get", "not-json"]

PROGRAM = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("app", "handlers/gateway/app.py")
app = importlib.util.module_from_spec(spec)
spec.loader.exec_module(app)
class Context: aws_request_id = "1"
response = app.handler(json.load(open(sys.argv[1])), Context)
print(json.dumps({"status": response["statusCode"], "modules": sorted(sys.modules)}))
"""


def first_response(event: str) -> dict[str, Any]:
    # -I and -S would hide the installed packages; a fresh interpreter is enough.
    path = str(Path("events") / f"{event}.json")
    done = subprocess.run([sys.executable, "-c", PROGRAM, path], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("event", FIRST_RESPONSES)
def test_the_first_response_imports_nothing_heavy(event: str) -> None:
    response = first_response(event)
    assert response["status"] < 500
    assert FORBIDDEN.isdisjoint(response["modules"])
    assert ALSO_LATER.isdisjoint(response["modules"])


def test_the_modules_of_ours_that_the_first_response_imports_are_these() -> None:
    ours = {name.removeprefix("toolfold.") for name in first_response("tools-list")["modules"] if "toolfold." in name}
    assert ours == {
        "calling", "calling.caller", "calling.keys", "calling.validate",
        "catalog", "catalog.model", "catalog.search", "catalog.store", "catalog.words",
        "errors",
        "meta_tools", "meta_tools.definitions", "meta_tools.dispatch", "meta_tools.result",
        "meta_tools.tool_call", "meta_tools.tool_get", "meta_tools.tool_list",
        "observability", "settings", "transports", "transports.aws_lambda", "transports.lambda_events",
        "wire", "wire.http", "wire.jsonrpc", "wire.mcp", "wire.versions",
    }  # fmt: skip
