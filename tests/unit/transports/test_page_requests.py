"""Which requests the Lambda handler gives to the web explorer, and that no other request loads it."""

import base64
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.lambda_handler import make_handler
from tests.support.mcp_requests import message
from toolfold.transports.lambda_handler import is_for_page, parse_event


@pytest.mark.parametrize(
    ("event", "path", "expected"),
    [
        ({"routeKey": "GET /"}, "/", True),
        ({"routeKey": "GET /"}, "/prod/", True),
        ({"routeKey": "GET /"}, "/prod", True),
        ({"routeKey": "$default"}, "/", True),
        ({"routeKey": "ANY /ui/{proxy+}"}, "/ui/app.js", True),
        ({"routeKey": "ANY /ui/{proxy+}"}, "/prod/ui/api/start", True),
        ({"resource": "/"}, "/", True),
        ({"resource": "/{proxy+}"}, "/ui/app.js", True),
        ({"routeKey": "ANY /mcp"}, "/mcp", False),
        ({"routeKey": "ANY /mcp"}, "/ui/mcp", True),
        ({"routeKey": "ANY /mcp/{profile}"}, "/mcp/ui", False),
        ({"routeKey": "ANY /mcp/{profile}"}, "/mcp/ui/", False),
        ({"routeKey": "GET /health"}, "/health", False),
        ({"routeKey": "ANY /.well-known/{proxy+}"}, "/.well-known/ui", False),
        ({"routeKey": "ANY /register"}, "/register", False),
        ({"routeKey": "$default"}, "/other", False),
    ],
)
def test_which_requests_are_for_the_page(event: dict[str, str], path: str, expected: bool) -> None:
    assert is_for_page(parse_event({**event, "httpMethod": "GET", "path": path})) == expected


@pytest.mark.parametrize(
    ("method", "path", "expected"), [("POST", "/", False), ("HEAD", "/", True), ("POST", "/ui/api/tokens", True)]
)
def test_mcp_clients_may_post_to_the_root_of_a_function_url(method: str, path: str, expected: bool) -> None:
    event = {"version": "2.0", "routeKey": "$default", "rawPath": path, "requestContext": {"http": {"method": method}}}
    assert is_for_page(parse_event(event)) == expected


def get(path: str, **headers: str) -> dict[str, Any]:
    return {
        "version": "2.0",
        "routeKey": "GET /" if path == "/" else "ANY /ui/{proxy+}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"host": "id.example.com", **headers},
        "requestContext": {"http": {"method": "GET", "path": path, "sourceIp": "203.0.113.7"}},
    }


def test_off_it_answers_as_if_there_were_no_page() -> None:
    for path in ("/", "/ui/api/start"):
        assert make_handler({})(get(path))["statusCode"] == 405


def test_on_it_answers_with_json_and_with_files() -> None:
    handler = make_handler({"TOOLFOLD_EXPLORER": "read-only"})
    answer = handler(get("/ui/api/start"))
    assert (answer["statusCode"], answer["isBase64Encoded"]) == (200, False)
    assert json.loads(answer["body"])["endpoint"] == "https://id.example.com/mcp"
    assert handler(get("/"))["statusCode"] in (200, 503)
    assert handler(get("/ui/none"))["statusCode"] == 404


def test_stage_of_a_rest_api_is_part_of_the_endpoint() -> None:
    """Payload format 1.0 has the stage in the context of the request only."""
    event = {
        "resource": "/ui/{proxy+}",
        "path": "/ui/api/start",
        "httpMethod": "GET",
        "headers": {"Host": "id.example.com"},
        "requestContext": {"path": "/prod/ui/api/start", "stage": "prod"},
    }
    answer = make_handler({"TOOLFOLD_EXPLORER": "read-only"})(event)
    assert json.loads(answer["body"])["endpoint"] == "https://id.example.com/prod/mcp"


def test_a_compressed_file_is_base64(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html>")
    monkeypatch.setattr("toolfold.explorer.static_files.StaticFiles.__init__.__defaults__", (tmp_path,))
    answer = make_handler({"TOOLFOLD_EXPLORER": "read-only"})(get("/", **{"accept-encoding": "gzip"}))
    assert answer["isBase64Encoded"] is True
    assert answer["headers"]["content-encoding"] == "gzip"
    assert gzip.decompress(base64.b64decode(answer["body"])) == b"<!doctype html>"


PROGRAM = """
import json, sys
from tests.support.lambda_handler import make_handler
handler = make_handler({"TOOLFOLD_EXPLORER": sys.argv[1]})
before = set(sys.modules)
for event in json.loads(sys.argv[2]):
    handler(event)
print(*sorted(name for name in sys.modules if name.startswith("toolfold.explorer")))
"""


@pytest.mark.parametrize("explorer", ["off", "read-only"])
def test_nothing_of_it_is_loaded_by_mcp_requests_nor_where_it_is_off(explorer: str) -> None:
    post = {**get("/mcp"), "routeKey": "ANY /mcp", "body": json.dumps(message("tools/list"))}
    post["headers"] |= {"content-type": "application/json", "accept": "application/json"}
    post["requestContext"] = {"http": {"method": "POST", "path": "/mcp"}}
    events = json.dumps([post, get("/")] if explorer == "off" else [post])
    command = [sys.executable, "-c", PROGRAM, explorer, events]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].strip() == ""
