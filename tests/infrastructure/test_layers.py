"""The Makefiles of the layers, with and without uv on PATH."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

RECORD = '#!/bin/sh\necho "$(basename "$0") $@" >> "{log}"\n'


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
    ran = log.read_text().splitlines()
    assert [name for line in ran for name in re.findall(r"-r requirements/(\w+).txt", line)] == ["lambda", "publisher"]
    assert any("toolfold.settings.file settings.toml" in line for line in ran)
    core = {path.name for path in (layer / "python/toolfold").iterdir()}
    assert {"build", "catalog", "telemetry.py"} <= core
    assert core.isdisjoint({"cli", "explorer", "mock_api", "transports", "__pycache__"})
    shipped = {path.relative_to(layer / "catalog") for path in (layer / "catalog").rglob("*.yaml")}
    assert shipped == {path.relative_to("catalog") for path in Path("catalog").rglob("*.yaml")}
