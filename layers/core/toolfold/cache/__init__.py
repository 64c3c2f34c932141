"""Open the stores that the settings name. SQLite is imported for a file only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from toolfold.cache.dynamodb import DynamoDBStore
from toolfold.cache.stores import CacheStore, FailSafeStore, Records

if TYPE_CHECKING:
    from toolfold.aws.clients import AwsClients
    from toolfold.settings import Settings


def create_shared_store(
    settings: Settings,
    clock: Callable[[], float],
    aws: AwsClients,
    *,
    name: str = "Shared cache",
    on_failure: Callable[[str], None] = lambda _: None,
) -> FailSafeStore[CacheStore] | None:
    """Return the store that other processes share, or None where ``settings.cache`` names none.

    ``name`` is what is logged as unavailable when it fails; ``on_failure`` is called at each failure with its reason,
    also at those of the bucket. ``clock`` is monotonic.
    """
    make = partial(FailSafeStore, cooldown_s=settings.cache_cooldown_s, clock=clock, on_failure=on_failure)
    timeout_s, bucket = settings.cache_timeout_s, settings.cache_bucket
    if settings.cache_table:
        s3 = make(partial(aws.client, "s3", timeout_s=timeout_s), name="Bucket of the shared cache") if bucket else None
        return make(DynamoDBStore(aws, settings.cache_table, timeout_s, bucket, s3), name=name)
    if not settings.cache_file:
        return None
    return make(_file(settings.cache_file, settings.cache_file_bytes, timeout_s), name=name)


def records_in_table(settings: Settings, aws: AwsClients) -> Records:
    """Return the records in the table that ``settings.cache`` names."""
    return Records(DynamoDBStore(aws, settings.cache_table, settings.secret_timeout_s, is_consistent=True))


def records_in_file(path: str, timeout_s: float) -> Records:
    """Return the records in a SQLite file of the user; ``timeout_s`` is for another process that writes."""
    return Records(_file(path, 8_000_000, timeout_s, is_durable=True))


def _file(path: str, max_bytes: int, timeout_s: float, *, is_durable: bool = False) -> CacheStore:
    from toolfold.cache.sqlite import SQLiteStore

    return SQLiteStore(path, max_bytes, timeout_s, is_durable=is_durable)
