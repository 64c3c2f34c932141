"""Trace Context of the W3C (SEP-414): from a client's request to the log line and to the source."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.mcp_requests import request, stateless
from tests.support.upstream import Upstream
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.protocol.http import Request
from toolfold.protocol.mcp import Server
from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
PARENT, OTHER = f"00-{TRACE_ID}-b7ad6b7169203331-01", "00-11111111111111111111111111111111-b7ad6b7169203331-00"


@pytest.fixture
def upstream() -> Any:
    with Upstream() as upstream:
        yield upstream


@pytest.fixture
def server(make_tools: Callable[..., MetaTools], upstream: Upstream) -> Server:
    return Server(make_tools(TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL=upstream.url))


def call(symbol: Any = "IBM", meta: dict[str, Any] | None = None, **headers: str) -> Request:
    given = {"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": symbol}}
    params: dict[str, Any] = {"name": "TOOL_CALL", "arguments": given}
    if meta is None:
        return request({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, **headers)
    params["_meta"] = {META_VERSION: "2026-07-28", META_CAPABILITIES: {}, **meta}
    return stateless("tools/call", params, **headers)


@pytest.mark.parametrize(
    "sent",
    [
        call(meta={"traceparent": PARENT, "tracestate": "vendor=1"}),
        call(traceparent=PARENT, tracestate="vendor=1"),
        call(meta={"traceparent": PARENT, "tracestate": "vendor=1"}, traceparent=OTHER, tracestate="other=1"),
    ],
    ids=["_meta", "headers", "_meta before headers"],
)
def test_a_trace_reaches_the_log_and_the_source(server: Server, upstream: Upstream, sent: Request) -> None:
    response = server.handle_http(sent)
    assert response.log_fields["trace_id"] == TRACE_ID
    assert [upstream.headers[0].get(name) for name in ("traceparent", "tracestate")] == [PARENT, "vendor=1"]


def test_the_state_of_another_trace_is_not_added(server: Server, upstream: Upstream) -> None:
    server.handle_http(call(meta={"traceparent": PARENT}, traceparent=OTHER, tracestate="other=1"))
    assert upstream.headers[0]["traceparent"] == PARENT
    assert "tracestate" not in upstream.headers[0]


def test_every_request_of_a_call_with_lists_has_it(server: Server, upstream: Upstream) -> None:
    server.handle_http(call(["A", "B", "C"], {"traceparent": PARENT}))
    assert {one["traceparent"] for one in upstream.headers} == {PARENT}
    assert len(upstream.headers) == 3


@pytest.mark.parametrize(
    "wrong",
    ["", "x", PARENT.upper(), f"ff{PARENT[2:]}", f"00-{'0' * 32}-b7ad6b7169203331-01", f"00-{TRACE_ID}-{'0' * 16}-01",
     f"{PARENT}-more", f"{PARENT}\n", 7, [PARENT]],
)  # fmt: skip
def test_what_is_no_trace_is_as_none_and_the_call_is_made(server: Server, upstream: Upstream, wrong: Any) -> None:
    response = server.handle_http(call(meta={"traceparent": wrong, "tracestate": "vendor=1"}))
    assert json.loads(response.body)["result"]["resultType"] == "complete"
    assert "trace_id" not in response.log_fields
    assert not {"traceparent", "tracestate"} & set(upstream.headers[0])


@pytest.mark.parametrize("wrong", ["a\r\nx-other: 1", "é", "v" * 513, 7])
def test_a_state_that_is_none_is_left_out(server: Server, upstream: Upstream, wrong: Any) -> None:
    server.handle_http(call(meta={"traceparent": PARENT, "tracestate": wrong}))
    assert upstream.headers[0]["traceparent"] == PARENT
    assert not {"tracestate", "x-other"} & set(upstream.headers[0])
