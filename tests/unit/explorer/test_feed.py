"""What the page follows: requests through the MCP server, lines of a log, and calls that wait for a person."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from tests.support.approvals import ARGUMENTS, CONFIRMED, TOOL, World, by_meta_tool, reply
from tests.support.catalogs import tool_of
from tests.support.commands import CommandLine
from tests.support.explorer import ask, make_page
from tests.support.mcp_requests import message, request
from tests.support.threads import run_concurrently
from tests.support.upstream import Upstream
from tests.unit.explorer.test_views import EXAMPLES, keys_of
from toolfold.app import App, build_app
from toolfold.cli.entry_point import main
from toolfold.errors import NoData
from toolfold.execution import approval
from toolfold.execution.audit import CallLogFile
from toolfold.execution.call import CallContext, CallResult
from toolfold.explorer.feed import MAX_ENTRIES, CallFeed
from toolfold.explorer.router import LocalPage
from toolfold.settings import Settings

CALL = {"message": "call", "timestamp": "2026-11-23T08:00:01+00:00", "inner_tool": "RSI", "code": "OK", "cache": "miss",
        "upstream_requests": 1, "upstream_ms": 12.5, "wait_ms": 2.0, "quota_used_percent": 40.0}  # fmt: skip
REQUEST = {"message": "request", "timestamp": "2026-11-23T08:00:02+00:00", "tool": "TOOL_LIST", "ms": 3.0,
           "tokens": 300, "tokens_saved": 33_000, "searched": 1, "matched": 0, "profile": "grouped"}  # fmt: skip


@pytest.fixture
def app() -> App:
    return build_app(Settings.from_environment({"TOOLFOLD_CACHE": "off"}))


@pytest.fixture
def feed(app: App) -> CallFeed:
    made = CallFeed()
    made.observe(app)
    return made


def send(app: App, name: str, **arguments: Any) -> None:
    response = app.server.handle_http(request(message("tools/call", {"name": name, "arguments": arguments})))
    assert response.status == 200


def test_a_search_is_a_request_with_its_tokens_and_what_it_saved(app: App, feed: CallFeed) -> None:
    send(app, "TOOL_LIST", query="price of a stock")
    found = feed.snapshot(0)
    [shown] = found["requests"]
    assert (shown["name"], shown["code"], shown["profile"]) == ("TOOL_LIST", "OK", "")
    assert shown["tokens"] > 0
    assert shown["saved"] > 10_000
    assert found["figures"]["figures"]["tokens_per_query"] == shown["tokens"]
    assert found["empty_searches"] == found["running"] == found["calls"] == []


def test_queries_that_found_nothing_are_listed_and_are_in_no_log(
    app: App, feed: CallFeed, caplog: pytest.LogCaptureFixture
) -> None:
    send(app, "TOOL_LIST", query="xqvq zzkz")
    send(app, "TOOL_LIST", query="q" * 3000)
    send(app, "TOOL_LIST", search="wvxq")
    queries = [found["query"] for found in feed.snapshot(0)["empty_searches"]]
    assert queries[0] == "xqvq zzkz"
    assert queries[-1] == "wvxq"
    assert max(map(len, queries)) <= 500
    assert "xqvq" not in caplog.text
    assert feed.snapshot(0)["figures"]["searches"]["found_nothing"] == len(queries)


def test_a_refused_call_is_listed_with_its_code(app: App, feed: CallFeed) -> None:
    send(app, "TOOL_CALL", tool_name="RSI", arguments={"symbol": "IBM"})
    found = feed.snapshot(0)
    [call] = found["calls"]
    assert (call["tool"], call["source"], call["code"]) == ("RSI", "alpha_vantage", "INVALID_ARGUMENTS")
    assert (call["upstream_ms"], call["cache"]) == (None, "")
    assert found["requests"][0]["code"] == "INVALID_ARGUMENTS"
    assert found["figures"]["calls"]["total"] == 0  # as `toolfold stats`: nothing was logged


@contextmanager
def docks(docks_catalog: Path, answer: Callable[[dict[str, str]], Any] = reply) -> Iterator[tuple[World, CallFeed]]:
    with Upstream(answer) as upstream:
        world = World(docks_catalog, upstream, CACHE="memory", APPROVE="agent")
        feed = CallFeed()
        feed.observe(world.app)
        yield world, feed
        world.app.reset()


def test_a_running_call_is_shown_until_it_ends(docks_catalog: Path) -> None:
    arrived, may_end = threading.Event(), threading.Event()

    def answer(query: Mapping[str, str]) -> Any:
        arrived.set()
        may_end.wait(60)
        return reply(dict(query))

    with docks(docks_catalog, answer) as (world, feed):
        token = world.token("SURVEY_HARBOUR", {"harbour": "Oslo"})
        given = {"tool_name": "SURVEY_HARBOUR", "arguments": {"harbour": "Oslo"}, "approval_token": token}
        thread = threading.Thread(target=world.app.server.tools.call, args=("TOOL_CALL", given))
        thread.start()
        assert arrived.wait(60)
        [running] = feed.snapshot(0)["running"]
        may_end.set()
        thread.join(60)
        found = feed.snapshot(0)
    assert (running["tool"], running["source"]) == ("SURVEY_HARBOUR", "docks")
    assert found["running"] == []
    refused, call = found["calls"]
    assert (refused["code"], call["code"], call["cache"]) == ("APPROVAL_REQUIRED", "OK", "miss")
    assert call["ms"] >= call["upstream_ms"] > 0
    assert call["tokens"] == found["requests"][-1]["tokens"] > 0


def test_calls_of_a_batch_are_shown_and_its_tokens_are_not_divided(docks_catalog: Path) -> None:
    with docks(docks_catalog) as (world, feed):
        calls = [{"tool_name": "SURVEY_HARBOUR", "arguments": {"harbour": name}} for name in ("Oslo", "Bergen")]
        world.app.server.tools.call("TOOL_BATCH", {"calls": calls})
        found = feed.snapshot(0)
    assert found["running"] == []
    assert [call["tokens"] for call in found["calls"]] == [None, None]
    assert [shown["name"] for shown in found["requests"]] == ["TOOL_BATCH"]


def test_only_what_is_new_is_answered(app: App, feed: CallFeed) -> None:
    send(app, "TOOL_LIST", query="price")
    first = feed.snapshot(0)
    assert feed.snapshot(first["next"])["requests"] == []
    send(app, "TOOL_LIST", query="news")
    [shown] = feed.snapshot(first["next"])["requests"]
    assert int(shown["id"]) > int(first["requests"][0]["id"])
    assert len(feed.snapshot(10**12)["requests"]) == 2  # a number of an earlier process


def test_the_line_of_a_request_with_its_call_is_shown_as_both() -> None:
    apart, together = CallFeed(), CallFeed()
    for line in (REQUEST, CALL):
        apart.add_line(line)
    together.add_line({**CALL, **REQUEST})
    found = together.snapshot(0)
    assert [len(found[name]) for name in ("requests", "calls")] == [1, 1]
    assert found["figures"] == {**apart.snapshot(0)["figures"], "first": ANY, "last": ANY}


def test_lines_of_a_log_are_shown_with_their_source(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (CALL, REQUEST, {"message": "x"}, {"code": "OK"})))
    feed = CallFeed()
    feed.observe(build_app(Settings.from_environment({"TOOLFOLD_CALL_LOG": str(path)})))
    found = feed.snapshot(0)
    [call], [shown] = found["calls"], found["requests"]
    assert (call["source"], call["ms"], call["upstream_ms"], call["time"]) == (
        "alpha_vantage",
        14.5,
        12.5,
        CALL["timestamp"],
    )
    assert (shown["name"], shown["profile"], shown["saved"]) == ("TOOL_LIST", "grouped", 33_000)
    assert found["limits"] == [{"source": "alpha_vantage", "used_percent": 40.0}]
    assert found["log"] == {"file": str(path), "lines": 4, "problem": "", "is_complete": True}
    assert found["figures"]["upstream"]["median_ms"] == 12.5


def test_figures_of_a_log_are_those_of_the_command(tmp_path: Path, command_line: CommandLine) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(
        "".join(json.dumps({**line, "inner_tool": f"T{at}"}) + "\n" for at in range(30) for line in (CALL, REQUEST))
    )
    expected = json.loads(command_line("stats", "--log", str(path), "--json").out)
    del expected["source"]
    feed = CallFeed()
    feed.observe(build_app(Settings.from_environment({"TOOLFOLD_CALL_LOG": str(path)})))
    assert feed.snapshot(0)["figures"] == expected


def test_the_log_that_this_process_writes_counts_its_calls_once(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    app = build_app(Settings.from_environment({"TOOLFOLD_CALL_LOG": str(path)}))
    feed = CallFeed()
    feed.observe(app)
    result = app.server.tools.call("TOOL_LIST", {"query": "price"})
    line = {"tool": "TOOL_LIST", "ms": 1.25, **result.usage}
    app.call_log.record_request(line)
    found = feed.snapshot(0)
    assert [shown["name"] for shown in found["requests"]] == ["TOOL_LIST"]
    assert (found["figures"]["searches"]["total"], found["log"]["lines"]) == (1, 1)
    CallLogFile(str(path)).record_request(line)  # of another process
    assert feed.snapshot(0)["figures"]["searches"]["total"] == 2


@pytest.mark.parametrize(
    "line",
    [
        {**CALL, "inner_tool": "X" * 100_000, "cache": 7},
        {**CALL, "inner_tool": None, "upstream_ms": "x", "wait_ms": []},
        {**CALL, "timestamp": 5, "quota_used_percent": "9"}, {**CALL, "upstream_ms": 1e999, "quota_used_percent": True},
        {**REQUEST, "tool": "<script>", "tokens": "many", "ms": None}, {**REQUEST, "error": ["X"], "profile": {}},
    ],
)  # fmt: skip
def test_strange_lines_of_a_log_are_shown_as_text_or_left_out(line: Mapping[str, Any], app: App) -> None:
    feed = CallFeed()
    feed.observe(app)
    feed.add_line(line)
    text = json.dumps(feed.snapshot(0), allow_nan=False)
    assert len(text) < 5000


def test_memory_is_bounded(feed: CallFeed) -> None:
    for number in range(3 * MAX_ENTRIES):
        feed.add_line({**CALL, "inner_tool": f"T{number}"})
        feed.add_line(REQUEST)
    found = feed.snapshot(0)
    assert len(found["calls"]) == len(found["requests"]) == MAX_ENTRIES
    assert found["figures"]["calls"]["total"] == 3 * MAX_ENTRIES


def test_many_threads_leave_nothing_running(app: App, feed: CallFeed) -> None:
    catalog = app.catalog_store()
    tool = tool_of(catalog, "RSI")

    def work() -> None:
        for number in range(50):
            call = CallContext(catalog, tool, {})
            call.log.is_counted = True
            feed.before(call)
            if number % 2:
                feed.error(call, NoData("Nothing.", ""))
            else:
                feed.after(call, CallResult("", "text", False, 0, {}))
            feed.snapshot(0)

    run_concurrently([work] * 4)
    found = feed.snapshot(0)
    assert (found["running"], found["figures"]["calls"]["total"]) == ([], 200)
    assert {(call["code"], call["cache"]) for call in found["calls"]} == {("OK", "miss"), ("NO_DATA", "miss")}


def test_a_call_that_ends_in_a_defect_is_not_running_any_more(app: App, feed: CallFeed) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolfold.execution.pipeline._performed", lambda *_: 1 / 0)
        send(app, "TOOL_CALL", tool_name="CPI")
    found = feed.snapshot(0)
    assert ([call["code"] for call in found["calls"]], found["running"]) == (["INTERNAL_ERROR"], [])


JSON_TYPE = (("content-type", "application/json"),)
Page = tuple[World, LocalPage]


@pytest.fixture
def page(docks_catalog: Path, tmp_path: Path) -> Iterator[Page]:
    with Upstream(reply) as upstream:
        world = World(docks_catalog, upstream, APPROVE="human", CACHE=str(tmp_path / "cache" / "cache.sqlite"))
        yield world, make_page(app=world.app)
        world.app.reset()


def waiting(router: LocalPage) -> list[dict[str, Any]]:
    response = ask(router, "/ui/api/approvals")
    assert response.status == 200, response.body
    found = json.loads(response.body)
    assert found["mode"] == "human"
    return list(found["waiting"])


def decide(router: LocalPage, id_: str, approve: bool, status: int = 200) -> Any:
    body = json.dumps({"id": id_, "approve": approve})
    response = ask(router, "/ui/api/approvals", "POST", JSON_TYPE, body)
    assert response.status == status, response.body
    return json.loads(response.body)


def test_an_approved_call_is_performed_once_it_is_repeated(page: Page) -> None:
    world, router = page
    token = world.token()
    [call] = waiting(router)
    listed = {"mode": "human", "waiting": [call], "note": ""}
    assert set(keys_of(listed)) == set(keys_of(EXAMPLES["approvals"]))
    assert token not in str(listed)
    assert (call["tool"], call["source"], call["arguments_text"]["harbour"]) == (TOOL, "docks", '"Bergen"')
    assert call["effect"] == "It changes or deletes data that cannot be restored."
    assert call["arguments_text"]["days"] == "3"
    assert decide(router, call["id"], True) == {"id": call["id"], "state": "approved"}
    assert (waiting(router), world.sent) == ([], 0)
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0] == "OK"
    assert world.sent == 1


@pytest.mark.parametrize("approve", [True, False])
def test_a_call_that_was_decided_at_a_terminal_is_reported(page: Page, approve: bool, capsys: Any) -> None:
    world, router = page
    token = world.token()
    [call] = waiting(router)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in world.environment.items():
            patch.setenv(name, value)
        assert main(["approve", token, "--yes" if approve else "--deny"]) == 0
    error = decide(router, call["id"], True, 409)["error"]
    assert error["code"] == "APPROVAL_NOT_PENDING"
    assert error["message"] == f"This call was {'approved' if approve else 'denied'} already."
    assert waiting(router) == []


def test_a_denied_call_is_refused_and_what_is_used_or_unknown_reported(page: Page) -> None:
    world, router = page
    for approve, code, sent in ((False, "APPROVAL_DENIED", 0), (True, "OK", 1)):
        token = world.token()
        [call] = waiting(router)
        decide(router, call["id"], approve)
        assert (by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0], world.sent) == (code, sent)
    assert decide(router, call["id"], False, 409)["error"]["message"] == "This call was redeemed already."
    assert decide(router, "0" * 16, True, 409)["error"]["code"] == "APPROVAL_NOT_PENDING"


def test_expired_calls_are_gone_and_cannot_be_approved(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    world, router = page
    world.token()
    [call] = waiting(router)
    router._explorer.approval_desk._now = lambda: 1e11
    assert waiting(router) == []
    assert "expired" in decide(router, call["id"], True, 409)["error"]["message"]


def test_all_of_the_arguments_are_shown_exactly(page: Page) -> None:
    world, router = page
    harbour = "B\u202e\u200b\n" + "x" * 20_000
    world.token(TOOL, {"harbour": harbour, "days": 12345678901234567890})
    [call] = waiting(router)
    assert call["arguments_text"]["days"] == "12345678901234567890"
    shown = call["arguments_text"]["harbour"]
    assert json.loads(shown) == harbour
    assert "\u202e\u200b\\n" in shown


def test_a_changed_record_is_not_shown_and_cannot_be_approved(page: Page, tmp_path: Path) -> None:
    world, router = page
    token = world.token()
    [call] = waiting(router)
    with sqlite3.connect(tmp_path / "cache" / "approvals.sqlite") as connection:
        connection.execute("UPDATE entries SET value = CAST(replace(value, 'Bergen', 'Tromso') AS BLOB)")
    connection.close()
    assert waiting(router) == []
    assert "was changed" in decide(router, call["id"], True, 409)["error"]["message"]
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0] != "OK"
    assert by_meta_tool(world, TOOL, {**ARGUMENTS, "harbour": "Tromso"}, {"approval_token": token})[0] != "OK"
    assert world.sent == 0


@pytest.mark.parametrize(
    "damage",
    [
        "'{'", "'null'", "x'ff'", '\'{"state": "requested"}\'', "7", "NULL",
        '\'{"state": "requested", "expires_at": "x", "mac": 1, "terms": [1, 2, {}, "d", "e", 7]}\'',
        '\'{"state": ["requested"], "expires_at": 1, "mac": "", "terms": null}\'',
    ],
)  # fmt: skip
def test_damaged_records_are_left_out(page: Page, damage: str, tmp_path: Path) -> None:
    world, router = page
    world.token(CONFIRMED, {"harbour": "Oslo"})
    with sqlite3.connect(tmp_path / "cache" / "approvals.sqlite") as connection:
        connection.execute(f"UPDATE entries SET value = CAST({damage} AS BLOB)")
    connection.close()
    world.token()
    assert [call["tool"] for call in waiting(router)] == [TOOL]


def test_many_waiting_calls_are_listed_up_to_a_limit(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    world, router = page
    monkeypatch.setattr(approval, "MAX_LISTED", 3)
    for number in range(5):
        world.token(TOOL, {"harbour": f"H{number}", "days": 1})
    assert len(waiting(router)) == 3


@pytest.mark.parametrize("mode", ["agent", "deny"])
def test_other_modes_list_nothing_and_open_no_store(mode: str, docks_catalog: Path, tmp_path: Path) -> None:
    with Upstream(reply) as upstream:
        world = World(docks_catalog, upstream, APPROVE=mode, CACHE=str(tmp_path / "cache" / "cache.sqlite"))
        router = make_page(app=world.app)
        found = json.loads(ask(router, "/ui/api/approvals").body)
        assert found == {"mode": mode, "waiting": [], "note": ""}
        assert decide(router, "0" * 16, True, 409)["error"]["code"] == "APPROVAL_NOT_PENDING"
    assert not (tmp_path / "cache").exists()


def test_approvals_in_dynamodb_are_not_listed_and_the_reason_is_given(docks_catalog: Path) -> None:
    with Upstream(reply) as upstream:
        world = World(docks_catalog, upstream, APPROVE="human", CACHE="dynamodb://table", APPROVAL_SECRET="s" * 40)
        found = json.loads(ask(make_page(app=world.app), "/ui/api/approvals").body)
    assert found["waiting"] == []
    assert "toolfold approve TOKEN" in found["note"]


def test_a_store_that_cannot_be_opened_is_reported_without_its_path(page: Page, tmp_path: Path) -> None:
    _, router = page
    (tmp_path / "cache").write_text("in the way")
    response = ask(router, "/ui/api/approvals")
    assert response.status == 503
    assert json.loads(response.body)["error"]["code"] == "APPROVAL_UNAVAILABLE"
    assert str(tmp_path) not in response.body.decode()
