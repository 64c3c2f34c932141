"""The mode kinds with a real database and real skills beside an API."""

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.exposure import app_of, call, code, listed, names
from toolfold.app import App
from toolfold.cli.entry_point import main

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
        ("database", {"subcommand": "list_tables", "contains": "nothing"}, "[]"),
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
