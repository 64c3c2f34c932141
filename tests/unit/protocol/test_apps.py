"""MCP Apps: the answer of a call in the window of a client, in both protocol eras and without HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_requests import message, request, stateless
from tests.unit.protocol.test_skills import make_server
from toolfold.app import build_app
from toolfold.protocol import apps, jsonrpc
from toolfold.protocol.mcp import Server
from toolfold.protocol.versions import APP_TYPE, APP_URI, APPS, META_CAPABILITIES, META_VERSION
from toolfold.settings import Settings

HTML = "<!doctype html><title>Answer</title>"
DECLARED: dict[str, Any] = {"extensions": {APPS: {"mimeTypes": [APP_TYPE]}}}
UNDECLARED: list[dict[str, Any]] = [
    {},
    {"extensions": {APPS: {"mimeTypes": ["text/uri-list"]}}},
    {"extensions": []},
]


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a page in the place of the one that `make ui` builds."""
    file = tmp_path / "answer.html"
    file.write_text(HTML)
    monkeypatch.setattr(apps, "FILE", file)
    return file


@pytest.fixture
def server() -> Server:
    return build_app(Settings.from_environment({"TOOLFOLD_CACHE": "off"})).server


def send(server: Server, method: str, capabilities: Any, path: str = "/mcp", **params: Any) -> dict[str, Any]:
    """Send a request of 2026-07-28."""
    meta = {META_VERSION: "2026-07-28", META_CAPABILITIES: capabilities}
    named = {"mcp_name": params["uri"]} if "uri" in params else {}
    sent = stateless(method, {**params, "_meta": meta}, **named)._replace(path=path)
    answer: dict[str, Any] = json.loads(server.handle_http(sent).body)
    return answer


def send_handshake(server: Server, method: str, session: str = "", **params: Any) -> tuple[dict[str, Any], str]:
    """Return the answer to a request of a session, and the session that its response names."""
    response = server.handle_http(request(message(method, params), mcp_session_id=session))
    return json.loads(response.body)["result"], dict(response.headers).get("mcp-session-id", "")


def send_line(server: Server, method: str, **params: Any) -> dict[str, Any]:
    """Send a message as over stdio."""
    parsed = jsonrpc.parse_message(json.dumps(message(method, params)).encode())
    assert parsed is not None
    answer: dict[str, Any] = json.loads(server.handle_message(parsed))
    return answer


def shown_by(answer: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in answer["result"]["tools"] if "ui" in tool.get("_meta", {})]


def test_a_client_that_shows_apps_finds_the_app(server: Server) -> None:
    discovered = send(server, "server/discover", DECLARED)["result"]["capabilities"]
    listed = send(server, "tools/list", DECLARED)
    resources = send(server, "resources/list", DECLARED)["result"]
    read = send(server, "resources/read", DECLARED, uri=APP_URI)["result"]

    assert discovered["resources"] == {}
    assert APPS in discovered["extensions"]
    assert shown_by(listed) == ["TOOL_CALL"]
    assert listed["result"]["tools"][2]["_meta"] == {"anthropic/alwaysLoad": True, "ui": {"resourceUri": APP_URI}}
    assert [(one["uri"], one["mimeType"]) for one in resources["resources"]] == [(APP_URI, APP_TYPE)]
    assert [(one["uri"], one["mimeType"], one["text"]) for one in read["contents"]] == [(APP_URI, APP_TYPE, HTML)]
    assert read["cacheScope"] == "public"
    # Caches that other clients share must not keep what this client alone gets.
    assert listed["result"]["cacheScope"] == resources["cacheScope"] == "private"


@pytest.mark.parametrize("capabilities", UNDECLARED)
def test_any_other_client_sees_nothing_of_it(server: Server, capabilities: Any) -> None:
    assert "resources" not in send(server, "server/discover", capabilities)["result"]["capabilities"]
    assert shown_by(send(server, "tools/list", capabilities)) == []
    assert send(server, "tools/list", capabilities)["result"]["cacheScope"] == "public"
    assert send(server, "resources/list", capabilities)["result"]["resources"] == []


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "resources/list"])
def test_without_a_build_nothing_is_declared(server: Server, built: Path, method: str) -> None:
    built.unlink()

    assert send(server, method, DECLARED)["result"] == send(server, method, {})["result"]
    assert send(server, "resources/read", DECLARED, uri=APP_URI)["error"]["code"] == -32602


def test_all_but_what_is_shown_to_the_person_stays_as_it_is(server: Server) -> None:
    with_apps, without = (send(server, "tools/list", one)["result"]["tools"] for one in (DECLARED, {}))
    for tool in with_apps:
        tool["_meta"].pop("ui", None)
    assert with_apps == without

    call = {"name": "TOOL_LIST", "arguments": {"query": "exchange rate"}}
    sent = [
        stateless("tools/call", {**call, "_meta": {META_VERSION: "2026-07-28", META_CAPABILITIES: one}})
        for one in (DECLARED, {})
    ]
    assert server.handle_http(sent[0]).body == server.handle_http(sent[1]).body


def test_a_handshake_without_http_is_remembered_until_the_next(server: Server) -> None:
    for capabilities, shown in ((DECLARED, ["TOOL_CALL"]), ({}, [])):
        started = send_line(server, "initialize", protocolVersion="2025-11-25", capabilities=capabilities)

        assert (APPS in started["result"]["capabilities"].get("extensions", {})) == bool(shown)
        assert shown_by(send_line(server, "tools/list")) == shown
        assert len(send_line(server, "resources/list")["result"]["resources"]) == len(shown)
        # A request of the other era says for itself what its client shows.
        meta = {META_VERSION: "2026-07-28", META_CAPABILITIES: {}}
        assert shown_by(send_line(server, "tools/list", _meta=meta)) == []
    assert send_line(server, "resources/read", uri=APP_URI)["result"]["contents"][0]["text"] == HTML


def test_a_handshake_over_http_gives_a_client_that_shows_apps_a_session(server: Server) -> None:
    started: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": DECLARED}
    result, session = send_handshake(server, "initialize", **started)
    assert APPS in result["capabilities"]["extensions"]
    assert send_handshake(server, "initialize", **started | {"capabilities": {}})[1] == ""

    listed, renewed = send_handshake(server, "tools/list", session)
    assert (shown_by({"result": listed}), renewed) == (["TOOL_CALL"], "")
    assert "cacheScope" not in listed
    for other in ("", "another"):
        assert shown_by({"result": send_handshake(server, "tools/list", other)[0]}) == []
    assert send_handshake(server, "resources/read", uri=APP_URI)[0]["contents"][0]["text"] == HTML


@pytest.mark.parametrize(
    ("mode", "shown"), [("direct", "GLOBAL_QUOTE"), ("grouped", "core_stock_apis"), ("kinds", "connector")]
)
def test_tools_of_other_modes_name_the_app(server: Server, mode: str, shown: str) -> None:
    names = shown_by(send(server, "tools/list", DECLARED, f"/mcp/{mode}"))

    assert shown in names
    assert not {"TOOL_LIST", "TOOL_GET", "TOOL_BATCH", "request_tools"} & set(names)


def test_tools_whose_answers_have_another_form_name_no_app(server: Server) -> None:
    assert shown_by(send(server, "tools/list", DECLARED, "/mcp/research")) == []


def test_a_catalog_with_skills_lists_the_app_first(tmp_path: Path) -> None:
    server = make_server(tmp_path)
    listed = send(server, "resources/list", DECLARED)["result"]["resources"]
    others = send(server, "resources/list", {})["result"]["resources"]

    assert [listed[0]["uri"], *listed[1:]] == [APP_URI, *others]
    capabilities = send(server, "server/discover", DECLARED)["result"]["capabilities"]
    assert {APPS, "io.modelcontextprotocol/skills"} <= set(capabilities["extensions"])
