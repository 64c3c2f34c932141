"""Open the stores that the settings name: the cache, whose failures only cost time, and records, which must not fail.

Records are in the table of the cache, in a SQLite file of the user, or in this process. The secret that protects them
comes from the settings, from AWS, or from a file of the user, where it is generated. Which kind of store is imported
depends on the settings, and none is before the first call.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from toolfold import private_folder
from toolfold.aws.clients import error_code
from toolfold.cache.base import CacheStore, FailSafeStore
from toolfold.private_folder import PathRefused, replace_file

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.settings import Settings

T = TypeVar("T")

_MAX_FILE_BYTES = 8_000_000
_SECRET = re.compile(rb"[0-9a-f]{64}\n")
_MIN_SECRET_CHARS = 32


def create_shared_store(
    settings: Settings,
    clock: Callable[[], float],
    aws: AwsClients,
    *,
    name: str = "Shared cache",
    on_failure: Callable[[str], None] | None = None,
) -> FailSafeStore[CacheStore] | None:
    """Return the store that other processes share, or None where ``settings.cache`` names none.

    ``name`` is what is logged as unavailable when it fails; ``on_failure`` is called at each failure with its reason,
    also at those of the bucket. ``clock`` is monotonic.
    """
    is_table = bool(settings.cache_table)
    if not (is_table or settings.cache_file):
        return None
    timeout_s, cooldown_s = settings.cache_timeout_s, settings.cache_cooldown_s

    def open_store() -> CacheStore:
        if not is_table:
            return _open_file(settings.cache_file, settings.cache_file_bytes, timeout_s)
        from toolfold.cache.dynamodb import DynamoDBStore

        # Its client is made for the first large value; most environments never see one.
        s3: FailSafeStore[Any] = FailSafeStore(
            lambda: aws.client("s3", timeout_s=timeout_s),
            cooldown_s,
            clock,
            name="Bucket of the shared cache",
            on_failure=on_failure,
        )
        bucket = settings.cache_bucket
        return DynamoDBStore(aws, settings.cache_table, timeout_s, bucket, s3 if bucket else None)

    return FailSafeStore(open_store, cooldown_s, clock, repeats_warnings=is_table, name=name, on_failure=on_failure)


class Unavailable(Exception):
    """Records, or a secret, cannot be used. The text is for the log: it may name a path, but no secret."""


class Locked(Unavailable):
    """Another process is changing a record."""


def _unavailable(error: Exception) -> Unavailable:
    # The code or the type alone: another text may have an address or a name.
    return Unavailable(str(error) if isinstance(error, PathRefused) else error_code(error))


class Records:
    """A store that is opened when it is needed first. Safe to use from many threads."""

    def __init__(self, open_store: Callable[[], CacheStore]) -> None:
        self._open_store, self._lock = open_store, threading.Lock()
        self._store: CacheStore | None = None

    def run(self, operation: Callable[[CacheStore], T]) -> T:
        """Return the result of ``operation`` on the store.

        Raises:
            Unavailable: it failed, and nothing is known about the record.
        """
        try:
            with self._lock:  # two in memory would each have a part of the records
                store = self._store = self._store or self._open_store()
            return operation(store)
        except Exception as error:
            if isinstance(error, OSError):
                self._store = None  # opened again when it is needed next: a file may have been deleted
            raise _unavailable(error) from error


def records_in_table(settings: Settings, aws: AwsClients) -> Records:
    """Return the records in the table that ``settings.cache`` names."""

    def open_store() -> CacheStore:
        from toolfold.cache.dynamodb import DynamoDBStore

        return DynamoDBStore(aws, settings.cache_table, settings.secret_timeout_s, is_consistent=True)

    return Records(open_store)


def records_in_file(path: str, timeout_s: float) -> Records:
    """Return the records in a SQLite file of the user; ``timeout_s`` is for another process that writes."""
    return Records(lambda: _open_file(path, _MAX_FILE_BYTES, timeout_s, is_durable=True))


def _open_file(path: str, max_bytes: int, timeout_s: float, *, is_durable: bool = False) -> CacheStore:
    from toolfold.cache.sqlite import SQLiteStore

    return SQLiteStore(path, max_bytes, timeout_s, is_durable=is_durable)


def given_secret(variable: str, given: str, read_reference: Callable[[str], str]) -> bytes:
    """Return the secret of a setting, which it has or refers to; empty where it is not set.

    Raises:
        Unavailable: AWS does not return it, or it is too short.
    """
    if given.startswith(("arn:", "ssm:")):
        given = read_reference(given)
        if len(given) < _MIN_SECRET_CHARS:
            raise Unavailable(f"{variable} cannot be read from AWS, or is too short")
    return given.encode()


def own_secret(path: str, *, is_replaced: bool = False) -> bytes:
    """Return the secret in a file that only this user can read: 64 hexadecimal digits, generated when needed first.

    Args:
        path: the file, whose folder is made as well.
        is_replaced: whether another content is replaced. Otherwise it may be the file of another program, and stays.

    Raises:
        Unavailable: the file cannot be used.
    """
    try:
        path = os.path.join(private_folder.resolve(os.path.dirname(path), create=True), os.path.basename(path))
        for overwrite in (False, is_replaced):
            if overwrite or not os.path.lexists(path):
                with contextlib.suppress(FileExistsError):  # of several processes, the first one writes it
                    replace_file(path, os.urandom(32).hex().encode() + b"\n", overwrite=overwrite, mode=0o600)
            with open(os.open(path, os.O_RDONLY | private_folder.NO_FOLLOW), "rb") as file:
                status = os.fstat(file.fileno())
                private_folder.check_owned_file(path, status)
                if os.name != "nt" and status.st_mode & 0o077:
                    raise PathRefused(f"other users can read {path}: delete it")
                content = file.read(100)
            if _SECRET.fullmatch(content):
                return content.strip()
        raise PathRefused(f"{path} was not made by toolfold: delete or move it")
    except (PathRefused, OSError) as error:
        raise _unavailable(error) from error
