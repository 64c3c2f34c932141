"""The protocol as a function of a request: what each era receives, and how each wrong request is refused."""

import json
from typing import Any

import pytest

from tests.support.mcp_requests import STATELESS, message, request, stateless
from tests.support.meta_tools import proposed_call
from toolfold.catalog.store import FileStore, bundled_path
from toolfold.errors import ApprovalRequired
from toolfold.execution.executor import ToolExecutor
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import error_result
from toolfold.protocol import jsonrpc
from toolfold.protocol.http import LOOPBACK_HOSTS, OriginPolicy, Request
from toolfold.protocol.mcp import Server
from toolfold.settings import Settings

TOOLS = MetaTools(FileStore(bundled_path()), ToolExecutor(Settings.from_environment({})))
SERVER = Server(TOOLS)


def sent(to: Request, server: Server = SERVER) -> tuple[int, Any]:
    response = server.handle_http(to)
    return response.status, json.loads(response.body) if response.body.startswith(b"{") else response.body.decode()


def result(to: Request) -> dict[str, Any]:
    status, body = sent(to)
    assert status == 200, body
    assert body["id"] == 1
    return dict(body["result"])


def refused(to: Request, server: Server = SERVER) -> tuple[int, int, Any]:
    """HTTP status, JSON-RPC code and id of an error."""
    status, body = sent(to, server)
    assert body["error"]["message"].endswith(".")
    return status, body["error"]["code"], body["id"]


# Handshake versions


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25"])
def test_initialize_accepts_a_supported_version(version: str) -> None:
    answer = result(request(message("initialize", {"protocolVersion": version, "capabilities": {}})))
    assert answer["protocolVersion"] == version
    assert answer["serverInfo"]["name"] == "toolfold"
    assert answer["capabilities"] == {"tools": {}}
    assert "TOOL_LIST" in answer["instructions"]


def test_tools_call_returns_text_and_structured_content() -> None:
    answer = result(request(message("tools/call", {"name": "TOOL_GET", "arguments": {"tool_name": "CPI"}})))
    assert answer["isError"] is False
    (entry,) = answer["structuredContent"]["tools"]
    assert entry.items() >= json.loads(answer["content"][0]["text"]).items()


def test_an_approval_that_another_call_has_used_asks_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ApprovalRequired("The approval was used already; nothing was sent.", "Make the call without it.")
    monkeypatch.setattr(MetaTools, "call", lambda *_, **__: error_result(error))
    params: dict[str, Any] = {"name": "TOOL_CALL", "arguments": {}}
    for asked in (request(message("tools/call", params)), stateless("tools/call", params)):
        assert result(asked)["structuredContent"]["error"] == error.as_dict()


def test_failed_call_is_a_result_with_is_error() -> None:
    answer = result(request(message("tools/call", {"name": "TOOL_CALL", "arguments": {"tool_name": "NO_TOOL"}})))
    assert answer["isError"] is True
    assert answer["structuredContent"]["error"]["code"] == "TOOL_NOT_FOUND"


@pytest.mark.parametrize("notification", ["notifications/initialized", "notifications/cancelled", "anything"])
def test_notification_gets_an_empty_202(notification: str) -> None:
    response = SERVER.handle_http(request({"jsonrpc": "2.0", "method": notification}))
    assert (response.status, response.body) == (202, b"")


LISTS = {"prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates"}


@pytest.mark.parametrize(("method", "member"), LISTS.items())
def test_what_is_not_offered_is_an_empty_list(method: str, member: str) -> None:
    assert result(request(message(method))) == {member: []}
    answer = result(stateless(method))
    assert answer[member] == []
    assert (answer["cacheScope"], answer["resultType"]) == ("public", "complete")
    assert answer["ttlMs"] > 0


@pytest.mark.parametrize("name", ["CPI", "cpi", "functions.CPI"])
def test_tool_of_the_catalog_is_called_as_by_tool_call(name: str) -> None:  # F10
    arguments = {"nonsense": 1}
    by_name = result(request(message("tools/call", {"name": name, "arguments": arguments})))
    through = {"name": "TOOL_CALL", "arguments": {"tool_name": "CPI", "arguments": arguments}}
    assert by_name == result(request(message("tools/call", through)))
    assert by_name["structuredContent"]["error"]["code"] == "INVALID_ARGUMENTS"


def test_call_by_name_needs_the_header_of_that_name() -> None:
    answer = result(stateless("tools/call", {"name": "CPI", "arguments": {"nonsense": 1}}))
    assert answer["isError"] is True
    assert refused(stateless("tools/call", {"name": "CPI"}, mcp_name="TOOL_CALL")) == (400, -32020, 1)


@pytest.mark.parametrize("name", ["tool_get", "Tool Get", "mcp__toolfold__TOOL_GET"])
def test_meta_tool_is_found_in_any_spelling(name: str) -> None:
    answer = result(request(message("tools/call", {"name": name, "arguments": {"tool_name": "CPI"}})))
    assert answer["structuredContent"]["tools"][0]["name"] == "CPI"


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("GLOBAL_QUOT", ("TOOL_GET", {"tool_name": "GLOBAL_QUOTE"})),
        ("get_stock_price", ("TOOL_GET", {"tool_name": "GLOBAL_QUOTE"})),
        ("getWeather", ("TOOL_LIST", {"query": "get weather"})),
        ("x" * 1_000_000, ("TOOL_LIST", {"query": "x" * 200})),
        ("", ("TOOL_LIST", {})),
    ],
    ids=["misspelt", "synonym", "nothing like it", "long", "empty"],
)
def test_unknown_tool_is_refused_with_the_call_to_make(name: str, call: Any) -> None:  # F10
    _, body = sent(request(message("tools/call", {"name": name})))
    assert body["error"]["code"] == -32602
    assert proposed_call(body["error"]["message"]) == call
    assert len(body["error"]["message"]) < 500


@pytest.mark.parametrize("name", [None, 7, ["TOOL_LIST"], {}])
def test_name_that_is_no_text_is_refused(name: Any) -> None:
    assert refused(request(message("tools/call", {"name": name}))) == (200, -32602, 1)


# 2026-07-28


def test_discover_returns_versions_capabilities_and_instructions() -> None:
    answer = result(stateless("server/discover"))
    assert answer["supportedVersions"] == [STATELESS]
    assert answer["capabilities"] == {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    assert answer["resultType"] == "complete"
    assert answer["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "toolfold"
    assert answer["cacheScope"] == "public"
    assert answer["ttlMs"] > 0


@pytest.mark.parametrize(
    "encoded", ["=?base64?VE9PTF9HRVR=?=", "=?base64?é?=", "=?base64?/w==?=", "=?base64?VE9PTF9HRVQ?="]
)
def test_only_canonical_base64_headers_are_decoded(encoded: str) -> None:
    assert result(stateless("tools/call", {"name": "TOOL_GET"}, mcp_name="=?base64?VE9PTF9HRVQ=?="))
    assert refused(stateless("tools/call", {"name": "TOOL_GET"}, mcp_name=encoded)) == (400, -32020, 1)


@pytest.mark.parametrize("answered", [{"result": {}}, {"error": {"code": 1, "message": "x"}}])
def test_response_is_accepted_only_in_handshake_versions(answered: dict[str, Any]) -> None:
    body = {"jsonrpc": "2.0", "id": 1, **answered}
    assert sent(request(body, mcp_protocol_version="2025-11-25")) == (202, "")
    assert refused(request(body, mcp_protocol_version=STATELESS)) == (400, -32600, None)
    assert refused(request(body, mcp_protocol_version="1999-01-01")) == (400, -32600, None)


# Both eras


@pytest.mark.parametrize(
    ("body", "status", "code", "id_"),
    [
        (b"", 400, -32700, None),
        (b'{"id": 1', 400, -32700, None),
        (b"\xff\xfe", 400, -32700, None),
        (b"[" * 100_000, 400, -32700, None),
        (b'{"id":' + b"9" * 5000 + b"}", 400, -32700, None),
        (b"null", 400, -32600, None),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600, 1),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', 400, -32600, None),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', 400, -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":-Infinity}}', 400, -32700, 1),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', 400, -32700, None),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', 400, -32700, None),
        (b'{"jsonrpc":"2.0","id":"\xed\xa0\x80","method":"ping"}', 400, -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', 400, -32700, 1),
        (b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{"\\udfff":1}}', 400, -32700, "a"),
        (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', 400, -32700, None),
        ('{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16"), 400, -32700, None),
    ],
)
def test_invalid_body_is_rejected(body: bytes, status: int, code: int, id_: Any) -> None:
    assert refused(request(body)) == (status, code, id_)


@pytest.mark.parametrize(
    "body",
    [
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\\ud83d\\ude00"}}',
    ],
)
def test_variants_that_clients_send_are_accepted(body: bytes) -> None:
    assert isinstance(result(request(body)), dict)


@pytest.mark.parametrize("method", ["DELETE", "HEAD"])
def test_other_methods_than_post_are_rejected(method: str) -> None:
    response = SERVER.handle_http(request(b"", method=method))
    assert response.status == 405
    assert "POST" in dict(response.headers)["allow"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content_type": ""}, 415),
        ({"content_type": "application/json,application/json"}, 200),
        ({"content_type": "application/json; charset=utf-8,application/json"}, 200),
        ({"content_type": "application/json, text/plain"}, 415),
        ({"content_type": "application/json; charset=utf-8, text/plain"}, 415),
        ({"content_encoding": "Identity"}, 200),
        ({"accept": "*/*"}, 200),
        ({"accept": "application/*;q=0.5"}, 200),
        ({"accept": ""}, 200),
        ({"sec_fetch_site": "cross-site"}, 403),
    ],
)
def test_headers_decide_the_status(headers: dict[str, str], status: int) -> None:
    assert SERVER.handle_http(request(message("ping"), **headers)).status == status


def test_a_second_content_type_must_be_the_same() -> None:
    sent = request(message("ping"))
    second = sent._replace(headers=(*sent.headers, ("content-type", "text/plain")))
    assert SERVER.handle_http(second).status == 415


@pytest.mark.parametrize(
    ("access", "headers", "status"),
    [
        (OriginPolicy(origins=("https://app.test",)), {"origin": "https://app.test"}, 200),
        (OriginPolicy(origins=("https://app.test",)), {"origin": "https://app.test.evil.test"}, 403),
        (OriginPolicy(origins=("*",)), {"origin": "https://any.test"}, 200),
        (OriginPolicy(origins=("*",)), {"origin": "https://any.test\r\nset-cookie: a=b"}, 403),
        (
            OriginPolicy(hosts=LOOPBACK_HOSTS),
            {"host": "localhost", "origin": "http://localhost/\nset-cookie: a=b"},
            403,
        ),
        (OriginPolicy(hosts=LOOPBACK_HOSTS), {"host": "localhost", "origin": "http://localhost:6274"}, 200),
        (OriginPolicy(hosts=LOOPBACK_HOSTS), {"host": "localhost", "origin": "http://[broken"}, 403),
        (OriginPolicy(origins=("*",)), {"origin": "null"}, 403),
        (OriginPolicy(origins=("https://app.test",)), {"origin": "https://app.test/"}, 403),
    ],
)
def test_origin_policy_decides_the_status(access: OriginPolicy, headers: dict[str, str], status: int) -> None:
    assert Server(TOOLS, access).handle_http(request(message("ping"), **headers)).status == status


LOCAL = OriginPolicy(hosts=LOOPBACK_HOSTS, port=8080)


# R24
@pytest.mark.parametrize(
    "host",
    ["localhost:8080", "LocalHost:8080", "127.0.0.1:8080", "[::1]:8080"],
)
def test_local_server_answers_to_its_names_and_port(host: str) -> None:
    assert Server(TOOLS, LOCAL).handle_http(request(message("ping"), host=host)).status == 200


# R24
@pytest.mark.parametrize(
    "host",
    [
        "evil@localhost:8080", "evil:x@localhost:8080", "localhost", "localhost:80", "localhost:08081", "localhost:",
        "localhost.:8080", "localhost.evil.com:8080", "evil.com:8080", "localhost:8080.evil.com", "localhost:8080/",
        "localhost:8080,localhost:8080", "localhost:8080\x00", "localhost:8080 evil.com", "[::1", "[::1%25lo]:8080",
        "::1", "::1:8080", "[::ffff:127.0.0.1]:8080", "127.1:8080", "2130706433:8080", "0.0.0.0:8080", "0x7f.1:8080",
        "127.0.0.1.nip.io:8080", "localhost:８０８０", "ｌocalhost:8080", "loca\u212ahost:8080", "localhost:+8080",
        "localhost:99999999999", "http://localhost:8080", "localhost\n:8080", "",
    ],
)  # fmt: skip
def test_local_server_refuses_every_other_host(host: str) -> None:
    to = Request("POST", (("host", host), ("content-type", "application/json")), b"{}")
    assert Server(TOOLS, LOCAL).handle_http(to).status == 421


def test_two_hosts_or_origins_are_refused() -> None:
    def status(*headers: tuple[str, str]) -> int:
        named = (("host", "localhost:8080"), ("content-type", "application/json"), *headers)
        return Server(TOOLS, LOCAL).handle_http(Request("POST", named, json.dumps(message("ping")).encode())).status

    assert status() == 200
    assert status(("host", "localhost:8080")) == 421
    assert status(("origin", "http://localhost:1")) == 200
    assert status(("origin", "http://localhost:1"), ("origin", "https://evil.test")) == 403


@pytest.mark.parametrize(
    "origin",
    [
        "null", "", "http://evil@localhost:8080", "http://localhost.evil.com", "http://localhost.", "localhost:8080",
        "file://localhost", "http://localhost:8080/", "http://localhost:8080, http://localhost:8080", "HTTP://evil",
        "chrome-extension://localhost", "http://localhost:8080\\@evil.test", "http://[::1", "http://127.0.0.1.evil.test",
    ],
)  # fmt: skip
def test_local_server_refuses_pages_of_other_machines(origin: str) -> None:
    headers = (("host", "localhost:8080"), ("origin", origin), ("content-type", "application/json"))
    for method in ("POST", "OPTIONS", "GET"):
        response = Server(TOOLS, LOCAL).handle_http(Request(method, headers, b"{}"))
        assert response.status == 403
        assert "access-control-allow-origin" not in dict(response.headers)


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 10**5_000, "\ud800", {"\udfff": 1}, (1, float("-inf")), {1: {2: 3}}],
    ids=["NaN", "infinity", "5,000 digits", "surrogate", "surrogate key", "tuple", "integer keys"],
)
def test_every_result_can_be_encoded(value: Any) -> None:
    encoded = jsonrpc.encode_result(1, {"content": [value]})
    assert json.loads(encoded.decode(), parse_constant=pytest.fail)["id"] == 1


def test_log_fields_are_names_and_codes() -> None:
    arguments = {"tool_name": "NO_TOOL", "arguments": {"symbol": "SECRET"}}
    to = request(message("tools/call", {"name": "TOOL_CALL", "arguments": arguments}), authorization="Bearer SECRET")
    response = SERVER.handle_http(to)
    assert response.log_fields == {
        "rpc": "tools/call", "tool": "TOOL_CALL", "inner_tool": "NO_TOOL", "error": "TOOL_NOT_FOUND",
    }  # fmt: skip
    assert "SECRET" not in repr(to) + repr(response.log_fields)


def test_tool_name_with_control_characters_is_not_logged() -> None:
    arguments = {"tool_name": "a b\nc"}
    log_fields = SERVER.handle_http(
        request(message("tools/call", {"name": "TOOL_CALL", "arguments": arguments}))
    ).log_fields
    assert "inner_tool" not in log_fields


def test_credentials_carry_the_profile_by_which_they_came() -> None:
    sent_by_ada = Request("POST", (("x-api-key", "KEY12345"),), b"", caller="ada", profile="trading")
    found = sent_by_ada.credentials()
    assert (found.x_api_key, found.caller, found.profile) == ("KEY12345", "ada", "trading")
    assert "KEY12345" not in repr(found)
