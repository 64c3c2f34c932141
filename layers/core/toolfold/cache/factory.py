"""Open the store that the settings name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from toolfold.aws.clients import AwsClients
from toolfold.cache.base import CacheStore
from toolfold.cache.fail_safe import FailSafeStore

if TYPE_CHECKING:
    from toolfold.settings import Settings


def create_shared_store(settings: Settings, clock: Callable[[], float], aws: AwsClients) -> FailSafeStore | None:
    """Return the store that other processes share, or None where ``settings.cache`` names none.

    Args:
        settings: ``cache`` is empty, ``memory``, ``off``, ``dynamodb://table``, or else the path of a file.
        clock: a monotonic clock.
        aws: creates the clients of AWS.
    """
    location = settings.cache
    if location in ("", "memory", "off"):
        return None

    def open_store() -> CacheStore:
        # Imported when needed: one of the two, and neither before the first call.
        if location.startswith("dynamodb://"):
            from toolfold.cache.dynamodb import DynamoDBStore

            table = location.removeprefix("dynamodb://")
            return DynamoDBStore(aws, table, settings.cache_bucket, settings.cache_timeout_s)
        from pathlib import Path

        from toolfold.cache.sqlite import SQLiteStore

        return SQLiteStore(Path(location).expanduser(), settings.cache_file_bytes, settings.cache_timeout_s)

    return FailSafeStore(open_store, settings.cache_cooldown_s, clock)
