"""Make arguments of a valid call from a JSON Schema, for tools that come without an example.

A model copies examples. A value that the schema or the description of a parameter gives comes first, then one of its
format, which the last word of its name may be as well: `start_date`. Those are examples of documentation (RFC 2606,
RFC 5737).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from math import prod
from random import Random
from typing import Any

from rstr import Rstr

from toolfold.catalog import json_schema
from toolfold.catalog.contract import check_schema
from toolfold.catalog.tokenizer import in_words
from toolfold.execution.validation import SchemaError, compile_schema

FORMATS: Mapping[str, str] = {
    "date": "2025-01-31",
    "date-time": "2025-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "name@example.com",
    "hostname": "example.com",
    "uri": "https://example.com",
    "url": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
}
"""``format``, or the last word of a name → value."""

_QUOTED = re.compile(
    r"(?:\be\.?g\.?|\bfor (?:example|instance)|\bexamples?|\bsuch as|\blike)\s*[,:]?\s*"
    r"(?:['‘]([^'’]{1,80})['’]|[\"“]([^\"”]{1,80})[\"”]|`([^`]{1,80})`)",
    re.IGNORECASE,
)
"""A value in quotes or backticks that a description gives as an example."""

_MAX_DEPTH = 6
_MAX_TRIED, _MAX_VALUES = 50, 500
_MAX_PATTERN, _MAX_REPEATS = 500, 10_000
_BASE64 = "aGVsbG8="
_PLAIN: Mapping[str, tuple[Any, ...]] = {"boolean": (True, False), "null": (None,)}


def example_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for each required argument: its example, default or first allowed value, else one of its type.

    A value is one that the schema accepts, where one is found; the compiler checks the whole.
    """
    try:
        check_schema(schema)  # one whose references multiply takes years to check a value
    except ValueError:  # which the compiler reports
        return {}
    found: dict[str, Any] = _Maker(schema).arguments()
    return found


class _Maker:
    """Makes values of the schemas in ``root``, at most :data:`_MAX_VALUES`: a schema may refer to itself many times."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root, self._left = root, _MAX_VALUES

    def arguments(self) -> Any:
        """Return an object that the whole schema accepts, if one is found."""
        return self._first(self._root, self._objects(self._root, 0))

    def _example(self, rule: Any, name: str, depth: int) -> Any:
        """Return an example of the parameter ``name``, whose schema is ``rule``; None where too many were made."""
        self._left -= 1
        return self._first(rule, self._candidates(rule, name, depth)) if self._left > 0 else None

    def _first(self, rule: Any, candidates: Iterator[Any]) -> Any:
        accepts, tried = self._check(rule), list[Any]()
        for value in islice(candidates, _MAX_TRIED):
            if accepts(value):
                return value
            tried.append(value)
        return tried[0] if tried else None

    def _check(self, rule: Any) -> Callable[[Any], bool]:
        definitions = {key: self._root[key] for key in ("$schema", "$defs", "definitions") if key in self._root}
        try:
            return compile_schema({**definitions, **rule} if isinstance(rule, Mapping) else {}).is_valid
        except SchemaError:  # which the compiler reports
            return lambda _: True

    def _candidates(self, rule: Any, name: str, depth: int) -> Iterator[Any]:
        """Yield values of the parameter ``name``, the best first, at least one."""
        parts = json_schema.parts(self._root, rule)
        for part in parts:
            given = {key: [part[key]] for key in ("default", "const") if part.get(key) is not None}
            given |= {key: part[key] for key in ("examples", "enum") if isinstance(part.get(key), list)}
            yield from (value for key in ("examples", "default", "const", "enum") for value in given.get(key, ()))
        if depth < _MAX_DEPTH:
            yield from (self._example(choice, name, depth + 1) for choice in json_schema.branches(parts))
        for type_ in json_schema.type_words(self._root, rule) or ["string"]:
            if type_ in ("integer", "number"):
                yield from self._numbers(rule)
            elif type_ == "string":
                yield from self._texts(rule, name)
            elif type_ == "object":
                yield from self._objects(rule, depth)
            elif type_ == "array":
                yield from self._lists(rule, name, depth)
            else:
                yield from _PLAIN[type_]

    def _numbers(self, rule: Any) -> Iterator[float | int]:
        bounds = {key: json_schema.keyword(self._root, rule, key) for key in (*_OFFSETS, "multipleOf")}
        numbers = {key: value for key, value in bounds.items() if type(value) in (int, float)}
        yield from (numbers[key] + offset for key, offset in _OFFSETS.items() if key in numbers)
        step = numbers.get("multipleOf", 1)
        yield from (step, (numbers.get("minimum", 0) // step + 1) * step if step else 1)

    def _texts(self, rule: Any, name: str) -> Iterator[str]:
        given = json_schema.keywords(self._root, rule).get
        if given("contentEncoding") == "base64":
            yield _BASE64
        description, pattern = given("description"), given("pattern")
        for found in _QUOTED.finditer(description if isinstance(description, str) else ""):
            yield next(value for value in found.groups() if value).strip()
        words = in_words(name).lower().split() or [""]
        yield from (FORMATS[one] for one in (str(given("format")), words[-1]) if one in FORMATS)
        least, most = given("minLength"), given("maxLength")
        text = name.ljust(least, "x") if isinstance(least, int) and least < 1000 else name
        text = text[:most] if isinstance(most, int) else text
        # A text of a pattern is nothing to read, so it comes after the name.
        yield from (text, *(_matching(pattern) if isinstance(pattern, str) else ()))

    def _objects(self, rule: Any, depth: int) -> Iterator[dict[str, Any]]:
        """Yield objects with what is required, also by an alternative; then one without anything."""
        for choice in ({}, *json_schema.branches(json_schema.parts(self._root, rule))):
            both = {"allOf": [rule, choice]}
            needed, rules = json_schema.required(self._root, both), json_schema.properties(self._root, both)
            if depth < _MAX_DEPTH:
                yield {key: self._example(rules.get(key, {}), key, depth + 1) for key in needed}
        yield {}

    def _lists(self, rule: Any, name: str, depth: int) -> Iterator[list[Any]]:
        """Yield lists of the least number of items, at least one: the same ones, then different ones, then none."""
        least = json_schema.keyword(self._root, rule, "minItems")
        count = min(max(least, 1) if isinstance(least, int) else 1, _MAX_TRIED) if depth < _MAX_DEPTH else 0
        if count > 0:
            items = json_schema.keyword(self._root, rule, "items") or {}
            tried = list(islice(self._candidates(items, name, depth + 1), _MAX_TRIED))
            fitting = list(filter(self._check(items), tried)) or tried
            yield fitting[:1] * count
            yield [value for index, value in enumerate(fitting) if value not in fitting[:index]][:count]
        yield []


_OFFSETS: Mapping[str, int] = {"minimum": 0, "exclusiveMinimum": 1, "maximum": 0, "exclusiveMaximum": -1}
"""Bound of a number → what is added to it for a number within the bound."""


@lru_cache(maxsize=1000)
def _matching(pattern: str) -> tuple[str, ...]:
    """Return short texts that fit a regular expression, if some are found. Tools of a service share their patterns."""
    if len(pattern) <= _MAX_PATTERN and prod(map(int, re.findall(r"\{([1-9]\d{0,9})", pattern))) <= _MAX_REPEATS:
        # An expression of another language may have what Python does not know.
        with suppress(re.error, LookupError, OverflowError, RecursionError, ValueError):
            return tuple(Rstr(_Shortest(least)).xeger(pattern) for least in (0, 1))
    return ()


class _Shortest(Random):
    """Chooses the fewest repeats, ``least`` where they may be none, and letters and digits before other characters."""

    def __init__(self, least: int) -> None:
        super().__init__()
        self._least = least

    def randint(self, a: int, b: int) -> int:
        return max(a, min(self._least, b))

    def choice(self, seq: Any) -> Any:
        return min(seq, key=lambda one: (not one.isalnum(), one)) if isinstance(seq[0], str) else seq[0]
