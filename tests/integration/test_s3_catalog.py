"""A catalog in S3, published by our own command and read by the request path, over real HTTP (moto server)."""

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.scale import generate
from tests.support.aws_services import bucket
from tests.support.catalogs import BUNDLED_TOOLS, publish
from toolfold.build import writer
from toolfold.catalog.search import search
from toolfold.catalog.store import SMALL, S3Store, bundled_path, open_store
from toolfold.errors import CatalogUnavailable, SettingsError
from toolfold.settings import Settings

CONTENT = bundled_path().read_bytes()
PLACE = "s3://catalogs/toolfold/v1"


@pytest.fixture
def s3(on_moto: None) -> Iterator[Any]:
    with bucket("catalogs") as client:
        yield client


def test_a_bucket_that_does_not_exist_is_an_error_and_not_an_empty_one(
    s3: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"TOOLFOLD_CATALOG": "s3://catalogs-misspelt/toolfold", "TOOLFOLD_S3_TIMEOUT_S": "2"}
    with pytest.raises(CatalogUnavailable, match="is in a bucket that does not exist"):
        open_store(Settings.from_environment(settings))()
    assert [record.message for record in caplog.records] == ["catalog bucket does not exist"]


def test_a_catalog_that_is_read_while_a_process_starts_is_not_read_again(s3: Any) -> None:
    sha256 = publish(CONTENT, PLACE)
    store = S3Store(PLACE, max_age_s=60)
    store.start_reading()
    store.wait()
    s3.delete_object(Bucket="catalogs", Key="toolfold/v1/current.json")
    assert store().sha256 == sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert len(store()) == BUNDLED_TOOLS
    assert store.published_at is not None


def test_what_fails_while_a_process_starts_is_read_by_the_first_call(s3: Any) -> None:
    store = S3Store(PLACE, max_age_s=60)
    store.start_reading()
    store.wait()
    sha256 = publish(CONTENT, PLACE)
    assert store().sha256 == sha256


def test_the_catalog_of_the_package_is_used_until_one_is_published(s3: Any, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(Settings.from_environment({"TOOLFOLD_CATALOG": PLACE, "TOOLFOLD_CATALOG_MAX_AGE_S": "0.001"}))
    assert len(store()) == len(store()) == BUNDLED_TOOLS
    assert caplog.messages == ["no catalog has been published; using the one of the package"]
    publish(CONTENT, PLACE)
    published = store()
    assert published.sha256
    s3.delete_object(Bucket="catalogs", Key="toolfold/v1/current.json")
    assert store() is published


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("scale") / "catalog.json"
    generate.write(len(NAMES), path)
    assert path.stat().st_size > SMALL
    return path.read_bytes()


NAMES = generate.Tools(1400).names()


class RecordedRanges:
    """The ranges that a store requests from S3."""

    def __init__(self, store: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lengths: list[list[int]] = []
        ask = store._ranges

        def heard(name: str, starts: Any, lengths: Any) -> list[bytes]:
            self.lengths.append(list(lengths))
            return ask(name, starts, lengths)

        monkeypatch.setattr(store, "_ranges", heard)


def test_every_tool_of_a_large_catalog_is_read_by_blocks(
    s3: Any, large: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha256 = publish(large, PLACE)
    store = S3Store(PLACE, max_age_s=60)
    heard = RecordedRanges(store, monkeypatch)
    catalog = store()
    assert (len(catalog), catalog.sha256) == (len(NAMES), sha256)
    assert heard.lengths == [[large.find(b"\n") + 1]]
    assert catalog.get(NAMES[0])
    assert max(heard.lengths[-1]) <= writer.BLOCK_BYTES
    catalog.prefetch(tools=NAMES[::20], index=["invoic"])
    assert len(heard.lengths) == 3
    assert len(heard.lengths[2]) > 4
    for position in range(0, len(NAMES), 20):
        assert catalog.get(NAMES[position])
        assert catalog.summary(position).name == NAMES[position]
    assert sum(map(sum, heard.lengths)) < len(large)
    name = NAMES[42]
    best = search(catalog, name.replace("_", " ").lower()).hits[:3]
    assert name in [catalog.summary(hit.position).name for hit in best]


def test_a_head_that_does_not_match_its_hash_is_refused(s3: Any, large: bytes) -> None:
    sha256 = publish(large, PLACE)
    body = large.replace(b"Platform", b"Flatworm", 1)
    s3.put_object(Bucket="catalogs", Key=f"toolfold/v1/catalogs/{sha256}.json", Body=body)
    with pytest.raises(CatalogUnavailable, match="does not match its hash"):
        S3Store(PLACE, max_age_s=60)()


@pytest.mark.parametrize("left", [None, 300_000])
def test_blocks_in_memory_are_used_when_the_object_is_gone_or_truncated(s3: Any, large: bytes, left: Any) -> None:
    key = f"toolfold/v1/catalogs/{publish(large, PLACE)}.json"
    catalog = S3Store(PLACE, max_age_s=60)()
    at_hand, gone = max(NAMES), min(NAMES)
    assert catalog.get(at_hand)
    if left is None:
        s3.delete_object(Bucket="catalogs", Key=key)
    else:
        s3.put_object(Bucket="catalogs", Key=key, Body=large[:left])
    assert catalog.get(at_hand)
    assert catalog.description
    with pytest.raises(CatalogUnavailable):
        catalog.get(gone)


@pytest.mark.parametrize("place", ["catalogs/prefix", "s3://"])
def test_publishing_needs_a_bucket(place: str) -> None:
    with pytest.raises(SettingsError, match="s3://bucket/prefix"):
        publish(CONTENT, place)


@pytest.mark.parametrize(
    "content", [b"nope", b'{"format": 99}', CONTENT[:-1], CONTENT.replace(b"Latest price", b"Newest price")]
)
def test_only_a_compiled_catalog_can_be_published(content: bytes) -> None:
    with pytest.raises(SettingsError, match="not a compiled catalog"):
        publish(content, PLACE)
