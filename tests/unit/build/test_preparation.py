"""What a publisher publishes: refreshed, linted, compiled and allowed, or nothing."""

from pathlib import Path

import pytest

from tests.support.catalogs import ALLOWED_HOST, small_catalog, write_sources
from toolfold.build.preparation import prepare_catalog
from toolfold.catalog.allow_list import AllowList
from toolfold.errors import CatalogRejected
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
    path.write_text(path.read_text().replace("  # lint: allow too-short", "  # "))
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
