"""Let few large answers be shaped at a time: each may take hundreds of megabytes."""

from __future__ import annotations

import math
import threading
from types import TracebackType

from toolfold.budget import WorkBudget

LARGE_CHARS = 2_000_000
"""Characters of a large answer. A smaller one takes some tens of megabytes and a second at most."""


class LargeAnswerTurn:
    """The turn of one call to shape its answers, as a context manager that releases it; small answers need none.

    Args:
        turns: as many turns as large answers may be shaped at the same time, for all calls of the process.
        budget: what the call may cost.
    """

    def __init__(self, turns: threading.Semaphore, budget: WorkBudget) -> None:
        self._turns, self._budget = turns, budget
        self._chars, self._is_acquired = 0, False

    def __enter__(self) -> LargeAnswerTurn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def acquire(self, chars: int) -> None:
        """Wait for the turn where the answers of the call are large together.

        Args:
            chars: length of one more answer that is about to be shaped.

        Raises:
            AnswerTooLarge: no turn was free before the deadline of the call.
        """
        self._chars += chars
        if self._chars <= LARGE_CHARS or self._is_acquired:
            return
        remaining_s = self._budget.remaining_s
        if not self._turns.acquire(timeout=None if remaining_s == math.inf else remaining_s):
            raise self._budget.too_large(
                "The answer is large, and others were being processed until the end of this call."
            )
        self._is_acquired = True

    def release(self) -> None:
        """Give the turn back: nothing of the answers so far is shaped any more."""
        self._chars = 0
        if self._is_acquired:
            self._is_acquired = False
            self._turns.release()
