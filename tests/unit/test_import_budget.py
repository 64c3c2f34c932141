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
class Context:
    aws_request_id = "1"
    get_remaining_time_in_millis = staticmethod(lambda: 29000)
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
        "catalog", "catalog.model", "catalog.sections", "catalog.store",
        "errors",
        "meta_tools", "meta_tools.definitions", "meta_tools.dispatch", "meta_tools.result",
        "meta_tools.reading", "meta_tools.tiers", "meta_tools.tool_call", "meta_tools.tool_get",
        "observability", "settings", "transports", "transports.aws_lambda", "transports.lambda_events",
        "wire", "wire.http", "wire.jsonrpc", "wire.mcp", "wire.versions",
    }  # fmt: skip


def test_listing_tools_imports_these_on_top() -> None:
    first, listing = (set(first_response(event)["modules"]) for event in ("tools-list", "tool-list"))
    assert {name for name in listing - first if name.startswith("toolfold.")} == {
        *(f"toolfold.meta_tools.{name}" for name in ("asked", "filling", "filters", "holdings", "tool_list")),
        *(f"toolfold.catalog.{name}" for name in ("query", "search", "spelling", "words")),
        *(f"toolfold.results{name}" for name in ("", ".tokens")),
        "toolfold.names",
    }
