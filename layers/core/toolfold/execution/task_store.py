"""The tasks of clients: calls that go on in a later request, in any process that shares the cache."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from toolfold.cache.base import CacheStore, FailSafeStore
from toolfold.cache.memory import MemoryStore
from toolfold.client_call import Clock

TTL_S = 900
"""Seconds for which a task is kept."""

_ID_BYTES = 16
_MAX_BYTES, _MAX_OWN_BYTES = 200_000, 4_000_000
"""The largest task, and those of this process together, where no others share its cache."""


class TaskStore:
    """Keep tasks, JSON objects, under random ids. Safe to use from many threads."""

    def __init__(self, shared: FailSafeStore[CacheStore] | None, clock: Clock) -> None:
        self._store = shared or FailSafeStore(lambda: MemoryStore(_MAX_OWN_BYTES), 0, clock.monotonic)
        self._clock = clock

    def add(self, task: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Keep a new task; return its id and the task with ``created``, in seconds since 1970, or None on failure."""
        id_, kept = secrets.token_urlsafe(_ID_BYTES), {**task, "created": self._clock.now()}
        return (id_, kept) if self.replace(id_, kept) else None

    def get(self, id_: str) -> dict[str, Any] | None:
        """Return a task, or None for an unknown id and after its time."""
        content = self._store.run(lambda store: store.get(_key(id_)))
        task = json.loads(content) if content else None
        return task if task is not None and self._clock.now() < task["created"] + TTL_S else None

    def replace(self, id_: str, task: Mapping[str, Any]) -> bool:
        """Keep ``task`` under its id, and return whether that succeeded."""
        content = json.dumps(task).encode()

        def put(store: CacheStore) -> bool:
            store.put(_key(id_), content, self._clock.now(), task["created"] + TTL_S)
            return True

        return len(content) <= _MAX_BYTES and self._store.run(put) is True


def _key(id_: str) -> str:
    return f"tasks/{id_[: 2 * _ID_BYTES]}"
