"""Profiles: which tools they list, what they refuse, and how their paths are found."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.exposure import SOURCES, app_of, call, code, compile_profiles, listed, names, rpc
from tests.support.mcp_requests import message, request
from toolfold.app import App, build_app
from toolfold.build import profiles
from toolfold.catalog import search
from toolfold.protocol.http import profile_of
from toolfold.protocol.jsonrpc import parse_message
from toolfold.settings import Settings


def test_conditions_decide_what_a_profile_lists(app: App) -> None:
    shown = names(app, "/mcp/trading")
    whole = app.catalog_store()
    expected = [
        name
        for name in whole
        if (tool := whole.get(name)) is not None
        and tool.category in ("core_stock_apis", "forex")
        and tool.access != "premium"
        and name != "MARKET_STATUS"
    ]
    assert shown == ["SYMBOL_SEARCH", *(name for name in expected if name != "SYMBOL_SEARCH")]


def test_tool_outside_of_a_profile_does_not_exist_there(app: App) -> None:
    for name in ("CPI", "MARKET_STATUS", "CLOSE_HARBOUR"):
        assert code(call(app, "/mcp/trading", "TOOL_CALL", {"tool_name": name})) == "TOOL_NOT_FOUND"
        answer = rpc(app, "/mcp/trading", "tools/call", {"name": name, "arguments": {}})
        assert answer["error"]["code"] == -32602
        entry = call(app, "/mcp/trading", "TOOL_GET", {"tool_name": name})["structuredContent"]["tools"][0]
        assert (entry["found"], entry["error"]["code"]) == (False, "TOOL_NOT_FOUND")
        assert name not in entry["error"]["closest"]
    assert code(call(app, "/mcp", "CPI", {})) == "AUTH_REQUIRED"


def test_listing_and_search_stay_within_a_profile(app: App) -> None:
    whole = call(app, "/mcp/trading", "TOOL_LIST", {})
    shown = set(names(app, "/mcp/trading"))
    assert {entry["name"] for entry in whole["structuredContent"]["tools"]} == shown
    assert whole["structuredContent"]["total"] == len(shown)
    assert set(whole["structuredContent"]["categories"]) == {"core_stock_apis", "forex"}
    for query in ("consumer price index", "close the harbour", "exchange rate", "rsi"):
        found = call(app, "/mcp/trading", "TOOL_LIST", {"query": query, "limit": 50})["structuredContent"]
        assert {entry["name"] for entry in found["tools"]} <= shown


def test_tool_of_another_context_names_the_profile_that_has_it(app: App) -> None:
    for path, tool, context, profile in (
        ("/mcp/prices", "CLOSE_HARBOUR", "harbours", "ports"),
        ("/mcp/ports", "GLOBAL_QUOTE", "markets", "prices"),
    ):
        for name, arguments in ((tool, {}), ("TOOL_CALL", {"tool_name": tool})):
            error = call(app, path, name, arguments)["structuredContent"]["error"]
            assert (error["code"], error["context"], error["profiles"]) == ("CONTEXT_MISMATCH", context, [profile])
            assert f"/mcp/{profile}" in error["suggestion"]
        entry = call(app, path, "TOOL_GET", {"tool_name": tool})["structuredContent"]["tools"][0]
        assert entry["callable"] is False
        listing = call(app, path, "TOOL_LIST", {})["structuredContent"]
        assert tool not in {one["name"] for one in listing["tools"]}
    assert code(call(app, "/mcp/prices", "CPI", {})) == "AUTH_REQUIRED"  # belongs to no context


def test_auto_shows_few_tools_by_themselves_and_pins_the_most_used_of_many(app: App) -> None:
    assert names(app, "/mcp/readers") == ["CONGRESS_TRADES", "POLITICIAN_METADATA"]
    assert names(app, "/mcp/busy") == ["TOOL_LIST", "TOOL_GET", "TOOL_CALL", "GLOBAL_QUOTE", "TIME_SERIES_DAILY"]
    assert names(app, "/mcp/prices")[-1] == "GLOBAL_QUOTE"


def test_groups_that_read_and_groups_that_write_are_apart(app: App) -> None:
    shown = {one["name"]: one for one in listed(app, "/mcp/ports")}
    assert shown["works"]["annotations"] == {"readOnlyHint": True}
    assert shown["works_write"]["annotations"] == {"readOnlyHint": False, "destructiveHint": True}
    assert shown["works"]["inputSchema"]["properties"]["action"]["enum"] == ["SURVEY_HARBOUR"]


def test_executor_that_reads_refuses_tools_that_change_data(app: App) -> None:
    shown = {one["name"]: one["annotations"]["readOnlyHint"] for one in listed(app, "/mcp")}
    assert shown == {"TOOL_LIST": True, "TOOL_GET": True, "TOOL_CALL": True, "TOOL_CALL_WRITE": False}
    arguments = {"tool_name": "CLOSE_HARBOUR", "arguments": {"harbour": "Bergen"}}
    around: list[tuple[str, dict[str, Any]]] = [
        ("TOOL_CALL", arguments),
        ("tool_call", arguments),
        ("TOOL_CALL", {"tool_name": "TOOL_CALL_WRITE", "arguments": arguments}),
        ("TOOL_CALL", {"tool_name": "TOOL_CALL", "arguments": arguments}),
        ("mcp__toolfold__TOOL_CALL", arguments),
    ]
    for modern in (False, True):
        for name, given_arguments in around:
            error = call(app, "/mcp", name, given_arguments, modern=modern)["structuredContent"]["error"]
            assert error["code"] == "WRITE_NOT_ALLOWED", name
            assert error["next_call"] == {"TOOL_CALL_WRITE": arguments}
    wrong = {"tool_name": "CLOSE_HARBOUR", "arguments": {"harbor": "Bergen"}}
    error = call(app, "/mcp", "TOOL_CALL_WRITE", wrong)["structuredContent"]["error"]
    assert (error["code"], list(error["next_call"])) == ("INVALID_ARGUMENTS", ["TOOL_CALL_WRITE"])
    for name, given_arguments in (("TOOL_CALL_WRITE", arguments), ("CLOSE_HARBOUR", arguments["arguments"])):
        assert code(call(app, "/mcp", name, given_arguments)) == "APPROVAL_REQUIRED"


def test_executor_that_reads_passes_no_write_on_to_a_batch(app: App) -> None:
    write = {"tool_name": "CLOSE_HARBOUR", "arguments": {"harbour": "Bergen"}}
    batch = {"tool_name": "TOOL_BATCH", "arguments": {"calls": [{"id": "a", **write}]}}
    results = call(app, "/mcp", "TOOL_CALL", batch)["structuredContent"]["results"]
    assert [result["error"]["code"] for result in results] == ["WRITE_NOT_ALLOWED"]
    results = call(app, "/mcp", "TOOL_CALL_WRITE", batch)["structuredContent"]["results"]
    assert [result["error"]["code"] for result in results] == ["APPROVAL_REQUIRED"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        *((name, "Did you mean trading?") for name in ("tradin", "Trading")),
        ("grouppd", "Did you mean grouped?"),
        *((name, "There are default, ") for name in ("nope", "x", "support")),  # which resemble none
        *((path, "") for path in ("trading/more", "xyzzy", "%74rading", "..", "a b")),
    ],
)
def test_unknown_profile_is_404_with_the_closest_or_all(app: App, path: str, said: str) -> None:
    for method in ("tools/list", "ping", "initialize"):
        response = app.server.handle_http(request(message(method))._replace(path=f"/mcp/{path}"))
        shown = response.body.decode()
        assert (response.status, said in shown) == (404, True)
        assert not said or ("Did you mean" in shown) == said.startswith("Did you mean")


@pytest.mark.parametrize(
    ("path", "profile"),
    [
        ("", ""),
        ("/prod/mcp/", ""),
        ("/mcp/mcp", ""),
        ("/tools", ""),
        ("/prod/mcp/trading/", "trading"),
        ("/mcp/a/b", "a/b"),
    ],
)
def test_profile_is_read_from_the_path(path: str, profile: str) -> None:
    assert profile_of(path) == profile


def test_profile_of_a_process_without_http(catalog: Path) -> None:
    settings = Settings.from_environment(
        {"TOOLFOLD_CATALOG": str(catalog), "TOOLFOLD_ALLOWED_HOSTS": "docks.test,harbour.test"}
    )
    line = parse_message(json.dumps(message("tools/list")).encode())
    assert line is not None
    server = build_app(settings, profile="readers").server
    shown = json.loads(server.handle_message(line))["result"]["tools"]
    assert [one["name"] for one in shown] == ["CONGRESS_TRADES", "POLITICIAN_METADATA"]
    wrong = json.loads(build_app(settings, profile="reader").server.handle_message(line))
    assert wrong["error"]["code"] == -32602
    assert "Did you mean readers?" in wrong["error"]["message"]


def test_profile_is_a_field_of_the_log(app: App) -> None:
    response = app.server.handle_http(request(message("tools/list"))._replace(path="/mcp/trading"))
    assert response.log_fields["profile"] == "trading"
    assert "profile" not in app.server.handle_http(request(message("tools/list"))._replace(path="/mcp")).log_fields


def test_default_profile_restricts_the_path_without_a_name_and_the_ready_made_ones(tmp_path: Path) -> None:
    text = "profiles: {default: {include: {source: tides}, mode: lazy}, wide: {}}\n"
    app = app_of(compile_profiles(tmp_path, text, "docks", "tides"))
    assert "TOOL_BATCH" in names(app, "/mcp")
    for path in ("/mcp", "/mcp/default", "/mcp/direct", "/mcp/individual", "/mcp/grouped", "/mcp/kinds"):
        assert call(app, path, "TOOL_LIST", {})["structuredContent"]["total"] == 1
        assert code(call(app, path, "TOOL_CALL", {"tool_name": "CLOSE_HARBOUR"})) == "TOOL_NOT_FOUND"
    assert call(app, "/mcp/wide", "TOOL_LIST", {})["structuredContent"]["total"] == 3


def test_tool_with_expose_false_is_described_and_not_called(tmp_path: Path) -> None:
    shutil.copytree(SOURCES / "docks", tmp_path / "docks")
    works = tmp_path / "docks" / "works.yaml"
    works.write_text(works.read_text().replace("- name: CLOSE_HARBOUR\n", "- name: CLOSE_HARBOUR\n    expose: false\n"))
    app = app_of(compile_profiles(tmp_path, "profiles: {}\n"))
    for route in ("/mcp", "/mcp/direct", "/mcp/grouped"):
        assert code(call(app, route, "CLOSE_HARBOUR", {})) == "TOOL_NOT_EXPOSED"
        both = ["CLOSE_HARBOUR", "SURVEY_HARBOUR"]
        entry = call(app, route, "TOOL_GET", {"tool_name": both})["structuredContent"]["tools"]
        assert [one["callable"] for one in entry] == [False, True]
        assert call(app, route, "TOOL_LIST", {})["structuredContent"]["total"] == 1
    assert "CLOSE_HARBOUR" not in json.dumps([one["inputSchema"] for one in listed(app, "/mcp/grouped")])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("profiles: {Trading: {}}", "profiles.Trading: names have small letters"),
        ("profiles: {a: {mode: groups}}", "profiles.a.mode: must be 'progressive', 'lazy', 'grouped'"),
        ("profiles: {a: {mode: groups}}", "'auto' or 'research', not 'groups'"),
        ("profiles: {a: {mod: direct}}", "profiles.a.mod: there is no such key. Did you mean mode?"),
        (
            "profiles: {a: {include: {categories: forex}}}",
            "categories: there is no such key. Did you mean category?",
        ),
        ("profiles: {a: {kinds: {mcps: off}}}", "must be 'connector', 'database', 'mcp' or 'skill', not 'mcps'"),
        ("profiles: {a: {include: {category: forx}}}", "there is no category 'forx'. Did you mean forex?"),
        ("profiles: {a: {include: {source: alpha}}}", "there is no source 'alpha'. Did you mean alpha_vantage?"),
        ("profiles: {a: {exclude: {effect: delete}}}", "there is no effect 'delete'. There are read, write, destruc"),
        ("profiles: {a: {pinned: [SMAA]}}", "there is no tool 'SMAA'. Did you mean SMA?"),
        ("profiles: {a: {include: {category: forex}, pinned: [SMA]}}", "SMA is pinned, but a does not list it"),
        ("profiles: {a: {include: {category: forex}, exclude: {source: alpha_vantage}}}", "no tool passes the condi"),
        ("profiles: {a: {context: b}}", "there is no context 'b'. Add it under contexts."),
        ("profiles: {health: {}}", "health is part of another path"),
        ("most_used: [CPPI]", "there is no tool 'CPPI'. Did you mean CPI?"),
        (f"profiles: {{a: {{pinned: [{', '.join(['SMA'] * 21)}]}}}}", "profiles.a.pinned: must have at most 20"),
        ("profiles: 7", "profiles: must be keys and values"),
        ("- a", "profiles.yaml:1: file: must be keys and values, such as contexts, most_used"),
    ],
)
def test_mistakes_in_the_file_are_named_with_their_line(
    compiled: tuple[Path, Any, Any], tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "profiles.yaml").write_text(text)
    problems: list[str] = []
    profiles.compile_profiles(tmp_path, *compiled[1:], problems)
    (found,) = problems  # not what follows from it as well
    assert problem in found
    assert found.startswith(f"{tmp_path}/profiles.yaml:1: ")
    assert found.count("profiles.yaml:1:") == 1


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("", ("", (), {})),
        (
            "{mode: individual, kinds: {mcp: off, skill: legacy}, include: {effect: [write, read]}}",
            ("direct", (), {"mcp": "off", "skill": "inline"}),
        ),
    ],
    ids=["an empty one has the defaults", "values of other systems and of YAML"],
)
def test_profile_is_read_from_the_catalog(tmp_path: Path, profile: str, expected: tuple[Any, ...]) -> None:
    path = compile_profiles(tmp_path, f"profiles:\n  a: {profile}\n", "docks")
    found = app_of(path).catalog_store().profile("a")
    assert (found.mode, found.pinned, found.kinds) == expected


@given(st.sets(st.integers(0, 130)))
def test_view_answers_as_its_catalog_does_for_the_same_tools(app: App, chosen: set[int]) -> None:
    whole = app.catalog_store()
    view = whole.part(sorted(chosen), {})
    expected = [whole.summary(at).name for at in sorted(chosen)]
    assert list(view) == expected == [view.summary(at).name for at in view.listed]
    for name in whole:
        assert (view.get(name) is not None) == (view.canonical_name(name) is not None) == (name in expected)
        at = view.position(name)
        assert at == (whole.position(name) if name in expected else None)
    for field in ("category", "access", "effect", "tags", "source"):
        counts = view.counts(field)
        assert counts == {value: len(view.positions(field, value)) for value in counts}
    assert sum(view.counts("category").values()) == len(view) == sum(category.tools for category in view.categories)
    assert view.listing.count("\n") == len(view) + len(view.categories)


@pytest.mark.parametrize("query", ["daily price of a stock", "exchange rate", "inflation", "GLOBAL_QUOTE", "news"])
def test_search_in_a_view_ranks_as_in_the_whole_catalog(app: App, query: str) -> None:
    whole = app.catalog_store()
    chosen = [at for at in range(len(whole)) if at % 3]
    view = whole.part(chosen, {})
    inside = [whole.summary(hit.position).name for hit in search.search(whole, query, frozenset(chosen)).hits]
    assert [view.summary(hit.position).name for hit in search.search(view, query).hits][:10] == inside[:10]
