"""A catalog and long responses in S3, over real HTTP (moto server)."""

import hashlib
import json
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from benchmarks.scale import generate
from tests.conftest import KEY
from tests.support.aws_services import bucket
from tests.support.catalogs import BUNDLED_TOOLS, publish
from toolfold.build import writer
from toolfold.catalog.search import search
from toolfold.catalog.store import SMALL, S3Store, bundled_path, open_store
from toolfold.errors import CatalogUnavailable, SettingsError
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result
from toolfold.settings import Settings

BUCKET = "catalogs"
SERIES = {"tool_name": "TIME_SERIES_DAILY_ADJUSTED", "arguments": {"symbol": "IBM", "outputsize": "full"}}


@pytest.fixture
def call(make_tools: Callable[..., MetaTools]) -> Callable[..., Result]:
    def calling(place: str = f"s3://{BUCKET}/long", arguments: Any = None, **environment: str) -> Result:
        tools = make_tools(TOOLFOLD_OFFLOAD=place, TOOLFOLD_MAX_TOKENS="2000", **environment)
        result = tools.call("TOOL_CALL", arguments or SERIES)
        assert not result.is_error, result.text
        return result

    return calling


def opened(url: str) -> tuple[str, str]:
    with urllib.request.urlopen(url) as response:
        return response.headers["content-type"], response.read().decode()


def test_the_url_opens_the_whole_response(s3: Any, call: Callable[..., Result]) -> None:
    result = call()
    full = result.structured["preview"]["full"]
    kind, text = opened(full["url"])
    assert kind == "text/csv; charset=utf-8"
    header, *rows = text.splitlines()
    assert header.split(",") == result.structured["result"]["columns"]
    assert len(rows) == result.structured["preview"]["rows_total"] == result.structured["result"]["row_count"]
    assert full["url"] in result.text


# Credentials of a session end with it; a session of unknown end is expected to last an hour.
@pytest.mark.parametrize(
    ("setting", "session_s", "expected_s"),
    [
        (600, None, 600),
        (3600, 1200, 1200),
        (86400, 0, 3600),
    ],
)
def test_a_url_ends_as_the_setting_says_or_with_the_session_that_signs_it(
    s3: Any,
    call: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
    setting: int,
    session_s: int | None,
    expected_s: int,
) -> None:
    if session_s is not None:
        monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    if session_s:
        monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", (datetime.now(UTC) + timedelta(seconds=session_s)).isoformat())
    full = call(TOOLFOLD_PRESIGNED_URL_TTL_S=str(setting)).structured["preview"]["full"]
    left = datetime.fromisoformat(full["expires_at"]) - datetime.now(UTC)
    [signed_s] = parse_qs(urlsplit(full["url"]).query)["X-Amz-Expires"]
    for seconds in (left.total_seconds(), int(signed_s)):
        assert expected_s - 20 < seconds <= expected_s + 1


def test_object_names_cannot_be_guessed_from_the_answer(s3: Any, call: Callable[..., Result]) -> None:
    urls = [call().structured["preview"]["full"]["url"] for _ in range(2)]
    keys = [item["Key"] for item in s3.list_objects_v2(Bucket=BUCKET)["Contents"]]
    assert len(set(keys)) == 2
    for key in keys:
        assert key.startswith("long/answer-")
        assert len(key) >= len("long/answer-.csv") + 32
        assert "IBM" not in key
    assert {urlsplit(url).path for url in urls} == {f"/{BUCKET}/{key}" for key in keys}


def test_raw_json_is_saved_as_json(s3: Any, call: Callable[..., Result]) -> None:
    arguments = {**SERIES, "arguments": {**SERIES["arguments"], "datatype": "json"}}  # type: ignore[dict-item]
    full = call(arguments=arguments).structured["preview"]["full"]
    kind, text = opened(full["url"])
    assert kind == "application/json"
    assert "4. close" in json.loads(text)["Time Series (Daily)"]["2026-01-13"]


def test_no_key_is_in_the_url_or_the_object(s3: Any, call: Callable[..., Result]) -> None:
    result = call()
    url = result.structured["preview"]["full"]["url"]
    assert KEY not in result.text + json.dumps(result.structured) + opened(url)[1]


CONTENT = bundled_path().read_bytes()
PLACE = "s3://catalogs/toolfold/v1"


@pytest.fixture
def s3(on_moto: None) -> Iterator[Any]:
    with bucket(BUCKET) as client:
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
