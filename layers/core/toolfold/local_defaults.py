"""Where a process of one user keeps what it holds. Imported at the start over stdio: it costs next to nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolfold.settings import Settings


def user_cache_dir(environment: Mapping[str, str] | None = None) -> str:
    """Where toolfold's share of a user's cache belongs on this system, by its own conventions."""
    read = os.environ if environment is None else environment
    if read.get("XDG_CACHE_HOME"):
        folder = read["XDG_CACHE_HOME"]
    elif sys.platform == "darwin":
        folder = os.path.expanduser("~/Library/Caches")
    elif sys.platform == "win32":
        folder = os.path.expanduser(read.get("LOCALAPPDATA") or "~/AppData/Local")
    else:
        folder = os.path.expanduser("~/.cache")
    return os.path.join(folder, "toolfold")


def with_local_defaults(settings: Settings) -> Settings:
    """``settings`` for a process of one user: what is held, and answers too long to show, in files of theirs, unless
    told otherwise."""
    folder = user_cache_dir()
    return replace(
        settings,
        cache=settings.cache or os.path.join(folder, "answers.sqlite"),
        offload=settings.offload or os.path.join(folder, "answers"),
    )
