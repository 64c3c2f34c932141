"""Open the store that the settings name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from toolfold.aws.clients import AwsClients
from toolfold.cache.base import CacheStore, FailSafeStore
from toolfold.errors import SettingsError
from toolfold.private_folder import PathRefused

if TYPE_CHECKING:
    from toolfold.settings import Settings


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
    location = settings.cache
    if location in ("", "memory", "off"):
        return None

    timeout_s, cooldown_s = settings.cache_timeout_s, settings.cache_cooldown_s
    is_table = location.startswith("dynamodb://")

    # Imported when needed: one of the two, and neither before the first call.
    def open_store() -> CacheStore:
        if is_table:
            from toolfold.cache.dynamodb import DynamoDBStore

            table = location.removeprefix("dynamodb://")
            return DynamoDBStore(aws, table, settings.cache_bucket, timeout_s, cooldown_s, clock, on_failure)
        from toolfold.cache.sqlite import SQLiteStore

        return SQLiteStore(location, settings.cache_file_bytes, timeout_s)

    return FailSafeStore(open_store, cooldown_s, clock, repeats_warnings=is_table, name=name, on_failure=on_failure)


def check_cache_file(settings: Settings) -> None:
    """Check that the file that ``settings.cache`` names, if it names one, is toolfold's or does not exist.

    Called when a process starts for a user, who can then correct the setting. Nothing is changed.

    Raises:
        SettingsError: it is something else.
    """
    location = settings.cache
    if location in ("", "memory", "off") or location.startswith("dynamodb://"):
        return
    from toolfold.cache.sqlite import check_location

    try:
        check_location(location)
    except PathRefused as error:
        raise SettingsError(
            f"TOOLFOLD_CACHE cannot be used: {error}. Nothing was changed. Name a file that does not exist yet, in a "
            "folder of your own."
        ) from None
