"""Faults of the shared cache make calls slower and have no other effect."""

import random
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.faults.aws import BUCKET, TABLE, Aws
from tests.faults.fault_table import Row, parametrize_rows
from tests.faults.scenario import Scenario
from tests.support.proxies import Fault
from tests.support.upstream import CSV, Upstream

QUICK = {"CACHE_TIMEOUT_S": "1.5", "CACHE_BUCKET": f"s3://{BUCKET}/cache"}
PATIENT = {**QUICK, "CACHE_TIMEOUT_S": "20"}
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
    "DynamoDB slow": CacheFault({"DynamoDB": Fault(delay_s=3)}),
    "DynamoDB broken": CacheFault({"DynamoDB": Fault(status=500, body=b"{}")}),
    "DynamoDB absent": CacheFault(),
    "no such table": CacheFault(table="nobody"),
    "a table of another shape": CacheFault(table="other-shape"),
    "DynamoDB takes no writes": CacheFault({"PutItem": refused("ThrottlingException")}),
    "cache bucket denied": CacheFault({"PUT /": Fault(status=403, body=DENIED)}, large=True),
    "cache bucket slow": CacheFault({"PUT /": Fault(delay_s=3)}, large=True),
}
STORED_FAULTS = {
    "object of the cache gone": {"GET /": Fault(status=404, body=b"<Error><Code>NoSuchKey</Code></Error>")},
    "object of the cache denied": {"GET /": Fault(status=403, body=DENIED)},
    "object of the cache corrupt": {"GET /": Fault(change=flipped)},
    "object of the cache cut short": {"GET /": Fault(change=lambda content: content[: len(content) // 2])},
    "object of the cache slow": {"GET /": Fault(delay_s=3)},
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
    limits = QUICK if any(found.delay_s for found in fault.faults.values()) else PATIENT
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
    is_slow = any(found.delay_s for found in STORED_FAULTS[row.fault].values())
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
