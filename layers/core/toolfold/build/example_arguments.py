"""Make arguments of a valid call from a JSON Schema, for tools that come without an example."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolfold.build.example_texts import number_for, text_for
from toolfold.catalog import json_schema

__all__ = ["example_arguments"]

_MAX_DEPTH = 6
_MAX_PATTERN = 500
_BASE64 = "aGVsbG8="
_PLAIN: Mapping[str, Any] = {"boolean": True, "array": [], "object": {}, "null": None}


def example_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for each required argument: its example, default or first allowed value, else one of its type.

    The values fit the schema as far as its types, enums, formats and bounds go; the compiler checks the rest.
    """
    needed = [*json_schema.required(schema), *json_schema.alternatives(schema)[:1]]
    rules = json_schema.properties(schema)
    return {name: _example(schema, rules.get(name, {}), name, 0) for name in dict.fromkeys(needed)}


def _example(root: Mapping[str, Any], rule: Any, name: str, depth: int) -> Any:
    for part in json_schema.parts(root, rule):
        examples = part.get("examples")
        if isinstance(examples, list) and examples:
            return examples[0]
        for key in ("default", "const"):
            if part.get(key) is not None:
                return part[key]
        if isinstance(part.get("enum"), list) and part["enum"]:
            return part["enum"][0]
    for key in ("anyOf", "oneOf"):
        choices = json_schema.keyword(root, rule, key)
        if isinstance(choices, list) and choices and depth < _MAX_DEPTH:
            return _example(root, choices[0], name, depth + 1)
    types = json_schema.type_words(root, rule)
    return _of_type(root, rule, name, types[0] if types else "string", depth)


def _of_type(root: Mapping[str, Any], rule: Any, name: str, type_: str, depth: int) -> Any:
    def given(key: str) -> Any:
        return json_schema.keyword(root, rule, key)

    if type_ in ("integer", "number"):
        least, most = given("minimum"), given("maximum")
        if isinstance(least, int | float):
            found = number_for(name, lambda value: least <= value and (type_ == "number" or isinstance(value, int)))
            is_within = found >= least and not (isinstance(most, int | float) and found > most)
            return found if is_within and found != 1 else least
        over = given("exclusiveMinimum")
        if isinstance(over, int | float) and not isinstance(over, bool):
            return over + 1
        found = number_for(name, lambda value: type_ == "number" or isinstance(value, int))
        return most if isinstance(most, int | float) and most < found else found
    if type_ == "string":
        if given("contentEncoding") == "base64":
            return _BASE64
        least, most = given("minLength"), given("maxLength")
        text = text_for(name, given, lambda text: _fits(text, given("pattern"), least, most))
        text = text.ljust(least, "x") if isinstance(least, int) and least < 1000 else text
        return text[:most] if isinstance(most, int) else text
    if type_ == "object" and depth < _MAX_DEPTH:
        rules = json_schema.properties(root, rule)
        return {key: _example(root, rules.get(key, {}), key, depth + 1) for key in json_schema.required(root, rule)}
    if type_ == "array" and depth < _MAX_DEPTH and isinstance(given("minItems"), int) and given("minItems") > 0:
        return [_example(root, given("items") or {}, name, depth + 1)] * min(given("minItems"), 10)
    return _PLAIN.get(type_, name)


def _fits(text: str, pattern: Any, least: Any, most: Any) -> bool:
    """Return whether a text is within the bounds of a schema. A pattern that Python cannot read does not count."""
    if (isinstance(least, int) and len(text) < least) or (isinstance(most, int) and len(text) > most):
        return False
    try:
        return not isinstance(pattern, str) or len(pattern) > _MAX_PATTERN or re.search(pattern, text) is not None
    except (re.error, RecursionError):
        return True
