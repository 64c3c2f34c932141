"""Calls that wait for a person, on the page: real approvals in SQLite, and a real source."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.approvals import ARGUMENTS, CONFIRMED, TOOL, World, by_meta_tool, reply
from tests.support.explorer import ask, make_page
from tests.support.upstream import Upstream
from tests.unit.explorer.test_views import EXAMPLES, keys_of
from toolfold.cli.entry_point import main
from toolfold.execution import approval
from toolfold.explorer.router import LocalPage

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


def test_a_denied_call_is_refused(page: Page) -> None:
    world, router = page
    token = world.token()
    assert decide(router, waiting(router)[0]["id"], False)["state"] == "denied"
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0] == "APPROVAL_DENIED"
    assert world.sent == 0


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


def test_a_used_approval_is_reported(page: Page) -> None:
    world, router = page
    token = world.token()
    [call] = waiting(router)
    decide(router, call["id"], True)
    by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})
    assert decide(router, call["id"], False, 409)["error"]["message"] == "This call was used already."


def test_expired_calls_are_gone_and_cannot_be_approved(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    world, router = page
    world.token()
    [call] = waiting(router)
    router._explorer.approval_desk._now = lambda: 1e11
    assert waiting(router) == []
    assert "expired" in decide(router, call["id"], True, 409)["error"]["message"]


def test_an_unknown_id_is_404(page: Page) -> None:
    assert decide(page[1], "0" * 16, True, 404)["error"]["code"] == "APPROVAL_NOT_FOUND"


def test_all_of_the_arguments_are_shown_exactly(page: Page) -> None:
    world, router = page
    harbour = "B\u202e\u200b\n" + "x" * 20_000
    world.token(TOOL, {"harbour": harbour, "days": 12345678901234567890})
    [call] = waiting(router)
    assert call["arguments_text"]["days"] == "12345678901234567890"
    shown = call["arguments_text"]["harbour"]
    assert json.loads(shown) == harbour
    assert "\u202e\u200b\\n" in shown


def test_a_changed_record_is_shown_as_changed_and_approves_no_other_call(page: Page, tmp_path: Path) -> None:
    world, router = page
    token = world.token()
    with sqlite3.connect(tmp_path / "cache" / "approvals.sqlite") as connection:
        connection.execute("UPDATE entries SET value = CAST(replace(value, 'Bergen', 'Tromso') AS BLOB)")
    connection.close()
    [call] = waiting(router)
    assert json.loads(call["arguments_text"]["harbour"]) == "Tromso"
    decide(router, call["id"], True)
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0] != "OK"
    assert by_meta_tool(world, TOOL, {**ARGUMENTS, "harbour": "Tromso"}, {"approval_token": token})[0] != "OK"
    assert world.sent == 0


@pytest.mark.parametrize("damage", ["'{'", "'null'", "x'ff'", '\'{"state": "requested"}\'', "7", "NULL"])
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
