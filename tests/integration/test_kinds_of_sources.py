"""The mode kinds with a real database, real skills and servers of the MCP SDK, and changes of their lists."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

from tests.support.exposure import app_of, call, code, listed, names
from tests.support.mcp_sources import Sources, remote
from tests.support.running_app import running_app
from tests.support.waiting import wait_until
from toolfold.app import App
from toolfold.cli.entry_point import main
from toolfold.errors import SourceError
from toolfold.exposure import profiles

pytestmark = pytest.mark.slow


SKILL = "---\nname: tax-forms\ndescription: How to fill in tax forms of the shop.\n---\n# Tax forms\nUse form A.\n"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a catalog of Alpha Vantage, a SQLite database and skills."""
    folder = tmp_path_factory.mktemp("kinds")
    with sqlite3.connect(folder / "shop.db") as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, total REAL)")
        database.executemany("INSERT INTO orders (customer, total) VALUES (?, ?)", [("Ada", 10.5), ("Bob", 3)])
    (folder / "skills/tax-forms").mkdir(parents=True)
    (folder / "skills/tax-forms/SKILL.md").write_text(SKILL)
    shutil.copytree("catalog/alpha_vantage", folder / "catalog/alpha_vantage")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("TOOLFOLD_SOURCE_SHOP_KEY", f"sqlite:///{folder}/shop.db")
        assert main(["source", "add", "sql", "shop", "sqlite:shop.db"]) == 0
        assert main(["source", "refresh", "shop"]) == 0
        assert main(["source", "add", "skills", "handbook", "skills"]) == 0
        assert main(["catalog", "compile"]) == 0
    return folder / "catalog/catalog.json"


@pytest.fixture
def app(catalog: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    """Return an App with that catalog, whose database can be read."""
    key = f"sqlite:///{catalog.parents[1]}/shop.db"
    monkeypatch.setenv("TOOLFOLD_SOURCE_SHOP_KEY", key)
    return app_of(catalog, TOOLFOLD_SOURCE_SHOP_KEY=key)


def test_each_kind_has_a_tool_with_the_names_as_values(app: App) -> None:
    shown = {one["name"]: one["inputSchema"]["properties"] for one in listed(app, "/mcp/kinds")}
    assert list(shown) == ["connector", "database", "read_skill", "request_tools"]
    assert shown["connector"]["connector"]["enum"] == ["alpha_vantage"]
    assert shown["database"]["database"]["enum"] == ["shop"]
    assert shown["read_skill"]["name"]["enum"] == ["handbook__tax_forms"]


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("database", {"subcommand": "list_tables", "database": "shop"}, "orders,table"),
        ("database", {"subcommand": "discover", "database": "Shop", "table": "orders"}, "total,REAL"),
        ("database", {"subcommand": "query", "database": "shop", "sql": "SELECT customer FROM orders"}, "Bob"),
        ("database", {"database": "shop", "sql": "SELECT customer FROM orders WHERE total > ?", "params": [5]}, "Ada"),
        ("database", {"subcommand": "query", "sql": "SELECT customer FROM orders"}, "Bob"),  # the only one
        ("database", {"subcommand": "execute", "sql": "SELECT customer FROM orders"}, "Bob"),
        ("database", {"action": "query", "parameters": {"sql": "SELECT customer FROM orders"}}, "Bob"),
        ("database", {"subcommand": "query", "parameters": {"sql": "SELECT customer FROM orders"}}, "Bob"),
        (
            "database",
            {"subcommand": "query", "sql": "SELECT customer FROM orders", "inspect": True},
            '"items":{"type":"object","properties":{"customer":{"type":"string"',
        ),
        ("read_skill", {"name": "handbook__tax_forms"}, "Use form A."),
        ("read_skill", {"name": "tax-forms"}, "Use form A."),
        ("read_skill", {"name": "tax-forms", "file": "SKILL.md"}, "Use form A."),
    ],
)
def test_calls_of_a_kind_reach_its_sources(app: App, name: str, arguments: dict[str, Any], says: str) -> None:
    for path in ("/mcp/kinds", "/mcp"):
        assert says in call(app, path, name, arguments)["content"][0]["text"]


def test_a_kind_lists_its_own_sources(app: App) -> None:
    found = call(app, "/mcp/kinds", "connector", {"subcommand": "discover"})["structuredContent"]
    assert [source["id"] for source in found["sources"]] == ["alpha_vantage"]


def test_tool_of_a_kind_calls_no_other_kind(app: App) -> None:
    query = {"subcommand": "execute", "action": "shop__query", "parameters": {"sql": "SELECT 1 FROM orders"}}
    result = call(app, "/mcp/kinds", "connector", query)
    assert code(result) == "INVALID_ARGUMENTS"
    assert "not behind connector" in result["content"][0]["text"]


ORDERS = {"sql": "SELECT customer FROM orders"}


@pytest.mark.parametrize(
    ("tool", "arguments", "proposed"),
    [
        ("shop__query", {**ORDERS, "limit": "many"},
         {"database": {"subcommand": "query", "database": "shop", **ORDERS}}),
        ("shop__query", {**ORDERS, "foo": 1}, {"database": {"subcommand": "query", "database": "shop", **ORDERS}}),
        ("shop__list_tables", {"foo": 1}, {"database": {"subcommand": "list_tables", "database": "shop"}}),
        ("database", {"subcommand": "query", **ORDERS, "foo": 1},
         {"database": {"subcommand": "query", "database": "shop", **ORDERS}}),
        ("read_skill", {"name": "tax-forms", "foo": 1}, {"read_skill": {"name": "handbook__tax_forms"}}),
        ("shop__describe_table", {"table": "orders", "foo": 1},
         {"database": {"subcommand": "discover", "database": "shop", "table": "orders"}}),
        ("handbook__tax_forms", {"file": "SKIL.md"},
         {"read_skill": {"name": "handbook__tax_forms", "file": "SKILL.md"}}),
    ],
)  # fmt: skip
def test_the_proposed_call_is_one_of_the_kind(
    app: App, tool: str, arguments: dict[str, Any], proposed: dict[str, Any]
) -> None:
    error = call(app, "/mcp/kinds", tool, arguments)["structuredContent"]["error"]
    assert error["next_call"] == proposed
    for name, given in proposed.items():
        assert code(call(app, "/mcp/kinds", name, given)) == "OK"


def test_kinds_are_switched_one_by_one(catalog: Path, app: App) -> None:
    off = app_of(catalog, TOOLFOLD_DATABASE_MODE="off", TOOLFOLD_SKILL_MODE="inline")
    assert names(off, "/mcp/kinds") == ["connector", "request_tools", "handbook__tax_forms"]
    assert names(off, "/mcp") == ["TOOL_LIST", "TOOL_GET", "TOOL_CALL", "handbook__tax_forms"]
    for name, arguments in (("shop__query", {"sql": "SELECT 1"}), ("TOOL_CALL", {"tool_name": "shop__list_tables"})):
        assert code(call(off, "/mcp", name, arguments)) == "TOOL_NOT_EXPOSED"
    assert "shop" not in {one["id"] for one in call(off, "/mcp", "TOOL_LIST", {})["structuredContent"]["sources"]}


def test_the_text_of_an_inline_skill_is_in_the_instructions_where_it_fits(
    catalog: Path, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    inline = app_of(catalog, TOOLFOLD_SKILL_MODE="inline")
    told = [one.server.tools_of("kinds").instructions() for one in (app, inline)]
    assert told[1] == f"{told[0]}\n\nhandbook__tax_forms:\n# Tax forms\nUse form A."
    monkeypatch.setattr(profiles, "MAX_CHARACTERS", len(told[1]) - 1)
    assert inline.server.tools_of("kinds").instructions() == told[0]


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
