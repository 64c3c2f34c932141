"""Requests and lines over stdio get the response of the SDK's server from ours too, but for the allowed differences."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.differential.allowed_differences import (
    ALLOWED_DIFFERENCES,
    EMPTY_LISTS,
    SERVED,
    AllowedDifference,
    matching_differences,
    nesting,
)
from tests.differential.corpus import requests
from tests.differential.servers import OPENINGS, Exchange, Peer, RpcOutcome, ServerPair, StdioExchange, outcome
from tests.support.examples import examples
from tests.support.mcp_requests import STATELESS, message, request, stateless
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.models import UpstreamResponse
from toolfold.protocol.http import MAX_BODY_BYTES, Request
from toolfold.protocol.jsonrpc import MAX_DEPTH
from toolfold.protocol.mcp import Server
from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION
from toolfold.settings import Settings
from toolfold.sources.http_api.adapter import HttpApiAdapter

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


# Over stdio. In the SDK the first request decides the era of all later ones. Our server decides for each request, as
# 2026-07-28 allows: a line gets what the SDK returns in a session of its own era, regardless of earlier lines.
NOTHING = RpcOutcome()
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LINES = requests().map(lambda request: request.body).filter(lambda body: b"\n" not in body)


def _only_ours_answers(it: StdioExchange) -> bool:
    received = isinstance(it.message, dict) and "id" in it.message and not it.line.startswith(BYTE_ORDER_MARK)
    return received and it.theirs == NOTHING and it.ours != NOTHING


def _unread_members_of_line(it: StdioExchange) -> bool:
    if it.theirs.code != -32602:
        return False
    if it.method not in SERVED:
        return it.ours.code == -32601
    called = isinstance(it.params.get("name", ""), str) and isinstance(it.params.get("arguments") or {}, dict)
    return it.ours.code in (None, -32601) and called and it.params.get("cursor") is None


def _listed_as_changing(it: StdioExchange) -> bool:
    if it.ours.result is None or it.theirs.result is None:
        return False
    return {**it.ours.result, "capabilities": {"tools": {"listChanged": False}}} == it.theirs.result


DIFFERENCES_OF_LINES: Mapping[str, tuple[Callable[[StdioExchange], bool], bytes]] = {
    "what has an id is answered, whatever else is wrong with it": (
        _only_ours_answers,
        b'{"jsonrpc":"2.0","id":1}',
    ),
    "a byte order mark is skipped": (
        lambda it: it.line.startswith(BYTE_ORDER_MARK) and it.theirs == NOTHING,
        BYTE_ORDER_MARK + b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
    ),
    "prompts and resources are listed, although there are none": (
        lambda it: it.method in EMPTY_LISTS and it.theirs.code == -32601 and it.ours.code in (None, -32602),
        b'{"jsonrpc":"2.0","id":1,"method":"prompts/list"}',
    ),
    "a message has at most 100 levels of nesting": (
        lambda it: it.ours.code == -32700 and nesting(it.line) > MAX_DEPTH,
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 150 + b"]" * 150 + b"}}",
    ),
    "NaN is no JSON": (
        lambda it: it.ours == NOTHING and re.search(rb"NaN|Infinity", it.line) is not None,
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
    ),
    "bytes that are no UTF-8 are no text; the SDK puts question marks in their place": (
        lambda it: it.ours == NOTHING and "\ufffd" in it.line.decode(errors="replace"),
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xff"}}',
    ),
    "members that are not read are not judged": (
        _unread_members_of_line,
        json.dumps(message("tools/list", {"_meta": {"progressToken": []}})).encode(),
    ),
    "capabilities that are no object are refused before the method is looked up": (
        lambda it: (it.ours.code, it.theirs.code) == (-32602, -32601) and it.meta.get(META_CAPABILITIES) != {},
        stateless("no/such", {"_meta": {META_VERSION: "2026-07-28", META_CAPABILITIES: None}}).body,
    ),
    "no listChanged means false": (_listed_as_changing, stateless("server/discover").body),
}
"""Reason → its condition, and a line that shows it. ``allowed_differences`` has the reasons in full."""


def matching_differences_of_line(it: StdioExchange) -> list[str]:
    return [reason for reason, (covers, _) in DIFFERENCES_OF_LINES.items() if covers(it)]


@pytest.fixture(scope="module")
def servers() -> Iterator[ServerPair]:
    with ServerPair(TOOLS) as running:
        yield running


@pytest.mark.slow
@examples(400, many=10_000, slow_to_make=True)
@example("handshake", stateless("subscriptions/listen").body)
@given(st.sampled_from(list(OPENINGS)), LINES)
def test_every_line_gets_the_same_response(servers: ServerPair, opening: str, line: bytes) -> None:
    it = servers.exchange(opening, line)
    assert it.ours == it.theirs or matching_differences_of_line(it), it


@pytest.mark.parametrize("reason", DIFFERENCES_OF_LINES)
def test_the_example_of_each_allowed_difference_differs_for_one_reason(servers: ServerPair, reason: str) -> None:
    it = servers.exchange("handshake", DIFFERENCES_OF_LINES[reason][1])
    assert it.ours != it.theirs
    assert matching_differences_of_line(it) == [reason]


VALID_LINES = {
    "ping": message("ping"),
    "list": message("tools/list"),
    "call": message("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": "CPI"}}),
    "a wrong argument": message("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": 7}}),
    "an unknown tool": message("tools/call", {"name": "NO_SUCH"}),
    "an unknown method": message("no/such"),
    "a notification": {"jsonrpc": "2.0", "method": "notifications/initialized"},
}


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("sent", VALID_LINES.values(), ids=VALID_LINES)
def test_valid_lines_get_the_same_response_in_both_eras_after_every_opening(
    servers: ServerPair, opening: str, sent: dict[str, Any]
) -> None:
    envelope = {META_VERSION: "2026-07-28", META_CAPABILITIES: {}}
    modern = {**sent, "params": {**sent.get("params", {}), "_meta": envelope}}
    for line in (sent, modern):
        if line == modern and sent["method"] == "ping":
            continue  # removed in 2026-07-28
        it = servers.exchange(opening, json.dumps(line).encode())
        assert it.ours == it.theirs
        assert (it.ours == NOTHING) == ("id" not in sent)
