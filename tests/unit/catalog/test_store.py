"""A catalog in a file: read when it is asked for, refused when it is not what it should be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolfold.catalog.model import Catalog
from toolfold.catalog.store import FileStore, S3Store, bundled_path, open_store
from toolfold.errors import CatalogUnavailable, SettingsError
from toolfold.settings import Settings


def opened(place: str) -> Catalog:
    return open_store(Settings.from_environment({"TOOLFOLD_CATALOG": place}))()


def test_the_embedded_catalog_needs_no_setting() -> None:
    assert len(opened("")) == 129


def test_a_path_is_a_catalog_too(tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(bundled_path().read_bytes())
    assert len(opened(str(copy))) == 129


def test_a_file_is_read_once() -> None:
    store = FileStore(bundled_path())
    assert store() is store()


def test_what_follows_from_a_catalog_is_made_once_and_not_kept_without_limit() -> None:
    catalog, made = opened(""), []
    for _ in range(2):
        assert catalog.memoize("tools", lambda: made.append(len(catalog)) or len(catalog)) == 129
    assert made == [129]
    for number in range(10_000):
        catalog.memoize(number, lambda: number)  # noqa: B023 - called at once
    assert len(catalog._memoized) <= 2000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nope",
        b'{"format": 3, "tools": {}, "categories": []}',
        b"{}",
        b"[]",
        b'{"format": 99, "tools": {}}',
        b'{"format":3' + b"\n}\n",
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_is_no_catalog(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "catalog.json"
    path.write_bytes(content)
    with pytest.raises(CatalogUnavailable) as caught:
        opened(str(path))
    assert str(tmp_path) not in json.dumps(caught.value.as_dict())
    assert "toolfold catalog publish" in caught.value.suggestion


def test_a_missing_file_is_no_catalog(tmp_path: Path) -> None:
    with pytest.raises(CatalogUnavailable, match="cannot be read"):
        opened(str(tmp_path / "none.json"))


@pytest.mark.parametrize("place", ["https://example.com/catalog.json", "s3:///prefix"])
def test_a_place_that_cannot_be_is_refused_at_the_start(place: str) -> None:
    with pytest.raises(SettingsError, match="TOOLFOLD_CATALOG"):
        open_store(Settings.from_environment({"TOOLFOLD_CATALOG": place}))


def test_opening_an_s3_store_reads_nothing() -> None:
    assert isinstance(open_store(Settings.from_environment({"TOOLFOLD_CATALOG": "s3://b/p"})), S3Store)


def test_source_and_tool_are_plain_frozen_values(catalog: Catalog) -> None:
    tool = catalog.get("sma")
    assert tool is not None
    assert (tool.name, tool.formats) == ("SMA", ("csv", "json"))
    assert catalog.get("NO_SUCH") is None
    source = catalog.source("alpha_vantage")
    assert source.auth is not None
    assert source.auth.query_key == "apikey"
    with pytest.raises(AttributeError):
        source.base_url = "x"  # type: ignore[misc]
    with pytest.raises(KeyError):
        catalog.source("other")
