"""The command that installs an extra."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolfold import extras
from toolfold.cli import environment


def test_command_is_that_of_this_python(monkeypatch: pytest.MonkeyPatch) -> None:  # N4
    command = "pip install 'toolfold[build]'"
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: None)
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


@pytest.mark.parametrize(
    "command",
    ["source add http rain http://127.0.0.1:9/rain?town=Oslo --yes", "source list", "catalog compile", "catalog lint"],
)
def test_what_builds_a_catalog_needs_the_extra_build_alone(command: str, tmp_path: Path) -> None:
    (tmp_path / "catalog/one").mkdir(parents=True)
    tool = "tools: [{name: rain, summary: Millimetres of rain in a town}]"
    (tmp_path / "catalog/one/source.yaml").write_text(f"kind: http_api\nbase_url: https://rain.example\n{tool}\n")
    others = [package for package, extra in environment.EXTRAS.items() if extra != "build"]
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({others})); from toolfold.cli import main; sys.exit(main())"
    )
    variables = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "TOOLFOLD_ALLOWED_HOSTS": ""}
    done = subprocess.run(
        [sys.executable, "-c", program, *command.split()],
        cwd=tmp_path, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "This needs" in done.stderr) == (0, False), done.stderr
