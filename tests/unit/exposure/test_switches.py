"""Switches of a profile and of the settings: TOOL_BATCH, TOOL_PIPE, TOOL_SCRIPT, databases and MCP servers."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.exposure import app_of, call, code, compile_profiles, names, rpc
from toolfold.app import App
from toolfold.catalog.contract import is_part
from toolfold.errors import SourceError
from toolfold.exposure.profiles import resolve_profile

PROFILES = """
profiles:
  single: {scripts: false, batch: off, pipe: no}
  careful: {mode: lazy, scripts: false}
  groups: {mode: grouped, batch: false}
  closed: {databases: false, mcp: false}
  opened: {databases: true, mcp: true, scripts: true}
  each: {mode: direct, list_executors: true}
  stands: {mode: kinds, list_executors: true, batch: false}
  default: {pipe: false}
"""

REQUESTS: dict[str, dict[str, Any]] = {
    "TOOL_BATCH": {"calls": [{"tool_name": "SURVEY_HARBOUR"}]},
    "TOOL_PIPE": {"steps": [{"tool_name": "SURVEY_HARBOUR"}]},
    "TOOL_SCRIPT": {"script": "1"},
}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_profiles(tmp_path_factory.mktemp("switches"), PROFILES, "docks")


@pytest.fixture(scope="module")
def app(catalog: Path) -> App:
    return app_of(catalog)


def switched_off(app: App, path: str) -> set[str]:
    """The tools that combine calls and cannot be called, by each of their names."""
    found = set()
    for tool, arguments in REQUESTS.items():
        alias = {"TOOL_BATCH": "afd-batch", "TOOL_PIPE": "afd-pipe", "TOOL_SCRIPT": "execute"}[tool]
        codes = {
            code(call(app, path, tool, arguments)),
            code(call(app, path, tool.lower(), arguments)),
            code(call(app, path, alias, arguments)),
            code(call(app, path, "TOOL_CALL", {"tool_name": tool, "arguments": arguments})),
            code(call(app, path, "TOOL_CALL_WRITE", {"tool_name": tool, "arguments": arguments})),
        }
        if "TOOL_NOT_EXPOSED" in codes:
            assert codes == {"TOOL_NOT_EXPOSED"}
            found.add(tool)
        entry = call(app, path, "TOOL_GET", {"tool_name": tool})["structuredContent"]["tools"][0]
        assert entry.get("callable", True) == (tool not in found)
    return found


@pytest.mark.parametrize(
    ("path", "off"),
    [
        ("/mcp", {"TOOL_PIPE"}),
        ("/mcp/lazy", {"TOOL_PIPE"}),
        ("/mcp/single", {"TOOL_BATCH", "TOOL_PIPE", "TOOL_SCRIPT"}),
        ("/mcp/careful", {"TOOL_SCRIPT"}),
        ("/mcp/groups", {"TOOL_BATCH"}),
        ("/mcp/opened", set()),
    ],
)
def test_a_profile_switches_off_by_every_name(app: App, path: str, off: set[str]) -> None:
    assert switched_off(app, path) == off
    assert not off.intersection(names(app, path))
    instructions = rpc(app, path, "initialize", {"protocolVersion": "2025-11-25"})["result"]["instructions"]
    assert not [tool for tool in off if tool in instructions]
    if path in ("/mcp", "/mcp/opened"):
        assert all(tool in instructions for tool in REQUESTS.keys() - off)


def test_the_others_are_listed_and_named_in_the_error(app: App) -> None:
    assert {"TOOL_BATCH", "TOOL_PIPE"} <= set(names(app, "/mcp/careful"))
    assert "TOOL_PIPE" in names(app, "/mcp/groups")
    assert "TOOL_BATCH" not in names(app, "/mcp/groups")
    error = call(app, "/mcp/careful", "TOOL_SCRIPT", {"script": "1"})["structuredContent"]["error"]
    assert error["message"] == "TOOL_SCRIPT is switched off here; nothing was called."
    assert error["suggestion"].startswith("Use TOOL_BATCH or TOOL_PIPE;")
    error = call(app, "/mcp/single", "TOOL_SCRIPT", {"script": "1"})["structuredContent"]["error"]
    assert error["suggestion"].startswith("Make the calls one after the other, with TOOL_CALL;")


@pytest.mark.parametrize(
    ("path", "listed"),
    [
        ("/mcp/each", ["TOOL_CALL", "TOOL_CALL_WRITE", "TOOL_BATCH", "TOOL_PIPE"]),
        ("/mcp/stands", ["TOOL_CALL", "TOOL_CALL_WRITE", "TOOL_PIPE"]),
        ("/mcp/direct", []),
        ("/mcp/kinds", []),
    ],
)
def test_a_profile_lists_what_calls_any_tool_in_each_mode(app: App, path: str, listed: list[str]) -> None:
    assert [name for name in names(app, path) if name.startswith("TOOL_")] == listed


@pytest.mark.parametrize("path", ["/mcp", "/mcp/direct", "/mcp/opened", "/mcp/careful"])
def test_a_variable_switches_off_for_every_profile(catalog: Path, path: str) -> None:
    assert "TOOL_SCRIPT" in switched_off(app_of(catalog, TOOLFOLD_SCRIPTS="false"), path)


def test_variables_apply_to_a_catalog_without_profiles() -> None:
    app = app_of(TOOLFOLD_SCRIPTS="off", TOOLFOLD_BATCH="no", TOOLFOLD_PIPE="false")
    assert switched_off(app, "/mcp") == REQUESTS.keys()
    assert names(app, "/mcp/lazy")[-1] == "TOOL_CALL"
    assert "several calls" not in rpc(app, "/mcp", "initialize", {})["result"]["instructions"]


def test_switches_of_kinds_and_of_scripts_name_their_origin(app: App, catalog: Path) -> None:
    whole, strict = app.catalog_store(), app_of(catalog, TOOLFOLD_DATABASE_MODE="off").settings
    closed, single = (resolve_profile(whole, name, app.settings) for name in ("closed", "single"))
    assert closed.names_with("off") == {"database", "mcp"}
    assert closed.decisions["database"].origin == "profiles.yaml:6"
    assert closed.decisions["TOOL_SCRIPT"] == ("on", "default")
    assert single.decisions["TOOL_SCRIPT"] == ("off", "profiles.yaml:3")
    assert resolve_profile(whole, "opened", strict).names_with("off") == frozenset()
    assert resolve_profile(whole, "single", strict).names_with("off") - REQUESTS.keys() == {"database"}


@pytest.mark.parametrize(
    ("profile", "problem"),
    [
        ("{scripts: maybe}", "profiles.yaml:3: profiles.one.scripts:"),
        ("{databases: false, kinds: {database: inline}}", "databases contradicts kinds.database; keep one of them"),
        ("{mcp: true, kinds: {mcp: off}}", "mcp contradicts kinds.mcp; keep one of them"),
        ("{script: false}", "profiles.one.script: "),
    ],
)
def test_mistakes_are_named(tmp_path: Path, profile: str, problem: str) -> None:
    with pytest.raises(SourceError) as caught:
        compile_profiles(tmp_path, f"\nprofiles:\n  one: {profile}\n", "tides")
    assert problem in str(caught.value)


@pytest.mark.parametrize("value", [["TOOL_CALL"], "TOOL_SCRIPT", [1], {"TOOL_SCRIPT": True}])
def test_a_damaged_catalog_is_not_used(value: Any) -> None:
    assert is_part("profiles", {"switched_off": ["TOOL_SCRIPT"]})
    assert not is_part("profiles", {"switched_off": value})
