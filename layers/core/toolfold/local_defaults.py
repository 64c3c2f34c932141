"""Defaults for a process of one user: the cache and long answers are files in the user's cache folder."""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

CACHE_FILE = os.path.join("responses", "responses.sqlite")
"""In toolfold's folder. The ``answers.sqlite`` of earlier versions cannot be recognised as a file of toolfold."""


def user_cache_dir() -> str:
    """Return toolfold's folder in the user's cache, as the system has it, or below ``XDG_CACHE_HOME``.

    Returns:
        An absolute path; empty where the user has no home folder.
    """
    import platformdirs  # 20 ms, not needed where the settings name a cache and a folder

    with contextlib.suppress(RuntimeError):  # neither HOME nor an entry in the user database
        folder = platformdirs.user_cache_dir("toolfold", appauthor=False, opinion=False)
        # A relative path would be one of the working directory.
        return folder if os.path.isabs(folder) else ""
    return ""


def with_local_defaults(settings: Settings) -> Settings:
    """Return ``settings`` with files of the user where the settings name no cache and no place for long answers."""
    if settings.cache and settings.offload:
        return settings
    folder = user_cache_dir()
    if not folder:
        logger.warning("This user has no home folder: responses are cached in memory, long answers are not saved")
        return settings._replace(cache=settings.cache or "memory", offload=settings.offload or "off")
    return settings._replace(
        cache=settings.cache or os.path.join(folder, CACHE_FILE), offload=settings.offload or folder
    )
