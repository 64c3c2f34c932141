"""The work that one call may cost: time until its deadline, and memory for what is made of the answer.

An answer of a few megabytes can be expanded to gigabytes: by a table with a column for every row, or by an expression
that repeats its input. Every step after the response has arrived therefore says how much it is about to allocate.
"""

from __future__ import annotations

import math
import time

from toolfold.errors import AnswerTooLarge

MAX_BYTES = 400 << 20
"""Memory that the steps of one call may reserve together, in bytes. An estimate: steps reserve before they allocate."""


class WorkBudget:
    """Time and memory of one call. Used by one thread.

    Args:
        deadline: ``time.monotonic()`` at which the answer must be complete.
        max_bytes: memory that may be reserved.
    """

    def __init__(self, deadline: float = math.inf, max_bytes: int = MAX_BYTES) -> None:
        self.deadline, self._left = deadline, max_bytes

    def check_time(self) -> None:
        """Call this at least every few milliseconds of work.

        Raises:
            AnswerTooLarge: the deadline has passed.
        """
        if time.monotonic() >= self.deadline:
            raise AnswerTooLarge(
                "The answer is too large to be processed in the time of one call.",
                "Ask for less: a shorter period, fewer symbols, or a simpler select.",
            )

    def reserve(self, size: int) -> None:
        """Reserve ``size`` bytes that are about to be allocated, and check the time.

        Raises:
            AnswerTooLarge: there is not as much left, or the deadline has passed.
        """
        self._left -= size
        if self._left < 0:
            raise AnswerTooLarge(
                "The answer is too large to be processed in the memory of one call.",
                "Ask for less: a shorter period, fewer symbols, or a simpler select.",
            )
        self.check_time()
