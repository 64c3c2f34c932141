"""The build hook of packages: the page is built where it is missing, or the build stops with a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hatch_build


class Stopped(Exception):
    """The build was stopped."""


class App:
    """What hatch gives to hooks to end a build."""

    def abort(self, message: str) -> None:
        raise Stopped(message)


def hook(root: Path) -> hatch_build.PageBuildHook:
    return hatch_build.PageBuildHook(str(root), {}, None, None, str(root), "wheel", App())  # type: ignore[arg-type]


def npm(folder: Path, script: str) -> None:
    """Make a program npm that does what ``script`` says."""
    folder.mkdir()
    (folder / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "npm").chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "web").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path


def test_without_npm_it_stops_with_both_ways_out(checkout: Path) -> None:
    with pytest.raises(Stopped) as stopped:
        hook(checkout).initialize("standard", {})
    message = str(stopped.value)
    assert "npm (Node.js 20 or newer) is missing" in message
    assert "`make ui`" in message
    assert "HATCH_BUILD_NO_HOOKS=true" in message
    assert "\n" not in message


def test_an_editable_install_needs_no_page(checkout: Path) -> None:
    hook(checkout).initialize("editable", {})


def test_a_built_page_is_used(checkout: Path) -> None:
    page = checkout / hatch_build.PAGE
    page.parent.mkdir(parents=True)
    page.write_text("<!doctype html>")
    hook(checkout).initialize("standard", {})


def test_it_is_built_with_npm(checkout: Path) -> None:
    log = checkout / "log"
    npm(checkout / "bin", f'echo "$@" >> {log}')
    hook(checkout).initialize("standard", {})
    assert log.read_text().splitlines() == ["ci --loglevel=error", "run --silent build"]


def test_a_failure_of_npm_is_named(checkout: Path) -> None:
    npm(checkout / "bin", "echo no network; exit 1")
    with pytest.raises(Stopped, match=r"npm ci failed.*\nno network"):
        hook(checkout).initialize("standard", {})


def test_the_project_uses_the_hook() -> None:
    import tomllib

    build: dict[str, Any] = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert "custom" in build["hooks"]
    assert str(hatch_build.PAGE.parent) in build["artifacts"][0]
