"""What a publisher publishes: refreshed, linted, compiled and allowed, or nothing; and the pointer to it."""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.catalogs import ALLOWED_HOST, sha256_of, small_catalog, write_sources
from tests.support.openapi_documents import operation
from toolfold.build import preparation
from toolfold.build.importers.base import Fetched, RefreshReport
from toolfold.build.importers.openapi.importer import OpenApiImporter
from toolfold.build.preparation import prepare_catalog
from toolfold.build.publisher import Pointer, Writer, pointer_to
from toolfold.build.source_folders import find_source
from toolfold.catalog.allow_list import AllowList
from toolfold.errors import CatalogRejected, SourceError, ToolfoldError
from toolfold.settings import Settings

ALLOW_LIST = AllowList(Settings.from_environment({"TOOLFOLD_ALLOWED_HOSTS": ALLOWED_HOST}))


@pytest.mark.slow
def test_the_catalog_of_the_repository_is_prepared_to_the_byte() -> None:
    assert (
        prepare_catalog(Path("catalog"), AllowList(Settings.from_environment({})))
        == Path("catalog/catalog.json").read_bytes()
    )


def test_sources_without_findings_are_compiled(tmp_path: Path) -> None:
    assert prepare_catalog(write_sources(tmp_path, "A"), ALLOW_LIST) == small_catalog("A")


def test_findings_are_named_without_the_path_of_the_server(tmp_path: Path) -> None:
    path = write_sources(tmp_path) / "tides/harbours.yaml"
    path.write_text(path.read_text().replace(", predicted from the moon and the shape of the coast, not measured", ""))
    with pytest.raises(
        CatalogRejected, match=r"The sources have findings: tides/harbours.yaml:\d+: too-short"
    ) as caught:
        prepare_catalog(tmp_path, ALLOW_LIST)
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.suggestion == "Run: toolfold catalog lint"


def test_yaml_with_errors_is_rejected(tmp_path: Path) -> None:
    folder = write_sources(tmp_path)
    (folder / "tides/source.yaml").write_text("id: [")
    with pytest.raises(CatalogRejected, match=r"source.yaml"):
        prepare_catalog(folder, ALLOW_LIST)


def test_a_host_that_the_gateway_refuses_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(CatalogRejected, match=r"source 'tides' names a host, 'tides.test'") as caught:
        prepare_catalog(write_sources(tmp_path), AllowList(Settings.from_environment({})))
    assert "TOOLFOLD_ALLOWED_HOSTS=tides.test" in caught.value.suggestion


def test_sources_are_refreshed_in_a_copy(tmp_path: Path) -> None:
    folder, copies = write_sources(tmp_path), list[Path]()
    before = (folder / "tides/source.yaml").read_text()

    def refresh(copy: Path) -> None:
        copies.append(copy)
        assert (copy / "tides/harbours.yaml").exists()
        (copy / "tides/source.yaml").write_text("refreshed")

    with pytest.raises(CatalogRejected, match=r"tides/source.yaml"):
        prepare_catalog(folder, ALLOW_LIST, refresh)
    assert not copies[0].exists()
    assert (folder / "tides/source.yaml").read_text() == before


def test_a_source_that_cannot_be_refreshed_ends_the_preparation(tmp_path: Path) -> None:
    def refresh(_: Path) -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        prepare_catalog(write_sources(tmp_path), ALLOW_LIST, refresh)


SETTINGS = Settings.from_environment({})


BEFORE, AFTER = (json.dumps(operation(summary=text)).encode() for text in ("Returns all.", "Returns all. More."))


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


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
A, B = small_catalog("A"), small_catalog("B")


def pointer(content: bytes, former: Pointer | None = None, **options: object) -> Pointer:
    given = {"writer": Writer.TERMINAL, "published_by": "anna", "published_at": NOW} | options
    return pointer_to(content, tools=1, previous=former.sha256 if former else "", **given)


def test_it_records_who_when_how_many_tools_and_what_was_before() -> None:
    written = pointer(B, pointer(A)).as_dict()

    assert list(written)[:3] == ["sha256", "bytes", "head"]
    assert written["sha256"] == sha256_of(B)
    assert (written["published_at"], written["published_by"]) == ("2026-01-02T03:04:05Z", "anna")
    assert (written["writer"], written["tools"], written["previous"]) == ("terminal", 1, sha256_of(A))


def test_it_is_read_back_as_it_was_written() -> None:
    first = pointer(A, writer=Writer.SCHEDULE)
    for written in (first, pointer(B, first), pointer(B, first, automatic=True)):
        assert Pointer.model_validate(written.as_dict()) == written


@pytest.mark.parametrize(
    "damage",
    [
        {"writer": "nobody"},
        {"tools": None},
        {"published_at": ...},
        {"head": {"bytes": 0, "sha256": "a" * 64}},
        {"head": {"bytes": 9, "sha256": "A" * 64}},
    ],
)
def test_a_pointer_with_a_damaged_member_cannot_be_read(damage: dict[str, object]) -> None:
    values = pointer(B, pointer(A)).as_dict() | damage
    kept = {name: value for name, value in values.items() if value is not ...}
    with pytest.raises(ValidationError):
        Pointer.model_validate(kept)


def test_control_characters_of_a_name_are_dropped() -> None:
    assert pointer(A, published_by="anna\n\x1b[2J").published_by == "anna[2J"
