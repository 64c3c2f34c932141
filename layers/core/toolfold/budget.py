"""The work that one call may cost: time until its deadline, and memory for what is made of the answer.

An answer of a few megabytes can be expanded to gigabytes: by a table with a column for every row, or by an expression
that repeats its input. Every step after the response has arrived therefore says how much it is about to allocate.

What several threads want at the same time is done once (:class:`SingleFlight`).
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from typing import Generic, TypeVar

from toolfold.errors import ASK_FOR_LESS, AnswerTooLarge, UpstreamTimeout

T = TypeVar("T")

MAX_BYTES = 448 << 20
"""Memory that the steps of one call may reserve together, in bytes. An estimate: steps reserve before they allocate.

A process may grow by 512 MB; the rest is for what is allocated without being reserved."""

_BYTES_PER_SECOND = 10e6
"""The slowest step that cannot be interrupted, json.dumps, on a function with half a processor."""

_ITEMS_BETWEEN_CHECKS = 2048
"""Items of a loop between two looks at the clock: a millisecond, at half a microsecond for each."""


class WorkBudget:
    """Time and memory of one call. Used by one thread.

    Args:
        deadline: ``time.monotonic()`` at which the answer must be complete.
        max_bytes: memory that may be reserved.

    Attributes:
        deadline: see above.
        left: bytes that can be reserved.
        suggestion: the next step when the answer is too large.
    """

    def __init__(self, deadline: float = math.inf, max_bytes: int = MAX_BYTES) -> None:
        self.deadline, self.left = deadline, max_bytes
        self.suggestion = ASK_FOR_LESS

    @property
    def remaining_s(self) -> float:
        """Seconds until the deadline; 0 when it has passed."""
        return max(0.0, self.deadline - time.monotonic())

    def check_time(self, size: int = 0) -> None:
        """Call this at least every few milliseconds of work.

        Args:
            size: bytes that the next step processes without a further check.

        Raises:
            AnswerTooLarge: the deadline has passed, or would pass during the next step.
        """
        if time.monotonic() + size / _BYTES_PER_SECOND >= self.deadline:
            raise self.too_large("The answer is too large to be processed in the time of one call.")

    def checked(self, items: Iterable[T]) -> Iterator[T]:
        """Yield ``items``, checking the time every few thousand.

        Raises:
            AnswerTooLarge: the deadline has passed.
        """
        iterator = iter(items)
        for item in iterator:
            self.check_time()
            yield item
            yield from itertools.islice(iterator, _ITEMS_BETWEEN_CHECKS - 1)

    def reserve(self, size: int) -> None:
        """Reserve ``size`` bytes that are about to be allocated, and check the time.

        Raises:
            AnswerTooLarge: there is not as much left, or the deadline has passed.
        """
        if size > self.left:
            raise self.too_large("The answer is too large to be processed in the memory of one call.")
        self.left -= size
        self.check_time()

    def release(self, size: int) -> None:
        """Give back ``size`` reserved bytes that have been freed."""
        self.left += size

    def too_large(self, message: str) -> AnswerTooLarge:
        """Return the error that says ``message`` and how to ask for less."""
        return AnswerTooLarge(message, self.suggestion)


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
