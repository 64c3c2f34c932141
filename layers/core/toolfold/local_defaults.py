"""Defaults for a process of one user: the cache and long answers are files in the user's cache folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.settings import Settings


def user_cache_dir() -> str:
    """Return toolfold's folder in the user's cache, as the system has it, or below ``XDG_CACHE_HOME``."""
    import platformdirs  # 20 ms, not needed where the settings name a cache and a folder

    return platformdirs.user_cache_dir("toolfold", appauthor=False, opinion=False)


def with_local_defaults(settings: Settings) -> Settings:
    """Return ``settings`` with files of the user where the settings name no cache and no place for long answers."""
    if settings.cache and settings.offload:
        return settings
    folder = user_cache_dir()
    return settings._replace(
        cache=settings.cache or os.path.join(folder, "answers.sqlite"),
        offload=settings.offload or os.path.join(folder, "answers"),
    )
