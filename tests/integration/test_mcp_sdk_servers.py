"""Servers of the MCP SDK as sources: the HTTP+SSE transport of 2024-11-05, and changes of a list of tools."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.support.exposure import call, code, listed, names
from tests.support.mcp_sources import Sources, remote
from tests.support.running_app import running_app
from toolfold.errors import SourceError

pytestmark = pytest.mark.slow

READ = ToolAnnotations(readOnlyHint=True)


def make_server() -> MCPServer:
    """Return a server with tools that read, one of which changes another."""
    server = MCPServer("quay", instructions="Ask for berths first.", version="3.1")

    @server.tool(annotations=READ)
    def berths(free: bool = True) -> list[dict[str, Any]]:
        """List berths."""
        return [{"berth": "A1", "metres": 12, "free": free}, {"berth": "B2", "metres": 30, "free": free}]

    @server.tool(annotations=READ)
    def header(name: str, context: Context) -> str:  # type: ignore[type-arg]
        """Return a header of the request."""
        request = context.request_context.request
        return str(request.headers.get(name)) if request is not None else ""

    @server.tool(annotations=READ)
    def large(size: int) -> str:
        """Return a text of a size."""
        return "x" * size

    @server.tool(annotations=READ)
    async def rebuild(context: Context) -> str:  # type: ignore[type-arg]
        """Replace the tool that lists berths."""

        def berths(free: int = 1, length: int = 2) -> str:
            """List berths."""
            return ""

        server.remove_tool("berths")
        server.add_tool(berths, annotations=READ)
        await context.notify_tools_changed()
        if context.request_context.protocol_version.startswith("2025"):
            await context.request_context.session.send_tool_list_changed()
        return "done"

    return server


def until(is_true: Callable[[], bool]) -> bool:
    """Return whether something becomes true within ten seconds."""
    end = time.monotonic() + 10
    while not is_true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_a_server_of_2024_is_noticed_at_refresh_and_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFOLD_SOURCE_QUAY_KEY", "sk-quay-0123456789")
    sources = Sources(tmp_path, SOURCE_QUAY_KEY="sk-quay-0123456789")
    with running_app(make_server().sse_app()) as address:
        sources.add("quay", remote(f"{address}/sse"), auth={"bearer": True})
        snapshot = sources.snapshot("quay")
        assert snapshot["transport"] == "sse"
        assert (snapshot["server"], snapshot["instructions"]) == (
            {"name": "quay", "version": "3.1"},
            "Ask for berths first.",
        )
        assert not sources.refresh("quay", check=True)
        found = sources.call("quay__berths", select="berth where metres > 20").structured["result"]
        assert found["rows"] == [["B2"]]
        said = sources.call("quay__header", {"name": "authorization"})
        assert said.structured["result"] == {"result": "Bearer [key]"}
        error = sources.call("quay__berths", {"free": "perhaps"}).structured["error"]
        assert error["code"] == "INVALID_ARGUMENTS"


def test_the_transport_of_2024_can_be_named(tmp_path: Path) -> None:
    sources = Sources(tmp_path)
    with running_app(make_server().sse_app()) as address:
        sources.add("quay", {"transport": "sse", "url": f"{address}/sse"})
        assert sources.code("quay__berths") == ""
        sources.write("quay", {"transport": "sse", "url": f"{address}/other"})
        with pytest.raises(SourceError, match="status 404"):
            sources.refresh("quay")


def test_a_message_that_is_too_large_ends_its_connection_and_the_next_call_opens_another(tmp_path: Path) -> None:
    sources = Sources(tmp_path, MAX_RESPONSE_BYTES="100000")
    with running_app(make_server().sse_app()) as address:
        sources.add("quay", remote(f"{address}/sse"))
        assert sources.code("quay__large", {"size": 300_000}) == "ANSWER_TOO_LARGE"
        assert sources.code("quay__berths") == ""


def test_a_session_that_the_server_has_forgotten_is_opened_again(tmp_path: Path) -> None:
    sources = Sources(tmp_path)
    server = make_server()
    refused: list[int] = []

    async def refusing(scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "POST" and refused:
            await Response("Could not find session", refused.pop())(scope, receive, send)
            return
        await app(scope, receive, send)

    app = server.sse_app()
    with running_app(refusing) as address:
        sources.add("quay", remote(f"{address}/sse"))
        assert sources.code("quay__berths") == ""
        refused.append(404)
        assert sources.code("quay__berths", fresh=True) == ""
        refused.append(403)
        started = time.monotonic()
        assert sources.code("quay__berths", fresh=True) == "AUTH_REJECTED"
        assert time.monotonic() - started < 8  # not the time-out of the call
        assert not refused


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        (b"event: endpoint\ndata: https://elsewhere.example.com/messages\n\n", "not a message of MCP"),
        (b"event: endpoint\ndata: /messages\n\nevent: message\ndata: {broken\n\n", "not a message of MCP"),
        (b": nothing\n\n", "ended while it was starting"),
    ],
)
def test_a_stream_that_cannot_be_used_is_refused(events: bytes, problem: str, tmp_path: Path) -> None:
    async def stream(_: Request) -> StreamingResponse:
        async def body() -> Any:
            yield events

        return StreamingResponse(body(), media_type="text/event-stream")

    async def accept(_: Request) -> Response:
        return Response(status_code=202)

    app = Starlette(routes=[Route("/sse", stream), Route("/messages", accept, methods=["POST"])])
    with running_app(app) as address:
        sources = Sources(tmp_path)
        folder = sources.write("quay", {"transport": "sse", "url": f"{address}/sse"})
        with pytest.raises(SourceError, match=problem):
            sources.refresh("quay", timeout_s=10)
        assert not (folder / "snapshot.json").exists()


@pytest.mark.parametrize("era", ["2024 over a stream", "2025 with a session", "2026 with a subscription"])
def test_a_changed_list_of_tools_is_noticed_at_once(era: str, tmp_path: Path) -> None:
    sources = Sources(tmp_path)
    server = make_server()
    app = server.sse_app() if era.startswith("2024") else server.streamable_http_app()
    path = "/sse" if era.startswith("2024") else "/mcp"
    with running_app(app, lifespan="off" if era.startswith("2024") else "on") as address:
        sources.add("quay", remote(address + path))
        if era.startswith("2025"):
            snapshot = tmp_path / "sources" / "quay" / "snapshot.json"
            snapshot.write_text(snapshot.read_text().replace("2026-07-28", "2025-11-25"))
            sources.compile()
        assert sources.code("quay__berths") == ""
        assert sources.code("quay__rebuild") == ""
        assert until(lambda: sources.code("quay__berths", fresh=True) == "SOURCE_CHANGED")
        assert sources.code("quay__header", {"name": "host"}) == ""


KINDS = """
profiles:
  inline: {mode: kinds, kinds: {mcp: inline}}
  without: {mode: kinds, kinds: {mcp: 'off'}}
"""


def test_kinds_show_a_server_and_call_it(tmp_path: Path) -> None:
    sources = Sources(tmp_path)
    server = make_server()

    @server.tool(annotations=ToolAnnotations(readOnlyHint=False, destructiveHint=True))
    def sink(berth: str) -> str:
        """Sink what is at a berth."""
        return f"sunk {berth}"

    with running_app(server.streamable_http_app(), lifespan="on") as address:
        sources.write("quay", remote(f"{address}/mcp"))
        (tmp_path / "sources" / "profiles.yaml").write_text(KINDS)
        sources.refresh("quay")
        sources.compile()
        app = sources.app
        definition = next(one for one in listed(app, "/mcp/kinds") if one["name"] == "mcp")
        properties = definition["inputSchema"]["properties"]
        assert properties["server"]["enum"] == ["quay"]
        assert {"quay__berths", "quay__sink"} <= set(properties["tool"]["enum"])
        found = call(app, "/mcp/kinds", "mcp", {"subcommand": "discover", "server": "quay"})
        assert "quay__berths" in found["content"][0]["text"]
        arguments = {"subcommand": "call", "server": "quay", "tool": "quay__berths", "arguments": {"free": False}}
        for modern in (False, True):
            rows = call(app, "/mcp/kinds", "mcp", arguments, modern=modern)["structuredContent"]["result"]
            assert rows == sources.call("quay__berths", {"free": False}).structured["result"]
        assert code(call(app, "/mcp/kinds", "mcp", {**arguments, "tool": "quay__nothing"})) != "OK"
        sinking = {**arguments, "tool": "quay__sink", "arguments": {"berth": "A1"}}
        assert code(call(app, "/mcp/kinds", "mcp", sinking)) == "APPROVAL_REQUIRED"
        assert {"quay__berths", "quay__sink"} <= set(names(app, "/mcp/inline"))
        assert code(call(app, "/mcp/inline", "quay__berths", {})) == "OK"
        assert "mcp" not in names(app, "/mcp/without")
