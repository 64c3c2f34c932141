"""Every line over stdio gets the same response from our server and from the SDK's, except for the allowed differences.

In the SDK the first request decides the era of all later ones. Our server decides for each request, as 2026-07-28
allows: a line gets what the SDK returns in a session of the line's own era, regardless of earlier lines.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.differential.allowed_differences import EMPTY_LISTS, SERVED, nesting
from tests.differential.corpus import requests
from tests.differential.exchanges import RpcOutcome
from tests.differential.stdio_exchanges import OPENINGS, ServerPair, StdioExchange
from tests.differential.test_against_sdk import TOOLS
from tests.support.examples import examples
from tests.support.mcp_requests import message, stateless
from toolfold.models import UpstreamResponse
from toolfold.protocol.jsonrpc import MAX_DEPTH
from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION
from toolfold.sources.http_api.adapter import HttpApiAdapter

NOTHING = RpcOutcome()
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LINES = requests().map(lambda request: request.body).filter(lambda body: b"\n" not in body)


def _only_ours_answers(it: StdioExchange) -> bool:
    received = isinstance(it.message, dict) and "id" in it.message and not it.line.startswith(BYTE_ORDER_MARK)
    return received and it.theirs == NOTHING and it.ours != NOTHING


def _unread_members(it: StdioExchange) -> bool:
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


ALLOWED_DIFFERENCES: Mapping[str, tuple[Callable[[StdioExchange], bool], bytes]] = {
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
        lambda it: it.ours.code == -32700 and re.search(rb"NaN|Infinity|\de\d", it.line) is not None,
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
    ),
    "bytes that are no UTF-8 are no text; the SDK puts question marks in their place": (
        lambda it: it.ours == NOTHING and "\ufffd" in it.line.decode(errors="replace"),
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xff"}}',
    ),
    "members that are not read are not judged": (
        _unread_members,
        json.dumps(message("tools/list", {"_meta": {"progressToken": []}})).encode(),
    ),
    "capabilities that are no object are refused before the method is looked up": (
        lambda it: (it.ours.code, it.theirs.code) == (-32602, -32601) and it.meta.get(META_CAPABILITIES) != {},
        stateless("no/such", {"_meta": {META_VERSION: "2026-07-28", META_CAPABILITIES: None}}).body,
    ),
    "no listChanged means false": (_listed_as_changing, stateless("server/discover").body),
}
"""Reason → its condition, and a line that shows it. ``allowed_differences`` has the reasons in full."""


def matching_differences(it: StdioExchange) -> list[str]:
    return [reason for reason, (covers, _) in ALLOWED_DIFFERENCES.items() if covers(it)]


@pytest.fixture(scope="module")
def servers() -> Iterator[ServerPair]:
    with ServerPair(TOOLS) as running:
        yield running


@pytest.fixture(autouse=True)
def _one_upstream_answer(_no_ambient_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        HttpApiAdapter, "call", lambda *_: UpstreamResponse(200, '{"Global Quote": {"05. price": "1.5"}}')
    )
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "KEY")


@pytest.mark.slow
@examples(400, many=10_000, slow_to_make=True)
@example("handshake", stateless("subscriptions/listen").body)
@given(st.sampled_from(list(OPENINGS)), LINES)
def test_every_line_gets_the_same_response(servers: ServerPair, opening: str, line: bytes) -> None:
    it = servers.exchange(opening, line)
    assert it.ours == it.theirs or matching_differences(it), it


@pytest.mark.parametrize("reason", ALLOWED_DIFFERENCES)
def test_the_example_of_each_allowed_difference_differs_for_one_reason(servers: ServerPair, reason: str) -> None:
    it = servers.exchange("handshake", ALLOWED_DIFFERENCES[reason][1])
    assert it.ours != it.theirs
    assert matching_differences(it) == [reason]


VALID_REQUESTS = {
    "ping": message("ping"),
    "list": message("tools/list"),
    "call": message("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": "CPI"}}),
    "a wrong argument": message("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": 7}}),
    "an unknown tool": message("tools/call", {"name": "NO_SUCH"}),
    "an unknown method": message("no/such"),
    "a notification": {"jsonrpc": "2.0", "method": "notifications/initialized"},
}


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("sent", VALID_REQUESTS.values(), ids=VALID_REQUESTS)
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
