"""The Makefiles of the layers, with and without uv on PATH."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

RECORD = '#!/bin/sh\necho "$(basename "$0") $@" >> "{log}"\n'


@pytest.mark.parametrize(
    ("programs", "platform", "installed_by"),
    [
        (["python3.13"], "", "python3.13 -m pip install "),
        (["python3.13", "uv"], "", "uv pip install --python python3.13 --python-platform aarch64-manylinux_2_34 "),
        (["python3.13"], "host", "python3.13 -m pip install "),
    ],
)
def test_packages_are_installed_with_the_hashes_by_uv_or_pip(  # N13
    tmp_path: Path, programs: list[str], platform: str, installed_by: str
) -> None:
    binaries, log = tmp_path / "bin", tmp_path / "log"
    binaries.mkdir()
    for program in programs:
        (binaries / program).write_text(RECORD.format(log=log))
        (binaries / program).chmod(0o755)
    for tool in ("make", "rm", "sh", "basename"):
        (binaries / tool).symlink_to(shutil.which(tool) or "")
    environment = {"PATH": str(binaries), "ARTIFACTS_DIR": str(tmp_path / "layer")}
    if platform:
        environment["TOOLFOLD_PLATFORM"] = platform
    command = ["make", "-f", "layers/dependencies/Makefile", "build-DependenciesLayer"]
    subprocess.run(command, env=environment, capture_output=True, check=True)
    install, compiled = log.read_text().splitlines()
    assert install.startswith(installed_by)
    for option in ("--only-binary :all:", "--require-hashes", "--no-deps", "-r requirements/lambda.txt"):
        assert option in install
    # pip takes the tags of all platforms whose wheels fit.
    is_cross = programs == ["python3.13"] and not platform
    assert ("--platform manylinux_2_34_aarch64" in install) == is_cross
    assert ("--platform manylinux_2_24_aarch64" in install) == is_cross
    assert "compileall" in compiled


def test_the_publisher_layer_has_the_compiler_and_the_sources_without_the_command_line(tmp_path: Path) -> None:
    binaries, log, layer = tmp_path / "bin", tmp_path / "log", tmp_path / "layer"
    binaries.mkdir()
    (binaries / "python3.13").write_text(RECORD.format(log=log))
    (binaries / "python3.13").chmod(0o755)
    for tool in ("make", "rm", "sh", "basename", "cp", "find", "mkdir", "dirname"):
        (binaries / tool).symlink_to(shutil.which(tool) or "")
    (layer / "python").mkdir(parents=True)
    command = ["make", "-f", "layers/publisher/Makefile", "build-PublisherLayer"]
    environment = {"PATH": str(binaries), "ARTIFACTS_DIR": str(layer)}
    subprocess.run(command, env=environment, capture_output=True, check=True)
    assert "-r requirements/publisher.txt" in log.read_text().splitlines()[0]
    core = {path.name for path in (layer / "python/toolfold").iterdir()}
    assert {"build", "catalog", "telemetry.py"} <= core
    assert core.isdisjoint({"cli", "explorer", "mock_api", "transports", "__pycache__"})
    shipped = {path.relative_to(layer / "catalog") for path in (layer / "catalog").rglob("*.yaml")}
    assert shipped == {path.relative_to("catalog") for path in Path("catalog").rglob("*.yaml")}
