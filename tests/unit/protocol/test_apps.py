"""MCP Apps: the answer of a call in the window of a client, in both protocol eras and without HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.mcp_requests import message, request, stateless
from tests.unit.protocol.test_skills import make_server
from toolfold.app import build_app
from toolfold.protocol import jsonrpc, versions
from toolfold.protocol.mcp import Server
from toolfold.protocol.versions import APP_URI, APPS, META_CAPABILITIES, META_VERSION
from toolfold.settings import Settings

HTML = "<!doctype html><title>Answer</title>"
APP_TYPE = "text/html;profile=mcp-app"
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
    monkeypatch.setattr(versions, "APP_FILE", str(file))
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
    read = send(server, "resources/read", DECLARED, uri=APP_URI)["result"]

    assert discovered["resources"] == {}
    assert APPS in discovered["extensions"]
    assert [(one["uri"], one["mimeType"], one["text"]) for one in read["contents"]] == [(APP_URI, APP_TYPE, HTML)]
    assert read["cacheScope"] == "public"


@pytest.mark.parametrize("capabilities", UNDECLARED)
def test_nothing_is_declared_to_any_other_client(server: Server, capabilities: Any) -> None:
    assert "resources" not in send(server, "server/discover", capabilities)["result"]["capabilities"]


@pytest.mark.parametrize("capabilities", [DECLARED, *UNDECLARED])
def test_every_list_of_tools_is_the_same_and_names_the_app(server: Server, capabilities: Any) -> None:
    listed = send(server, "tools/list", capabilities)
    assert shown_by(listed) == ["TOOL_CALL"]
    assert listed["result"]["tools"][2]["_meta"] == {"anthropic/alwaysLoad": True, "ui": {"resourceUri": APP_URI}}
    assert listed["result"]["cacheScope"] == "public"
    assert send(server, "resources/list", capabilities)["result"]["resources"] == []


@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_without_a_build_nothing_is_declared(server: Server, built: Path, method: str) -> None:
    built.unlink()

    assert APP_URI not in json.dumps(send(server, method, DECLARED))
    assert send(server, method, DECLARED)["result"] == send(server, method, {})["result"]
    assert send(server, "resources/read", DECLARED, uri=APP_URI)["error"]["code"] == -32602


def test_all_but_what_is_shown_to_the_person_stays_as_it_is(server: Server, built: Path) -> None:
    with_app = send(server, "tools/list", {})["result"]["tools"]
    for tool in with_app:
        tool["_meta"].pop("ui", None)
    built.unlink()
    assert with_app == send(server, "tools/list", {})["result"]["tools"]


def test_a_handshake_needs_no_session(server: Server) -> None:
    """Over HTTP, where any instance answers each request, as without HTTP."""
    started: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": DECLARED}
    response = server.handle_http(request(message("initialize", started)))
    assert "mcp-session-id" not in dict(response.headers)
    assert APPS in json.loads(response.body)["result"]["capabilities"]["extensions"]

    listed = server.handle_http(request(message("tools/list"))).body
    assert shown_by(json.loads(listed)) == shown_by(send_line(server, "tools/list")) == ["TOOL_CALL"]
    assert send_line(server, "resources/read", uri=APP_URI)["result"]["contents"][0]["text"] == HTML


@pytest.mark.parametrize(
    ("mode", "shown"), [("direct", "GLOBAL_QUOTE"), ("grouped", "core_stock_apis"), ("kinds", "connector")]
)
def test_tools_of_other_modes_name_the_app(server: Server, mode: str, shown: str) -> None:
    names = shown_by(send(server, "tools/list", DECLARED, f"/mcp/{mode}"))

    assert shown in names
    assert not {"TOOL_LIST", "TOOL_GET", "TOOL_BATCH", "request_tools"} & set(names)


def test_tools_whose_answers_have_another_form_name_no_app(server: Server) -> None:
    assert shown_by(send(server, "tools/list", DECLARED, "/mcp/research")) == []


def test_a_catalog_with_skills_declares_both(tmp_path: Path) -> None:
    server = make_server(tmp_path)
    capabilities = send(server, "server/discover", DECLARED)["result"]["capabilities"]
    assert {APPS, "io.modelcontextprotocol/skills"} <= set(capabilities["extensions"])
    assert send(server, "resources/read", DECLARED, uri=APP_URI)["result"]["contents"][0]["text"] == HTML
