"""What outlives a call beside caches: equal calls that are running, the health of sources, tasks of clients."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from cachetools import LRUCache

from toolfold.cache.base import CacheStore, FailSafeStore
from toolfold.cache.response_cache import MemoryStore
from toolfold.errors import CallError, SourceChanged, UpstreamTimeout
from toolfold.network.errors import NotSent
from toolfold.sources.base import ConnectionFailed

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.client_call import Clock

T = TypeVar("T")

_NEAR_END_S = 0.1
"""A time-out this close to the end of a call was caused by that end."""


class SingleFlight(Generic[T]):
    """Run functions by key, each key once at a time. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, tuple[Future[T], float]] = {}

    def run(self, key: Hashable, function: Callable[[], T], timeout_s: float) -> T:
        """Return what ``function`` returns, or what it returned to another thread that runs it under the same key.

        Args:
            key: names the call, and the API key with which it is made: no caller waits for the call of another one,
                and what it returns or raises may be for that key alone.
            function: makes the call.
            timeout_s: seconds that the caller has. A thread that has more than the other one makes the call again where
                the time of the other was over: the rest of a batch is often requested while its first part ends.

        Raises:
            TimeoutError: the other thread took longer.
            Exception: what ``function`` raised, here or in the other thread.
        """
        end = time.monotonic() + timeout_s
        while True:
            with self._lock:
                running = self._flights.get(key)
                if running is None:
                    own = self._flights[key] = Future[T](), end
            if running is None:
                break
            future, its_end = running
            try:
                return future.result(max(0.0, end - time.monotonic()))
            except CancelledError:
                return function()
            except UpstreamTimeout:
                now = time.monotonic()
                if now < its_end - _NEAR_END_S or now >= end - _NEAR_END_S:
                    raise
        try:
            result = function()
            own[0].set_result(result)
            return result
        except Exception as error:
            own[0].set_exception(error)
            raise
        finally:
            with self._lock:
                del self._flights[key]
            own[0].cancel()  # without effect on one that has ended: this thread was stopped


KEPT_S = 300.0
"""Seconds for which a failure is mentioned: a source that is not called any more may work again."""

_MAX_FAILURES = 1_000
"""Failures that are stored: of sources, and of tools that have changed."""


State = Literal["unreachable", "failing", "slow", "changed"]

_STATES: Mapping[type, State] = {
    SourceChanged: "changed",  # a tool is not what its description says
    NotSent: "unreachable",
    ConnectionFailed: "failing",  # or the source says "not now"
    UpstreamTimeout: "slow",
}
"""Kind of failure → what is wrong with the source; the first that fits."""


class Trouble(NamedTuple):
    """What is wrong with a source, by the last call of one of its tools, and when."""

    state: State
    tool: str
    at: float


class SourceHealth:
    """The last failure of each source that is not of its caller's making. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures: LRUCache[tuple[str, str], Trouble] = LRUCache(_MAX_FAILURES)
        self._lock = threading.Lock()

    def record_failure(self, tool: Tool, error: CallError) -> None:
        """Report that a call of ``tool`` failed. What the caller or the tool alone can cause does not count."""
        state = next((state for kind, state in _STATES.items() if isinstance(error, kind)), None)
        if state is not None:
            key = tool.source, tool.name if state == "changed" else ""
            with self._lock:
                self._failures[key] = Trouble(state, tool.name, self._clock())

    def record_success(self, tool: Tool) -> None:
        """Report that the source of ``tool`` has answered a call."""
        with self._lock:
            for name in ("", tool.name):
                self._failures.pop((tool.source, name), None)

    def troubles(self) -> Mapping[str, Trouble]:
        """Return id of a source → what is wrong with it, for those whose last call failed not long ago."""
        now = self._clock()
        with self._lock:
            recent = [(key, one) for key, one in self._failures.items() if 0 <= now - one.at <= KEPT_S]
        # What holds for all tools of a source comes before what holds for one.
        return {source: one for (source, _), one in sorted(recent, key=lambda item: item[0][1] == "")}


TASK_TTL_S = 900
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
        return task if task is not None and self._clock.now() < task["created"] + TASK_TTL_S else None

    def replace(self, id_: str, task: Mapping[str, Any]) -> bool:
        """Keep ``task`` under its id, and return whether that succeeded."""
        content = json.dumps(task).encode()

        def put(store: CacheStore) -> bool:
            store.put(_key(id_), content, self._clock.now(), task["created"] + TASK_TTL_S)
            return True

        return len(content) <= _MAX_BYTES and self._store.run(put) is True


def _key(id_: str) -> str:
    return f"tasks/{id_[: 2 * _ID_BYTES]}"
