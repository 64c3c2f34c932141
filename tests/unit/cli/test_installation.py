"""The command that installs an extra."""

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.conftest import KEY
from toolfold import extras
from toolfold.mock_api.server import MockApi


def test_command_is_that_of_this_python(monkeypatch: pytest.MonkeyPatch) -> None:  # N4
    command = "pip install 'toolfold[build]'"
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: "pip")
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    assert extras.install_command("build") == command
    monkeypatch.delenv("VIRTUAL_ENV")
    assert extras.install_command("build") == f"{sys.executable} -m {command}"
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)  # as in the environments of uv and pipx
    assert extras.install_command("build") == f"uv pip install --python {sys.executable} 'toolfold[build]'"


def test_checkout_that_is_not_installed_uses_make(monkeypatch: pytest.MonkeyPatch) -> None:  # N4
    def fail(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", fail)
    assert extras.install_command("build") == f"cd {Path.cwd()} && make .venv/.dev"
    monkeypatch.setattr(extras, "__file__", "/site-packages/toolfold/extras.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: "pip")
    assert extras.install_command("aws").endswith("pip install 'toolfold[aws]'")


def ran(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a process that has imported nothing yet."""
    variables = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "TOOLFOLD_ALLOWED_HOSTS": ""}
    command = [sys.executable, "-c", f"import sys; from toolfold.cli import main\n{program}"]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def without(packages: Iterable[str]) -> str:
    return f"sys.modules.update(dict.fromkeys({sorted(packages)}))\n"


def test_what_builds_a_catalog_needs_the_extra_build_alone(tmp_path: Path) -> None:
    (tmp_path / "catalog/one").mkdir(parents=True)
    tool = "tools: [{name: rain, summary: Millimetres of rain in a town}]"
    (tmp_path / "catalog/one/source.yaml").write_text(f"kind: http_api\nbase_url: https://rain.example\n{tool}\n")
    others = [package for package, extra in extras.EXTRAS.items() if extra != "build"]
    add = "source add http rain http://127.0.0.1:9/rain?town=Oslo --yes"
    commands = [command.split() for command in (add, "source list", "catalog lint")]
    done = ran(f"{without(others)}for command in {commands}:\n    assert main(command) == 0, command", tmp_path)
    assert (done.returncode, "This needs" in done.stderr) == (0, False), done.stderr


def test_doctor_needs_no_extra_and_one_that_is_missing_is_named(tmp_path: Path) -> None:
    program = "import toolfold.cli.doctor; sys.exit(main(['catalog', 'compile']))"
    done = ran(without(extras.EXTRAS) + program, tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(r"This needs (?:pydantic|yaml): .*pip install .*\[build\].*\n", done.stderr)


def test_a_call_imports_the_modules_of_no_other_command_and_rich_for_a_terminal_only(
    tmp_path: Path, mock_api: MockApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLFOLD_SOURCE_ALPHA_VANTAGE_URL", mock_api.url)
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", KEY)
    program = "assert main(['call', 'WTI', '--format', 'csv']) == 0; print(*sys.modules, file=sys.stderr)"
    loaded = set(ran(program, tmp_path).stderr.split())
    of_others = {f"toolfold.cli.{name}" for name in ("cache", "catalog_views", "doctor", "serve", "sources")}
    assert "toolfold.cli.call" in loaded
    assert not (of_others | {"rich", "click.shell_completion"}) & loaded
