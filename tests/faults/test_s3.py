"""Faults of S3: at the first load of the catalog, at its refresh, and for offloaded results."""

import hashlib
import json
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tests.faults.aws import BUCKET, Aws
from tests.faults.fault_table import Row, parametrize_rows
from tests.faults.scenario import QUOTE, SERIES, Scenario
from tests.faults.test_dynamodb import DENIED, flipped
from tests.support.catalogs import publish
from tests.support.cpu_time import ends_within
from tests.support.proxies import Fault
from toolfold.catalog import store as stores
from toolfold.catalog.store import S3Store, bundled_path, open_store
from toolfold.settings import Settings

OLD = bundled_path().read_bytes()
NEW = OLD.replace(b" tools. Next:", b" tools. Then:", 1)  # in the listing, which is in the head
PLACE = f"s3://{BUCKET}/toolfold"

FAULTS = {
    "S3 denied": {"GET": Fault(status=403, body=DENIED)},
    "S3 slow": {"GET": Fault(delay_s=3)},
    "S3 broken": {"GET": Fault(status=500)},
    "S3 absent": {},
    "no pointer": {"current.json": Fault(status=404, body=b"<Error><Code>NoSuchKey</Code></Error>")},
    "pointer damaged": {"current.json": Fault(change=lambda content: content[:20])},
    "object gone after the pointer was read": {"/catalogs/": Fault(status=404)},
    "object corrupt": {"/catalogs/": Fault(change=flipped)},
    "object cut short": {"/catalogs/": Fault(change=lambda content: content[:-1000])},
    "object that is another catalog": {"/catalogs/": Fault(change=lambda _: NEW + b"\n")},
    "object with the right hash and no sense": {},
}


def timeout_s(row: Row) -> float:
    """Return a time-out that a busy machine exceeds only where S3 is slow."""
    return 1.5 if "slow" in row.fault else 20.0


_published: dict[bytes, dict[str, bytes]] = {}


def put(aws: Aws, content: bytes) -> None:
    """Publish ``content``. Repeated publishing puts the recorded objects, because the command imports and connects."""
    if content not in _published:
        sha256 = publish(content, PLACE)
        keys = (f"toolfold/catalogs/{sha256}.json", "toolfold/current.json")
        _published[content] = {key: aws.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}
    for key, body in _published[content].items():
        aws.s3.put_object(Bucket=BUCKET, Key=key, Body=body)


def prepare(aws: Aws, row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = row.fault.rpartition(", ")[0]
    aws.faulty.faults.update(FAULTS[fault])
    if fault == "S3 absent":
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    if fault == "object with the right hash and no sense":
        sha256 = hashlib.sha256(b"{}").hexdigest()
        pointer = {"sha256": sha256, "bytes": 2, "head": {"bytes": 1, "sha256": sha256}}
        aws.s3.put_object(Bucket=BUCKET, Key=f"toolfold/catalogs/{sha256}.json", Body=b"{}")
        aws.s3.put_object(Bucket=BUCKET, Key="toolfold/current.json", Body=json.dumps(pointer))


def remove_fault(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    aws.faulty.faults.clear()
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.faulty.url)
    put(aws, NEW)


@parametrize_rows("test_catalog_at_cold_start")
def test_catalog_at_cold_start(
    row: Row, make_scenario: Callable[..., Scenario], aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(aws, OLD)
    running = S3Store(PLACE, max_age_s=3600)
    running()
    prepare(aws, row, monkeypatch)
    starting = make_scenario(S3Store(PLACE, 60, timeout_s(row)))
    with ends_within(3 * timeout_s(row)):
        result = starting.call(QUOTE, symbol="IBM")
    error = result.structured["error"]
    assert (error["code"], error["message"], error["suggestion"]) == (row.code, row.message, row.next_step)
    assert starting.warnings() == [row.log.strip("`")]
    assert starting.calls() == []  # nothing was sent
    assert not make_scenario(running).call(QUOTE, symbol="IBM").is_error  # a running environment is not affected
    remove_fault(aws, monkeypatch)
    if row.fault.startswith("S3 absent"):  # its client keeps that address
        starting = make_scenario(S3Store(PLACE, 60, timeout_s(row)))
    assert not starting.call(QUOTE, symbol="IBM").is_error


@parametrize_rows("test_catalog_before_the_first_publication")
def test_catalog_before_the_first_publication(row: Row, make_scenario: Callable[..., Scenario], aws: Aws) -> None:
    settings = Settings.from_environment({"TOOLFOLD_CATALOG": PLACE, "TOOLFOLD_CATALOG_MAX_AGE_S": "0.001"})
    starting = make_scenario(open_store(settings))
    assert not starting.call(QUOTE, symbol="IBM").is_error
    assert starting.warnings() == [row.log.strip("`")]
    put(aws, OLD)
    assert not starting.call(QUOTE, symbol="IBM").is_error


@parametrize_rows("test_catalog_at_refresh")
def test_catalog_at_refresh(
    row: Row, make_scenario: Callable[..., Scenario], aws: Aws, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(aws, OLD)
    store = S3Store(PLACE, 60, timeout_s(row))
    running = make_scenario(store)
    monkeypatch.setattr(stores, "time", SimpleNamespace(monotonic=running.clock.monotonic))
    old = store()
    put(aws, NEW)
    prepare(aws, row, monkeypatch)
    if row.fault.startswith(("object corrupt", "object that")):
        aws.faulty.faults["/catalogs/"] = Fault(change=lambda _: flipped(NEW))
    if row.fault.startswith("S3 absent"):
        store._client = None
    running.clock.now += 60
    asked = len(aws.faulty.requests)
    for _ in range(3):  # one request to S3 for all calls
        assert not running.call(QUOTE, symbol="IBM").is_error
        running.clock.now += 1
    assert store._catalog is old
    at_hand = "WARNING the catalog in S3 cannot be read; using the last one"
    assert running.warnings() == [row.log.strip("`"), at_hand]
    assert len(aws.faulty.requests) - asked <= 5  # with repetitions
    remove_fault(aws, monkeypatch)
    if row.fault.startswith("S3 absent"):
        store._client = None
    running.clock.now += 5
    assert store().sha256 == hashlib.sha256(NEW).hexdigest()


OFFLOAD_FAULTS = {
    "S3 denied": {"PUT": Fault(status=403, body=DENIED)},
    "S3 slow": {"PUT": Fault(delay_s=3)},
    "S3 broken": {"PUT": Fault(status=500)},
    "bucket gone": {"PUT": Fault(status=404, body=b"<Error><Code>NoSuchBucket</Code></Error>")},
}


@parametrize_rows("test_long_answer")
def test_long_answer(row: Row, scenario: Callable[..., Scenario], aws: Aws) -> None:
    here = scenario(OFFLOAD=f"s3://{BUCKET}/long", S3_TIMEOUT_S=str(timeout_s(row)))
    aws.faulty.faults.update(OFFLOAD_FAULTS[row.fault.rpartition(", ")[0]])
    with ends_within(2 * timeout_s(row)), here.concurrent_call():
        result = here.call(SERIES, symbol="IBM", max_tokens=500)
    assert not result.is_error
    preview = result.structured["preview"]
    assert set(preview["full"]) == {"tokens"}
    assert preview["ask_less"] in result.text.replace('\\"', '"')
    assert here.warnings() == [row.log.strip("`")]
    assert "Contents" not in aws.s3.list_objects_v2(Bucket=BUCKET)
    aws.faulty.faults.clear()
    again = here.call(SERIES, symbol="IBM", max_tokens=500)
    assert again.structured["cached"]
    assert again.structured["preview"]["full"]["url"]
