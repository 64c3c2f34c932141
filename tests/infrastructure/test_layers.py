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


@pytest.mark.parametrize(
    ("target", "packages", "kept"),
    [("SourcesLayer", "extras-sources", []), ("ScriptsLayer", "extras-scripts", ["monty"])],
)
def test_a_layer_of_extras_keeps_the_programs_that_its_packages_run(
    tmp_path: Path, target: str, packages: str, kept: list[str]
) -> None:
    binaries, log, layer = tmp_path / "bin", tmp_path / "log", tmp_path / "layer"
    binaries.mkdir()
    (binaries / "python3.13").write_text(RECORD.format(log=log))
    (binaries / "python3.13").chmod(0o755)
    for tool in ("make", "rm", "sh", "basename", "mkdir", "mv"):
        (binaries / tool).symlink_to(shutil.which(tool) or "")
    (layer / "python/bin").mkdir(parents=True)
    for name in ("monty", "uvicorn"):
        (layer / "python/bin" / name).touch()
    command = ["make", "-f", "layers/extras/Makefile", f"build-{target}"]
    environment = {"PATH": str(binaries), "ARTIFACTS_DIR": str(layer)}
    subprocess.run(command, env=environment, capture_output=True, check=True)
    install, compiled = log.read_text().splitlines()
    assert f"-r requirements/{packages}.txt" in install
    assert "compileall" in compiled
    assert [path.name for path in (layer / "bin").glob("*")] == kept
    assert not (layer / "python/bin").exists()


def test_no_package_is_in_two_layers_of_a_function() -> None:
    def pinned(name: str) -> dict[str, str]:
        lines = Path(f"requirements/{name}.txt").read_text().splitlines()
        return dict(line.split()[0].split("==") for line in lines if "==" in line.split("#")[0])

    dependencies, sources = pinned("lambda"), pinned("extras-sources")
    for functions in ([dependencies, sources, pinned("extras-scripts")], [dependencies, pinned("publisher")]):
        names = [name for layer in functions for name in layer]
        assert len(names) == len(set(names))
    # What a refresh of the publisher has read is called with the same versions.
    assert pinned("publisher").items() >= sources.items()


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
