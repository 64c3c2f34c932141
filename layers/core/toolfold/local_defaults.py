"""Defaults for a process of one user: a file of settings, and folders for the cache and for long answers."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from toolfold.settings.file import apply_settings, read_settings

if TYPE_CHECKING:
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

CACHE_FILE = os.path.join("responses", "responses.sqlite")
"""In toolfold's folder. The ``answers.sqlite`` of earlier versions cannot be recognised as a file of toolfold."""


def user_folder(kind: Literal["cache", "config", "data"]) -> str:
    """Return toolfold's folder of the user, as the system has it, or below ``XDG_CACHE_HOME`` and the like.

    Args:
        kind: ``data`` is what no cache may lose.

    Returns:
        An absolute path; empty where the user has no home folder.
    """
    import platformdirs  # 20 ms, not needed where the settings name a cache and a folder

    find = getattr(platformdirs, f"user_{kind}_dir")
    with contextlib.suppress(RuntimeError):  # neither HOME nor an entry in the user database
        folder = find("toolfold", appauthor=False, **({"opinion": False} if kind == "cache" else {}))
        # A relative path would be one of the working directory.
        return folder if os.path.isabs(folder) else ""
    return ""


def use_settings_file(path: str = "", former: Iterable[str] = ()) -> dict[str, str]:
    """Set the variables that this process lacks from a settings file, by default the user's own.

    Args:
        path: the file; empty: the user's own, which need not exist.
        former: variables that were set from the file before, and are as the file has them now.

    Returns:
        Variable → file, for those that were set.

    Raises:
        SettingsError: the file has a mistake; names file and line.
    """
    own = user_settings_file()
    path = path or (own if os.path.exists(own) else "")
    if not path and not former:
        return {}
    settings = read_settings(path, os.environ.get("TOOLFOLD_STAGE", "")) if path else {}
    for name in former:
        os.environ.pop(name, None)
    return dict.fromkeys(apply_settings(settings), path)


def user_settings_file() -> str:
    """Return where the user's own settings file is, or would be; empty where the user has no home folder."""
    folder = user_folder("config")
    return os.path.join(folder, "settings.toml") if folder else ""


def with_local_defaults(settings: Settings) -> Settings:
    """Return ``settings`` with files of the user where the settings name no cache and no place for long answers."""
    if settings.cache and settings.offload:
        return settings
    folder = user_folder("cache")
    if not folder:
        logger.warning("This user has no home folder: responses are cached in memory, long answers are not saved")
        return settings.replaced(cache=settings.cache or "memory", offload=settings.offload or "off")
    return settings.replaced(
        cache=settings.cache or os.path.join(folder, CACHE_FILE), offload=settings.offload or folder
    )
