"""Every request gets the same response from our server and from the SDK's, except for the allowed differences."""

import json
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.differential.allowed_differences import (
    ALLOWED_DIFFERENCES,
    AllowedDifference,
    matching_differences,
)
from tests.differential.corpus import requests
from tests.differential.servers import Exchange, Peer, RpcOutcome, outcome, rpc_fields
from tests.support.examples import examples
from tests.support.mcp_requests import STATELESS, message, request, stateless
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.models import UpstreamResponse
from toolfold.protocol.http import MAX_BODY_BYTES, Request
from toolfold.protocol.jsonrpc import JsonRpcError, parse_message
from toolfold.protocol.mcp import Server
from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION
from toolfold.settings import Settings
from toolfold.sources.http_api.adapter import HttpApiAdapter
from toolfold.transports.stdio import StdioSession

TOOLS = MetaTools(FileStore(bundled_path()), ToolExecutor(Settings.from_environment({"TOOLFOLD_CACHE": "off"})))
OURS = Server(TOOLS)


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    with Peer(TOOLS) as running:
        yield running


@pytest.fixture(autouse=True, scope="module")
def _one_upstream_answer() -> Iterator[None]:
    """Give both servers the same upstream response without an upstream."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            HttpApiAdapter, "call", lambda *_: UpstreamResponse(200, '{"Global Quote": {"05. price": "1.5"}}')
        )
        yield


@pytest.fixture(autouse=True)
def _key(_no_ambient_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "KEY")


def exchange(peer: Peer, sent: Request) -> Exchange:
    return Exchange(sent, outcome(OURS.handle_http(sent)), outcome(peer.send(sent)))


VALID_REQUESTS = {
    "initialize": request(
        message(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
        )
    ),
    "ping": request(message("ping")),
    "list, no version": request(message("tools/list")),
    "list 2024-11-05": request(message("tools/list"), mcp_protocol_version="2024-11-05"),
    "list 2025-11-25": request(message("tools/list"), mcp_protocol_version="2025-11-25"),
    "call": request(message("tools/call", {"name": "TOOL_LIST"}), mcp_protocol_version="2025-11-25"),
    "call, an error": request(message("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": 7}})),
    "initialized": request({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    "a response": request({"jsonrpc": "2.0", "id": 1, "result": {}}),
    "discover": stateless("server/discover"),
    "list 2026-07-28": stateless("tools/list"),
    "call 2026-07-28": stateless("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": ["CPI", "NO_SUCH"]}}),
    "notification 2026-07-28": request({"jsonrpc": "2.0", "method": "x"}, mcp_protocol_version=STATELESS),
    "a giant body": request(b" " * (MAX_BODY_BYTES + 1)),
    "a name in base64": stateless("tools/call", {"name": "TOOL_LIST"}, mcp_name="=?base64?VE9PTF9MSVNU?="),
    "white space around a header": stateless("tools/call", {"name": "TOOL_LIST"}, mcp_name=" TOOL_LIST\t"),
    "params: null": request(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}'),
    "arguments: null": request(message("tools/call", {"name": "TOOL_LIST", "arguments": None})),
    "more members": request({**message("ping"), "trace": {"a": 1}}),
    "a member twice": request(b'{"jsonrpc":"2.0","id":2,"method":"tools/list","id":1,"method":"ping"}'),
    "Accept with q=0": request(message("ping"), accept="application/json;q=0"),
    "Accept in capitals": stateless("tools/list", accept="APPLICATION/JSON"),
    "Content-Type with a charset": stateless("tools/list", content_type="application/json; charset=utf-8"),
    "Content-Type twice": request(message("ping"), content_type="application/json,application/json"),
}  # fmt: skip


@pytest.mark.parametrize("sent", VALID_REQUESTS.values(), ids=VALID_REQUESTS)
def test_a_valid_request_gets_the_same_response(peer: Peer, sent: Request) -> None:
    it = exchange(peer, sent)
    assert it.ours.status in (200, 202, 413)
    assert it.ours == it.theirs or matching_differences(it) == ["list-changed"]


V2026 = {"mcp_protocol_version": STATELESS}
INVALID_REQUESTS = {
    "a response, 2026-07-28": (request({"jsonrpc": "2.0", "id": 1, "result": {}}, **V2026), 400, -32600),
    "a batch, 2026-07-28": (request([message("ping")], **V2026), 400, -32600),
    "id: null, 2026-07-28": (request(message("ping", id_=None), **V2026), 400, -32600),
    "id: 1.0, 2026-07-28": (request(message("ping", id_=1.0), **V2026), 400, -32600),
    "params: null, 2026-07-28": (
        request(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', **V2026), 400, -32602
    ),
    "a notification of another version": (
        request({"jsonrpc": "2.0", "method": "x"}, mcp_protocol_version="2030-01-01"), 400, -32022
    ),
    "base64 in another spelling": (
        stateless("tools/call", {"name": "TOOL_GET"}, mcp_name="=?base64?VE9PTF9HRVR=?="), 400, -32020
    ),
    "a method in base64": (stateless("tools/list", mcp_method="=?base64?dG9vbHMvbGlzdA==?="), 400, -32020),
    "no capabilities": (
        stateless("tools/list", {"_meta": {META_VERSION: STATELESS, META_CAPABILITIES: None}}), 400, -32602
    ),
    "a version from the future": (
        stateless(
            "tools/list",
            {"_meta": {META_VERSION: "2030-01-01", META_CAPABILITIES: {}}},
            mcp_protocol_version="2030-01-01",
        ), 400, -32022
    ),
    "arguments: []": (request(message("tools/call", {"name": "TOOL_LIST", "arguments": []})), 200, -32602),
    "an unknown tool": (request(message("tools/call", {"name": "NO_SUCH"})), 200, -32602),
    "an unknown tool, 2026-07-28": (stateless("tools/call", {"name": "NO_SUCH"}), 400, -32602),
    "a cursor": (stateless("tools/list", {"cursor": "x"}), 400, -32602),
    "a very long method": (request(message("x" * 100_000)), 200, -32601),
    "a removed method": (stateless("ping"), 404, -32601),
}  # fmt: skip


@pytest.mark.parametrize(("sent", "status", "code"), INVALID_REQUESTS.values(), ids=INVALID_REQUESTS)
def test_an_invalid_request_gets_the_same_error(peer: Peer, sent: Request, status: int, code: int) -> None:
    it = exchange(peer, sent)
    assert (it.ours.status, it.ours.code) == (status, code)
    assert it.ours == it.theirs


@pytest.mark.parametrize("sent", VALID_REQUESTS.values(), ids=VALID_REQUESTS)
def test_no_allowed_difference_covers_another_difference(peer: Peer, sent: Request) -> None:
    theirs = outcome(peer.send(sent))
    for wrong in ({"status": 418}, {"code": -32000}, {"id": "other"}, {"result": {"tools": []}}):
        assert not matching_differences(Exchange(sent, replace(theirs, **wrong), theirs))


@examples(300, many=30_000, slow_to_make=True)
@given(requests())
def test_every_request_gets_the_same_response(peer: Peer, sent: Request) -> None:
    it = exchange(peer, sent)
    assert it.theirs.status != 500 or matching_differences(it)
    assert it.ours == it.theirs or matching_differences(it), it


@pytest.mark.parametrize("entry", ALLOWED_DIFFERENCES, ids=lambda entry: entry.name)
def test_the_example_of_each_allowed_difference_differs(peer: Peer, entry: AllowedDifference) -> None:
    it = exchange(peer, entry.example)
    assert it.ours != it.theirs
    assert entry.name in matching_differences(it)
    assert entry.reason.endswith(".")


OPENINGS: dict[str, tuple[bytes, ...]] = {
    "handshake": (VALID_REQUESTS["initialize"].body, VALID_REQUESTS["initialized"].body),
    "stateless": (VALID_REQUESTS["discover"].body,),
    "none": (),
}
"""The first lines of a client over stdio."""


def over_stdio(opening: str, line: bytes) -> list[dict[str, Any]]:
    """Return the responses to a line after the first ones of a client."""
    lines, outgoing = (*OPENINGS[opening], line), BytesIO()
    StdioSession(OURS, drain_timeout_s=20).serve(BytesIO(b"".join(one + b"\n" for one in lines)), outgoing)
    return [json.loads(one) for one in outgoing.getvalue().splitlines()][bool(OPENINGS[opening]) :]


SENT: dict[str, tuple[str, dict[str, Any]]] = {
    "ping": ("ping", {}),
    "list": ("tools/list", {}),
    "call": ("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": "CPI"}}),
    "a wrong argument": ("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": 7}}),
    "an unknown tool": ("tools/call", {"name": "NO_SUCH"}),
    "an unknown method": ("no/such", {}),
}


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("name", SENT)
def test_a_line_over_stdio_gets_the_response_of_its_request_over_http_in_both_eras(opening: str, name: str) -> None:
    """Our server decides for each line, as 2026-07-28 allows; in the SDK the first one decides the era of all."""
    for sent in (request(message(*SENT[name])), stateless(*SENT[name])):
        [answer] = over_stdio(opening, sent.body)
        over_http = outcome(OURS.handle_http(sent))
        assert RpcOutcome(**rpc_fields(answer)) == RpcOutcome(over_http.code, over_http.data, over_http.result)


@examples(60, many=3_000, slow_to_make=True)
@given(st.sampled_from(list(OPENINGS)), requests().map(lambda request: request.body))
def test_every_line_that_is_a_message_gets_the_response_of_the_message(opening: str, line: bytes) -> None:
    answers = over_stdio(opening, line.replace(b"\n", b" "))
    assert len(answers) <= 1
    try:
        parsed = parse_message(line)
    except JsonRpcError:
        return
    listens = parsed is not None and parsed.method == "subscriptions/listen" and parsed.id is not None
    if listens and parsed.meta.get(META_VERSION) == STATELESS:  # which stdio serves, and HTTP does not
        is_request = isinstance(parsed.params.get("notifications"), dict)
        assert [rpc_fields(answer)["code"] for answer in answers] == [None if is_request else -32602]
        return
    expected = OURS.handle_message(parsed) if parsed is not None else b""
    assert [rpc_fields(answer) for answer in answers] == ([rpc_fields(json.loads(expected))] if expected else [])
