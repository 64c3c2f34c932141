"""Check a JSON Schema of a catalog before anything reads it, and bound the work that it can make.

The types of its keywords are those of the meta-schema, which is part of the contract of catalogs. Here its depth, its
size and its texts are checked. References are followed without descending into the arguments: a schema that applies
itself to the same value has no meaning, and one that applies another very often is exponential (``allOf`` of two
references to an ``allOf`` of two references …). A schema that refers to itself further down is common. The levels of
arguments for which it stays cheap are known from :func:`max_nesting`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from toolfold.catalog.json_schema import IN_PLACE, LISTS, NAMED, SINGLE, inner, resolve
from toolfold.catalog.text_checks import MAX_TEXT, text_problem

_MAX_DEPTH, _MAX_SCHEMAS, _MAX_VALUES = 32, 10_000, 50_000
_MAX_APPLIED = 2000
"""Schemas that one schema may apply to the same value."""

_MAX_WORK = 1_000_000
"""Schemas that one path of arguments may meet, about a tenth of a second."""

_MAX_NUMBER = 2**64
_WITH_SCHEMAS = frozenset({*NAMED, *LISTS, *SINGLE, "contentSchema"})
_TEXTS = frozenset({"description", "title", "$comment"})
_REFERENCES = frozenset({"$ref", "$dynamicRef"})
_NOT_INSIDE = IN_PLACE | {"properties", "$defs", "definitions"}


def check_schema(schema: Any) -> None:
    """Check a whole schema that is one by the meta-schema.

    Raises:
        ValueError: It has a value that no schema of this catalog can have.
    """
    schemas = list(_checked(schema, 0, [0]))
    if any("$ref" in part or "$dynamicRef" in part for part in schemas):
        _Applied(schema, schemas).check()


def check_value(value: Any, depth: int = 0, count: list[int] | None = None) -> None:
    """Check a JSON value that a model may read: its depth, its size, its numbers and the characters of its texts.

    Raises:
        ValueError: It cannot be shown.
    """
    count = [0] if count is None else count
    count[0] += 1
    if depth > _MAX_DEPTH or count[0] > _MAX_VALUES:
        raise ValueError("has a value that is nested too deeply or too large")
    if isinstance(value, str):
        if value.isascii() and value.isprintable():
            return  # what else is wrong with a text is allowed in a value
        # Line breaks and tabs may be part of a value, which is shown as JSON.
        if problem := text_problem(value.translate(_WHITE_SPACE).lstrip("# ").replace("://", "")):
            raise ValueError(f"has a value that {problem}")
    elif isinstance(value, dict):
        for name, inner in value.items():
            check_value(name, depth, count)
            check_value(inner, depth + 1, count)
    elif isinstance(value, list):
        for inner in value:
            check_value(inner, depth + 1, count)
    elif not _is_number(value) and not isinstance(value, bool | None):
        raise ValueError("has a number that is too large")


_WHITE_SPACE = {ord(character): " " for character in "\t\n\r"}


def _checked(schema: Any, depth: int, count: list[int]) -> Iterator[Mapping[str, Any]]:
    """Yield ``schema`` and all schemas in it, after checking each."""
    count[0] += 1
    if not isinstance(schema, dict) or depth > _MAX_DEPTH or count[0] > _MAX_SCHEMAS:
        raise ValueError("is no JSON Schema, or is too large")
    yield schema
    for keyword, value in schema.items():
        if keyword in _TEXTS:
            if not isinstance(value, str) or len(value) > MAX_TEXT:
                raise ValueError(f"has a {keyword} that is not a text of up to {MAX_TEXT} characters")
            if problem := text_problem(value):
                raise ValueError(f"has a {keyword} that {problem}")
        elif keyword not in _WITH_SCHEMAS:
            check_value([keyword, value])
        elif keyword in NAMED:
            check_value([*value] if isinstance(value, dict) else value)
        if keyword in _REFERENCES and not (isinstance(value, str) and value.startswith("#")):
            raise ValueError(f"has a reference to another document, {str(value)[:64]!a}")
    for keyword, part in inner(schema):
        if keyword in _WITH_SCHEMAS:
            yield from _checked(part, depth + 1, count)


def _is_number(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= _MAX_NUMBER
    return isinstance(value, float) and math.isfinite(value)


class _Applied:
    """Which schemas each schema applies to the same value, and which to the values in it."""

    def __init__(self, root: Any, schemas: list[Mapping[str, Any]]) -> None:
        self._root = root
        self._anchors = {
            part[key]: part
            for part in schemas
            for key in ("$anchor", "$dynamicAnchor")
            if isinstance(part.get(key), str)
        }
        self._schemas = {id(part): part for part in schemas}
        self._work: dict[int, int] = {}
        if any("$id" in part for part in schemas[1:]):
            raise ValueError("has an $id below the root, to which references would relate")

    def check(self) -> None:
        """Raise ValueError where a schema applies itself, or too many others, to the same value."""
        for part in list(self._schemas.values()):
            self._applied(part, 0)

    def _applied(self, part: Mapping[str, Any], depth: int) -> int:
        known = self._work.get(id(part))
        if known == 0 or depth > 10 * _MAX_DEPTH:
            raise ValueError("has a schema that refers to itself without an end")
        if known is not None:
            return known
        self._work[id(part)] = 0
        work = 1 + sum(self._applied(one, depth + 1) for one in self.in_place(part))
        if work > _MAX_APPLIED:
            raise ValueError("has references that multiply")
        self._work[id(part)] = work
        return work

    def in_place(self, part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the schemas that ``part`` applies to the value that it is applied to."""
        references = [part[key] for key in ("$ref", "$dynamicRef") if key in part]
        found = [self._anchors.get(one[1:]) or resolve(self._root, one) for one in references]
        for one in (*found, *(one for keyword, one in inner(part) if keyword in IN_PLACE)):
            if isinstance(one, dict):
                if id(one) not in self._schemas:  # the value of an unknown keyword, or of one that has data
                    self._schemas |= {id(below): below for below in _checked(one, 0, [0])}
                yield one

    def inside(self, part: Mapping[str, Any]) -> Counter[tuple[str, int]]:
        """Return the schemas that are applied to one value inside, as (name of a property or "", id) → times."""
        found: Counter[tuple[str, int]] = Counter()
        open_ = [part]
        while open_:
            rule = open_.pop()
            open_ += self.in_place(rule)
            found.update((name, id(one)) for name, one in rule.get("properties", {}).items() if isinstance(one, dict))
            found.update(("", id(one)) for keyword, one in inner(rule) if keyword not in _NOT_INSIDE)
        return found

    def max_nesting(self, most: int) -> int:
        """Return the levels of arguments up to ``most`` for which at most :data:`_MAX_WORK` schemas are met."""
        self.check()
        inside = {key: self.inside(part) for key, part in list(self._schemas.items())}
        missing = {key for found in inside.values() for _, key in found} - inside.keys()
        work = dict.fromkeys(inside, 1) | dict.fromkeys(missing, 1)
        for level in range(most):
            if work[id(self._root)] > _MAX_WORK:
                return level
            deeper = {}
            for key in work:
                by_name = Counter({"": 0})
                for (name, below), times in inside.get(key, {}).items():
                    by_name[name] += times * work[below]
                deeper[key] = self._work.get(key, 1) + by_name.pop("") + max(by_name.values(), default=0)
            if deeper == work:  # no schema refers to itself
                return most
            work = deeper
        return most


def max_nesting(schema: Any, most: int) -> int:
    """Return how many levels of arguments may be checked against ``schema``, at most ``most``.

    Example:
        >>> max_nesting({"properties": {"a": {}}}, 64)
        64
    """
    schemas = list(_checked(schema, 0, [0]))
    if not any("$ref" in part or "$dynamicRef" in part for part in schemas):
        return most
    return max(2, _Applied(schema, schemas).max_nesting(most))
