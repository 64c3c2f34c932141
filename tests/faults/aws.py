"""AWS services (moto's server) behind a proxy that can make them fail."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.aws_services import client, use_aws_endpoint
from tests.support.proxies import FaultyProxy

TABLE, BUCKET = "answers", "things"
_DELETIONS = 50
"""Attempts to delete the bucket, a tenth of a second apart."""


@dataclass(frozen=True)
class Aws:
    """The services: toolfold reaches them through ``faulty``, the clients reach them directly."""

    faulty: FaultyProxy
    dynamodb: Any
    s3: Any

    def items(self) -> list[dict[str, Any]]:
        """Return the cache entries of the table."""
        found = self.dynamodb.scan(TableName=TABLE)["Items"]
        return [item for item in found if set(item["pk"]["S"]) <= set("0123456789abcdef")]


@pytest.fixture
def aws(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """Create the table and the bucket; nothing fails until a test adds faults."""
    with FaultyProxy(endpoint) as faulty:
        use_aws_endpoint(faulty.url, monkeypatch)
        dynamodb, s3 = client("dynamodb", endpoint), client("s3", endpoint)
        for table, key, kind in ((TABLE, "pk", "S"), ("other-shape", "id", "N")):
            dynamodb.create_table(
                TableName=table,
                KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": kind}],
                BillingMode="PAY_PER_REQUEST",
            )
        s3.create_bucket(Bucket=BUCKET)
        yield Aws(faulty, dynamodb, s3)
        for table in (TABLE, "other-shape"):
            dynamodb.delete_table(TableName=table)
        _delete_bucket(s3)


def _delete_bucket(s3: Any) -> None:
    """Delete the bucket. A request that a fault delayed may still put an object into it."""
    for remaining in reversed(range(_DELETIONS)):
        for item in s3.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
            s3.delete_object(Bucket=BUCKET, Key=item["Key"])
        try:
            s3.delete_bucket(Bucket=BUCKET)
        except s3.exceptions.ClientError:
            if not remaining:
                raise
            time.sleep(0.1)
        else:
            return
