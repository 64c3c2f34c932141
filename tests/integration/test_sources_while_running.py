"""Sources and settings that change while a server of one user runs."""

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import anyio
import pytest
import requests
from mcp import Client

from tests.support import processes
from tests.support.mcp_requests import message
from tests.support.mcp_sources import PROGRAM
from tests.support.processes import sdk_client
from tests.support.waiting import wait_until
from toolfold.build.compiler import compile_folder
from toolfold.catalog.allow_list import AllowList
from toolfold.catalog.store import FileStore
from toolfold.cli import main
from toolfold.settings import Settings
from toolfold.transports.reloading import Reloading, SettingsSource

PATIENCE_S = 20
"""Far longer than a change takes to be seen; only a failing test waits so long."""


def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config" / "toolfold" / "settings.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def add_source(tmp_path: Path) -> None:
    """Add a source by the command that a user types in another terminal."""
    with mock.patch.dict(os.environ, environment(tmp_path)), contextlib.chdir(tmp_path):
        assert main(["source", "add", "mcp", "own", "--yes", "--", *PROGRAM]) == 0


async def next_change(client: Client, seen: list[str], change: Callable[[], None], *, is_stateless: bool) -> None:
    """Change something, and wait for what the server sends about it."""
    with anyio.fail_after(PATIENCE_S):
        if is_stateless:
            async with client.listen(tools_list_changed=True) as subscription:
                assert subscription.honored.tools_list_changed
                await anyio.to_thread.run_sync(change)
                await anext(aiter(subscription))
            return
        await anyio.to_thread.run_sync(change)
        while "notifications/tools/list_changed" not in "".join(seen):
            await anyio.sleep(0.05)


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
def test_a_client_over_stdio_is_told_of_a_source_that_is_added(tmp_path: Path, mode: Literal["legacy", "auto"]) -> None:
    seen: list[str] = []

    async def on_message(message: Any) -> None:
        seen.append(str(message))

    async def played() -> str:
        async with sdk_client(environment(tmp_path), mode=mode, message_handler=on_message) as client:
            await next_change(client, seen, lambda: add_source(tmp_path), is_stateless=mode == "auto")
            listed = await client.call_tool("TOOL_LIST", {})
            return str(listed.content[0].text)

    assert "own__" in anyio.run(played)


def tools_at(url: str) -> list[str]:
    headers = {"accept": "application/json, text/event-stream"}
    listed = requests.post(url, json=message("tools/list"), headers=headers, timeout=PATIENCE_S).json()
    return [tool["name"] for tool in listed["result"]["tools"]]


def test_serve_answers_by_the_settings_of_now(tmp_path: Path) -> None:
    file = write(tmp_path, "")
    with processes.serving("serve", **environment(tmp_path)) as (_, url):
        before = tools_at(url)
        file.write_text('mode = "lazy"\n')
        wait_until(lambda: tools_at(url) != before)


def reloading(path: Path, used: list[str]) -> Reloading:
    """Return what uses changed settings, after the use of those of the start."""
    settings = Settings.from_environment()
    source = SettingsSource(Settings.from_environment, str(path), ["TOOLFOLD_MODE"])
    used.append(settings.mode)
    return Reloading(settings, source, lambda changed: used.append(changed.mode))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('mode = "lazy"\n', "lazy"),
        ("", ""),
        ('mode = "cod\n', "direct"),
        ('mode = "unknown"\n', "direct"),
        ("mode = " + "[" * 5_000, "direct"),
    ],
    ids=["another value", "no value", "not TOML", "a wrong value", "nested too deep to be read"],
)
def test_settings_that_cannot_be_used_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    monkeypatch.setenv("TOOLFOLD_MODE", "direct")
    path = tmp_path / "settings.toml"
    path.write_text('mode = "direct"\n')
    used: list[str] = []
    current = reloading(path, used)
    current.look()
    path.write_text(text)
    for _ in range(2):
        current.look()
    assert used == ["direct", *([] if expected == "direct" else [expected])]


def test_a_variable_of_the_environment_stays_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFOLD_MODE", "direct")
    path = tmp_path / "settings.toml"
    path.write_text("")
    used: list[str] = []
    source = SettingsSource(Settings.from_environment, str(path))
    current = Reloading(Settings.from_environment(), source, lambda settings: used.append(settings.mode))
    path.write_text('mode = "lazy"\n')
    current.look()
    assert used == ["direct"]


def test_a_source_that_is_removed_may_keep_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        tool = "tools: [{name: rain, summary: Millimetres of rain in a town}]"
        (tmp_path / name).mkdir()
        source = f"kind: http_api\nbase_url: http://127.0.0.1:9\nauth: {{bearer: true}}\n{tool}\n"
        (tmp_path / name / "source.yaml").write_text(source)
        monkeypatch.setenv(f"TOOLFOLD_SOURCE_{name.upper()}_KEY", "key-0123456789")
    catalog = tmp_path / "catalog.json"
    catalog.write_text(compile_folder(tmp_path))
    monkeypatch.setenv("TOOLFOLD_CATALOG", str(catalog))
    monkeypatch.setenv("TOOLFOLD_ALLOWED_HOSTS", "127.0.0.1:9")

    used: list[list[str]] = []

    def checked(settings: Settings) -> None:
        loaded = FileStore(str(catalog))()
        AllowList(settings).check_all(loaded.sources)
        used.append([source.id for source in loaded.sources])

    current = Reloading(Settings.from_environment(), SettingsSource(Settings.from_environment), checked)
    shutil.rmtree(tmp_path / "two")
    catalog.write_text(compile_folder(tmp_path))
    current.look()
    assert used == [["one"]]
