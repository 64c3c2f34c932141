"""Where approvals are recorded: in DynamoDB, in a SQLite file beside the cache, or in the memory of this process.

A call is requested with :meth:`ApprovalStore.add`; approving, denying and redeeming it are conditional writes that
succeed for one caller. A record that is lost is a call that is refused, never one that is performed.

The secret that signs the tokens comes from the settings, from AWS, or from a file beside that of the approvals, where
it is generated. :class:`ApprovalResources` has both, for approvals and for tokens that are used once.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import logging
import math
import os
import re
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from toolfold import messages, private_folder
from toolfold.aws.clients import error_code
from toolfold.cache.sqlite import SQLiteStore
from toolfold.errors import ApprovalUnavailable
from toolfold.files import replace_file
from toolfold.local_defaults import with_local_defaults
from toolfold.private_folder import PathRefused

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

T = TypeVar("T")

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
        location = with_local_defaults(settings.replaced(cache="")).cache
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
        self._execute("DELETE FROM entries WHERE expires_at < ?", now - _DELETED_AFTER_S)
        self._execute("INSERT INTO entries VALUES (?, ?, ?, ?)", id_, record, now, expires_at)

    def replace(self, id_: str, expected: bytes, record: bytes) -> bool:
        """Replace a record if it is ``expected``."""
        return bool(
            self._execute("UPDATE entries SET value = ? WHERE key = ? AND value = ? RETURNING 1", record, id_, expected)
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


KEY_FILE_NAME = "approvals.secret"
_MIN_CHARACTERS = 32
_TEXT = re.compile(rb"[0-9a-f]{64}\n")


class SecretUnavailable(Exception):
    """There is no secret to sign with; ``str()`` says why, and names no secret."""


def signing_secret(settings: Settings, read_reference: Callable[[str], str], own: bytes) -> bytes:
    """Return the secret that signs and checks tokens.

    Args:
        settings: the settings in force.
        read_reference: reads a secret of AWS, or returns "".
        own: a secret of this process, for approvals in its memory.

    Raises:
        SecretUnavailable: there is no secret.
        OSError, PathRefused: the file of the generated one cannot be used.
    """
    given = settings.approval_secret
    if given.startswith(("arn:", "ssm:")):
        given = read_reference(given)
        if len(given) < _MIN_CHARACTERS:
            raise SecretUnavailable("TOOLFOLD_APPROVAL_SECRET cannot be read from AWS, or is too short")
    if given:
        return given.encode()
    if settings.cache.startswith("dynamodb://"):
        raise SecretUnavailable("TOOLFOLD_APPROVAL_SECRET is not set")
    if is_in_memory(settings):
        return own
    return local_secret(settings)


def local_secret(settings: Settings) -> bytes:
    """Return the secret of this user, which is generated when it is needed first: a file that only the user can read.

    Raises:
        SecretUnavailable: there is no place for it, or the file is not one that toolfold has made.
        OSError, PathRefused: the file cannot be used.
    """
    path = approval_file(settings)
    if not path:
        raise SecretUnavailable("this user has no home folder")
    path = os.path.join(private_folder.own_folder(os.path.dirname(path)), KEY_FILE_NAME)
    if not os.path.lexists(path):
        with contextlib.suppress(FileExistsError):  # of several processes, the first one writes it
            replace_file(path, os.urandom(32).hex().encode() + b"\n", overwrite=False, mode=0o600)
    return _read(path)


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | private_folder.NO_FOLLOW)
    try:
        status = os.fstat(descriptor)
        content = os.read(descriptor, 100) if stat.S_ISREG(status.st_mode) else b""
    finally:
        os.close(descriptor)
    if os.name != "nt" and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
        raise SecretUnavailable(f"other users can read {path}, or it belongs to one: delete it")
    if _TEXT.fullmatch(content) is None:
        raise SecretUnavailable(f"{path} was not made by toolfold: delete or move it")
    return content.strip()


class ApprovalResources:
    """Secret and store, which is opened when it is needed first. One for a process; safe to use from many threads."""

    def __init__(
        self,
        settings: Settings,
        aws: AwsClients,
        read_reference: Callable[[str], str],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.settings, self.now = settings, now
        self._aws, self._read_reference = aws, read_reference
        self._own_secret = os.urandom(32)
        self._opened: ApprovalStore | None = None

    def secret(self) -> bytes:
        """Return the secret; see :func:`toolfold.execution.approval_store.signing_secret`.

        Raises:
            ApprovalUnavailable: there is no secret, or its file cannot be used.
        """
        try:
            return signing_secret(self.settings, self._read_reference, self._own_secret)
        except (SecretUnavailable, PathRefused) as error:
            raise unavailable(str(error)) from None
        except OSError as error:
            raise unavailable(type(error).__name__) from None

    def run(self, operation: Callable[[ApprovalStore], T]) -> T:
        """Return the result of ``operation`` on the store.

        Raises:
            ApprovalUnavailable: it fails, for any reason: then nothing is known about the approval.
        """
        try:
            if self._opened is None:
                self._opened = open_approvals(self.settings, self._aws, self.now)
            return operation(self._opened)
        except PathRefused as error:
            raise unavailable(str(error)) from None
        except Exception as error:  # noqa: BLE001 - as above
            if isinstance(error, OSError):
                self._opened = None  # opened again when it is needed next: a file may have been deleted
            raise unavailable(error_code(error)) from None


def unavailable(reason: str) -> ApprovalUnavailable:
    """Return the error for a fault of this deployment. The reason is for the log: it may name a path."""
    logger.error("approvals unavailable: %s", reason)
    return ApprovalUnavailable(
        "Approvals cannot be recorded or checked here at the moment, so the call was refused; nothing was sent.",
        messages.TELL_OPERATOR,
    )


TTL_S = 600
"""Seconds for which a token can be used: an agent continues at once."""

_ID_BYTES, _MAC_CHARS = 8, 32
_OPEN, _USED = b"open", b"used"


class SingleUse:
    """Sign tokens that hold calls, and let each be used once, as calls must not be performed twice.

    One for a process; safe to use from many threads. Of several uses of a token one succeeds.
    """

    def __init__(self, resources: ApprovalResources) -> None:
        self._resources, self._now = resources, resources.now

    def open(self, text: str) -> tuple[str, int, str]:
        """Return a new id, when it ends, in seconds since 1970, and the signature of ``text`` with both.

        Raises:
            ApprovalUnavailable: nothing can be signed or recorded.
        """
        id_, expires_at = os.urandom(_ID_BYTES).hex(), int(self._now() + TTL_S)
        mac = self._mac(id_, expires_at, text)
        self._resources.run(lambda store: store.add(_token_key(id_), _OPEN, expires_at))
        return id_, expires_at, mac

    def use(self, id_: str, expires_at: int, mac: str, text: str) -> bool:
        """Return whether this is the first use of what :meth:`open` returned for ``text``.

        Raises:
            ApprovalUnavailable: nothing can be checked or recorded.
        """
        if not hmac.compare_digest(mac.encode(), self._mac(id_, expires_at, text).encode()) or expires_at < self._now():
            return False
        return self._resources.run(lambda store: store.replace(_token_key(id_), _OPEN, _USED))

    def _mac(self, id_: str, expires_at: int, text: str) -> str:
        message = f"toolfold continue {id_} {expires_at} {text}".encode()
        return hmac.new(self._resources.secret(), message, hashlib.sha256).hexdigest()[:_MAC_CHARS]


def _token_key(id_: str) -> str:
    return f"continue-{id_}"
