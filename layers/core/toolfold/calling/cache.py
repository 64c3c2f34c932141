"""Answers held for a while: in this process's memory, and in a place shared with other processes."""

from __future__ import annotations

from typing import Literal

from toolfold.calling import entry as entries
from toolfold.calling.entry import Entry
from toolfold.calling.places import Careful, Memory

Layer = Literal["memory", "shared"]


class Cache:
    """Looks in memory first. ``largest`` bounds an entry when it is unpacked, in bytes.

    Nothing here raises: what is damaged is as good as absent, and a place that fails is not asked for a while.
    """

    def __init__(self, memory: Memory, shared: Careful | None, largest: int) -> None:
        self._memory, self._shared, self._largest = memory, shared, largest

    def get(self, name: str, now: float) -> tuple[Entry, Layer] | None:
        """The entry of that name that is good at ``now``, and where it was."""
        found = self.at_hand(name, now)
        if found is not None:
            return found, "memory"
        if self._shared is None:
            return None
        blob = self._shared.ask(lambda place: place.get(name))
        entry = None if blob is None else entries.unpack(blob, name, now, self._largest)
        if blob is None or entry is None:
            return None
        self._memory.put(name, blob, entry.at, entry.until)
        return entry, "shared"

    def at_hand(self, name: str, now: float) -> Entry | None:
        """As :meth:`get`, in memory alone."""
        blob = self._memory.get(name)
        return None if blob is None else entries.unpack(blob, name, now, self._largest)

    def put(self, name: str, entry: Entry, shared: bool = True) -> None:
        """Hold ``entry`` in memory and, if it is to be ``shared``, in the shared place."""
        blob = entries.pack(entry, name)
        self._memory.put(name, blob, entry.at, entry.until)
        if shared and self._shared is not None:
            self._shared.ask(lambda place: place.put(name, blob, entry.at, entry.until))
