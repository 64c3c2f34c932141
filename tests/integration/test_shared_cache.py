"""The cache that environments of the function share, in DynamoDB and S3, over real HTTP (moto server)."""

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support import aws_services
from tests.support.clocks import Clock
from tests.support.executor import BUSY, answered, settings_for
from tests.support.upstream import Upstream, notice
from toolfold.aws.clients import AwsClients
from toolfold.cache import create_shared_store
from toolfold.cache.dynamodb import DynamoDBStore
from toolfold.cache.stores import FailSafeStore, increment
from toolfold.catalog.model import Catalog
from toolfold.errors import RateLimited
from toolfold.execution.call import CallResult
from toolfold.execution.executor import ToolExecutor

KEY = "CANARYKEY0123456"
TABLE, BUCKET = "answers", "large-answers"


@pytest.fixture
def aws(on_moto: None) -> Iterator[Any]:
    """DynamoDB's client; the table and the bucket exist."""
    with aws_services.bucket(BUCKET), aws_services.table(TABLE) as dynamodb:
        yield dynamodb


@pytest.fixture
def table(aws: Any) -> DynamoDBStore:
    # Longer than in service: the imitation is in Python, and the machine may be busy.
    s3 = FailSafeStore(lambda: AwsClients().client("s3", timeout_s=30.0), 30.0, time.monotonic)
    return DynamoDBStore(AwsClients(), TABLE, 30.0, f"s3://{BUCKET}/cache", s3)


Make = Callable[..., Callable[..., CallResult]]


@pytest.fixture
def make(catalog: Catalog, upstream: Upstream) -> Make:
    """A new environment of the function, as a function that calls a tool."""

    def made(clock: Clock | None = None, **environment: str) -> Callable[..., CallResult]:
        settings = settings_for(upstream.url, CACHE=f"dynamodb://{TABLE}", CACHE_TIMEOUT_S="30", **environment)
        clock = clock or Clock()
        executor = ToolExecutor(settings, clock=clock.clocks())

        def call(name: str = "CPI", key: str = KEY, **arguments: Any) -> CallResult:
            return answered(executor, catalog, name, key, arguments)

        return call

    return made


class TestDynamoDBStore:
    def test_a_value_is_stored_with_its_ttl_attribute(self, table: DynamoDBStore, aws: Any) -> None:
        assert table.get("a") is None
        table.put("a", b"value", 1000.0, 2000.2)
        assert table.get("a") == b"value"
        item = aws.get_item(TableName=TABLE, Key={"pk": {"S": "a"}})["Item"]
        assert item["expires_at"] == {"N": "2001"}

    def test_an_older_value_does_not_replace_a_newer_one(self, table: DynamoDBStore) -> None:
        table.put("a", b"new", 1000.5, 2000.0)
        table.put("a", b"old", 1000.0, 2000.0)
        assert table.get("a") == b"new"
        table.put("a", b"newer", 1001.0, 2000.0)
        assert table.get("a") == b"newer"

    def test_a_value_too_large_for_an_item_is_in_the_bucket(self, table: DynamoDBStore, aws: Any) -> None:
        large = random.Random(1).randbytes(500_000)
        table.put("a", large, 1000.0, 2000.0)
        assert table.get("a") == large
        assert [item["Key"] for item in aws_services.client_here("s3").list_objects_v2(Bucket=BUCKET)["Contents"]] == [
            "cache/a"
        ]
        table.put("a", b"small", 1001.0, 2000.0)
        assert table.get("a") == b"small"

    def test_without_a_bucket_large_values_are_not_stored(self, aws: Any) -> None:
        table = DynamoDBStore(AwsClients(), TABLE, 30.0)
        table.put("a", bytes(390_000), 1000.0, 2000.0)
        table.put("b", bytes(390_001), 1000.0, 2000.0)
        assert table.get("a") is not None
        assert table.get("b") is None

    def test_an_environment_without_the_bucket_of_another_misses_what_is_there(
        self, table: DynamoDBStore, aws: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        table.put("a", bytes(390_001), 1000.0, 2000.0)
        settings = settings_for("http://localhost/query", CACHE=f"dynamodb://{TABLE}", CACHE_TIMEOUT_S="30")
        store = create_shared_store(settings, time.monotonic, AwsClients())
        assert store is not None
        assert store.run(lambda one: one.get("a")) is None
        assert not caplog.messages

    def test_counters_and_slots_are_shared(self, table: DynamoDBStore, aws: Any) -> None:
        other = DynamoDBStore(AwsClients(), TABLE, 30.0)
        assert [increment(table, "n", 1000.0), increment(other, "n", 1000.0)] == [1, 2]
        assert table.acquire_slot("turn", 1000.0, 1001.0) == 0
        assert other.acquire_slot("turn", 1000.5, 1001.5) == 1001.0
        assert other.acquire_slot("turn", 1001.0, 1002.0) == 0

    def test_a_record_that_another_environment_changes_meanwhile_is_read_again(
        self, table: DynamoDBStore, aws: Any
    ) -> None:
        other, seen = DynamoDBStore(AwsClients(), TABLE, 5.0), list[bytes | None]()

        def change(before: bytes | None) -> bytes:
            seen.append(before)
            if before is None:
                other.replace("r", None, b"theirs", 2000.0)
            return b"mine"

        assert table.change("r", change, 2000.0) == b"theirs"
        assert (seen, table.get("r")) == ([None, b"theirs"], b"mine")

    def test_a_record_that_expires_while_it_is_changed_is_made_anew(self, table: DynamoDBStore, aws: Any) -> None:
        table.replace("r", None, b"old", 2000.0)

        def change(before: bytes | None) -> bytes:
            if before is not None:
                aws.delete_item(TableName=TABLE, Key={"pk": {"S": "r"}})
            return b"new"

        assert table.change("r", change, 3000.0) is None
        assert table.get("r") == b"new"


class TestEnvironments:
    def test_a_response_fetched_by_one_environment_is_cached_for_the_others(
        self, aws: Any, make: Make, upstream: Upstream
    ) -> None:
        clock = Clock()
        one, two = make(clock), make(clock)
        assert not one().cached
        clock.now += 60
        assert (two().cached, two().age_s) == (True, 60)
        assert len(upstream.requests) == 1

    def test_an_expired_response_is_kept_for_all_environments_while_its_source_may_fail(
        self, aws: Any, make: Make, upstream: Upstream
    ) -> None:
        clock = Clock()
        first = make(clock)()
        clock.now += 20 * 3600
        upstream.replies = [BUSY]
        late = make(clock)()
        assert (late.body, late.cached, late.stale_reason) == (first.body, True, "UPSTREAM_ERROR")
        [kept] = [item["expires_at"]["N"] for item in aws.scan(TableName=TABLE)["Items"] if "v" in item]
        assert float(kept) > clock.now

    def test_an_exhausted_daily_quota_is_known_to_all_environments(
        self, aws: Any, make: Make, upstream: Upstream
    ) -> None:
        upstream.replies = [notice("our standard API rate limit is 25 requests per day")]
        clock = Clock()
        for tool in ("CPI", "WTI", "COPPER"):
            with pytest.raises(RateLimited):
                make(clock)(tool)
        assert len(upstream.requests) == 1


@pytest.mark.parametrize(("body", "told"), [(b"no JSON", "KeyError"), (b'{"Item": 7}', "AttributeError")])
def test_a_response_of_the_table_that_cannot_be_read_fails_no_call(
    aws: Any,
    make: Make,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    body: bytes,
    told: str,
) -> None:
    with Upstream((200, {}, body)) as refusing:
        monkeypatch.setenv("AWS_ENDPOINT_URL", refusing.url.removesuffix("/query"))
        call = make()
        assert call("CPI").body
        assert call("WTI").body
    warnings = [one.getMessage() for one in caplog.records if (one.levelname, one.name) == ("WARNING", "toolfold")]
    assert warnings == [f"Shared cache unavailable ({told}); retrying in 30 s"]
