"""What a cold start may import: each module is felt at every one, a heavy one by every user.

The runtime client has imported some of the standard library before it comes to our handler; that is free. The same is
held against the real client, for the built package, in ``tests/integration/test_built_artifact.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUNTIME = "concurrent.futures.thread decimal importlib.util json logging math pwd runpy string traceback"
"""What awslambdaric 4 imports, with all that these import."""

FORBIDDEN = {
    # felt by the tenth of a second
    "mcp", "mcp_types", "boto3", "botocore", "pydantic", "requests", "jsonschema", "urllib3", "yaml", "asyncio",
    # by the hundredth: what is on the road of a call, or has a lighter way
    "obstore", "jmespath", "ssl", "http.client", "email", "hashlib", "sqlite3", "inspect", "dataclasses", "typing",
    "pathlib", "urllib.parse", "base64", "datetime", "random", "difflib", "socket", "selectors",
}  # fmt: skip
"""Nothing that lists or describes tools from the catalog in the package needs any of these."""

OURS = 24
"""Modules of ours in the first response, with their packages. Raise it for something that every request needs."""

OTHERS = {"binascii", "bisect"}
"""What else the first response imports."""

FIRST_RESPONSES = ["initialize", "tools-list", "server-discover", "tool-list", "tool-get", "get", "not-json"]

PROGRAM = """
import importlib, importlib.util, json, sys
event = json.load(open(sys.argv[1]))
for name in sys.argv[2:]:
    importlib.import_module(name)
before = set(sys.modules)
spec = importlib.util.spec_from_file_location("app", "handlers/gateway/app.py")
app = importlib.util.module_from_spec(spec)
spec.loader.exec_module(app)
class Context:
    aws_request_id = "1"
    get_remaining_time_in_millis = staticmethod(lambda: 29000)
response = app.handler(event, Context)
print(json.dumps({"status": response["statusCode"], "modules": sorted(set(sys.modules) - before)}))
"""


def imported(event: str) -> set[str]:
    """The modules that a fresh process imports to answer ``event``, beside those that the runtime client has."""
    command = [sys.executable, "-c", PROGRAM, str(Path("events") / f"{event}.json"), *RUNTIME.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answered = json.loads(done.stdout.splitlines()[-1])
    assert answered["status"] < 500
    return {name for name in answered["modules"] if not name.startswith("_")}


@pytest.mark.parametrize("event", FIRST_RESPONSES)
def test_a_first_response_imports_nothing_heavy(event: str) -> None:
    assert not FORBIDDEN & imported(event)


def test_the_first_response_imports_so_many_modules_and_no_more() -> None:
    modules = imported("tools-list")
    ours = {name for name in modules if name.partition(".")[0] == "toolfold"}
    assert len(ours) <= OURS, sorted(ours)
    assert modules - ours <= OTHERS


def test_listing_tools_imports_these_on_top() -> None:
    assert imported("tool-list") - imported("tools-list") == {
        *(f"toolfold.meta_tools.{name}" for name in ("asked", "filling", "filters", "holdings", "reading", "tiers")),
        "toolfold.meta_tools.tool_list",
        *(f"toolfold.catalog.{name}" for name in ("query", "search", "spelling", "words")),
        *(f"toolfold.results{name}" for name in ("", ".tokens")),
        "toolfold.fuzzy",
        "unicodedata",
    }


def test_describing_tools_imports_these_on_top() -> None:
    assert imported("tool-get") - imported("tools-list") == {
        f"toolfold.meta_tools.{name}" for name in ("reading", "tiers", "tool_get")
    }
