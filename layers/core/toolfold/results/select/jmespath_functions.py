"""The functions of JMESPath, each of which reserves its memory and counts its steps before it works.

https://jmespath.org/specification.html#built-in-functions. Numbers that JSON cannot
represent are errors or null: infinite ones, NaN, and integers beyond the largest double.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jmespath.functions import Functions, signature

from toolfold.results.select import json_values
from toolfold.results.select.expression_budget import (
    CHARS_PER_STEP,
    ITEMS_PER_STEP,
    SEARCHED_CHARS_PER_STEP,
    ExpressionBudget,
)

_MAX_NUMBER_CHARS = 4000
"""Characters of a text that is read as a number. Python refuses to read integers of more than 4,300 digits."""

_CALL_STEPS = 3
"""Steps of a call: it looks the function up and checks its arguments."""

_ORDERED = ({"types": ["array"]}, {"types": ["expref"]})
_NUMBERS = ({"types": ["array-number"]},)


class BoundedFunctions(Functions):  # type: ignore[misc]  # the library has no types
    """The functions for one expression.

    Args:
        budget: what its evaluation may cost.
    """

    def __init__(self, budget: ExpressionBudget) -> None:
        self._budget = budget

    def call_function(self, function_name: str, resolved_args: list[Any]) -> Any:
        """Reserve what a function needs, and call it.

        Raises:
            JMESPathError: there is no such function, or it does not take these arguments.
            AnswerTooLarge: the budget is used up.
        """
        self._budget.spend(_CALL_STEPS)
        spec = self.FUNCTION_TABLE.get(function_name)
        reserve = _RESERVATIONS.get(function_name)
        if spec is not None and reserve is not None:
            self._validate_arguments(resolved_args, spec["signature"], function_name)
            reserve(self._budget, *resolved_args)
        return super().call_function(function_name, resolved_args)

    def _subtype_check(self, current: Sequence[Any], *rest: Any) -> None:
        self._budget.spend(len(current) // 4)
        super()._subtype_check(current, *rest)

    @signature(*_NUMBERS)  # type: ignore[untyped-decorator]  # the library has no types
    def _func_sum(self, numbers: list[Any]) -> Any:
        return _checked_number(sum(numbers))

    @signature(*_NUMBERS)  # type: ignore[untyped-decorator]  # the library has no types
    def _func_avg(self, numbers: list[Any]) -> Any:
        return _checked_number(sum(numbers) / len(numbers)) if numbers else None

    @signature({"types": []})  # type: ignore[untyped-decorator]  # the library has no types
    def _func_to_number(self, value: Any) -> Any:
        if isinstance(value, str) and len(value) > _MAX_NUMBER_CHARS:
            return None
        number = super()._func_to_number(value)
        return number if number is None or _is_json_number(number) else None

    @signature({"types": ["array", "string"]}, {"types": []})  # type: ignore[untyped-decorator]
    def _func_contains(self, subject: list[Any] | str, searched: Any) -> bool:
        if isinstance(subject, str):
            self._budget.spend(len(subject) // SEARCHED_CHARS_PER_STEP)
            return searched in subject
        return json_values.contains(subject, searched, self._budget)

    @signature(*_ORDERED)  # type: ignore[untyped-decorator]  # the library has no types
    def _func_sort_by(self, array: list[Any], expression: Any) -> list[Any]:
        keys = self._keys("sort_by", array, expression)
        self._budget.spend(_sorting_steps(keys))
        return [array[position] for position in sorted(range(len(keys)), key=keys.__getitem__)]

    @signature(*_ORDERED)  # type: ignore[untyped-decorator]  # the library has no types
    def _func_min_by(self, array: list[Any], expression: Any) -> Any:
        keys = self._keys("min_by", array, expression)
        return array[min(range(len(keys)), key=keys.__getitem__)] if keys else None

    @signature(*_ORDERED)  # type: ignore[untyped-decorator]  # the library has no types
    def _func_max_by(self, array: list[Any], expression: Any) -> Any:
        keys = self._keys("max_by", array, expression)
        return array[max(range(len(keys)), key=keys.__getitem__)] if keys else None

    def _keys(self, function: str, array: list[Any], expression: Any) -> list[Any]:
        """Return the value of ``expression`` for each item: all numbers, or all texts."""
        self._budget.allocate_list(4 * len(array))  # the keys, their positions, both sorted
        key_of = self._create_key_func(expression, ["number", "string"], function)
        keys = [key_of(item) for item in array]
        self._budget.spend(json_values.total_length(keys) // CHARS_PER_STEP)
        return keys


def _sorting_steps(keys: Sequence[Any]) -> int:
    """Return the steps to sort ``keys``: each takes part in ``log2(n)`` comparisons, of its whole length at most."""
    comparisons = len(keys).bit_length()
    return comparisons * (len(keys) // ITEMS_PER_STEP + json_values.total_length(keys) // CHARS_PER_STEP)


def _is_json_number(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer beyond the largest double
        return False


def _checked_number(number: float) -> float:
    """Return ``number``.

    Raises:
        OverflowError: JSON cannot represent it.
    """
    if not _is_json_number(number):
        raise OverflowError
    return number


def _reserve_to_string(budget: ExpressionBudget, value: Any) -> None:
    if not isinstance(value, str):
        budget.allocate_text(json_values.text_size(value, budget), is_ascii=True)


def _reserve_join(budget: ExpressionBudget, separator: str, texts: list[str]) -> None:
    budget.allocate_list(len(texts))
    chars = json_values.total_length(texts) + len(separator) * len(texts)
    budget.allocate_text(chars, is_ascii=separator.isascii() and all(map(str.isascii, texts)))


def _reserve_copy(budget: ExpressionBudget, value: str | Sequence[Any] | Mapping[str, Any]) -> None:
    if isinstance(value, str):
        budget.allocate_text(len(value), is_ascii=value.isascii())
    else:
        budget.allocate_list(len(value))


def _reserve_sort(budget: ExpressionBudget, items: list[Any]) -> None:
    budget.allocate_list(2 * len(items))
    budget.spend(_sorting_steps(items))


def _spend_on_all(budget: ExpressionBudget, items: list[Any]) -> None:
    budget.spend(len(items) // ITEMS_PER_STEP + json_values.total_length(items) // CHARS_PER_STEP)


def _spend_on_first(budget: ExpressionBudget, subject: Any, *_others: Any) -> None:
    if isinstance(subject, str):
        budget.spend(len(subject) // CHARS_PER_STEP)


def _reserve_map(budget: ExpressionBudget, _expression: Any, items: list[Any]) -> None:
    budget.allocate_list(len(items))


def _reserve_merge(budget: ExpressionBudget, *objects: Mapping[str, Any]) -> None:
    budget.allocate_dict(sum(map(len, objects)))


_RESERVATIONS: Mapping[str, Callable[..., None]] = {
    "ends_with": _spend_on_first,
    "join": _reserve_join,
    "keys": _reserve_copy,
    "map": _reserve_map,
    "max": _spend_on_all,
    "merge": _reserve_merge,
    "min": _spend_on_all,
    "reverse": _reserve_copy,
    "sort": _reserve_sort,
    "starts_with": _spend_on_first,
    "to_string": _reserve_to_string,
    "values": _reserve_copy,
}
"""Function → what it reserves. The others make nothing larger than a number, and look at each item once."""
