"""Over stdio, too, a line gets from us what it gets from the SDK's server, but for the differences that are meant.

The SDK lets the first request decide the era of all that follow. Ours looks at each request by itself, as 2026-07-28
allows: whatever came before a line, it gets what the SDK says to it in a conversation of the line's own era.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.differential.allowed_differences import SERVED
from tests.differential.conversations import OPENINGS, Both, Heard
from tests.differential.corpus import requests
from tests.differential.exchanges import Said
from tests.differential.test_against_sdk import TOOLS
from tests.support.examples import examples
from tests.support.mcp_requests import message, stateless
from toolfold.models import UpstreamResponse
from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION
from toolfold.sources.http_api import adapter

NOTHING = Said()
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LINES = requests().map(lambda request: request.body).filter(lambda body: b"\n" not in body)


def _only_ours_answers(it: Heard) -> bool:
    asked = isinstance(it.message, dict) and "id" in it.message and not it.line.startswith(BYTE_ORDER_MARK)
    return asked and it.theirs == NOTHING and it.ours != NOTHING


def _unread_members(it: Heard) -> bool:
    if it.theirs.code != -32602:
        return False
    if it.method not in SERVED:
        return it.ours.code == -32601
    called = isinstance(it.params.get("name", ""), str) and isinstance(it.params.get("arguments") or {}, dict)
    return it.ours.code in (None, -32601) and called and it.params.get("cursor") is None


def _listed_as_changing(it: Heard) -> bool:
    if it.ours.result is None or it.theirs.result is None:
        return False
    return {**it.ours.result, "capabilities": {"tools": {"listChanged": False}}} == it.theirs.result


MEANT: Mapping[str, tuple[Callable[[Heard], bool], bytes]] = {
    "what has an id is answered, whatever else is wrong with it": (
        _only_ours_answers,
        b'{"jsonrpc":"2.0","id":1}',
    ),
    "a byte order mark is skipped": (
        lambda it: it.line.startswith(BYTE_ORDER_MARK) and it.theirs == NOTHING,
        BYTE_ORDER_MARK + b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
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
        _unread_members,
        json.dumps(message("tools/list", {"_meta": {"progressToken": []}})).encode(),
    ),
    "capabilities that are no object are refused before the method is looked up": (
        lambda it: (it.ours.code, it.theirs.code) == (-32602, -32601) and it.meta.get(META_CAPABILITIES) != {},
        stateless("no/such", {"_meta": {META_VERSION: "2026-07-28", META_CAPABILITIES: None}}).body,
    ),
    "no listChanged means false": (_listed_as_changing, stateless("server/discover").body),
}
"""Why → what it covers, and a line that shows it. tests/differential/allowed_differences.py has the reasons at length."""


def why(it: Heard) -> list[str]:
    return [reason for reason, (covers, _) in MEANT.items() if covers(it)]


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    with Both(TOOLS) as running:
        yield running


@pytest.fixture(autouse=True)
def _one_upstream_answer(_no_ambient_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "call", lambda *_: UpstreamResponse(200, '{"Global Quote": {"05. price": "1.5"}}'))
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", "KEY")


@examples(400, many=10_000, slow_to_make=True)
@given(st.sampled_from(list(OPENINGS)), LINES)
def test_any_line_gets_the_same_answer(both: Both, opening: str, line: bytes) -> None:
    it = both.hear(opening, line)
    assert it.ours == it.theirs or why(it), it


@pytest.mark.parametrize("reason", MEANT)
def test_what_is_meant_to_differ_does_so_for_that_reason_alone(both: Both, reason: str) -> None:
    it = both.hear("handshake", MEANT[reason][1])
    assert it.ours != it.theirs
    assert why(it) == [reason]


GOOD = {
    "ping": message("ping"),
    "list": message("tools/list"),
    "call": message("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": "CPI"}}),
    "a wrong argument": message("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": 7}}),
    "an unknown tool": message("tools/call", {"name": "NO_SUCH"}),
    "an unknown method": message("no/such"),
    "a notification": {"jsonrpc": "2.0", "method": "notifications/initialized"},
}


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("sent", GOOD.values(), ids=GOOD)
def test_usual_lines_get_the_same_answer_in_both_eras_whatever_came_before(
    both: Both, opening: str, sent: dict[str, Any]
) -> None:
    envelope = {META_VERSION: "2026-07-28", META_CAPABILITIES: {}}
    modern = {**sent, "params": {**sent.get("params", {}), "_meta": envelope}}
    for line in (sent, modern):
        if line == modern and sent["method"] == "ping":
            continue  # went with 2026-07-28
        it = both.hear(opening, json.dumps(line).encode())
        assert it.ours == it.theirs
        assert (it.ours == NOTHING) == ("id" not in sent)
