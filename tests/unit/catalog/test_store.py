"""The catalog is read from a file at the first call, and a file that is not a catalog is refused."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.catalogs import BUNDLED_TOOLS, tool_of
from toolfold.catalog.model import Catalog
from toolfold.catalog.store import FileStore, S3Store, bundled_path, open_store
from toolfold.errors import CatalogUnavailable, SettingsError
from toolfold.extras import install_command
from toolfold.settings import Settings


def open_catalog(location: str) -> Catalog:
    return open_store(Settings.from_environment({"TOOLFOLD_CATALOG": location}))()


def test_the_bundled_catalog_is_the_default() -> None:
    assert len(open_catalog("")) == BUNDLED_TOOLS


def test_the_setting_can_be_a_path(tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(bundled_path().read_bytes())
    assert len(open_catalog(str(copy))) == BUNDLED_TOOLS


def test_a_file_is_read_once() -> None:
    store = FileStore(bundled_path())
    assert store() is store()


def test_memoize_computes_once_and_its_cache_is_bounded() -> None:
    catalog, computed = open_catalog(""), []
    for _ in range(2):
        assert catalog.memoize("tools", lambda: computed.append(len(catalog)) or len(catalog)) == BUNDLED_TOOLS
    assert computed == [BUNDLED_TOOLS]
    for number in range(10_000):
        catalog.memoize(number, lambda: number)  # noqa: B023 - called at once
    assert len(catalog._memoized) <= 2000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nope",
        b"[]",
        b'{"format": 99, "tools": {}}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_makes_the_catalog_unavailable(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "catalog.json"
    path.write_bytes(content)
    with pytest.raises(CatalogUnavailable) as caught:
        open_catalog(str(path))
    assert str(tmp_path) not in json.dumps(caught.value.as_dict())
    assert "toolfold catalog compile" in caught.value.suggestion


@pytest.mark.parametrize("location", ["https://example.com/catalog.json", "s3:///prefix"])
def test_an_invalid_location_is_refused_when_the_store_is_made(location: str) -> None:
    with pytest.raises(SettingsError, match="TOOLFOLD_CATALOG"):
        open_store(Settings.from_environment({"TOOLFOLD_CATALOG": location}))


def test_sources_and_tools_are_immutable(catalog: Catalog) -> None:
    tool = tool_of(catalog, "sma")
    assert (tool.name, tool.formats) == ("SMA", ("csv", "json"))
    assert catalog.get("NO_SUCH") is None
    source = catalog.source("alpha_vantage")
    assert source.auth is not None
    assert source.auth.query_key == "apikey"
    with pytest.raises(AttributeError):
        source.base_url = "x"  # type: ignore[misc]
    with pytest.raises(CatalogUnavailable):
        catalog.source("other")


def test_the_next_step_without_the_reader_of_s3_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(CatalogUnavailable, match="the S3 reader is not installed") as caught:
        S3Store("s3://catalogs/today", max_age_s=60)()
    assert install_command("aws") in caught.value.suggestion
