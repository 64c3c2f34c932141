"""The build hook of packages: the page is built where it is missing, or the build warns that it has none."""

from pathlib import Path

import pytest

import hatch_build


class App:
    """What hatch gives to hooks to print."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, message: str) -> None:
        self.warnings.append(message)


def warnings(root: Path, version: str = "standard") -> list[str]:
    """What a build of ``root`` warns of."""
    app = App()
    hook = hatch_build.PageBuildHook(str(root), {}, None, None, str(root), "wheel", app)  # type: ignore[arg-type]
    hook.initialize(version, {})
    return app.warnings


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


def test_without_npm_it_warns_and_builds_the_rest(checkout: Path) -> None:
    [warning] = warnings(checkout)
    assert warning.endswith("npm (Node.js 20 or newer) is missing.")


def test_it_is_built_with_npm(checkout: Path) -> None:
    log = checkout / "log"
    npm(checkout / "bin", f'echo "$@" >> {log}')
    assert not warnings(checkout)
    assert log.read_text().splitlines() == ["ci --loglevel=error", "run --silent build"]


def test_a_failure_of_npm_is_named(checkout: Path) -> None:
    npm(checkout / "bin", "echo no network; exit 1")
    [warning] = warnings(checkout)
    assert warning.endswith("npm ci failed.\nno network")
