"""A place on AWS: one DynamoDB table, and a bucket for what is too large for its items.

``pk`` is the name, ``v`` the value, ``at`` when it was made, ``n`` a number, ``large`` the object that holds the value
instead, ``expires_at`` the table's TTL attribute. DynamoDB deletes late, by days: staleness is in the value itself.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from typing import Any

from toolfold.aws import clients
from toolfold.aws.credentials import AwsError
from toolfold.cache.base import MAX_CLOCK_SKEW_S

_ITEM_LIMIT = 390_000
"""DynamoDB takes items of 400 KB (409,600 bytes), names and numbers included."""

_REFUSED = "ConditionalCheckFailedException"


class Table:
    """Values and numbers in ``table``; values over 390 KB in ``bucket`` (``s3://bucket/prefix``), or nowhere.

    Every request is given ``timeout_s`` to connect and as long to answer, and is not repeated.

    Raises:
        AwsError: DynamoDB cannot be reached, refuses, or is too slow.
        Exception: of obstore's many kinds, when the bucket is that.
    """

    def __init__(self, table: str, bucket: str, timeout_s: float) -> None:
        self._table, self._timeout_s = table, timeout_s
        name, _, prefix = bucket.removeprefix("s3://").partition("/")
        self._bucket, self._prefix = name, prefix.strip("/")
        self._store: Any = None

    def get(self, name: str) -> bytes | None:
        item = self._ask("GetItem", Key=_key(name)).get("Item", {})
        if "large" in item and self._bucket:
            return self._large(item["large"]["S"])
        return b64decode(item["v"]["B"], validate=True) if "v" in item else None

    def put(self, name: str, value: bytes, at: float, until: float) -> None:
        item = {**_key(name), "at": _number(at), "expires_at": _number(math.ceil(until))}
        if len(value) <= _ITEM_LIMIT:
            item["v"] = {"B": b64encode(value).decode()}
        elif self._bucket:
            import obstore

            path = f"{self._prefix}/{name}".strip("/")
            obstore.put(self._s3(), path, value, use_multipart=False)
            item["large"] = {"S": path}
        else:
            return
        try:
            self._ask(
                "PutItem",
                Item=item,
                ConditionExpression="attribute_not_exists(pk) OR #at <= :at OR #at > :wrong",
                ExpressionAttributeNames={"#at": "at"},
                ExpressionAttributeValues={":at": _number(at), ":wrong": _number(at + MAX_CLOCK_SKEW_S)},
            )
        except AwsError as error:
            if error.code != _REFUSED:  # else another process has put a newer one
                raise

    def add(self, name: str, until: float) -> int:
        changed = self._ask(
            "UpdateItem",
            Key=_key(name),
            UpdateExpression="ADD n :one SET expires_at = :until",
            ExpressionAttributeValues={":one": _number(1), ":until": _number(math.ceil(until))},
            ReturnValues="UPDATED_NEW",
        )
        return int(changed["Attributes"]["n"]["N"])

    def reserve(self, name: str, now: float, until: float) -> float:
        try:
            self._ask(
                "UpdateItem",
                Key=_key(name),
                UpdateExpression="SET n = :until, expires_at = :forget",
                ConditionExpression="attribute_not_exists(n) OR n <= :now",
                ExpressionAttributeValues={
                    ":until": _number(until),
                    ":now": _number(now),
                    ":forget": _number(math.ceil(until) + 60),
                },
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except AwsError as error:
            if error.code != _REFUSED:
                raise
            return float(error.reply["Item"]["n"]["N"])
        return 0.0

    def _ask(self, operation: str, **asked: Any) -> dict[str, Any]:
        return clients.ask("dynamodb", operation, {"TableName": self._table, **asked}, self._timeout_s)

    def _large(self, path: str) -> bytes | None:
        import obstore
        from obstore.exceptions import PermissionDeniedError

        try:
            return bytes(obstore.get(self._s3(), path).bytes())
        except (FileNotFoundError, PermissionDeniedError):
            # The bucket's lifecycle was faster. S3 calls that "denied" to those who may not list.
            return None

    def _s3(self) -> Any:
        # Made when it is first needed, which is seldom.
        if self._store is None:
            from toolfold.aws.s3 import open_bucket

            # It knows but one limit: to connect and to answer.
            self._store = open_bucket(self._bucket, "", 2 * self._timeout_s, retries=0)
        return self._store


def _key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}}


def _number(value: float) -> dict[str, str]:
    return {"N": repr(round(value, 3))}
