"""Where a process of one user keeps what it holds. Imported at the start over stdio: it costs next to nothing."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolfold.settings import Settings


def folder_of_the_user(environment: Mapping[str, str] | None = None) -> str:
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


def at_home(settings: Settings) -> Settings:
    """``settings`` for a process of one user: what is held, and answers too long to show, in files of theirs, unless
    told otherwise."""
    folder = folder_of_the_user()
    return settings.but(
        cache=settings.cache or os.path.join(folder, "answers.sqlite"),
        offload=settings.offload or os.path.join(folder, "answers"),
    )
