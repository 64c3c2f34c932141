"""Answers held for a while: in this process's memory, and in a place shared with other processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from toolfold.cache import entry as entries
from toolfold.cache.base import FailSafeStore, Memory
from toolfold.cache.entry import Entry

if TYPE_CHECKING:
    Layer = Literal["memory", "shared"]


class Cache:
    """Looks in memory first. ``largest`` bounds an entry when it is unpacked, in bytes. Entries are kept for ``stale_if_error_s``
    seconds past their time, for when there is nothing better.

    Nothing here raises: what is damaged is as good as absent, and a place that fails is not asked for a while.
    """

    def __init__(
        self, memory: Memory, shared: FailSafeStore | None, largest: int, stale_if_error_s: float = 0.0
    ) -> None:
        self._memory, self._shared, self._largest, self._late_s = memory, shared, largest, stale_if_error_s

    def get(self, name: str, now: float) -> tuple[Entry, Layer] | None:
        """The entry of that name that is good at ``now``, and where it was."""
        return self._get(name, now, 0.0)

    def late(self, name: str, now: float) -> Entry | None:
        """The entry of that name that is good at ``now``, or not long past its time."""
        found = self._get(name, now, self._late_s)
        return None if found is None else found[0]

    def _get(self, name: str, now: float, stale_if_error_s: float) -> tuple[Entry, Layer] | None:
        found = self.at_hand(name, now, stale_if_error_s)
        if found is not None:
            return found, "memory"
        if self._shared is None:
            return None
        blob = self._shared.ask(lambda place: place.get(name))
        entry = None if blob is None else entries.unpack(blob, name, now, self._largest, stale_if_error_s)
        if blob is None or entry is None:
            return None
        self._memory.put(name, blob, entry.at, entry.until)
        return entry, "shared"

    def at_hand(self, name: str, now: float, stale_if_error_s: float = 0.0) -> Entry | None:
        """As :meth:`get`, in memory alone; or past its time by up to ``stale_if_error_s``."""
        blob = self._memory.get(name)
        return None if blob is None else entries.unpack(blob, name, now, self._largest, stale_if_error_s)

    def put(self, name: str, entry: Entry, shared: bool = True) -> None:
        """Hold ``entry`` in memory and, if it is to be ``shared``, in the shared place."""
        blob = entries.pack(entry, name)
        self._memory.put(name, blob, entry.at, entry.until)
        if shared and self._shared is not None:
            self._shared.ask(lambda place: place.put(name, blob, entry.at, entry.until + self._late_s))
