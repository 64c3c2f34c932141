"""Requests that are refused, each with its answer; docs/reference/protocol.md has them by status and code."""

import csv
import json
from pathlib import Path

import pytest

from tests.support.mcp_requests import STATELESS, message, request, stateless
from tests.unit.protocol.test_mcp import TOOLS
from toolfold.protocol.http import LOOPBACK_HOSTS, MAX_BODY_BYTES, OriginPolicy, Request
from toolfold.protocol.mcp import Server
from toolfold.protocol.versions import TASKS

META_VERSION, META_CAPABILITIES = (
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
)
PING = message("ping")
FUTURE = {META_VERSION: "2030-01-01", META_CAPABILITIES: {}}
TWICE = stateless("tools/list")

OF_TASK = {"taskId": "none", "_meta": {META_VERSION: STATELESS, META_CAPABILITIES: {"extensions": {TASKS: {}}}}}

REQUESTS: dict[str, Request] = {
    "a task that is not known, or of another caller": stateless(
        "tasks/get", OF_TASK, mcp_name="none", host="localhost"
    ),
    "a task without its extension declared": stateless(
        "tasks/get", {"taskId": "none"}, mcp_name="none", host="localhost"
    ),
    "another host name, on a laptop": request(PING, host="evil.test"),
    "an origin that is not allowed": request(PING, host="localhost", origin="https://evil.test"),
    "GET, DELETE, PUT, …": request(b"", method="GET", host="localhost"),
    "a body over 4 MiB": request(b" " * (MAX_BODY_BYTES + 1), host="localhost"),
    "another content type, handshake": request(PING, host="localhost", content_type="text/plain"),
    "another content type, 2026-07-28": request(
        PING, host="localhost", content_type="text/plain", mcp_protocol_version=STATELESS
    ),
    "a compressed body": request(PING, host="localhost", content_encoding="gzip"),
    "Accept without JSON": request(PING, host="localhost", accept="text/html"),
    "a body that is not JSON": request(b"{", host="localhost"),
    "a number out of range": request(
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}', host="localhost"
    ),
    "half of a surrogate pair": request(
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}', host="localhost"
    ),
    "nesting of more than 100 levels": request(
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 100 + b"]" * 100 + b"}}", host="localhost"
    ),
    "a batch": request([PING], host="localhost"),
    "a body that is not an object": request(b"7", host="localhost"),
    "not JSON-RPC 2.0": request({"id": 1, "method": "ping"}, host="localhost"),
    "an id that is neither string nor integer": request({**PING, "id": 1.5}, host="localhost"),
    "no method": request({"jsonrpc": "2.0", "id": 1}, host="localhost"),
    "params that are not an object": request({**PING, "params": [1]}, host="localhost"),
    "an unknown version in the header": request(PING, host="localhost", mcp_protocol_version="1999-01-01"),
    "an unknown method, handshake": request(message("logging/setLevel"), host="localhost"),
    "an unknown tool, handshake": request(message("tools/call", {"name": "NO_SUCH"}), host="localhost"),
    "arguments that are not an object": request(
        message("tools/call", {"name": "TOOL_LIST", "arguments": [1]}), host="localhost"
    ),
    "a cursor": request(message("tools/list", {"cursor": "x"}), host="localhost"),
    "a routing header twice": Request(
        "POST", (*TWICE.headers, ("mcp-method", "tools/list"), ("host", "localhost")), TWICE.body
    ),
    "a response, 2026-07-28": request(
        {"jsonrpc": "2.0", "id": 1, "result": {}}, host="localhost", mcp_protocol_version=STATELESS
    ),
    "capabilities that are not an object": stateless(
        "tools/list", {"_meta": {META_VERSION: STATELESS, META_CAPABILITIES: []}}, host="localhost"
    ),
    "no envelope": stateless("tools/list", {"_meta": {}}, host="localhost"),
    "a header unlike the body": stateless("tools/list", host="localhost", mcp_method="tools/call"),
    "a version that is not served": stateless(
        "tools/list", {"_meta": FUTURE}, host="localhost", mcp_protocol_version="2030-01-01"
    ),
    "an unknown or removed method, 2026-07-28": stateless("ping", host="localhost"),
    "an unknown tool, 2026-07-28": stateless("tools/call", {"name": "NO_SUCH"}, host="localhost"),
}
with Path("tests/unit/protocol/refused_requests.csv").open(encoding="utf-8", newline="") as file:
    ANSWERS = {row["request"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("what", REQUESTS)
def test_request_is_refused(what: str) -> None:
    response = Server(TOOLS, OriginPolicy(hosts=LOOPBACK_HOSTS)).handle_http(REQUESTS[what])
    expected = ANSWERS[what]
    assert str(response.status) == expected["status"]
    if expected["code"]:
        error = json.loads(response.body)["error"]
        assert (str(error["code"]), error["message"]) == (expected["code"], expected["answer"])
    else:
        assert response.body.decode().strip() == expected["answer"]
