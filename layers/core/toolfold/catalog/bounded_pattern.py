"""Bound the work of the regular expressions by which a catalog recognises the failures of a source.

Python's ``re`` backtracks: ``(a+)+$`` takes hours for a text of forty characters, and an expression in a catalog may be
anything. Only expressions are allowed whose work is bounded by their form: what repeats is one character or one set of
characters, and the product of the numbers of repetitions is limited. Lookaround and back references are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from re import _constants, _parser  # type: ignore[attr-defined]  # the parser has no public name since Python 3.11
from typing import Any

MAX_MATCHED_CHARS = 2000
"""Characters of a text in which an expression is searched for."""

MAX_STEPS = 100_000_000
"""Steps of all expressions of a source for one text: about half a second."""

_MAX_PATTERN_CHARS = 500
_ONE_CHARACTER = frozenset({_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN})
_POSITIONS = frozenset({_constants.AT})
_REPEATS = frozenset({_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT})


def check_patterns(patterns: Iterable[str]) -> None:
    """Check the expressions of one source.

    Raises:
        ValueError: One cannot be used, or all together would take too long.
    """
    if sum(map(pattern_steps, patterns)) > MAX_STEPS:
        raise ValueError("has expressions with too many repetitions")


def pattern_steps(pattern: str) -> int:
    """Return the most steps of a search for ``pattern`` in a text of :data:`MAX_MATCHED_CHARS`.

    Raises:
        ValueError: It is not an expression, or its work is not bounded.
    """
    if len(pattern) > _MAX_PATTERN_CHARS:
        raise ValueError(f"is longer than {_MAX_PATTERN_CHARS} characters")
    try:
        re.compile(pattern)
        parsed = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    steps = MAX_MATCHED_CHARS * _ways(parsed)
    if steps > MAX_STEPS:
        raise ValueError("has too many repetitions")
    return steps


def _ways(items: Iterable[Any]) -> int:
    """Return in how many ways at most ``items`` match from one position."""
    ways = 1
    for operation, argument in items:
        if operation in _REPEATS:
            least, most, repeated = argument
            if len(repeated) != 1 or repeated[0][0] not in _ONE_CHARACTER:
                raise ValueError("repeats more than one character or set of characters")
            ways *= min(int(most), MAX_MATCHED_CHARS) - min(int(least), MAX_MATCHED_CHARS) + 1
        elif operation is _constants.SUBPATTERN:
            ways *= _ways(argument[3])
        elif operation is _constants.BRANCH:
            ways *= sum(map(_ways, argument[1]))
        elif operation not in _ONE_CHARACTER and operation not in _POSITIONS:
            raise ValueError("has lookaround, a back reference or a condition")
        if ways > MAX_STEPS:
            break
    return ways
