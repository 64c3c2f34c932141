"""A place on AWS: one DynamoDB table, and a bucket for what is too large for its items.

``pk`` is the name, ``v`` the value, ``at`` when it was made, ``n`` a number, ``large`` the object that holds the value
instead, ``expires_at`` the table's TTL attribute. DynamoDB deletes late, by days: staleness is in the value itself.
"""

from __future__ import annotations

import functools
import math
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from toolfold.calling.places import AHEAD_S

_ITEM_LIMIT = 390_000
"""DynamoDB takes items of 400 KB (409,600 bytes), names and numbers included."""


class Table:
    """Values and numbers in ``table``; values over 390 KB in ``bucket`` (``s3://bucket/prefix``), or nowhere.

    Every request is given ``timeout_s`` to connect and as long to answer, and is not repeated.

    Raises:
        Exception: of boto3's many kinds, when AWS cannot be reached, refuses, or is too slow.
    """

    def __init__(self, table: str, bucket: str, timeout_s: float) -> None:
        import boto3
        from botocore.config import Config

        config = Config(connect_timeout=timeout_s, read_timeout=timeout_s, retries={"total_max_attempts": 1})
        self._table = table
        self._dynamodb: Any = boto3.client("dynamodb", config=config)
        place = urlsplit(bucket)
        self._bucket, self._prefix = place.netloc, place.path.strip("/")
        # Made when it is first needed, which is seldom: the model of S3 alone takes a tenth of a second to read.
        self._make_s3 = functools.cache(lambda: boto3.client("s3", config=config))

    def get(self, name: str) -> bytes | None:
        item = self._dynamodb.get_item(TableName=self._table, Key=_key(name)).get("Item", {})
        if "large" in item and self._bucket:
            return self._large(item["large"]["S"])
        return bytes(item["v"]["B"]) if "v" in item else None

    def put(self, name: str, value: bytes, at: float, until: float) -> None:
        item = {**_key(name), "at": _number(at), "expires_at": _number(math.ceil(until))}
        if len(value) <= _ITEM_LIMIT:
            item["v"] = {"B": value}
        elif self._bucket:
            path = f"{self._prefix}/{name}".strip("/")
            self._make_s3().put_object(Bucket=self._bucket, Key=path, Body=value)
            item["large"] = {"S": path}
        else:
            return
        # Refused: another process has put a newer one.
        with suppress(self._dynamodb.exceptions.ConditionalCheckFailedException):
            self._dynamodb.put_item(
                TableName=self._table,
                Item=item,
                ConditionExpression="attribute_not_exists(pk) OR #at <= :at OR #at > :wrong",
                ExpressionAttributeNames={"#at": "at"},
                ExpressionAttributeValues={":at": _number(at), ":wrong": _number(at + AHEAD_S)},
            )

    def add(self, name: str, until: float) -> int:
        changed = self._dynamodb.update_item(
            TableName=self._table,
            Key=_key(name),
            UpdateExpression="ADD n :one SET expires_at = :until",
            ExpressionAttributeValues={":one": _number(1), ":until": _number(math.ceil(until))},
            ReturnValues="UPDATED_NEW",
        )
        return int(changed["Attributes"]["n"]["N"])

    def reserve(self, name: str, now: float, until: float) -> float:
        try:
            self._dynamodb.update_item(
                TableName=self._table,
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
        except self._dynamodb.exceptions.ConditionalCheckFailedException as taken:
            return float(taken.response["Item"]["n"]["N"])
        return 0.0

    def _large(self, path: str) -> bytes | None:
        s3: Any = self._make_s3()
        try:
            return bytes(s3.get_object(Bucket=self._bucket, Key=path)["Body"].read())
        except s3.exceptions.ClientError as error:
            # The bucket's lifecycle was faster. S3 calls that "denied" to those who may not list.
            if error.response["Error"]["Code"] in ("NoSuchKey", "AccessDenied"):
                return None
            raise


def _key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}}


def _number(value: float) -> dict[str, str]:
    return {"N": repr(round(value, 3))}
