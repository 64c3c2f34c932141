"""What a release publishes: the packages with the page, and what is beside them."""

import contextlib
import json
import zipfile
from pathlib import Path

import pytest
import yaml

import hatch_build
from scripts import release
from toolfold.catalog.entries import META_TOOLS
from toolfold.version import __version__


def test_the_registry_finds_the_name_of_its_entry_on_the_page_of_the_package() -> None:
    entry = release.registry_entry()
    assert f"mcp-name: {entry['name']}" in Path("README.md").read_text()
    (package,) = entry["packages"]
    assert (package["identifier"], package["version"]) == (release.project()["name"], __version__)
    assert [one["name"] for one in package["environmentVariables"] if one["isSecret"]] == ["ALPHA_VANTAGE_API_KEY"]


@pytest.mark.parametrize(
    ("files", "is_complete"),
    [
        ({"index.html": '<script src="ui/app-1.js"></script>', "app-1.js": "", "answer.html": ""}, True),
        ({"index.html": '<script src="ui/app-1.js"></script>', "answer.html": ""}, False),
        ({"index.html": "<p>no script</p>", "answer.html": ""}, False),
        ({}, False),
    ],
)
def test_a_wheel_without_the_page_is_not_released(tmp_path: Path, files: dict[str, str], is_complete: bool) -> None:
    wheel = tmp_path / "toolfold-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"toolfold/explorer/static/{name}", text)
    with contextlib.nullcontext() if is_complete else pytest.raises(SystemExit, match="lacks files"):
        release.check_page(wheel)


def test_a_bundle_is_a_project_of_the_wheel_beside_it(tmp_path: Path) -> None:
    (wheel := tmp_path / "toolfold-1-py3-none-any.whl").write_bytes(b"wheel")
    release.write_bundle(tmp_path / "toolfold.mcpb", wheel)
    with zipfile.ZipFile(tmp_path / "toolfold.mcpb") as archive:
        assert archive.read(wheel.name) == b"wheel"
        assert f'path = "{wheel.name}"' in archive.read("pyproject.toml").decode()
        manifest = json.loads(archive.read("manifest.json"))
        assert manifest["server"]["entry_point"] in archive.namelist()
    assert [tool["name"] for tool in manifest["tools"]] == list(META_TOOLS)


def test_a_packaged_template_names_each_zip_by_its_content(tmp_path: Path) -> None:
    build, first, second = (tmp_path / name for name in ("build", "first", "second"))
    for folder in (build / "Code", first, second):
        folder.mkdir(parents=True)
    (build / "Code/app.py").write_text("handler = print")
    function = {"Type": "AWS::Serverless::Function", "Properties": {"CodeUri": "Code"}}
    interface = {"AWS::CloudFormation::Interface": {"ParameterGroups": []}}
    template = {
        "Metadata": interface,
        "Parameters": {},
        "Resources": {"Code": function, "T": {"Type": "AWS::S3::Bucket"}},
    }
    (build / "template.yaml").write_text(yaml.safe_dump(template))
    release.write_aws_package(build, first)
    (build / "Code/app.py").touch()
    release.write_aws_package(build, second)
    names = [sorted(path.name for path in folder.iterdir()) for folder in (first, second)]
    assert names[0] == names[1]
    with zipfile.ZipFile(first / names[0][0]) as archive:
        assert archive.namelist() == ["app.py"]
    packaged = yaml.safe_load((first / "template.yaml").read_text())
    code = packaged["Resources"]["Code"]["Properties"]["CodeUri"]
    assert code == {"Bucket": {"Ref": "CodeBucket"}, "Key": {"Fn::Sub": f"${{CodePrefix}}{names[0][0]}"}}
    assert {"CodeBucket", "CodePrefix"} <= set(packaged["Parameters"])


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


@pytest.mark.parametrize(
    ("script", "reason"),
    [("", "npm (Node.js 20 or newer) is missing."), ("echo no network; exit 1", "npm ci failed.\nno network")],
)
def test_without_the_page_a_build_warns_and_builds_the_rest(checkout: Path, script: str, reason: str) -> None:
    if script:
        npm(checkout / "bin", script)
    [warning] = warnings(checkout)
    assert warning.endswith(reason)


def test_it_is_built_with_npm(checkout: Path) -> None:
    log = checkout / "log"
    npm(checkout / "bin", f'echo "$@" >> {log}')
    assert not warnings(checkout)
    assert log.read_text().splitlines() == ["ci --loglevel=error", "run --silent build"]
