"""Generated requests for the comparison of two servers: mostly valid, with occasional errors."""

import json
from typing import Any

from hypothesis import strategies as st

from toolfold.catalog.entries import META_TOOLS
from toolfold.protocol.http import Request
from toolfold.protocol.versions import HANDSHAKE, META_CAPABILITIES, META_VERSION, NAME_PARAMETER, STATELESS

_NO = object()
"""Marks a member or header that is left out."""

_CLIENT = {"name": "test", "version": "1"}
_METHODS = st.sampled_from(
    [
        *("initialize", "ping", "tools/list", "tools/call", "tools/call", "server/discover"),
        *(
            "resources/list",
            "prompts/list",
            "resources/templates/list",
            "resources/read",
            "prompts/get",
            "logging/setLevel",
            "completion/complete",
        ),
        *("subscriptions/listen", "notifications/initialized", "notifications/cancelled"),
        *("Tools/List", "tools/list ", "", "é", "no/such", "x" * 3000),
    ]
)
_JSON = st.sampled_from([None, True, 0, -1, 2**70, 1.0, 1.5, "", "x", "é\n", [], [1], {}, {"a": [None]}])
_IDS = st.sampled_from([0, -7, 2**53, 10**30, "a-7", "", "é", "x" * 200, _NO, _NO, _NO]) | _JSON
_VERSIONS = st.sampled_from([_NO, *HANDSHAKE, *STATELESS, *STATELESS])
_ODD_VERSIONS = st.sampled_from(["1999-01-01", "2030-01-01", "draft", "", "2025-11-25,2025-11-25", "2026-7-28"])
_ACCEPT = st.sampled_from(
    [
        *("application/json", "*/*", "application/*;q=0.5", "APPLICATION/JSON", "text/html, application/json;q=0"),
        *("text/event-stream", "text/html", "", "json", "application/json ;v=1", ",,", "text/*", _NO),
    ]
)
_CONTENT_TYPE = st.sampled_from(
    [
        *(
            "application/json;charset=utf-8",
            "Application/JSON",
            " application/json ",
            "application/json,application/json",
        ),
        *("application/json ; x", "text/plain", "application/jsonl", "text/plain, application/json", "", _NO),
    ]
)
_NAMES_SENT = st.sampled_from([*META_TOOLS, "NO_SUCH", "tool_list", "CPI", "Global Quote", ""]) | _JSON
_ARGUMENTS = st.sampled_from(
    [
        *(_NO, None, {}, [], "x", 5, {"tool_name": "CPI"}, {"tool_name": ["CPI", "NO_SUCH"]}, {"tool_name": None}),
        *({"tool_name": "GLOBAL_QUOTE", "arguments": {"symbol": "IBM"}}, {"tool_name": "GLOBAL_QUOTE", "symbol": 7}),
        *({"tool_name": "GLOBAL_QUOTE", "arguments": '{"symbol": "IBM"}'}, {"tool_name": "CPI", "extra": {"a": 1}}),
    ]
)
_HEADER_SENT = st.sampled_from(
    ["tools/list", "tools/call", "TOOL_LIST", "tool_list", "=?base64?VE9PTF9MSVNU?=", "=?base64?VE9PTF9MSVNU?",
     "=?base64?VE9PTF9MSVNV?=", "=?base64?VE9PTF9MSVN=?=", "=?base64??=", "=?base64?%%?=", "=?base64?/w==?=",
     "=?base64?é?=", "é", "", " TOOL_LIST ", "\tTOOL_LIST", _NO]
)  # fmt: skip
_RAW = st.sampled_from(
    [
        *(b"", b"nope", b'{"jsonrpc":"2.0","id":1', b"[]", b"[1]", b'"x"', b"null", b"7", b"\xff\xfe", b"[" * 100_000),
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1e999}}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
        b'{"jsonrpc":"2.0","id":"\\ud83d\\ude00","method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\xed\xa0\x80"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"} x',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 150 + b"]" * 150 + b"}}",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 300 + b"]" * 300 + b"}}",
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
        '{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16"),
    ]
)


def _rarely(draw: st.DrawFn, usual: Any, unusual: st.SearchStrategy[Any], one_in: int = 6) -> Any:
    return draw(unusual) if draw(st.integers(1, one_in)) == one_in else usual


@st.composite
def _params(draw: st.DrawFn, method: str, version: Any) -> Any:
    params: dict[str, Any] = {}
    if method == "initialize":
        received = draw(st.sampled_from([*HANDSHAKE, *STATELESS, "1999-01-01"]))
        params = {"protocolVersion": received, "capabilities": {}, "clientInfo": _CLIENT}
    if method in ("tools/call", "prompts/get"):
        params = {"name": draw(_NAMES_SENT), "arguments": draw(_ARGUMENTS)}
    if method == "tools/list":
        params = {"cursor": _rarely(draw, _NO, _JSON)}
    meta: Any = _NO
    if version in STATELESS or draw(st.integers(1, 12)) == 12:
        named = version if isinstance(version, str) else STATELESS[0]
        meta = {
            META_VERSION: _rarely(draw, named, _VERSIONS | _ODD_VERSIONS | _JSON),
            META_CAPABILITIES: _rarely(draw, {}, st.just(_NO) | _JSON, 8),
            "io.modelcontextprotocol/clientInfo": _rarely(draw, _CLIENT, st.just(_NO) | _JSON, 8),
            "progressToken": _rarely(draw, _NO, _JSON, 10),
        }
        meta = _present(meta)
    params["_meta"] = _rarely(draw, meta, _JSON, 10)
    extra = _rarely(draw, {}, st.just({"extra": {"a": 1}}))
    return _rarely(draw, _present({**params, **extra}), st.just(_NO) | _JSON, 10)


@st.composite
def _messages(draw: st.DrawFn, method: str, version: Any) -> dict[str, Any]:
    answers = st.fixed_dictionaries(
        {}, optional={"result": _JSON, "error": _JSON | st.just({"code": 1, "message": "x"})}
    )
    return _present(
        {
            "jsonrpc": _rarely(draw, "2.0", st.just(_NO) | _JSON | st.just("1.0"), 15),
            "id": _rarely(draw, 1, _IDS),
            "method": _rarely(draw, method, st.just(_NO) | _JSON, 12),
            "params": draw(_params(method, version)),
            **_rarely(draw, {}, answers, 10),
        }
    )


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Generate one HTTP request of either era, valid or with a few errors."""
    method, version = draw(_METHODS), draw(_VERSIONS)
    message = draw(_messages(method, version))
    body = json.dumps(message, ensure_ascii=draw(st.booleans())).encode()
    body = _rarely(draw, body, _RAW, 10)
    headers = [
        ("content-type", _rarely(draw, "application/json", _CONTENT_TYPE, 12)),
        ("accept", _rarely(draw, "application/json, text/event-stream", _ACCEPT, 10)),
        ("mcp-protocol-version", _rarely(draw, version, _ODD_VERSIONS | _VERSIONS, 8)),
    ]
    if version in STATELESS:
        params = message.get("params")
        named = params.get(NAME_PARAMETER.get(method, "")) if isinstance(params, dict) else None
        headers += [
            ("mcp-method", _rarely(draw, method if method.isprintable() else _NO, _HEADER_SENT, 12)),
            (
                "mcp-name",
                _rarely(draw, named if isinstance(named, str) and "\n" not in named else _NO, _HEADER_SENT, 5),
            ),
        ]
    twice = [name for name, _ in headers if name.startswith("mcp-")]
    headers += [(_rarely(draw, "mcp-session-id", st.sampled_from(twice), 15), "7")]
    sent = tuple((name, value) for name, value in headers if value is not _NO)
    return Request(_rarely(draw, "POST", st.sampled_from(["GET", "DELETE", "PUT", "HEAD", "OPTIONS"]), 30), sent, body)


def _present(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not _NO}
