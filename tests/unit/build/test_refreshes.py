"""Sources are refreshed one by one, and a source that fails is as it was."""

import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.build.importers.test_skills import skill
from toolfold.build import preparation
from toolfold.build.importers.base import Fetched, RefreshReport
from toolfold.build.importers.skills import SkillsImporter
from toolfold.build.source_folders import find_source
from toolfold.errors import SourceError, ToolfoldError
from toolfold.settings import Settings

SETTINGS = Settings.from_environment({})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sources of skills whose refresh adds a line, and fails for the one called broken."""
    for name in ("broken", "team"):
        (tmp_path / name / "x").mkdir(parents=True)
        (tmp_path / name / "x/SKILL.md").write_text(skill("x"))
        given = {"kind": "skills", "copied_from": ["y"]}
        (tmp_path / name / "source.yaml").write_text(yaml.safe_dump(given))

    def fetch(importer: SkillsImporter, *_: Any) -> Fetched:
        if importer.folder.name == "broken":
            raise SourceError(["its service is down"])
        text = f"{skill('x')}More.\n".encode()
        return Fetched(RefreshReport(changed=("x",)), folders={"x": {Path("SKILL.md"): text}})

    monkeypatch.setattr(SkillsImporter, "fetch", fetch)
    return tmp_path


def run(folder: Path, *, is_attended: bool, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(SkillsImporter, "is_local", False)
    preparation.refresh_sources(folder, SETTINGS, said.append, is_attended=is_attended)
    return said


def test_without_a_person_a_source_that_fails_stays_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        said = run(folder, is_attended=False, monkeypatch=monkeypatch)

    assert (folder / "broken/x/SKILL.md").read_text() == skill("x")
    assert (folder / "team/x/SKILL.md").read_text().endswith("More.\n")
    assert said[-1] == "team: changed x"
    assert "source broken was not refreshed: 'its service is down'" in caplog.text


def test_with_a_person_a_source_that_fails_ends_the_publication(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError, match="its service is down"):
        run(folder, is_attended=True, monkeypatch=monkeypatch)


def test_skills_are_not_copied_by_a_publication(folder: Path) -> None:
    preparation.refresh_sources(folder, SETTINGS)

    assert (folder / "team/x/SKILL.md").read_text() == skill("x")


def test_what_was_read_and_does_not_compile_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Fetched(RefreshReport(changed=("x",)), folders={"x": {Path("SKILL.md"): b"broken"}})
    monkeypatch.setattr(SkillsImporter, "fetch", lambda *_: broken)
    with pytest.raises(SourceError, match="does not begin with front matter"):
        preparation.refresh_source(find_source(folder, "team"), SETTINGS)
    assert (folder / "team/x/SKILL.md").read_text() == skill("x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id: [", "is not valid YAML"),
        ("id: team\nkind: http_api\n", "is written by hand"),
        ("id: team\nkind: skills\n", "has no copied_from"),
        ("id: team\nkind: skills\ncopied_from: [y]\nfolder: x\n", "folder: there is no such key"),
    ],
)
def test_a_source_that_cannot_be_refreshed_says_why(folder: Path, text: str, expected: str) -> None:
    (folder / "team/source.yaml").write_text(text)

    with pytest.raises(ToolfoldError, match=expected):
        preparation.refresh_source(find_source(folder, "team"), SETTINGS)
