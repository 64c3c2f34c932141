"""Count what the evaluation of one JMESPath expression costs, and stop it at a limit.

A step takes about a microsecond: the visit of a node, or an operation on :data:`CHARS_PER_STEP` characters. The number
of steps does not depend on the speed of the machine, so that an expression is refused on every machine or on none.
"""

from __future__ import annotations

from toolfold.budget import WorkBudget
from toolfold.errors import AnswerTooLarge

MAX_STEPS = 3_000_000
"""Steps of one expression: twice what a filter with two fields takes on the 200,000 objects of a 25 MB answer."""

MAX_TEXT_CHARS = 8 << 20
"""Characters of a text that a function makes: more than any answer has in one place."""

CHARS_PER_STEP = 1024
"""Characters that are compared or copied in the time of a step, at least."""

SEARCHED_CHARS_PER_STEP = 256
"""Characters that are searched in the time of a step, at least: 3 ns each for the slowest texts."""

ITEMS_PER_STEP = 16
"""Items of a list that are copied, compared or checked in the time of a step, at least."""

LIST_BYTES, ITEM_BYTES = 64, 8
DICT_BYTES, ENTRY_BYTES = 240, 100
"""Memory of a list and of a dict in CPython, without their members, at most."""

_SLICE = 2_000
"""Steps between two looks at the clock: some milliseconds."""


class ExpressionBudget:
    """Steps and memory of one expression, as a part of the budget of the call.

    Args:
        budget: of the call.
        max_steps: after which the expression is refused.
    """

    def __init__(self, budget: WorkBudget, max_steps: int = MAX_STEPS) -> None:
        self._budget, self._max_steps = budget, max_steps
        self._spent, self._reserved = 0, 0
        self.allocated = 0
        """Bytes that were reserved until now."""
        self.steps_left = _SLICE
        """Steps until :meth:`check` is due. The interpreter counts them down itself: a call would double a step."""

    @property
    def steps(self) -> int:
        """The steps that were spent."""
        return self._spent + _SLICE - self.steps_left

    def spend(self, steps: int) -> None:
        """Count steps that are about to be made.

        Raises:
            AnswerTooLarge: there are too many, or the budget of the call is used up.
        """
        self.steps_left -= steps
        if self.steps_left < 0:
            self.check()

    def check(self) -> None:
        """Compare what was spent with the limits.

        Raises:
            AnswerTooLarge: there are too many steps, or the budget of the call is used up.
        """
        self._spent, self.steps_left = self.steps, _SLICE
        if self._spent > self._max_steps:
            raise AnswerTooLarge(
                f"The select takes more than {self._max_steps:,} steps on this answer.",
                "Use a simpler select, without lists of lists and functions of functions.",
            )
        reserved, self._reserved = self._reserved, 0
        self._budget.reserve(reserved)

    def allocate(self, size: int) -> None:
        """Reserve ``size`` bytes that are about to be allocated and filled.

        Raises:
            AnswerTooLarge: as :meth:`spend`.
        """
        self._reserved += size
        self.allocated += size
        if self._reserved > _SLICE * CHARS_PER_STEP:
            self.check()
        self.spend(size // CHARS_PER_STEP)

    def allocate_list(self, items: int) -> None:
        """Reserve the memory of a list that is about to be made."""
        self.allocate(LIST_BYTES + ITEM_BYTES * items)

    def allocate_dict(self, entries: int) -> None:
        """Reserve the memory of a dict that is about to be made."""
        self.allocate(DICT_BYTES + ENTRY_BYTES * entries)

    def allocate_text(self, chars: int, *, is_ascii: bool) -> None:
        """Reserve the memory of a text that is about to be made.

        Raises:
            AnswerTooLarge: it is too long, or as :meth:`spend`.
        """
        if chars > MAX_TEXT_CHARS:
            raise AnswerTooLarge(
                f"A function of the select would make a text of more than {MAX_TEXT_CHARS:,} characters.",
                "Ask for less: join or to_string on fewer values.",
            )
        self.allocate(LIST_BYTES + chars * (1 if is_ascii else 4))
