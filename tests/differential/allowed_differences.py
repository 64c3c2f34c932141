"""The intended differences from the SDK: each with its reason, its condition, and a request that shows it.

A difference without an entry fails the tests, and so does an entry whose example no longer differs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.differential.servers import Exchange
from tests.support.mcp_requests import STATELESS, message, request, stateless
from toolfold.protocol.http import Request
from toolfold.protocol.jsonrpc import MAX_DEPTH
from toolfold.protocol.versions import META_CAPABILITIES, META_VERSION, TASKS

DECLARED = ({"tools": {}}, {"tools": {}, "extensions": {TASKS: {}}})
"""What toolfold declares; the SDK's server has no tasks, and spells out that its list does not change."""

EMPTY_LISTS = ("prompts/list", "resources/list", "resources/templates/list")
SERVED = ("initialize", "ping", "tools/list", "tools/call", "server/discover", *EMPTY_LISTS)


@dataclass(frozen=True, slots=True)
class AllowedDifference:
    """An intended difference. ``covers`` must be narrow: it sees both outcomes."""

    name: str
    reason: str
    covers: Callable[[Exchange], bool]
    example: Request


def _content_type_by_name(it: Exchange) -> bool:
    media = it.media_type
    if media == "application/json":  # theirs may be 415 for capital letters
        return it.theirs.status == 415 and not (it.request.header("content-type") or "").startswith(media)
    return media.startswith("application/json") and it.ours.status in (400, 415) and it.ours.code is None


def nesting(body: bytes) -> int:
    """Return the levels of brackets in ``body``, without those in strings."""
    deepest = depth = 0
    for byte in re.sub(rb'"(?:[^"\\]|\\.)*"', b"", body):
        depth += (byte in b"[{") - (byte in b"]}")
        deepest = max(deepest, depth)
    return deepest


def _empty_lists(it: Exchange) -> bool:
    return it.member().get("method") in EMPTY_LISTS and it.theirs.code == -32601 and it.ours.code in (None, -32602)


def _initialize_is_lenient(it: Exchange) -> bool:
    era = it.version != STATELESS and not it.has_envelope
    return it.member().get("method") == "initialize" and era and it.theirs.code is not None and it.ours.result


def _list_changed(it: Exchange) -> bool:
    def spelled(result: Any) -> Any:
        return {**result, "capabilities": {"tools": {"listChanged": False}}}

    ours, theirs = it.ours.result, it.theirs.result
    if not (ours and theirs) or it.statuses != (200, 200) or it.ours.id != it.theirs.id:
        return False
    return ours.get("capabilities") in DECLARED and spelled(ours) == theirs


def _listen_is_unknown(it: Exchange) -> bool:
    return it.member().get("method") == "subscriptions/listen" and it.theirs.status == 406 and it.ours.status != 406


def _sdk_raises(it: Exchange) -> bool:
    return it.theirs.status == 500 and it.ours.code == -32020 and not (it.request.header("mcp-name") or "").isascii()


def _text_is_utf_8(it: Exchange) -> bool:
    try:
        it.request.body.decode()
    except UnicodeDecodeError:
        return it.ours.code == -32700
    return it.ours.code == -32700 and b"\0" in it.request.body


def _unread_members(it: Exchange) -> bool:
    """The SDK found fault with parameters, and those that this server reads are as they must be."""
    method, params = it.member().get("method"), it.member("params")
    if it.theirs.code != -32602 or it.theirs.id != it.ours.id:
        return False
    if method not in SERVED:
        return it.ours.code == -32601
    meta = it.member("params", "_meta")
    read = isinstance(meta.get(META_CAPABILITIES, {}), dict) and params.get("cursor") is None
    called = isinstance(params.get("name", ""), str) and isinstance(params.get("arguments") or {}, dict)
    return it.ours.code in (None, -32601) and read and called


ALLOWED_DIFFERENCES = (
    AllowedDifference(
        "accept-absent",
        "No Accept header, or an empty one, means that every type is welcome (RFC 9110, 12.5.1); the SDK answers 406.",
        lambda it: not it.request.header("accept") and it.theirs.status == 406,
        request(message("ping"), accept=""),
    ),
    AllowedDifference(
        "request-is-answered",
        "What has a method and an id is a request and gets an answer; the SDK's handshake side takes one with a "
        "malformed id for a notification, one with a stray error for a response, and leaves its sender waiting.",
        lambda it: it.theirs.status == 202 and it.ours.status != 202 and {"id", "method"} <= it.member().keys(),
        request(message("ping", id_=1.5)),
    ),
    AllowedDifference(
        "byte-order-mark",
        "A byte order mark is skipped (RFC 8259, 8.1, allows it; .NET's writers send one); the SDK's handshake "
        "side calls it a parse error.",
        lambda it: it.request.body.startswith(b"\xef\xbb\xbf") and it.theirs.code == -32700,
        request(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}'),
    ),
    AllowedDifference(
        "content-type-by-name",
        "The media type is compared as a whole and without regard to case (RFC 9110, 8.3.1); the SDK looks at the "
        "beginning, and at capital letters in handshake versions.",
        _content_type_by_name,
        request(message("ping"), content_type="Application/JSON"),
    ),
    AllowedDifference(
        "content-type-status",
        "Another media type is 415 in handshake versions, HTTP's own status for it; the SDK returns 400.",
        lambda it: it.statuses == (415, 400) and it.media_type != "application/json" and it.version != STATELESS,
        request(message("ping"), content_type="text/plain"),
    ),
    AllowedDifference(
        "deep-nesting",
        "A message has at most 100 levels of nesting; the SDK's handshake side gives up at 200, its other side later.",
        lambda it: it.ours.code == -32700 and it.message is not None and nesting(it.request.body) > MAX_DEPTH,
        request(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 150 + b"]" * 150 + b"}}"),
    ),
    AllowedDifference(
        "empty-lists",
        "Prompts and resources are listed as empty lists, because some clients ask although none are declared; the SDK "
        "does not know the methods.",
        _empty_lists,
        request(message("prompts/list")),
    ),
    AllowedDifference(
        "envelope-before-method",
        "Capabilities that are no object are refused with the rest of the envelope; the SDK looks up the method first.",
        lambda it: (
            it.codes == (-32602, -32601) and not isinstance(it.member("params", "_meta").get(META_CAPABILITIES), dict)
        ),
        stateless("no/such", {"_meta": {META_VERSION: STATELESS, META_CAPABILITIES: None}}),
    ),
    AllowedDifference(
        "envelope-code",
        "A body that is no request is -32600, as JSON-RPC specifies; the SDK's handshake side returns -32602.",
        lambda it: it.codes == (-32600, -32602) and it.statuses == (400, 400) and it.theirs.id is None,
        request(b"[]"),
    ),
    AllowedDifference(
        "envelope-decides-the-era",
        "An envelope of 2026-07-28 whose header is missing or of another version is a mismatch (-32020), as the "
        "specification says; the SDK distinguishes the eras by the header alone.",
        lambda it: (
            it.has_envelope
            and it.sdk_takes_for_handshake
            and it.ours.status == 400
            and it.ours.code in (-32020, -32022, -32602)
        ),
        stateless("tools/list", mcp_protocol_version=""),
    ),
    AllowedDifference(
        "get-is-405",
        "★ GET opens no stream: on Lambda one that never ends bills until the time-out.",
        lambda it: it.request.method == "GET" and it.ours.status == 405 and it.theirs.status in (200, 406),
        request(b"", method="GET"),
    ),
    AllowedDifference(
        "id-comes-back",
        "The id comes back with every error that has one; the SDK drops it from errors of the envelope.",
        lambda it: it.codes == (-32600, -32600) and it.theirs.id is None and it.ours.id == it.member().get("id"),
        request(b'{"jsonrpc":"1.0","id":1,"method":"ping"}', mcp_protocol_version=STATELESS),
    ),
    AllowedDifference(
        "initialize-is-lenient",
        "initialize is answered whatever its header says and with any parameters, since it is where a client "
        "without a version gets one.",
        _initialize_is_lenient,
        request(message("initialize")),
    ),
    AllowedDifference(
        "list-changed",
        "No listChanged means false; the SDK spells it out.",
        _list_changed,
        stateless("server/discover"),
    ),
    AllowedDifference(
        "listen-is-unknown",
        "subscriptions/listen is not served, whatever the client accepts; the SDK checks Accept first.",
        _listen_is_unknown,
        stateless("subscriptions/listen", accept="application/json"),
    ),
    AllowedDifference(
        "lone-surrogate",
        "Half of a surrogate pair is no text and could not be sent back; the SDK lets it pass in 2026-07-28.",
        lambda it: it.ours.code == -32700 and re.search(rb"\\u[dD][89a-fA-F]", it.request.body) is not None,
        stateless("tools/list", {"_meta": {"a": "\ud800"}}),
    ),
    AllowedDifference(
        "not-a-number",
        "NaN and Infinity are no JSON, and 1e999 has no value; the SDK's parsers take them.",
        lambda it: it.ours.code == -32700 and re.search(rb"NaN|Infinity|\de\d", it.request.body) is not None,
        request(message("ping", {"a": float("nan")})),
    ),
    AllowedDifference(
        "preflight",
        "OPTIONS is a preflight of a web page, answered with 204; the SDK leaves it to a middleware.",
        lambda it: it.request.method == "OPTIONS",
        request(b"", method="OPTIONS"),
    ),
    AllowedDifference(
        "response-is-ignored",
        "This server sends no requests, so that responses are not judged; the SDK refuses one of a wrong form.",
        lambda it: it.ours.status == 202 and "method" not in it.member() and it.theirs.status == 400,
        request(b'{"jsonrpc":"2.0","id":1,"result":[]}'),
    ),
    AllowedDifference(
        "sdk-raises",
        "A header that looks like base64 and holds other letters makes the SDK raise; it is a mismatch.",
        _sdk_raises,
        stateless("tools/call", {"name": "TOOL_LIST"}, mcp_name="=?base64?é?="),
    ),
    AllowedDifference(
        "text-is-utf-8",
        "MCP is UTF-8; the SDK takes UTF-16 and UTF-32, and surrogates spelled in bytes, in 2026-07-28.",
        _text_is_utf_8,
        request('{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16"), mcp_protocol_version=STATELESS),
    ),
    AllowedDifference(
        "unread-members",
        "Members that this server does not read are not judged (progressToken, clientInfo, what a client is "
        "capable of, parameters of methods that are not served); the SDK refuses the whole request for them.",
        _unread_members,
        request(message("tools/list", {"_meta": {"progressToken": []}})),
    ),
    AllowedDifference(
        "version-before-envelope",
        "A version that is not served and comes without an envelope is told what is served (-32022); the SDK asks "
        "for the envelope first.",
        lambda it: it.ours.code == -32022 and it.theirs.code in (-32602, -32020) and not it.has_envelope,
        request(message("ping"), mcp_protocol_version="1999-01-01"),
    ),
)


def matching_differences(it: Exchange) -> list[str]:
    """Return the names of the entries that cover the difference between the two outcomes."""
    return [entry.name for entry in ALLOWED_DIFFERENCES if entry.covers(it)]
