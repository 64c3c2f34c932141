"""The layers that `sam build` made contain what Lambda needs, in a form that Lambda can use."""

import filecmp
import io
import os
import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.support import built_function
from tests.support.built_function import DEPLOYED_BUILD, LAMBDA_PYTHON, NEEDS_BUILD, ROOT, BuiltFunction

CATALOG = ROOT / "catalog/catalog.json"
OF_EXTRAS = (
    "anyio",
    "httpcore2",
    "httpx",
    "mcp",
    "mcp_types",
    "opentelemetry",
    "psycopg",
    "pydantic",
    "pydantic_monty",
    "sqlglot",
)
"""Packages of extras that the layers do not have: a call that needs one says which."""

MAX_ZIPPED_BYTES = 30_000_000
"""A minute of upload at 4 Mbit/s. Five layers were 85 MB."""

pytestmark = [pytest.mark.e2e, NEEDS_BUILD]


def test_every_module_of_the_core_layer_can_be_imported(built: BuiltFunction) -> None:
    code = (
        "import importlib, pkgutil, toolfold\n"
        "for module in pkgutil.walk_packages(toolfold.__path__, 'toolfold.'):\n"
        "    try:\n"
        "        importlib.import_module(module.name)\n"
        "    except ModuleNotFoundError as error:\n"
        f"        if error.name.partition('.')[0] not in {OF_EXTRAS}:\n"
        "            raise\n"
    )
    path = os.pathsep.join(str(layer / "python") for layer in built.layers)
    environment = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run([LAMBDA_PYTHON, "-c", code], env=environment, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr


def test_the_core_layer_contains_the_catalog_and_no_development_code(built: BuiltFunction) -> None:
    core = built.layers[1] / "python/toolfold"

    assert (core / "catalog/catalog.json").read_bytes() == CATALOG.read_bytes()
    for name in ("build", "cli", "log_analysis", "mock_api", "transports/local_http", "__main__.py", "demo.py"):
        assert not (core / name).exists()
    assert [path.name for path in (core / "explorer/static").iterdir()] == ["answer.html"]
    assert (core / "explorer/static/answer.html").is_file()
    for name in ("feed", "approvals"):
        assert not (core / f"explorer/{name}.py").exists()


def test_compiled_files_do_not_depend_on_file_times(built: BuiltFunction) -> None:
    """Bytes 4 to 8 of a .pyc: 1 = named by a hash that is not checked (PEP 552). SAM sets all times to 1980."""
    sources = [source for layer in built.layers for source in (layer / "python").rglob("*.py")]
    assert len(sources) > 100
    for source in sources:
        compiled = source.parent / "__pycache__" / f"{source.stem}.cpython-313.pyc"
        assert int.from_bytes(compiled.read_bytes()[4:8], "little") == 1, source


def test_compiled_files_contain_no_path_of_this_machine(built: BuiltFunction) -> None:
    for layer in built.layers:
        for compiled in (layer / "python").rglob("*.pyc"):
            assert str(ROOT).encode() not in compiled.read_bytes(), compiled


def test_the_deployed_build_differs_only_in_compiled_packages(built: BuiltFunction) -> None:
    deployed = built_function.load_built_function(DEPLOYED_BUILD)
    assert not differences(deployed.function, built.function)
    assert not differences(deployed.layers[1], built.layers[1])
    # Of the packages: the extension modules, and the records that name them.
    allowed = re.compile(r"\.so$|\.dist-info(/|$)")
    assert not [name for name in differences(deployed.layers[0], built.layers[0]) if not allowed.search(name)]


def test_the_deployed_build_is_small_to_upload() -> None:
    """What SAM uploads: an archive of each folder, without what settings.toml adds by `extras`."""
    sizes = {folder.name: zipped_bytes(folder) for folder in DEPLOYED_BUILD.iterdir() if folder.is_dir()}
    print(", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()))

    assert set(sizes) == {"GatewayFunction", "DependenciesLayer", "CoreLayer"}
    assert sum(sizes.values()) <= MAX_ZIPPED_BYTES, sizes


def zipped_bytes(folder: Path) -> int:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in folder.rglob("*"):
            archive.write(path, path.relative_to(folder))
    return len(content.getvalue())


def differences(left: Path, right: Path) -> list[str]:
    """Files below two folders that are not in both, or not the same byte for byte."""
    files = {str(path.relative_to(side)) for side in (left, right) for path in side.rglob("*") if path.is_file()}
    _, differing, missing = filecmp.cmpfiles(left, right, sorted(files), shallow=False)
    return differing + missing
