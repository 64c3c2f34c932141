"""Approvals in their stores, decisions of a person, and the audit log."""

import json
import logging
import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support import aws_services
from tests.support.approvals import ARGUMENTS, TOOL, World, by_meta_tool
from tests.support.threads import run_concurrently
from toolfold.cli.entry_point import main
from toolfold.execution.approval_store import approval_id, record_key

SECRET = "s" * 40
TABLE = "approvals"


@pytest.fixture
def cache(tmp_path: Path) -> str:
    return str(tmp_path / "cache" / "responses.sqlite")


@pytest.fixture
def table(on_moto: None) -> Iterator[Any]:
    """A client; the table exists."""
    with aws_services.table(TABLE) as client:
        yield client


def run(world: World, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    return main(words)


def test_table_redeems_an_approval_once_for_several_environments(make_world: Callable[..., World], table: Any) -> None:
    worlds = [make_world(CACHE=f"dynamodb://{TABLE}", APPROVAL_SECRET=SECRET, SECRET_TIMEOUT_S="30") for _ in range(2)]
    beside = {"approval_token": worlds[0].token()}
    codes: list[str] = []

    def call(number: int) -> None:
        codes.append(by_meta_tool(worlds[number % 2], TOOL, ARGUMENTS, beside)[0])

    run_concurrently(partial(call, number) for number in range(16))
    assert codes.count("OK") == 1
    assert worlds[0].sent == 1
    items = [item for item in table.scan(TableName=TABLE)["Items"] if item["pk"]["S"].startswith("approval/")]
    [item] = [item for item in items if b"redeemed" in item["v"]["B"]]
    assert int(item["expires_at"]["N"]) > 0
    assert b"Bergen" not in b"".join(item["v"]["B"] for item in items)


def test_table_that_is_gone_refuses_every_call(
    make_world: Callable[..., World], table: Any, caplog: pytest.LogCaptureFixture
) -> None:
    world = make_world(CACHE=f"dynamodb://{TABLE}", APPROVAL_SECRET=SECRET, SECRET_TIMEOUT_S="30")
    token = world.token()
    broken = make_world(CACHE="dynamodb://no-such-table", APPROVAL_SECRET=SECRET, SECRET_TIMEOUT_S="30")
    for beside in ({}, {"approval_token": token}):
        assert by_meta_tool(broken, TOOL, ARGUMENTS, beside)[0] == "APPROVAL_UNAVAILABLE"
    assert world.sent == 0
    assert "approvals unavailable: ResourceNotFoundException" in caplog.text


@pytest.mark.parametrize("secret", ["", "arn:aws:secretsmanager:us-east-1:123456789012:secret:none-AbCdEf"])
def test_without_a_secret_every_call_is_refused(
    make_world: Callable[..., World], table: Any, caplog: pytest.LogCaptureFixture, secret: str
) -> None:
    world = make_world(CACHE=f"dynamodb://{TABLE}", APPROVAL_SECRET=secret, SECRET_TIMEOUT_S="30")
    assert by_meta_tool(world, TOOL, ARGUMENTS, {})[0] == "APPROVAL_UNAVAILABLE"
    assert "TOOLFOLD_APPROVAL_SECRET" in caplog.text
    assert by_meta_tool(world, "HIGH_WATER", {}, {})[0] != "APPROVAL_UNAVAILABLE"
    assert world.sent == 0


def test_secret_is_read_from_aws(make_world: Callable[..., World], table: Any) -> None:
    secrets = aws_services.client_here("secretsmanager")
    arn = secrets.create_secret(Name="approval", SecretString=SECRET)["ARN"]
    try:
        world = make_world(CACHE=f"dynamodb://{TABLE}", APPROVAL_SECRET=arn, SECRET_TIMEOUT_S="30")
        same = make_world(CACHE=f"dynamodb://{TABLE}", APPROVAL_SECRET=SECRET, SECRET_TIMEOUT_S="30")
        assert by_meta_tool(same, TOOL, ARGUMENTS, {"approval_token": world.token()})[0] == "OK"
    finally:
        secrets.delete_secret(SecretId=arn, ForceDeleteWithoutRecovery=True)


def test_person_approves_or_denies_once(
    make_world: Callable[..., World], cache: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world = make_world(CACHE=cache, APPROVE="human")
    token = world.token()
    assert token.isalnum()  # no option of a command
    for unknown in ("", "Ab" * 20):
        assert run(world, monkeypatch, "approve", unknown, "--yes") == 1
        assert "token" in capsys.readouterr().err
    assert run(world, monkeypatch, "approve", token) == 1
    assert "There is no terminal for the question" in capsys.readouterr().err
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0] == "APPROVAL_PENDING"
    assert run(world, monkeypatch, "approve", token, "--yes") == 0
    shown = capsys.readouterr()
    for text in (TOOL, '"Bergen"', "notify", "not known", "expires", "It changes or deletes data"):
        assert text in shown.err
    assert run(world, monkeypatch, "approve", token, "--yes") == 1
    assert by_meta_tool(world, TOOL, {**ARGUMENTS, "days": 9}, {"approval_token": token})[0] == "APPROVAL_REQUIRED"
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0] == "OK"
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0] == "APPROVAL_REQUIRED"
    other = world.token()
    assert run(world, monkeypatch, "approve", other, "--deny") == 0
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": other})[0] == "APPROVAL_DENIED"
    assert world.sent == 1


def test_approval_written_without_the_secret_is_none(make_world: Callable[..., World], cache: str) -> None:
    world = make_world(CACHE=cache, APPROVE="human")
    token = world.token()
    approvals = world.app.executor.services.approvals
    key = record_key(approval_id(approvals._secret(), token))
    stored = approvals._records.run(lambda store: store.get(key)) or b""
    forged = stored.replace(b'"requested"', b'"approved"')
    assert approvals._records.run(lambda store: store.replace(key, stored, forged))
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0] == "APPROVAL_PENDING"
    assert world.sent == 0


def test_generated_secret_is_for_the_user_alone(make_world: Callable[..., World], cache: str) -> None:
    world = make_world(CACHE=cache)
    token = world.token()
    path = Path(cache).with_name("approvals.secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0] == "APPROVAL_UNAVAILABLE"
    assert world.sent == 0


def test_approvals_are_beside_a_cache_that_is_named_from_the_home(
    make_world: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    make_world(CACHE="~/own/responses.sqlite").token()
    assert {path.name for path in (tmp_path / "own").iterdir()} >= {"approvals.sqlite", "approvals.secret"}


@pytest.mark.slow
@pytest.mark.parametrize(("action", "sent"), [("accept", 1), ("decline", 0), ("cancel", 0)])
def test_client_of_the_sdk_asks_its_user(make_world: Callable[..., World], action: str, sent: int) -> None:
    import anyio
    from mcp import Client
    from mcp_types import ElicitResult

    world = make_world(CACHE="memory")
    questions: list[str] = []

    async def answer(_context: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action=action, content={"approve": True} if action == "accept" else None)

    async def call() -> Any:
        async with Client(world.local_url(), elicitation_callback=answer) as client:
            return await client.call_tool("TOOL_CALL_WRITE", {"tool_name": TOOL, "arguments": ARGUMENTS})

    result = anyio.run(call)
    assert (len(questions), world.sent, result.is_error) == (1, sent, not sent)
    assert 'harbour="Bergen"' in questions[0]


class TestAuditFile:
    def lines(self, path: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text().splitlines() if line][1:]

    def test_each_call_has_a_line_without_arguments_and_tokens(
        self, make_world: Callable[..., World], tmp_path: Path
    ) -> None:
        path = tmp_path / "audit.jsonl"
        world = make_world(CACHE="memory", AUDIT_FILE=str(path))
        token = world.token()
        by_meta_tool(world, TOOL, {"days": "3", "harbour": "Bergen"}, {"approval_token": token}, caller="")
        by_meta_tool(world, TOOL, {"harbour": 1, "days": "x"}, {}, caller="someone")
        first, second, third = self.lines(path)
        assert [line["code"] for line in (first, second, third)] == ["APPROVAL_REQUIRED", "OK", "INVALID_ARGUMENTS"]
        assert first["arguments"] == second["arguments"] != third["arguments"]
        assert first["approval"] == second["approval"] != ""
        assert (third["principal"], third["approval"], third["effect"]) == ("someone", "", "destructive")
        assert list(first) == [
            "time", "kind", "principal", "profile", "tool", "effect", "arguments", "code", "approval"
        ]  # fmt: skip
        assert token not in path.read_text()
        assert "Bergen" not in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_key_of_its_hashes_is_in_a_folder_of_the_user_where_the_cache_is_a_table(
        self, make_world: Callable[..., World], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "of-user"))
        monkeypatch.chdir(tmp_path)
        world = make_world(CACHE="dynamodb://table", AUDIT_FILE=str(tmp_path / "audit.jsonl"))
        by_meta_tool(world, TOOL, ARGUMENTS, {})
        assert not list(tmp_path.glob("dynamodb*"))

    @pytest.mark.parametrize("content", [b"\n", b'{"kind": "audit-log"}\n'])
    def test_file_of_the_user_stays_as_it_is(
        self,
        make_world: Callable[..., World],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        content: bytes,
    ) -> None:
        path = tmp_path / "notes.txt"
        path.write_bytes(content)
        world = make_world(CACHE="memory", AUDIT_FILE=str(path))
        assert run(world, monkeypatch, "call", TOOL, "harbour=Bergen") == 1
        assert "TOOLFOLD_AUDIT_FILE cannot be used" in capsys.readouterr().err
        by_meta_tool(world, TOOL, ARGUMENTS, {})
        assert path.read_bytes() == content

    def test_full_disk_stops_no_call_and_lost_lines_are_counted(
        self,
        make_world: Callable[..., World],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        path = tmp_path / "audit.jsonl"
        world = make_world(CACHE="memory", AUDIT_FILE=str(path))
        world.token()
        write = os.write
        with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
            patch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:20]))
            token = world.token()
            assert by_meta_tool(world, TOOL, ARGUMENTS, {"approval_token": token})[0] == "OK"
        assert caplog.text.count("TOOLFOLD_AUDIT_FILE is not written, calls go on: No space left on device") == 1
        world.token()
        assert json.loads(path.read_text().splitlines()[-1])["lost"] == 2
