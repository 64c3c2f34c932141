"""Word what is wrong with a ``select``: the position, the reason, and a form that works on the answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolfold.errors import InvalidSelect
from toolfold.text_safety import quoted_name

EXAMPLES = (
    '"close; last 30", "since 2025-06-01; max(close)", "type = put and strike < 200; top 5 by volume", '
    '"sum(amount) by year", "SELECT … FROM data", "jmespath: feed[0].title"'
)
"""Steps of every kind, for errors."""

_MAX_LISTED = 60
"""Names listed in an error: all of any financial statement."""


def invalid(
    problem: str, next_step: str = "", *, offset: int | None = None, forms: Iterable[str] = (), **facts: Any
) -> InvalidSelect:
    """Return the error for a ``select``.

    Args:
        problem: what is wrong, without a full stop.
        next_step: what to do now; by default, write one of :data:`EXAMPLES`.
        offset: the character, from 0, at which the problem is.
        forms: whole selects that may be meant, best first; the first one that works on the answer is shown.
        facts: what suggestions are made from; see :class:`toolfold.errors.InvalidSelect`.
    """
    place = "" if offset is None else f" (at character {offset})"
    position = {} if offset is None else {"position": offset}
    return InvalidSelect(f"{problem}{place}", next_step or f"Write e.g. {EXAMPLES}.", tuple(forms), facts, **position)


def listed(names: Iterable[str]) -> str:
    """Return names as text, at most sixty of them."""
    return ", ".join(quoted_name(name) for name, _ in zip(names, range(_MAX_LISTED), strict=False))
