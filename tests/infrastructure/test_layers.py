"""The Makefiles of the layers, with and without uv on PATH."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TOOLS = ("make", "rm", "sh", "basename", "cp", "find", "mkdir", "dirname", "mv", "touch")


def build(folder: Path, layer: str, programs: list[str], script: str = "", **variables: str) -> tuple[list[str], Path]:
    """Run the Makefile of a layer with programs that record how they are called; return the calls, and the layer.

    Args:
        folder: Where all of it is written.
        layer: The layer's folder.
        programs: Names of the programs that are found, each of which does what is in ``script`` besides.
        script: Lines of a shell script, in which ``$LAYER`` is the folder of the artifacts.
        variables: Further variables.
    """
    binaries, log, artifacts = folder / "bin", folder / "log", folder / "layer"
    binaries.mkdir()
    (artifacts / "python").mkdir(parents=True)
    for program in programs:
        text = f'#!/bin/sh\nLAYER="{artifacts}"\n{script}\necho "$(basename "$0") $@" >> "{log}"\n'
        (binaries / program).write_text(text)
        (binaries / program).chmod(0o755)
    for tool in TOOLS:
        (binaries / tool).symlink_to(shutil.which(tool) or "")
    environment = {"PATH": str(binaries), "ARTIFACTS_DIR": str(artifacts), **variables}
    command = ["make", "-f", f"layers/{layer}/Makefile", f"build-{layer.title()}Layer"]
    subprocess.run(command, env=environment, capture_output=True, check=True)
    return log.read_text().splitlines(), artifacts


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
    variables = {"TOOLFOLD_PLATFORM": platform} if platform else {}
    calls, _ = build(tmp_path, "dependencies", programs, **variables)
    install, compiled = calls[-2:]  # before them the settings are read
    assert install.startswith(installed_by)
    for option in ("--only-binary :all:", "--require-hashes", "--no-deps", "-r requirements/lambda.txt"):
        assert option in install
    # pip takes the tags of all platforms whose wheels fit.
    is_cross = programs == ["python3.13"] and not platform
    assert ("--platform manylinux_2_34_aarch64" in install) == is_cross
    assert ("--platform manylinux_2_24_aarch64" in install) == is_cross
    assert "compileall" in compiled


@pytest.mark.parametrize(
    ("extras", "lists", "kept"),
    [
        ("", ["lambda"], []),
        ("sources", ["lambda", "extras-sources"], []),
        ("sources scripts", ["lambda", "extras-sources", "extras-scripts"], ["monty"]),
    ],
)
def test_extras_of_the_settings_are_packages_of_the_dependencies_layer(
    tmp_path: Path, extras: str, lists: list[str], kept: list[str]
) -> None:
    # As pip does, the last list brings the programs, of which those that its packages run are kept.
    script = (
        f'case "$*" in *--extras*) echo "{extras}"; exit;; esac\n'
        'mkdir -p "$LAYER/python/bin"; touch "$LAYER/python/bin/monty" "$LAYER/python/bin/uvicorn"'
    )
    (*installed, compiled), layer = build(tmp_path, "dependencies", ["python3.13"], script)
    assert [line.rpartition("-r requirements/")[2] for line in installed] == [f"{name}.txt" for name in lists]
    assert "compileall" in compiled
    assert [path.name for path in (layer / "bin").glob("*")] == kept


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
    ran, layer = build(tmp_path, "publisher", ["python3.13"])
    assert [name for line in ran for name in re.findall(r"-r requirements/(\w+).txt", line)] == ["lambda", "publisher"]
    assert any("toolfold.settings.file settings.toml" in line for line in ran)
    core = {path.name for path in (layer / "python/toolfold").iterdir()}
    assert {"build", "catalog", "telemetry.py"} <= core
    assert core.isdisjoint({"cli", "explorer", "mock_api", "transports", "__pycache__"})
    shipped = {path.relative_to(layer / "catalog") for path in (layer / "catalog").rglob("*.yaml")}
    assert shipped == {path.relative_to("catalog") for path in Path("catalog").rglob("*.yaml")}


def test_the_core_layer_has_the_pages_of_sign_ins_without_the_local_page_and_the_compiler(tmp_path: Path) -> None:
    _, layer = build(tmp_path, "core", ["python3.13"])
    core = {path.relative_to(layer / "python/toolfold").as_posix() for path in layer.rglob("*.py")}
    assert {"app.py", "explorer/page.py", "explorer/sign_in_pages.py", "transports/lambda_handler.py"} <= core
    folders = {name.partition("/")[0] for name in core}
    assert folders.isdisjoint({"build", "cli", "log_analysis", "mock_api"})
    assert not {name for name in core if name.startswith(("transports/local_http", "explorer/router"))}
