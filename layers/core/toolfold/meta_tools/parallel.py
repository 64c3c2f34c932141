"""Perform several calls at the same time, and read their answers one after the other."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any, Generic, TypeVar

from toolfold.errors import CallError, NotCached

P = TypeVar("P")
R = TypeVar("R")

_MIN_WAIT_S = 0.05


class Unanswered(Enum):
    """Why a part has no answer when the time is over."""

    NOT_STARTED = "not started"
    UNFINISHED = "unfinished"


def run_parts(
    parts: Sequence[P],
    fetch: Callable[[P], R],
    read: Callable[[P, R], Any],
    end: float,
    threads: int,
    *,
    fetch_cached: Callable[[P], R],
    stops_on_error: bool = False,
) -> list[Any]:
    """Fetch several parts at the same time, and read their answers one after the other.

    Args:
        parts: what to fetch.
        fetch: performs one call; runs in other threads.
        read: makes the answer of a response; runs in this thread.
        end: ``time.monotonic()`` at which no response is awaited any longer.
        threads: parts that are fetched at the same time.
        fetch_cached: returns the response of a part whose answer is in memory, or raises ``NotCached``. Such parts are
            answered first, in this thread, as one part alone is: to start a thread takes longer.
        stops_on_error: whether no part is started after one that failed.

    Returns:
        For each part its answer, its :class:`CallError`, or an :class:`Unanswered`.
    """
    outcomes: list[Any] = [None] * len(parts)
    started: frozenset[int] = frozenset()
    awaited: list[int] = []
    for index, part in enumerate(parts):
        try:
            outcomes[index] = read(part, fetch(part) if len(parts) == 1 else fetch_cached(part))
        except NotCached:
            awaited.append(index)
        except CallError as error:
            outcomes[index] = error
            if stops_on_error:
                awaited = []
                break
    if awaited:
        fetcher = _Fetcher([parts[index] for index in awaited], fetch, end, threads, stops_on_error=stops_on_error)
        try:
            for place, response in fetcher.responses():
                try:
                    if isinstance(response, BaseException):
                        raise response
                    outcomes[awaited[place]] = read(parts[awaited[place]], response)
                except CallError as error:
                    outcomes[awaited[place]] = error
                    if stops_on_error:
                        fetcher.stop()
        finally:
            started = frozenset(awaited[place] for place in fetcher.close())
    return [
        (Unanswered.UNFINISHED if index in started else Unanswered.NOT_STARTED) if one is None else one
        for index, one in enumerate(outcomes)
    ]


class _Fetcher(Generic[P]):
    """Fetches parts in a few threads, which end with the call. A response waits until the one before it is read."""

    def __init__(
        self, parts: Sequence[P], fetch: Callable[[P], Any], end: float, threads: int, *, stops_on_error: bool
    ) -> None:
        self._parts, self._fetch, self._end, self._stops_on_error = parts, fetch, end, stops_on_error
        self._lock, self._is_stopped, self._is_closed = threading.Lock(), False, False
        self._started: set[int] = set()
        self._received = 0
        # Bounded: a response that is not read yet takes memory.
        self._done: queue.Queue[tuple[int, Any]] = queue.Queue(maxsize=threads)
        for number in range(min(threads, len(parts))):
            # In a copy of this context: cancelling the call of the client cancels its parts.
            run = contextvars.copy_context().run
            threading.Thread(target=run, args=(self._run,), name=f"part-{number}", daemon=True).start()

    def responses(self) -> Iterator[tuple[int, Any]]:
        """Yield the index of each part and its response or exception, as they arrive, until the end."""
        while True:
            with self._lock:
                if self._received >= (len(self._started) if self._is_stopped else len(self._parts)):
                    return
            try:
                found = self._done.get(timeout=max(_MIN_WAIT_S, self._end - time.monotonic()))
            except queue.Empty:
                return
            self._received += 1
            yield found

    def stop(self) -> None:
        """Start no further part."""
        with self._lock:
            self._is_stopped = True

    def close(self) -> frozenset[int]:
        """Start no further part, and drop what still arrives; return the parts that were started."""
        with self._lock:
            self._is_stopped = self._is_closed = True
            return frozenset(self._started)

    def _next(self) -> int | None:
        with self._lock:
            if self._is_stopped or len(self._started) == len(self._parts) or time.monotonic() >= self._end:
                return None
            self._started.add(len(self._started))
            return len(self._started) - 1

    def _run(self) -> None:
        while (index := self._next()) is not None:
            outcome: Any
            try:
                outcome = self._fetch(self._parts[index])
            except BaseException as error:  # noqa: BLE001 - raised again in the thread of the call
                outcome = error
                if self._stops_on_error:
                    self.stop()
            self._put(index, outcome)

    def _put(self, index: int, outcome: Any) -> None:
        while not self._is_closed:
            try:
                self._done.put((index, outcome), timeout=_MIN_WAIT_S)
            except queue.Full:
                continue
            return
