"""Faults of DynamoDB, Secrets Manager and S3: calls go on, slower, with the last key and the last catalog."""

import hashlib
import json
import random
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from tests.faults.scenario import BUCKET, QUOTE, SERIES, TABLE, Aws, Row, Scenario, parametrize_rows
from tests.support.aws_services import client
from tests.support.catalogs import publish
from tests.support.cpu_time import ends_within
from tests.support.proxies import Fault
from tests.support.upstream import CSV, Reply, Upstream
from toolfold.catalog import store as stores
from toolfold.catalog.store import S3Store, bundled_path, open_store
from toolfold.execution import api_keys
from toolfold.settings import Settings

QUICK = {"CACHE_TIMEOUT_S": "3", "CACHE_BUCKET": f"s3://{BUCKET}/cache"}
PATIENT = {**QUICK, "CACHE_TIMEOUT_S": "30"}
"""For faults that are no slowness: on a machine under load, requests that do not fail may take seconds."""

DENIED = b"<Error><Code>AccessDenied</Code></Error>"


def refused(code: str) -> Fault:
    return Fault(status=400, body=b'{"__type": "%s"}' % code.encode())


def flipped(content: bytes) -> bytes:
    """Return ``content`` with one bit in its middle changed."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@dataclass(frozen=True)
class CacheFault:
    """What makes the fault: faults of the proxy, or another table; ``large``: with answers that go to the bucket."""

    faults: dict[str, Fault] = field(default_factory=dict)
    table: str = TABLE
    large: bool = False


FAULTS = {
    "DynamoDB throttled": CacheFault({"DynamoDB": refused("ProvisionedThroughputExceededException")}),
    "DynamoDB denied": CacheFault({"DynamoDB": refused("AccessDeniedException")}),
    "DynamoDB slow": CacheFault({"DynamoDB": Fault(is_silent=True)}),
    "DynamoDB broken": CacheFault({"DynamoDB": Fault(status=500, body=b"{}")}),
    "DynamoDB absent": CacheFault(),
    "no such table": CacheFault(table="nobody"),
    "a table of another shape": CacheFault(table="other-shape"),
    "DynamoDB takes no writes": CacheFault({"UpdateItem": refused("ThrottlingException")}),
    "cache bucket denied": CacheFault({"PUT /": Fault(status=403, body=DENIED)}, large=True),
    "cache bucket slow": CacheFault({"PUT /": Fault(is_silent=True)}, large=True),
}
STORED_FAULTS = {
    "object of the cache gone": {"GET /": Fault(status=404, body=b"<Error><Code>NoSuchKey</Code></Error>")},
    "object of the cache denied": {"GET /": Fault(status=403, body=DENIED)},
    "object of the cache corrupt": {"GET /": Fault(change=flipped)},
    "object of the cache cut short": {"GET /": Fault(change=lambda content: content[: len(content) // 2])},
    "object of the cache slow": {"GET /": Fault(is_silent=True)},
    "item of another call": {},
    "item of another form": {},
}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as running:
        yield running


def large() -> bytes:
    """Return a table that no item can hold, even compressed."""
    draw = random.Random(1)
    rows = "".join(f"2026-01-01,{b64encode(draw.randbytes(3000)).decode()}\n" for _ in range(140))
    return f"timestamp,value\n{rows}".encode()


@parametrize_rows("test_shared_cache")
def test_shared_cache(
    row: Row, scenario: Callable[..., Scenario], aws: Aws, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = FAULTS[row.fault]
    if fault.large:
        upstream.replies = [(200, {}, large())]
    if row.fault == "DynamoDB absent":
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    aws.faulty.faults.update(fault.faults)
    limits = QUICK if any(found.is_silent for found in fault.faults.values()) else PATIENT
    failing = scenario(upstream.url, CACHE=f"dynamodb://{fault.table}", **limits)
    for tool in ("CPI", "WTI", "COPPER"):  # the second and the third do not wait for the cache
        assert not failing.call(tool, select="last 1").is_error
    assert failing.call("CPI", select="last 1").structured["cached"]  # in memory
    assert len(upstream.requests) == 3 * int(row.requests)
    assert failing.warnings() == [row.log.strip("`")]
    assert [vars(line)["code"] for line in failing.calls()] == ["OK"] * 4
    assert aws.items() == []
    # Another environment with a working table is not affected; this one uses the cache again after the pause.
    aws.faulty.faults.clear()
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.faulty.url)
    failing.aws.reset()  # a client keeps the endpoint that it was created with
    if fault.table == TABLE:
        failing.clock.now += failing.settings.cache_cooldown_s
        failing.call("ALUMINUM", select="last 1")
        assert len(aws.items()) == 1
    well = scenario(upstream.url, CACHE=f"dynamodb://{TABLE}", **PATIENT)
    assert not well.call("BRENT", select="last 1").is_error
    assert len(well.log_records) == len(failing.log_records)
    assert failing.warnings() == [row.log.strip("`")]


@parametrize_rows("test_unusable_cache_item_is_a_miss")
def test_unusable_cache_item_is_a_miss(
    row: Row, scenario: Callable[..., Scenario], aws: Aws, upstream: Upstream
) -> None:
    upstream.replies = [(200, {}, large())]
    is_slow = any(found.is_silent for found in STORED_FAULTS[row.fault].values())
    place = {"CACHE": f"dynamodb://{TABLE}", **(QUICK if is_slow else PATIENT)}
    scenario(upstream.url, **place).call("CPI", select="last 1")
    [item] = aws.items()
    aws.faulty.faults.update(STORED_FAULTS[row.fault])
    if row.fault == "item of another call":
        other = scenario(upstream.url, **{**place, "CACHE_BUCKET": ""})
        upstream.replies = [(200, {}, b"timestamp,value\n2026-01-01,666\n")]
        other.call("WTI", select="last 1")
        [wrong] = [found for found in aws.items() if found["pk"] != item["pk"]]
        aws.dynamodb.put_item(TableName=TABLE, Item={**wrong, "pk": item["pk"]})
    if row.fault == "item of another form":
        aws.dynamodb.put_item(TableName=TABLE, Item={"pk": item["pk"], "v": {"S": "a text"}})
    upstream.requests.clear()
    upstream.replies = [(200, {}, CSV.encode())]
    other = scenario(upstream.url, **place)
    other.clock.now += 60  # the clock of each scenario starts at the same time; this one has to be later
    result = other.call("CPI", select="last 1")
    assert result.structured["result"]["rows"] == [["2026-01-01", 1.5]]
    assert len(upstream.requests) == int(row.requests)
    log_records = [] if row.log == "`call` `OK`" else [row.log.strip("`")]
    assert other.warnings() == log_records
    aws.faulty.faults.clear()
    # Others get the new response from then on: it is small, so it needs no bucket.
    third = scenario(upstream.url, **place)
    third.clock.now += 120
    again = third.call("CPI", select="last 1")
    assert again.structured["cached"]
    assert again.structured["result"]["rows"] == [["2026-01-01", 1.5]]


OLD_KEY, NEW_KEY = "OLDKEY0123456789", "NEWKEY0123456789"
REFUSAL = b'{"Error Message": "the parameter apikey is invalid or missing."}'
TIMEOUT_S, RETRY_S = 3.0, 5.0

REPLACED_BY = {
    "key rotated": NEW_KEY,
    "key withdrawn": OLD_KEY,
    "secret emptied": " ",
    "secret emptied, cold start": " ",
}
"""Fault → what the secret is then; the others do not change it."""


@parametrize_rows("test_operator_key")
def test_operator_key(
    row: Row, scenario: Callable[..., Scenario], aws: Aws, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = client("secretsmanager", endpoint)
    arn = secrets.create_secret(Name=f"key-{uuid.uuid4()}", SecretString=OLD_KEY)["ARN"]
    monkeypatch.setenv("ALPHA_VANTAGE_API_KEY", arn)
    accepted = OLD_KEY

    def reply(query: dict[str, str]) -> Reply:
        return 200, {}, CSV.encode() if query["apikey"] == accepted else REFUSAL

    with Upstream(reply) as upstream:
        here = scenario(upstream.url, SECRET_TIMEOUT_S="30" if row.fault in REPLACED_BY else str(TIMEOUT_S))
        monkeypatch.setattr(api_keys, "time", SimpleNamespace(time=here.clock))
        if "cold start" not in row.fault:
            assert not here.call("CPI", key="", fresh=True).is_error
        here.clock.now += here.settings.secret_ttl_s / 2 if row.fault.startswith("key") else here.settings.secret_ttl_s
        if row.fault in REPLACED_BY:
            secrets.put_secret_value(SecretId=arn, SecretString=REPLACED_BY[row.fault])
            accepted = OLD_KEY if row.fault.startswith("secret") else NEW_KEY
        else:
            aws.faulty.faults["secretsmanager"] = Fault(is_silent=True)
        upstream.requests.clear()
        for reads in (1, 0):  # the second call does not wait for AWS
            read = len(aws.faulty.requests)
            with ends_within(reads * 2 * TIMEOUT_S):
                result = here.call("CPI", key="", fresh=True)
            assert len(aws.faulty.requests) - read == reads
            if row.code == "OK":
                assert not result.is_error, result.text
            else:
                error = result.structured["error"]
                assert (error["code"], error["message"], error["suggestion"]) == (row.code, row.message, row.next_step)
        assert len(upstream.requests) == int(row.requests)
        assert set(here.warnings()) == ({row.log.strip("`")} if "cannot be read" in row.log else set())
        aws.faulty.faults.clear()
        secrets.put_secret_value(SecretId=arn, SecretString=accepted)
        here.clock.now += RETRY_S
        assert not here.call("CPI", key="", fresh=True).is_error


OLD = bundled_path().read_bytes()
NEW = OLD.replace(b"Stocks, options,", b"Shares, options,", 1)  # of a source, in the head
PLACE = f"s3://{BUCKET}/toolfold"

CATALOG_FAULTS = {
    "S3 denied": {"GET": Fault(status=403, body=DENIED)},
    "S3 slow": {"GET": Fault(is_silent=True)},
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
    return 3.0 if "slow" in row.fault else 30.0


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
    aws.faulty.faults.update(CATALOG_FAULTS[fault])
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
        running.clock.now += 0.1
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
    "S3 slow": {"PUT": Fault(is_silent=True)},
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
