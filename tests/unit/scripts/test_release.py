"""What a release publishes beside the packages."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

from scripts import release
from toolfold.meta_tools.dispatcher import NAMES
from toolfold.version import __version__


def test_the_registry_finds_the_name_of_its_entry_on_the_page_of_the_package() -> None:
    entry = release.registry_entry()
    assert f"mcp-name: {entry['name']}" in Path("README.md").read_text()
    (package,) = entry["packages"]
    assert (package["identifier"], package["version"]) == (release.project()["name"], __version__)
    assert [one["name"] for one in package["environmentVariables"] if one["isSecret"]] == ["ALPHA_VANTAGE_API_KEY"]


def test_models_find_every_page() -> None:
    linked = re.findall(r"\]\((docs/[^)]+)\)", release.llms_text())
    assert all(Path(path).is_file() for path in linked)
    assert {"docs/tutorial/first-answer.md", "docs/reference/select.md"} <= set(linked)


def test_a_bundle_is_a_project_of_the_wheel_beside_it(tmp_path: Path) -> None:
    (wheel := tmp_path / "toolfold-1-py3-none-any.whl").write_bytes(b"wheel")
    release.write_bundle(tmp_path / "toolfold.mcpb", wheel)
    with zipfile.ZipFile(tmp_path / "toolfold.mcpb") as archive:
        assert archive.read(wheel.name) == b"wheel"
        assert f'path = "{wheel.name}"' in archive.read("pyproject.toml").decode()
        manifest = json.loads(archive.read("manifest.json"))
        assert manifest["server"]["entry_point"] in archive.namelist()
    assert [tool["name"] for tool in manifest["tools"]] == list(NAMES)
