"""The shared cache on AWS: one DynamoDB table, and a bucket for values that are too large for its items.

Attributes of an item: ``pk`` is the key, ``v`` the value, ``at`` when it was made, ``n`` a number, ``c_…`` counters,
``large`` the object in S3 that has the value instead, ``expires_at`` the table's TTL attribute. DynamoDB deletes
expired items days late, so a value says itself until when it is good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolfold.aws.clients import AwsClients, error_code
from toolfold.cache.base import MAX_CLOCK_SKEW_S, CacheStore, FailSafeStore

_MAX_ITEM_BYTES = 390_000
"""DynamoDB takes items of 400 KB (409,600 bytes), names and numbers included."""

_OBJECT_GONE = ("NoSuchKey", "AccessDenied", "403", "404")


class DynamoDBStore(CacheStore):
    """Values and counters in ``table``; values over 390 KB in ``bucket`` (``s3://bucket/prefix``), if there is one.

    Args:
        aws: creates the client of the table.
        table: name of the table, whose key is ``pk``, a string.
        timeout_s: seconds to connect, and as many for each request with its response. Requests are not retried.
        bucket: ``s3://bucket/prefix``.
        s3: the client of the bucket; without it, large values are not stored. While it fails, only they are not
            cached: a caller chooses how large an answer is, and may choose one that takes too long.
        is_consistent: whether what another process has just written counts, at twice the price of a read.

    Every method raises what boto3 raises for the table.
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
        self._table, self._s3, self._is_consistent = table, s3, is_consistent
        self._bucket, _, prefix = bucket.removeprefix("s3://").partition("/")
        self._prefix = prefix.strip("/")
        self._dynamodb = aws.client("dynamodb", timeout_s=timeout_s)

    def get(self, key: str) -> bytes | None:
        """Return the value last put, or None."""
        item = self._dynamodb.get_item(TableName=self._table, Key=_key(key), ConsistentRead=self._is_consistent).get(
            "Item", {}
        )
        path, value = item.get("large", {}).get("S"), item.get("v", {}).get("B")
        if path and self._s3 is not None:
            return self._s3.run(lambda s3: self._get_object(s3, path))
        return None if value is None else bytes(value)

    def put(self, key: str, value: bytes, created_at: float, expires_at: float) -> None:
        """Store ``value``, unless a newer one is stored."""
        item = {**_key(key), "at": _number(created_at), "expires_at": _number(math.ceil(expires_at))}
        if len(value) <= _MAX_ITEM_BYTES:
            item["v"] = {"B": value}
        elif self._s3 is not None:
            path = f"{self._prefix}/{key}".strip("/")
            if self._s3.run(lambda s3: s3.put_object(Bucket=self._bucket, Key=path, Body=value)) is None:
                return
            item["large"] = {"S": path}
        else:
            return
        self._write(
            self._dynamodb.put_item,
            Item=item,
            ConditionExpression="attribute_not_exists(#at) OR #at <= :at OR #at > :wrong",
            ExpressionAttributeNames={"#at": "at"},
            ExpressionAttributeValues={":at": _number(created_at), ":wrong": _number(created_at + MAX_CLOCK_SKEW_S)},
        )

    def replace(self, key: str, expected: bytes | None, value: bytes, expires_at: float | None = None) -> bool:
        """Store a record if the one before is ``expected``, None for a new one; return whether it was."""
        until = {} if expires_at is None else {":until": _number(math.ceil(expires_at))}
        before = {} if expected is None else {":expected": {"B": expected}}
        is_stored, _ = self._write(
            self._dynamodb.update_item,
            Key=_key(key),
            UpdateExpression="SET v = :value" + (", expires_at = :until" if until else ""),
            ConditionExpression="v = :expected" if before else "attribute_not_exists(pk)",
            ExpressionAttributeValues={":value": {"B": value}, **before, **until},
        )
        return is_stored

    def count_within(
        self, key: str, limits: Mapping[str, int], expires_at: float, over: Sequence[str] = ()
    ) -> Mapping[str, int]:
        """Add 1 to each counter of ``key`` unless one has reached its limit; return the counters before.

        All are attributes of one item, so that a call needs one write, with one counter or with several.
        """
        adds = ", ".join(f"c_{name} :one" for name in limits)
        removes = ", ".join(f"c_{name}" for name in over)
        is_counted, item = self._write(
            self._dynamodb.update_item,
            Key=_key(key),
            UpdateExpression=f"ADD {adds} SET expires_at = :until" + (f" REMOVE {removes}" if removes else ""),
            ConditionExpression=" AND ".join(
                f"(attribute_not_exists(c_{name}) OR c_{name} < :limit{index})" for index, name in enumerate(limits)
            ),
            ExpressionAttributeValues={
                ":one": _number(1),
                ":until": _number(math.ceil(expires_at)),
                **{f":limit{index}": _number(limit) for index, limit in enumerate(limits.values())},
            },
            ReturnValues="UPDATED_NEW",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        return {name: int(item.get(f"c_{name}", {"N": "0"})["N"]) - is_counted for name in limits}

    def acquire_slot(self, key: str, now: float, expires_at: float) -> float:
        """Take the slot ``key``: return 0, or the time at which it becomes free."""
        is_acquired, item = self._write(
            self._dynamodb.update_item,
            Key=_key(key),
            UpdateExpression="SET n = :until, expires_at = :deleted_after",
            ConditionExpression="attribute_not_exists(n) OR n <= :now",
            ExpressionAttributeValues={
                ":until": _number(expires_at),
                ":now": _number(now),
                ":deleted_after": _number(math.ceil(expires_at) + 60),
            },
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        return 0.0 if is_acquired else float(item["n"]["N"])

    def _write(self, send: Callable[..., Mapping[str, Any]], **request: Any) -> tuple[bool, Mapping[str, Any]]:
        """Return whether the condition of ``request`` holds, and the attributes that it names."""
        try:
            response = send(TableName=self._table, **request)
            return True, response["Attributes"] if "ReturnValues" in request else {}
        except self._dynamodb.exceptions.ConditionalCheckFailedException as error:
            return False, error.response["Item"] if "ReturnValuesOnConditionCheckFailure" in request else {}

    def _get_object(self, s3: Any, path: str) -> bytes | None:
        try:
            return bytes(s3.get_object(Bucket=self._bucket, Key=path)["Body"].read())
        except Exception as error:
            # The bucket's lifecycle deleted it first. S3 calls that "denied" to callers that may not list.
            if error_code(error) in _OBJECT_GONE:
                return None
            raise


def _key(key: str) -> dict[str, Any]:
    return {"pk": {"S": key}}


def _number(value: float) -> dict[str, str]:
    return {"N": repr(round(value, 3))}
