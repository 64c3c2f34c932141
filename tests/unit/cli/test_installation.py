"""The command that installs an extra, by how toolfold was installed."""

import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from toolfold import extras


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'toolfold[build]'"),
        (
            {"url": "file:///home/me/my%20toolfold", "dir_info": {"editable": True}},
            "pip install -e '/home/me/my toolfold[build]'",
        ),
        ({"url": "file:///home/me/toolfold", "dir_info": {}}, "pip install '/home/me/toolfold[build]'"),
        (
            {"url": "https://x.example/toolfold-1-py3-none-any.whl", "archive_info": {}},
            "pip install 'toolfold[build] @ https://x.example/toolfold-1-py3-none-any.whl'",
        ),
        (
            {"url": "https://git.example/t.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip install 'toolfold[build] @ git+https://git.example/t.git@abc'",
        ),
    ],
)
def test_command_uses_what_is_installed(
    monkeypatch: pytest.MonkeyPatch, origin: dict[str, Any] | None, command: str
) -> None:  # N4
    class Distribution:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: Distribution())
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert extras.install_command("build") == command
    monkeypatch.delenv("VIRTUAL_ENV")
    assert extras.install_command("build") == f"{sys.executable} -m {command}"


def test_checkout_that_is_not_installed_uses_make(monkeypatch: pytest.MonkeyPatch) -> None:  # N4
    def fail(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", fail)
    assert extras.install_command("build") == f"cd {Path.cwd()} && make .venv/.dev"
    monkeypatch.setattr(extras, "__file__", "/site-packages/toolfold/extras.py")
    assert extras.install_command("aws").endswith("pip install 'toolfold[aws]'")
