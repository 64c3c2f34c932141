"""The shared cache on AWS: one DynamoDB table, and a bucket for values that are too large for its items.

Attributes of an item: ``pk`` is the key, ``v`` the value or record, ``made_at`` its time, ``n`` a counter,
``s3_key`` the object in S3 that has the value instead, ``expires_at`` the table's TTL attribute. DynamoDB deletes
expired items days late, so a value says itself until when it is good.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from toolfold.aws.clients import AwsClients, error_code
from toolfold.cache.stores import MAX_CLOCK_SKEW_S, CacheStore, Change, FailSafeStore

_MAX_ITEM_BYTES = 390_000
"""DynamoDB takes items of 400 KB (409,600 bytes), names and numbers included."""

_OBJECT_GONE = ("NoSuchKey", "AccessDenied", "403", "404")


class DynamoDBStore(CacheStore):
    """Values and counters in ``table``; values over 390 KB in ``bucket`` (``s3://bucket/prefix``), if there is one.

    Every method raises what boto3 raises for the table. Requests are not retried.

    Args:
        aws: creates the client of the table, whose key is ``pk``, a string.
        timeout_s: seconds to connect, and as many for each request with its response.
        s3: returns the client of the bucket; without it, large values are not stored. While it fails, only they are not
            cached: a caller chooses how large an answer is, and may choose one that takes too long.
        is_consistent: whether what another process has just written counts, at twice the price of a read.
    """

    def __init__(
        self,
        aws: AwsClients,
        table: str,
        timeout_s: float,
        bucket: str = "",
        s3: FailSafeStore[Any] | None = None,
        *,
        is_consistent: bool = False,
    ) -> None:
        self._dynamodb, self._table, self._s3 = partial(aws.client, "dynamodb", timeout_s=timeout_s), table, s3
        self._bucket, _, self._prefix = bucket.removeprefix("s3://").rstrip("/").partition("/")
        self._is_consistent = is_consistent

    def get(self, key: str) -> bytes | None:
        """Return the value or record last stored, or None."""
        item = self._get_item(key, self._is_consistent)
        if (path := item.get("s3_key", {}).get("S")) and self._s3 is not None:
            return self._s3.run(lambda s3: self._get_object(s3(), path))
        return item.get("v", {}).get("B")  # type: ignore[no-any-return]  # of another form: a miss

    def put(self, key: str, value: bytes, created_at: float, expires_at: float) -> None:
        """Store ``value``, unless a newer one is stored."""
        held: str | bytes = value
        if is_large := len(value) > _MAX_ITEM_BYTES:
            held = f"{self._prefix}/{key}".strip("/")
            request = {"Bucket": self._bucket, "Key": held, "Body": value}
            if self._s3 is None or self._s3.run(lambda s3: s3().put_object(**request)) is None:
                return
        self._update(
            key,
            f", made_at = :made_at, {'s3_key = :held REMOVE v' if is_large else 'v = :held REMOVE s3_key'}",
            "attribute_not_exists(made_at) OR made_at <= :made_at OR made_at > :wrong",
            {"made_at": created_at, "wrong": created_at + MAX_CLOCK_SKEW_S, "held": held},
            expires_at,
        )

    def change(self, key: str, change: Change, expires_at: float | None) -> bytes | None:
        """Store what ``change`` makes of a record; return the one before."""
        item, is_stored = self._get_item(key, is_consistent=True), False
        while not is_stored and (value := change(before := item["v"]["B"] if "v" in item else None)) is not None:
            until = float(item["expires_at"]["N"]) if expires_at is None else expires_at
            condition, values = "attribute_not_exists(v)", {"value": value}
            if before is not None:
                condition, values["before"] = "v = :before", before
            is_stored, item = self._update(key, ", v = :value", condition, values, until)
        return before

    def count_within(self, key: str, limit: int, expires_at: float) -> int:
        """Add 1 to a counter unless it has reached ``limit``; return the number before."""
        condition, values = "attribute_not_exists(n) OR n < :limit", {"one": 1, "limit": limit}
        is_counted, item = self._update(key, " ADD n :one", condition, values, expires_at, returns="UPDATED_NEW")
        return int(item.get("n", {"N": "0"})["N"]) - is_counted

    def _get_item(self, key: str, is_consistent: bool) -> Mapping[str, Any]:
        request = {"TableName": self._table, "Key": {"pk": _typed(key)}, "ConsistentRead": is_consistent}
        return dict(self._dynamodb().get_item(**request).get("Item", {}))

    def _update(
        self, key: str, update: str, condition: str, values: Mapping[str, Any], until: float, returns: str = "NONE"
    ) -> tuple[bool, Mapping[str, Any]]:
        """Return whether the condition holds, and the attributes that ``returns`` names, or else the whole item."""
        values = {"until": math.ceil(until), **values}
        dynamodb = self._dynamodb()
        try:
            response = dynamodb.update_item(
                TableName=self._table,
                Key={"pk": _typed(key)},
                UpdateExpression=f"SET expires_at = :until{update}",
                ConditionExpression=condition,
                ExpressionAttributeValues={f":{name}": _typed(value) for name, value in values.items()},
                ReturnValues=returns,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
            return True, {} if returns == "NONE" else response["Attributes"]
        except dynamodb.exceptions.ConditionalCheckFailedException as error:
            return False, error.response.get("Item", {})  # none where it has expired and is deleted

    def _get_object(self, s3: Any, path: str) -> bytes | None:
        try:
            return bytes(s3.get_object(Bucket=self._bucket, Key=path)["Body"].read())
        except Exception as error:
            # The bucket's lifecycle deleted it first. S3 calls that "denied" to callers that may not list.
            if error_code(error) in _OBJECT_GONE:
                return None
            raise


def _typed(value: str | bytes | float) -> dict[str, Any]:
    if isinstance(value, str | bytes):
        return {"S" if isinstance(value, str) else "B": value}
    return {"N": repr(round(value, 3))}
