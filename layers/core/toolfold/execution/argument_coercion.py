"""Convert the values that a JSON Schema refuses, where they cannot be misread.

Models send numbers and booleans as text, an enum in another case, one text for a list, JSON text for an object, and
null for "not given". What is converted follows from the errors of the library. A value that the schema accepts is never
changed, and one that cannot be converted stays as it is.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from toolfold.catalog.json_schema import TYPES, allowed_types, json_type, properties
from toolfold.execution.validation_problems import rule_at

_MAX_ROUNDS = 8
"""Times that errors are looked for: what was text has errors of its own once it is parsed."""

_LARGEST_EXACT = 2**53
"""Integers from here on have no exact float."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,100}")
_TRUE_FALSE = {"true": True, "false": False}

_WRAPPED, _OTHER_ERROR, _OTHER_VALUE = 1, 2, 3
"""How far an alternative is from a value: for a list that is made of it, an error that remains, another constant."""


class _Change(NamedTuple):
    path: tuple[str | int, ...]
    value: Any


def coerce(
    root: Mapping[str, Any], given: Mapping[str, Any], errors_of: Callable[[dict[str, Any]], Iterable[Any]]
) -> dict[str, Any]:
    """Return ``given``, which the schema ``root`` refuses, with converted values, without nulls for "not given".

    Args:
        root: the schema.
        given: the arguments, which are not changed.
        errors_of: returns the errors of arguments, each a ``jsonschema_rs.ValidationError``.
    """
    arguments = copy.deepcopy(dict(given))
    for _ in range(_MAX_ROUNDS):
        changes = [change for error in errors_of(arguments) for change in _changes(root, arguments, error)[1]]
        chosen = {change.path: change.value for change in reversed(changes)}
        for path in sorted(chosen, key=len, reverse=True):  # before the value that they are in is replaced
            parent, last, value = _value_at(arguments, path[:-1]), path[-1], chosen[path]
            if value is None:
                del parent[last]
            else:
                parent[last] = value
        if not changes:
            break
    return arguments


def whole_numbers(root: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, int]:
    """Return the arguments that are whole numbers with a fraction: 20.0 is written as 20, it is text in a query."""
    whole = {name: int(value) for name, value in arguments.items() if type(value) is float and value.is_integer()}
    declared = properties(root) if whole else {}
    return {
        name: value
        for name, value in whole.items()
        if name in declared and abs(value) < _LARGEST_EXACT and "integer" in allowed_types(root, declared[name])
    }


def _value_at(value: Any, path: Iterable[str | int]) -> Any:
    for key in path:
        value = value[key]
    return value


def _changes(root: Mapping[str, Any], arguments: Any, error: Any) -> tuple[int, list[_Change]]:
    """Return the changes after which a value has not this error, and how far the value is from that."""
    path, kind = tuple(error.instance_path), error.kind
    value = _value_at(arguments, path)
    if value is None:
        is_declared = path[-1] in properties(root, rule_at(root, path[:-1]))
        return (0, [_Change(path, None)]) if is_declared else (_OTHER_ERROR, [])
    if kind.name in ("enum", "const") and path:
        spelled = str(value).strip().lower()
        options = kind.options if kind.name == "enum" else [kind.expected_value]
        found = [option for option in options if option is not None and str(option).lower() == spelled]
        return (0, [_Change(path, found[0])]) if found else (_OTHER_VALUE, [])
    if kind.name == "type" and path:
        converted = _converted(frozenset(kind.types), value)
        if converted is not None:
            return 0, [_Change(path, converted)]
        item = _item(root, path, value) if "array" in kind.types else None
        return (_OTHER_ERROR, []) if item is None else (_WRAPPED, [_Change(path, [item])])
    alternatives: Sequence[Sequence[Any]] = getattr(kind, "context", ())
    if not alternatives or not all(alternatives):  # of the latter it fits more than one
        return _OTHER_ERROR, []
    plans = [[_changes(root, arguments, inner) for inner in errors] for errors in alternatives]
    closest = min(plans, key=lambda plan: sum(distance for distance, _ in plan))
    return sum(distance for distance, _ in closest), [change for _, changes in closest for change in changes]


def _converted(types: frozenset[str], value: Any) -> Any:
    """Return the value of one of ``types`` that a text stands for; None for every other one."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    if "boolean" in types and text.lower() in _TRUE_FALSE:
        return _TRUE_FALSE[text.lower()]
    number = _number_in(text) if types & {"integer", "number"} else None
    if number is not None and (isinstance(number, int) or "number" in types):
        return number
    if types & {"array", "object"} and text[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):
            parsed = json.loads(text)
            return parsed if json_type(parsed) in types else None
    return None


def _item(root: Mapping[str, Any], path: Sequence[str | int], value: Any) -> Any:
    """Return ``value`` as the only item of the list that is expected at ``path``; None where it cannot be one."""
    types = allowed_types(root, rule_at(root, [*path, 0]))
    item = value if json_type(value) in types else _converted(types, value)
    is_item = not isinstance(value, list) and (isinstance(value, str) or len(types) < len(TYPES))
    return item if is_item else None


def _number_in(text: str) -> int | float | None:
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < _LARGEST_EXACT else number
