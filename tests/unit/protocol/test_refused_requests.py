"""Requests that are refused, each with its answer; docs/reference/protocol.md has them by status and code."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_requests import STATELESS, message, request, stateless
from tests.unit.protocol.test_mcp import TOOLS
from toolfold.protocol.http import LOOPBACK_HOSTS, MAX_BODY_BYTES, OriginPolicy, Request
from toolfold.protocol.mcp import Server
from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION, TASKS

PING = message("ping")
FUTURE = {META_VERSION: "2030-01-01", META_CAPABILITIES: {}}
TWICE = stateless("tools/list")

OF_TASK = {"taskId": "none", "_meta": {META_VERSION: STATELESS, META_CAPABILITIES: {"extensions": {TASKS: {}}}}}


def sent(body: Any, **headers: str) -> Request:
    return request(body, **{"host": "localhost", **headers})


def modern(method: str, params: dict[str, Any] | None = None, **headers: str) -> Request:
    return stateless(method, params, **{"host": "localhost", **headers})


REQUESTS: dict[str, Request] = {
    "a task that is not known, or of another caller": modern("tasks/get", OF_TASK, mcp_name="none"),
    "a task without its extension declared": modern("tasks/get", {"taskId": "none"}, mcp_name="none"),
    "another host name, on a laptop": sent(PING, host="evil.test"),
    "an origin that is not allowed": sent(PING, origin="https://evil.test"),
    "GET, DELETE, PUT, …": sent(b"", method="GET"),
    "a body over 4 MiB": sent(b" " * (MAX_BODY_BYTES + 1)),
    "another content type, handshake": sent(PING, content_type="text/plain"),
    "another content type, 2026-07-28": sent(PING, content_type="text/plain", mcp_protocol_version=STATELESS),
    "a compressed body": sent(PING, content_encoding="gzip"),
    "Accept without JSON": sent(PING, accept="text/html"),
    "a body that is not JSON": sent(b"{"),
    "a number out of range": sent(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}'),
    "half of a surrogate pair": sent(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud800"}}'),
    "nesting of more than 100 levels": sent(
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 100 + b"]" * 100 + b"}}"
    ),
    "a batch": sent([PING]),
    "a body that is not an object": sent(b"7"),
    "not JSON-RPC 2.0": sent({"id": 1, "method": "ping"}),
    "an id that is neither string nor integer": sent({**PING, "id": 1.5}),
    "no method": sent({"jsonrpc": "2.0", "id": 1}),
    "params that are not an object": sent({**PING, "params": [1]}),
    "an unknown version in the header": sent(PING, mcp_protocol_version="1999-01-01"),
    "an unknown method, handshake": sent(message("logging/setLevel")),
    "an unknown tool, handshake": sent(message("tools/call", {"name": "NO_SUCH"})),
    "arguments that are not an object": sent(message("tools/call", {"name": "TOOL_LIST", "arguments": [1]})),
    "a cursor": sent(message("tools/list", {"cursor": "x"})),
    "a routing header twice": Request(
        "POST", (*TWICE.headers, ("mcp-method", "tools/list"), ("host", "localhost")), TWICE.body
    ),
    "a response, 2026-07-28": sent({"jsonrpc": "2.0", "id": 1, "result": {}}, mcp_protocol_version=STATELESS),
    "capabilities that are not an object": modern(
        "tools/list", {"_meta": {META_VERSION: STATELESS, META_CAPABILITIES: []}}
    ),
    "no envelope": modern("tools/list", {"_meta": {}}),
    "a header unlike the body": modern("tools/list", mcp_method="tools/call"),
    "a version that is not served": modern("tools/list", {"_meta": FUTURE}, mcp_protocol_version="2030-01-01"),
    "an unknown or removed method, 2026-07-28": modern("ping"),
    "an unknown tool, 2026-07-28": modern("tools/call", {"name": "NO_SUCH"}),
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
