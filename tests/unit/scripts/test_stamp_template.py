"""The stamp of a built template: a new one for each change, exactly one, or no deployment."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from scripts.stamp_template import hash_files, main

BUILT = "Mappings:\n  Package:\n    This:\n      Stamp: unstamped\nResources: {}\n"


@pytest.fixture
def template(tmp_path: Path) -> Path:
    (tmp_path / "build/Core").mkdir(parents=True)
    (tmp_path / "build/Core/app.py").write_text("1")
    path = tmp_path / "build/template.yaml"
    path.write_text(BUILT)
    return path


def test_the_stamp_is_written_once_and_printed(template: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(template), "--options", "default"]) == 0
    [stamp] = re.findall(r"Stamp: (\S+)", template.read_text())
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{12}", stamp)
    assert capsys.readouterr().out == f"Stamp: {stamp}\n"


@pytest.mark.parametrize("text", ["Resources: {}\n", BUILT + BUILT, BUILT.replace("unstamped", "20260101-000000")])
def test_a_template_without_exactly_one_place_is_not_deployed(
    template: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    template.write_text(text)
    assert main([str(template)]) == 1
    assert "Not deployed: " in capsys.readouterr().err
    assert template.read_text() == text


def test_a_missing_build_is_not_deployed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "template.yaml")]) == 1
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize("change", ["code", "new file", "other name", "template", "parameters", "options"])
def test_each_change_has_another_hash(tmp_path: Path, template: Path, change: str) -> None:
    config = tmp_path / "samconfig.toml"
    config.write_text("LogLevel=INFO")
    code, before = template.parent / "Core/app.py", hash_files([template.parent, config], "dev")
    match change:
        case "code":
            code.write_text("2")
        case "new file":
            (template.parent / "Core/b.py").write_text("")
        case "other name":
            code.rename(template.parent / "Core/b.py")
        case "template":
            template.write_text(BUILT + "# changed")
        case "parameters":
            config.write_text("LogLevel=DEBUG")
    assert hash_files([template.parent, config], "prod" if change == "options" else "dev") != before


def test_equal_builds_in_other_folders_have_equal_hashes(tmp_path: Path, template: Path) -> None:
    other = tmp_path / "other/build"
    shutil.copytree(template.parent, other, copy_function=shutil.copyfile)
    assert hash_files([other]) == hash_files([template.parent])
