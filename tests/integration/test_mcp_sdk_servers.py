"""Servers of the MCP SDK as sources: changes of a list of tools, profiles, and the refusal of HTTP+SSE."""

from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

from tests.support.exposure import call, code, listed, names
from tests.support.mcp_sources import Sources, remote
from tests.support.running_app import running_app
from tests.support.waiting import wait_until
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


def test_a_server_of_2024_is_refused_at_refresh_with_what_to_put_before_it(sources: Sources) -> None:
    with running_app(make_server().sse_app(), lifespan="off") as address:
        folder = sources.write("quay", remote(f"{address}/sse"))
        with pytest.raises(SourceError, match=r"status 405\. .* is not supported: put mcp-remote before the server"):
            sources.refresh("quay")
        assert not (folder / "snapshot.json").exists()


def test_a_changed_list_of_tools_is_noticed_at_once(tmp_path: Path, sources: Sources) -> None:
    with running_app(make_server().streamable_http_app(), lifespan="on") as address:
        sources.add("quay", remote(f"{address}/mcp"))
        snapshot = tmp_path / "sources" / "quay" / "snapshot.json"  # of a version with sessions
        snapshot.write_text(snapshot.read_text().replace("2026-07-28", "2025-11-25"))
        sources.compile()
        assert sources.code("quay__berths") == ""
        assert sources.code("quay__rebuild") == ""
        wait_until(lambda: sources.code("quay__berths", fresh=True) == "SOURCE_CHANGED")
        assert sources.code("quay__header", {"name": "host"}) == ""


KINDS = """
profiles:
  inline: {mode: kinds, kinds: {mcp: inline}}
  without: {mode: kinds, kinds: {mcp: 'off'}}
"""


def test_kinds_show_a_server_and_call_it(tmp_path: Path, sources: Sources) -> None:
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
