"""The shared cache fails in every way it can: calls are slower then, and nothing else."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from tests.faults.aws import BUCKET, TABLE, Aws
from tests.faults.docs_table import Row, parametrize_rows
from tests.faults.scenario import Scenario
from tests.support.faulty_proxy import Fault
from tests.support.upstream import CSV, Upstream

QUICK = {"CACHE_TIMEOUT_S": "0.8", "CACHE_BUCKET": f"s3://{BUCKET}/cache"}
DENIED = b"<Error><Code>AccessDenied</Code></Error>"


def refused(code: str) -> Fault:
    return Fault(status=400, body=b'{"__type": "%s"}' % code.encode())


def flipped(content: bytes) -> bytes:
    """``content`` with one bit changed in its middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@dataclass(frozen=True)
class How:
    """What makes the fault: faults of the proxy, or another table; ``large``: with answers that go to the bucket."""

    faults: dict[str, Fault] = field(default_factory=dict)
    table: str = TABLE
    large: bool = False


FAULTS = {
    "DynamoDB throttled": How({"DynamoDB": refused("ProvisionedThroughputExceededException")}),
    "DynamoDB denied": How({"DynamoDB": refused("AccessDeniedException")}),
    "DynamoDB slow": How({"DynamoDB": Fault(delay_s=3)}),
    "DynamoDB broken": How({"DynamoDB": Fault(status=500, body=b"{}")}),
    "DynamoDB absent": How(),
    "no such table": How(table="nobody"),
    "a table of another shape": How(table="other-shape"),
    "DynamoDB takes no writes": How({"PutItem": refused("ThrottlingException")}),
    "cache bucket denied": How({"PUT /": Fault(status=403, body=DENIED)}, large=True),
    "cache bucket slow": How({"PUT /": Fault(delay_s=3)}, large=True),
}
HELD_FAULTS = {
    "object of the cache gone": {"GET /": Fault(status=404, body=b"<Error><Code>NoSuchKey</Code></Error>")},
    "object of the cache denied": {"GET /": Fault(status=403, body=DENIED)},
    "object of the cache corrupt": {"GET /": Fault(change=flipped)},
    "object of the cache cut short": {"GET /": Fault(change=lambda content: content[: len(content) // 2])},
    "object of the cache slow": {"GET /": Fault(delay_s=3)},
    "item of another call": {},
}


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as running:
        yield running


def large() -> bytes:
    """A table that no item can hold, even compressed."""
    draw = random.Random(1)
    rows = "".join(f"2026-01-01,{b64encode(draw.randbytes(3000)).decode()}\n" for _ in range(200))
    return f"timestamp,value\n{rows}".encode()


@parametrize_rows("test_shared_cache")
def test_shared_cache(
    row: Row, scenario: Callable[..., Scenario], aws: Aws, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = FAULTS[row.fault]
    if how.large:
        upstream.replies = [(200, {}, large())]
    if row.fault == "DynamoDB absent":
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    aws.faulty.faults.update(how.faults)
    failing = scenario(upstream.url, CACHE=f"dynamodb://{how.table}", **QUICK)
    for tool in ("CPI", "WTI", "COPPER"):  # the second and the third do not wait for it
        assert not failing.call(tool, select="last 1").is_error
    assert failing.call("CPI", select="last 1").structured["cached"]  # in memory
    assert len(upstream.requests) == 3 * int(row.requests)
    assert failing.warnings() == [row.operator.strip("`")]
    assert [vars(line)["code"] for line in failing.calls()] == ["OK"] * 4
    assert aws.items() == []
    # Another environment, whose table is well, is not concerned; and this one is well again after the pause.
    aws.faulty.faults.clear()
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws.faulty.url)
    failing.aws.reset()  # a client keeps the endpoint that it was created with
    if how.table == TABLE:
        failing.clock.now += failing.settings.cache_cooldown_s
        failing.call("ALUMINUM", select="last 1")
        assert len(aws.items()) == 1
    well = scenario(upstream.url, CACHE=f"dynamodb://{TABLE}", **QUICK)
    assert not well.call("BRENT", select="last 1").is_error
    assert len(well.told) == len(failing.told)
    assert failing.warnings() == [row.operator.strip("`")]


@parametrize_rows("test_what_the_cache_holds")
def test_what_the_cache_holds(row: Row, scenario: Callable[..., Scenario], aws: Aws, upstream: Upstream) -> None:
    upstream.replies = [(200, {}, large())]
    place = {"CACHE": f"dynamodb://{TABLE}", **QUICK}
    scenario(upstream.url, **place).call("CPI", select="last 1")
    [item] = aws.items()
    aws.faulty.faults.update(HELD_FAULTS[row.fault])
    if row.fault == "item of another call":
        other = scenario(upstream.url, **{**place, "CACHE_BUCKET": ""})
        upstream.replies = [(200, {}, b"timestamp,value\n2026-01-01,666\n")]
        other.call("WTI", select="last 1")
        [wrong] = [found for found in aws.items() if found["pk"] != item["pk"]]
        aws.dynamodb.put_item(TableName=TABLE, Item={**wrong, "pk": item["pk"]})
    upstream.requests.clear()
    upstream.replies = [(200, {}, CSV.encode())]
    other = scenario(upstream.url, **place)
    other.clock.now += 60  # each scene's day begins anew; however slow the first was, this one comes after it
    result = other.call("CPI", select="last 1")
    assert result.structured["result"]["rows"] == [["2026-01-01", 1.5]]
    assert len(upstream.requests) == int(row.requests)
    told = [] if row.operator == "`call` `OK`" else [row.operator.strip("`")]
    assert other.warnings() == told
    aws.faulty.faults.clear()
    # What was fetched instead is what others get from then on, unless the place was being left alone.
    third = scenario(upstream.url, **place)
    third.clock.now += 120
    again = third.call("CPI", select="last 1")
    assert again.structured["cached"]
    assert (again.structured["result"]["rows"] == [["2026-01-01", 1.5]]) is not bool(told)


def test_all_that_is_prepared_is_on_the_page() -> None:
    from tests.faults.docs_table import all_rows

    shown = {row.fault for row in all_rows() if row.test in ("`test_shared_cache`", "`test_what_the_cache_holds`")}
    assert shown == set(FAULTS) | set(HELD_FAULTS)
