"""The work that one call may cost: time until its deadline, and memory for what is made of the answer.

An answer of a few megabytes can be expanded to gigabytes: by a table with a column for every row, or by an expression
that repeats its input. Every step after the response has arrived therefore says how much it is about to allocate.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from toolfold.errors import ASK_FOR_LESS, AnswerTooLarge

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
