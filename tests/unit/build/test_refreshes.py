"""Sources are refreshed one by one, and a source that fails is as it was."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from toolfold.build import preparation
from toolfold.build.importers.base import Fetched, RefreshReport
from toolfold.build.importers.openapi.importer import OpenApiImporter
from toolfold.build.source_folders import find_source
from toolfold.errors import SourceError, ToolfoldError
from toolfold.settings import Settings

SETTINGS = Settings.from_environment({})


BEFORE, AFTER = (
    json.dumps(
        {
            "openapi": "3.1.0",
            "servers": [{"url": "https://x.test"}],
            "paths": {"/x": {"get": {"operationId": "x", "summary": text}}},
        }
    ).encode()
    for text in ("Returns all.", "Returns all. More.")
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two services whose refresh brings another document, and fails for the one called broken."""
    for name in ("broken", "team"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "openapi.json").write_bytes(BEFORE)
        (tmp_path / name / "source.yaml").write_text("kind: openapi\nurl: https://x.test/openapi.json\n")

    def fetch(importer: OpenApiImporter, *_: Any) -> Fetched:
        if importer.folder.name == "broken":
            raise SourceError(["its service is down"])
        return Fetched(RefreshReport(changed=("x",)), AFTER)

    monkeypatch.setattr(OpenApiImporter, "fetch", fetch)
    return tmp_path


def run(folder: Path, *, is_attended: bool) -> list[str]:
    said: list[str] = []
    preparation.refresh_sources(folder, SETTINGS, said.append, is_attended=is_attended)
    return said


def test_without_a_person_a_source_that_fails_stays_as_it_was(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        said = run(folder, is_attended=False)

    assert (folder / "broken/openapi.json").read_bytes() == BEFORE
    assert (folder / "team/openapi.json").read_bytes() == AFTER
    assert said[-1] == "team: changed x"
    assert "source broken was not refreshed: 'its service is down'" in caplog.text


def test_with_a_person_a_source_that_fails_ends_the_publication(folder: Path) -> None:
    with pytest.raises(SourceError, match="its service is down"):
        run(folder, is_attended=True)


def test_what_was_read_and_does_not_compile_is_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Fetched(RefreshReport(changed=("x",)), b"{}")
    monkeypatch.setattr(OpenApiImporter, "fetch", lambda *_: broken)
    with pytest.raises(SourceError, match="is not an OpenAPI document"):
        preparation.refresh_source(find_source(folder, "team"), SETTINGS)
    assert (folder / "team/openapi.json").read_bytes() == BEFORE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id: [", "is not valid YAML"),
        ("id: team\nkind: http_api\n", "is made of files"),
        ("id: team\nkind: skills\n", "is made of files"),
        ("id: team\nkind: openapi\n", "has no url"),
        ("id: team\nkind: openapi\nurl: https://x.test/a.json\nfolder: x\n", "folder: there is no such key"),
    ],
)
def test_a_source_that_cannot_be_refreshed_says_why(folder: Path, text: str, expected: str) -> None:
    (folder / "team/source.yaml").write_text(text)

    with pytest.raises(ToolfoldError, match=expected):
        preparation.refresh_source(find_source(folder, "team"), SETTINGS)
