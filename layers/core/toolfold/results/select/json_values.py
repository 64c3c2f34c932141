"""Measure and compare JSON values whose parts may be shared.

``[@, @]``, repeated by pipes, makes a list of ten small lists that is a billion items as text. The functions here take
time in proportion to the objects in memory, not to the text, and they do not recurse.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolfold.results.select.expression_budget import CHARS_PER_STEP, ITEMS_PER_STEP, ExpressionBudget

_NUMBER_CHARS = 24
"""Characters of a number at most, -2.2250738585072014e-308, except for a larger integer."""

_ESCAPE_CHARS = 12
"""Characters of one escaped character at most, a surrogate pair."""


def text_size(value: Any, budget: ExpressionBudget) -> int:
    """Return the characters that ``value`` has as compact JSON, at most: repeated parts count each time.

    Raises:
        AnswerTooLarge: the budget is used up.
    """
    if not isinstance(value, list | dict):
        return _scalar_size(value)
    sizes: dict[int, int] = {}  # by id() of the list or dict
    stack = [value]
    while stack:
        container = stack[-1]
        if id(container) in sizes:
            stack.pop()
            continue
        budget.spend(1 + len(container) // 2)
        members = container if isinstance(container, list) else container.values()
        nested = [member for member in members if isinstance(member, list | dict)]
        unknown = {id(member): member for member in nested if id(member) not in sizes}
        if unknown:
            budget.allocate_dict(len(unknown))
            stack.extend(unknown.values())
            continue
        size = 2 + len(container) + sum(sizes[id(member)] for member in nested)
        if isinstance(container, dict):
            size += sum(map(_text_size, container)) + len(container)
        if len(nested) < len(container):
            size += sum(_scalar_size(member) for member in members if not isinstance(member, list | dict))
        sizes[id(container)] = size
        stack.pop()
    return sizes[id(value)]


def _scalar_size(value: Any) -> int:
    if isinstance(value, str):
        return _text_size(value)
    if isinstance(value, int) and value.bit_length() > 64:
        return value.bit_length() // 3 + 2
    return _NUMBER_CHARS


def _text_size(text: str) -> int:
    return 2 + len(text) * (1 if text.isascii() and text.isprintable() else _ESCAPE_CHARS)


def are_equal(left: Any, right: Any, budget: ExpressionBudget) -> bool:
    """Return ``left == right``.

    Raises:
        AnswerTooLarge: the budget is used up.
    """
    compared: set[tuple[int, int]] = set()
    pairs: list[tuple[Any, Any]] = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if one is other:
            continue
        if not isinstance(one, list | dict) or not isinstance(other, list | dict):
            if not are_scalars_equal(one, other, budget):
                return False
            continue
        if type(one) is not type(other) or len(one) != len(other):
            return False
        if (id(one), id(other)) in compared:
            continue
        compared.add((id(one), id(other)))
        budget.allocate(16 * len(one))
        budget.spend(1 + len(one))
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pairs.extend((member, other[key]) for key, member in one.items())
        else:
            pairs.extend(zip(one, other, strict=True))
    return True


def are_scalars_equal(left: Any, right: Any, budget: ExpressionBudget) -> bool:
    """Return ``left == right`` where at most one of them is a list or a dict."""
    if isinstance(left, str) and len(left) > CHARS_PER_STEP:
        budget.spend(len(left) // CHARS_PER_STEP)
    return bool(left == right)


def contains(items: list[Any], searched: Any, budget: ExpressionBudget) -> bool:
    """Return ``searched in items``.

    Raises:
        AnswerTooLarge: the budget is used up.
    """
    budget.spend(len(items) // ITEMS_PER_STEP)
    if isinstance(searched, list | dict):
        return any(are_equal(item, searched, budget) for item in items if isinstance(item, list | dict))
    if isinstance(searched, str) and len(searched) > CHARS_PER_STEP:
        return any(item is searched or are_scalars_equal(item, searched, budget) for item in items)
    return searched in items


def total_length(texts: Iterable[Any]) -> int:
    """Return the characters of all texts together; 0 for numbers."""
    return sum(len(text) for text in texts if isinstance(text, str))
