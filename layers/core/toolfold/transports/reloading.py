"""Serve what the settings say now: sources that are added while a server of one user runs are found by its next answer.

The settings file and the catalog file are looked at once a second, by requests; they are read where they have changed.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from toolfold.catalog.store import catalog_path
from toolfold.errors import ToolfoldError
from toolfold.local_defaults import use_settings_file, user_settings_file

if TYPE_CHECKING:
    from toolfold.settings import Settings

T = TypeVar("T")

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


class Reloading(Generic[T]):
    """Returns what was made from the current settings when called. Safe to use from many threads.

    Calls that run keep what they began with. Where the new settings cannot be used, the former ones stay, with a
    warning in the log.

    Args:
        make: makes it.
        settings: those of the start.
        source: where they come from; None: they stay.
    """

    def __init__(self, make: Callable[[Settings], T], settings: Settings, source: SettingsSource | None = None) -> None:
        self._make, self._source = make, source
        self._lock = threading.Lock()
        self._paths = [] if source is None else [source.path or user_settings_file(), catalog_path(settings)]
        self._seen = [_stamp(path) for path in self._paths]
        self._next_look = time.monotonic() + LOOK_S
        self._made = make(settings)

    def __call__(self) -> T:
        """Return it."""
        if self._source is not None and time.monotonic() >= self._next_look and self._lock.acquire(blocking=False):
            try:
                self._next_look = time.monotonic() + LOOK_S
                # Before anything is read: what changes in the meantime is seen by the next look.
                seen, self._seen = self._seen, [_stamp(path) for path in self._paths]
                if seen != self._seen:
                    self._reload(self._source)
            finally:
                self._lock.release()
        return self._made

    def _reload(self, source: SettingsSource) -> None:
        try:
            self._source = source._replace(from_file=list(use_settings_file(source.path, source.from_file)))
            # The keys are those of the start, when they were checked: a source that is removed still has one.
            settings = source.read().replaced(keyed_sources=())
            self._paths[1] = catalog_path(settings)
            self._seen[1] = _stamp(self._paths[1])
            self._made = self._make(settings)
        except ToolfoldError as error:
            logger.warning("the settings or the catalog have changed, and the former stay in use: %s", error)


def _stamp(path: str) -> tuple[int, int, int] | None:
    """Return what changes with a file; None where it does not exist."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
