"""Where approvals are recorded: in DynamoDB, in a SQLite file beside the cache, or in the memory of this process.

A call is requested with :meth:`ApprovalStore.add`; approving, denying and redeeming it are conditional writes that
succeed for one caller. A record that is lost is a call that is refused, never one that is performed.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from toolfold.cache.sqlite import SQLiteStore
from toolfold.local_defaults import with_local_defaults

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.settings import Settings

__all__ = [
    "ApprovalStore",
    "FileApprovals",
    "MemoryApprovals",
    "TableApprovals",
    "approval_file",
    "is_in_memory",
    "open_approvals",
]

FILE_NAME = "approvals.sqlite"
"""In the folder of the cache file. Not in that file: a full cache evicts what expires first."""

_MAX_BYTES = 8_000_000
_MAX_RECORDS = 10_000
_DELETED_AFTER_S = 3600
"""Seconds after its expiry for which a record is stored, so that the answer to a late call names the reason."""


class ApprovalStore(Protocol):
    """Store records by the id of an approval. Every method raises what the store raises."""

    def add(self, id_: str, record: bytes, expires_at: float) -> None:
        """Store a new record."""

    def get(self, id_: str) -> bytes | None:
        """Return the record as it was written last, or None."""

    def replace(self, id_: str, expected: bytes, record: bytes) -> bool:
        """Replace the record if it is ``expected``; return whether it was. Of several callers one gets True."""


def approval_file(settings: Settings) -> str:
    """Return the path of the SQLite file for a deployment without DynamoDB; empty: the user has no folder for it."""
    location = settings.cache
    if location in ("", "memory", "off"):
        location = with_local_defaults(settings._replace(cache="")).cache
    return "" if location == "memory" else os.path.join(os.path.dirname(os.path.abspath(location)), FILE_NAME)


def is_in_memory(settings: Settings) -> bool:
    """Return whether approvals are recorded in this process alone, where no person can approve one."""
    if settings.approve == "human" or settings.cache not in ("", "memory", "off"):
        return False
    return settings.cache == "memory" or not approval_file(settings)


def open_approvals(settings: Settings, aws: AwsClients, now: Callable[[], float] = time.time) -> ApprovalStore:
    """Open the store that ``settings.cache`` names, or for ``approve=human`` one that another process can open too.

    Raises:
        OSError: there is no such place.
    """
    if settings.cache.startswith("dynamodb://"):
        return TableApprovals(aws, settings.cache.removeprefix("dynamodb://"), settings.secret_timeout_s)
    if is_in_memory(settings):
        return MemoryApprovals(now)
    path = approval_file(settings)
    if not path:
        raise FileNotFoundError("this user has no home folder")
    return FileApprovals(path, settings.secret_timeout_s)


class MemoryApprovals:
    """Records in this process: each is approved and redeemed by the process that issued it."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._records: dict[str, tuple[bytes, float]] = {}
        self._lock = threading.Lock()

    def add(self, id_: str, record: bytes, expires_at: float) -> None:
        """Store a new record."""
        with self._lock:
            if len(self._records) >= _MAX_RECORDS:
                self._records = {key: found for key, found in self._records.items() if found[1] > self._now()}
            if id_ in self._records or len(self._records) >= _MAX_RECORDS:
                raise OSError("too many approvals")
            self._records[id_] = record, expires_at

    def get(self, id_: str) -> bytes | None:
        """Return a record."""
        with self._lock:
            return self._records.get(id_, (None, 0.0))[0]

    def replace(self, id_: str, expected: bytes, record: bytes) -> bool:
        """Replace a record if it is ``expected``."""
        with self._lock:
            found, expires_at = self._records.get(id_, (None, 0.0))
            if found != expected:
                return False
            self._records[id_] = record, expires_at
            return True


class FileApprovals(SQLiteStore):
    """Records in a SQLite file, shared by the processes of a user. A loss of power does not undo a write."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__(path, _MAX_BYTES, timeout_s)

    def add(self, id_: str, record: bytes, expires_at: float) -> None:
        """Store a new record, and delete those that expired long ago."""
        now = time.time()
        self._write("DELETE FROM entries WHERE expires_at < ?", now - _DELETED_AFTER_S)
        self._write("INSERT INTO entries VALUES (?, ?, ?, ?)", id_, record, now, expires_at)

    def replace(self, id_: str, expected: bytes, record: bytes) -> bool:
        """Replace a record if it is ``expected``."""
        return bool(
            self._write("UPDATE entries SET value = ? WHERE key = ? AND value = ? RETURNING 1", record, id_, expected)
        )

    def unexpired(self, now: float, most: int) -> list[tuple[str, bytes, float]]:
        """Return id, record and expiry of at most ``most`` records that have not expired, in any state.

        Those that expire soonest come first.
        """
        rows = self._execute(
            "SELECT key, value, expires_at FROM entries WHERE expires_at > ? AND typeof(value) = 'blob'"
            " ORDER BY expires_at LIMIT ?",
            now, most,
        )  # fmt: skip
        return [(str(key), bytes(value), float(expires_at)) for key, value, expires_at in rows]

    def _open(self) -> sqlite3.Connection:
        connection = super()._open()
        connection.execute("PRAGMA synchronous = FULL").fetchall()
        return connection


class TableApprovals:
    """Records in the DynamoDB table of the cache, as items ``approval/ID``; attributes as in ``cache.dynamodb``."""

    def __init__(self, aws: AwsClients, table: str, timeout_s: float) -> None:
        self._table = table
        self._dynamodb = aws.client("dynamodb", timeout_s=timeout_s)

    def add(self, id_: str, record: bytes, expires_at: float) -> None:
        """Store a new record."""
        until = {"N": str(math.ceil(expires_at) + _DELETED_AFTER_S)}
        item = {**_key(id_), "v": {"B": record}, "expires_at": until}
        self._dynamodb.put_item(TableName=self._table, Item=item, ConditionExpression="attribute_not_exists(pk)")

    def get(self, id_: str) -> bytes | None:
        """Return a record. The read is consistent: what another process has just approved or redeemed counts."""
        found: Any = self._dynamodb.get_item(TableName=self._table, Key=_key(id_), ConsistentRead=True)
        item = found.get("Item", {})
        return bytes(item["v"]["B"]) if "v" in item else None

    def replace(self, id_: str, expected: bytes, record: bytes) -> bool:
        """Replace a record if it is ``expected``."""
        try:
            self._dynamodb.update_item(
                TableName=self._table,
                Key=_key(id_),
                UpdateExpression="SET v = :record",
                ConditionExpression="v = :expected",
                ExpressionAttributeValues={":record": {"B": record}, ":expected": {"B": expected}},
            )
        except self._dynamodb.exceptions.ConditionalCheckFailedException:
            return False
        return True


def _key(id_: str) -> dict[str, Any]:
    return {"pk": {"S": f"approval/{id_}"}}
