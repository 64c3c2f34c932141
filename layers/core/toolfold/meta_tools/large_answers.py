"""Let few large answers be shaped at a time: each may take hundreds of megabytes."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from toolfold.budget import WorkBudget

LARGE_CHARS = 2_000_000
"""Characters of a large answer. A smaller one takes some tens of megabytes and a second at most."""


@contextmanager
def large_answer_turn(turns: threading.Semaphore, chars: int, budget: WorkBudget) -> Iterator[None]:
    """Wait for a turn to shape an answer; a small answer does not wait.

    Args:
        turns: as many turns as large answers may be shaped at the same time, for all calls of the process.
        chars: length of the answer.
        budget: what the call may cost.

    Raises:
        AnswerTooLarge: no turn was free before the deadline of the call.
    """
    if chars <= LARGE_CHARS:
        yield
        return
    remaining_s = budget.remaining_s
    if not turns.acquire(timeout=None if remaining_s == math.inf else remaining_s):
        raise budget.too_large("The answer is large, and others were being processed until the end of this call.")
    try:
        yield
    finally:
        turns.release()
