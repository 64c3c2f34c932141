"""Bring arguments into the types that a JSON Schema allows, where they cannot be misread.

Models send numbers and booleans as text, an enum in another case, one text for a list, JSON text for an object, and
null for "not given". Nothing here decides whether a value fits: what cannot be converted stays as it is.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from toolfold.catalog.json_schema import TYPES, allowed_types, branches, json_type, parts, properties

_MAX_DEPTH = 32
"""Levels of nested arguments that are converted."""

_LARGEST_EXACT = 2**53
"""Integers from here on have no exact float."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,100}")
_TRUE_FALSE = {"true": True, "false": False}


class _Rules:
    """What a schema says, with all that applies beside it."""

    def __init__(self, root: Mapping[str, Any], schema: Any, rules: list[Mapping[str, Any]]) -> None:
        first: dict[str, Any] = {}
        self.properties: dict[str, Any] = {}
        for rule in rules:
            first = {**rule, **first}
            self.properties = {**properties(root, {"properties": rule.get("properties")}), **self.properties}
        self.types = allowed_types(root, schema)
        self.alternatives = branches(rules)
        self.options = _options(rules)
        self.other, self.items = first.get("additionalProperties"), first.get("items")
        listed = first.get("prefixItems")
        self.first_items: list[Any] = listed if isinstance(listed, list) else []


class Coercion:
    """Converts arguments by the schema ``root``. Safe to use from many threads.

    With ``into_alternatives``, values are also converted to fit one alternative of ``anyOf`` and ``oneOf``.
    """

    def __init__(self, root: Mapping[str, Any], *, into_alternatives: bool) -> None:
        self._root, self._into_alternatives = root, into_alternatives
        self._rules: dict[tuple[int, ...], _Rules] = {}
        self._types = {name: allowed_types(root, rule) for name, rule in properties(root).items()}

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``given`` with converted values, without nulls that mean "not given"."""
        converted = self._object(self._root, dict(given), 0)
        for name, value in converted.items():  # 20.0 is written as 20: it is text in a query string
            is_whole = isinstance(value, float) and abs(value) < _LARGEST_EXACT and value.is_integer()
            if is_whole and self._types.get(name, frozenset()) & {"integer", "number"}:
                converted[name] = int(value)
        return converted

    def _value(self, schema: Any, value: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            return value
        rules = self._rules_of(schema)
        if json_type(value) not in rules.types:
            value = self._converted(rules, value, depth)
        if isinstance(value, dict):
            return self._object(schema, value, depth)
        if isinstance(value, list):
            rules = self._rules_for(schema, value)
            first = rules.first_items
            return [
                self._value(first[place] if place < len(first) else rules.items, item, depth + 1)
                for place, item in enumerate(value)
            ]
        return _in_enum_case(rules.options, value)

    def _object(self, schema: Mapping[str, Any], value: dict[str, Any], depth: int) -> dict[str, Any]:
        rules = self._rules_for(schema, value)
        known = rules.properties
        return {
            name: self._value(known.get(name, rules.other), inner, depth + 1)
            for name, inner in value.items()
            if inner is not None or name not in known or "null" in self._rules_of(known[name]).types
        }

    def _rules_of(self, *schemas: Any) -> _Rules:
        """Return what ``schemas``, which apply together, say. They are parts of ``root``, so their ids are theirs."""
        key = tuple(map(id, schemas))
        rules = self._rules.get(key)
        if rules is None:
            every = [part for schema in schemas for part in parts(self._root, schema)]
            rules = self._rules.setdefault(key, _Rules(self._root, schemas[0], every))
        return rules

    def _rules_for(self, schema: Mapping[str, Any], value: Any) -> _Rules:
        """Return the rules of ``schema``, with those of the alternative that ``value`` was most likely written for."""
        rules, kind = self._rules_of(schema), json_type(value)
        fitting = [
            branch
            for branch in (rules.alternatives if self._into_alternatives else ())
            if isinstance(branch, Mapping) and kind in self._rules_of(branch).types
        ]
        if not fitting:
            return rules
        return self._rules_of(schema, max(fitting, key=lambda branch: self._likeness(branch, value)))

    def _likeness(self, branch: Any, value: Any) -> int:
        """Count what ``value`` shares with ``branch``: its keys, and twice the constants that distinguish branches."""
        if not isinstance(value, dict):
            return 0
        points = 0
        for name, rule in self._rules_of(branch).properties.items():
            if name in value:
                options = self._rules_of(rule).options
                points += 1 if options is None else 3 if _in_enum_case(options, value[name]) in options else -3
        return points

    def _converted(self, rules: _Rules, value: Any, depth: int) -> Any:
        types = rules.types
        if isinstance(value, str):
            text = value.strip()
            if "boolean" in types and text.lower() in _TRUE_FALSE:
                return _TRUE_FALSE[text.lower()]
            number = _number_in(text) if types & {"integer", "number"} else None
            if number is not None and (isinstance(number, int) or "number" in types):
                return number
            if types & {"array", "object"} and text[:1] in ("[", "{"):
                with suppress(ValueError, RecursionError):
                    parsed = json.loads(text)
                    if json_type(parsed) in types & {"array", "object"}:
                        return parsed
        if "array" in types and not isinstance(value, list) and value is not None:
            item = self._value(rules.items, value, depth + 1)
            types_of_items = allowed_types(self._root, rules.items)
            if json_type(item) in types_of_items and (isinstance(value, str) or len(types_of_items) < len(TYPES)):
                return [item]
        return value


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


def _options(rules: list[Mapping[str, Any]]) -> list[Any] | None:
    for rule in rules:
        if "const" in rule:
            return [rule["const"]]
        if isinstance(rule.get("enum"), list):
            return list(rule["enum"])
    return None


def _in_enum_case(allowed: list[Any] | None, value: Any) -> Any:
    if allowed is None or value in allowed:
        return value
    spelled = str(value).strip().lower()
    return next((known for known in allowed if str(known).lower() == spelled), value)
