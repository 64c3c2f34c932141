"""Serve what the settings say now: sources that are added while a server of one user runs are found within a second.

The settings file and the catalog file are looked at once a second; they are read where they have changed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from toolfold.catalog.store import catalog_path
from toolfold.errors import ToolfoldError
from toolfold.local_defaults import use_settings_file, user_settings_file

if TYPE_CHECKING:
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

LOOK_S = 1.0
"""Seconds between two looks at the files."""


class SettingsSource(NamedTuple):
    """Where the settings of a process come from.

    Attributes:
        read: returns those of the environment, after checking them.
        path: the settings file; empty: the user's own.
        from_file: the variables that were set from it.
    """

    read: Callable[[], Settings]
    path: str = ""
    from_file: Iterable[str] = ()


class Reloading:
    """Uses the settings again where the settings file or the catalog has changed.

    Where the new ones cannot be used, the former ones stay, with a warning in the log.

    Args:
        settings: those of the start.
        source: where they come from.
        use: uses others from now on.
    """

    def __init__(self, settings: Settings, source: SettingsSource, use: Callable[[Settings], object]) -> None:
        self._source, self._use = source, use
        self._paths = [source.path or user_settings_file(), catalog_path(settings)]
        self._seen = [_stamp(path) for path in self._paths]

    def start(self) -> None:
        """Look at the files from now on, in a thread that ends with the process."""
        threading.Thread(target=self._run, name="settings", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(LOOK_S)
            self.look()

    def look(self) -> None:
        """Look at the files once."""
        # Before anything is read: what changes in the meantime is seen by the next look.
        seen, self._seen = self._seen, [_stamp(path) for path in self._paths]
        if seen == self._seen:
            return
        source = self._source
        try:
            self._source = source._replace(from_file=list(use_settings_file(source.path, source.from_file)))
            # The keys are those of the start, when they were checked: a source that is removed still has one.
            settings = source.read().replaced(keyed_sources=())
            self._paths[1] = catalog_path(settings)
            self._seen[1] = _stamp(self._paths[1])
            self._use(settings)
        except Exception as error:  # noqa: BLE001 - another defect must not end the thread, and may quote a setting
            reason = error if isinstance(error, ToolfoldError) else type(error).__name__
            logger.warning("the settings or the catalog have changed, and the former stay in use: %s", reason)


def _stamp(path: str) -> tuple[int, int, int] | None:
    """Return what changes with a file; None where it does not exist."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
