"""Parts of JSON Schemas and values: what contains what, what can be shown, and schemas that also accept null."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

__all__ = [
    "DEFINITIONS",
    "Schema",
    "compact_size",
    "dicts_in",
    "distinct",
    "in_place",
    "is_number",
    "is_pattern",
    "is_plain",
    "nullable",
    "references_of",
    "subschemas",
    "unwrapped",
    "without_null",
]

Schema = dict[str, Any]

DEFINITIONS = "#/$defs/"

LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
SINGLE = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
MAPPINGS = ("properties", "patternProperties", "dependentSchemas")
"""Keywords with schemas: in a list, one, and by name."""

MAX_VALUE = 2000
"""Characters of a value in a schema."""

MAX_NUMBER = 2**63
_IN_PLACE = ("allOf", "anyOf", "oneOf", "dependentSchemas", "not", "if", "then", "else")


def compact_size(schema: Any) -> int:
    """Return the characters of ``schema`` as compact JSON."""
    return len(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))


def dicts_in(values: Any) -> list[Schema]:
    """Return the objects in ``values``; empty where it is another value than a list."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def unwrapped(schema: Schema) -> Schema:
    """Return ``schema`` without an ``allOf`` of one member: in OpenAPI 3.0 it is how a reference gets a description."""
    parts = schema.get("allOf")
    if isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict):
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        if not (set(rest) & set(parts[0])) - {"description"}:
            return {**parts[0], **rest}
    return schema


def nullable(schema: Schema) -> Schema:
    """Return ``schema`` extended by null, which OpenAPI 3.0 states as ``nullable``."""
    has_alternatives = any(key in schema for key in ("$ref", "allOf", "anyOf", "oneOf", "not", "const"))
    if not has_alternatives and "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        made = {**schema, "type": [*types, *([] if "null" in types else ["null"])]}
        if "enum" in made and None not in made["enum"]:
            made["enum"] = [*made["enum"], None]
        return made
    if not has_alternatives:
        return {**schema, "enum": [*schema["enum"], None]} if None not in schema.get("enum", [None]) else schema
    for key in ("anyOf", "oneOf"):
        # Where no alternative accepts null itself, null is one more.
        if schema.keys() <= {key, "description", "default", "deprecated"} and '"null"' not in json.dumps(schema[key]):
            return {**schema, key: [*schema[key], {"type": "null"}]}
    outside: Schema = {key: schema[key] for key in ("description", "default", "deprecated") if key in schema}
    inside = {key: value for key, value in schema.items() if key not in outside}
    return {**outside, "anyOf": [inside, {"type": "null"}]}


def without_null(schema: Schema) -> Schema:
    """Return ``schema`` without null, which cannot be sent outside a body: it is the same as leaving it out."""
    made = dict(schema)
    if isinstance(types := made.get("type"), list) and len(types) > 1:
        kept = [name for name in types if name != "null"]
        made["type"] = kept[0] if len(kept) == 1 else kept
    if None in made.get("enum", ()) and len(made["enum"]) > 1:
        made["enum"] = [value for value in made["enum"] if value is not None]
    for key in ("anyOf", "oneOf"):
        branches = [branch for branch in made.get(key, ()) if branch != {"type": "null"}]
        if branches and len(branches) < len(made[key]):
            made[key] = branches
            rest = {name: value for name, value in made.items() if name != key}
            if (
                len(branches) == 1
                and isinstance(branches[0], dict)
                and not rest.keys() & branches[0].keys() - {"description"}
            ):
                made = {**branches[0], **rest}
    return made


def subschemas(schema: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield the path and the value of each schema directly inside ``schema``."""
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key in LISTS and isinstance(value, list):
            yield from (((key, index), part) for index, part in enumerate(value))
        elif key in SINGLE:
            yield (key,), value
        elif key in MAPPINGS and isinstance(value, dict):
            yield from (((key, name), part) for name, part in value.items())


def references_of(schema: Any) -> list[str]:
    """Return the names in all references in ``schema``, in their order and with repetitions."""
    found: list[str] = []
    open_ = [schema]
    while open_:
        part = open_.pop()
        if isinstance(part, dict):
            if "$ref" in part:
                found.append(part["$ref"].removeprefix(DEFINITIONS))
            open_ += reversed([inner for _, inner in subschemas(part)])
    return found


def in_place(schema: Any) -> Iterator[Schema]:
    """Yield the schemas in ``schema`` that apply to the same value as it does."""
    for path, part in subschemas(schema):
        if path[0] in _IN_PLACE and isinstance(part, dict):
            yield part
            yield from in_place(part)


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return ``values`` without repetitions; 1 and true are different values."""
    found: list[Any] = []
    seen: set[str] = set()
    for value in values:
        if (key := repr(value)) not in seen:
            seen.add(key)
            found.append(value)
    return found


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a finite number that every reader of JSON represents."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= MAX_NUMBER if isinstance(value, int) else math.isfinite(value)


def is_plain(value: Any, max_chars: int = MAX_VALUE, depth: int = 0) -> bool:
    """Return whether a value can be shown: it is finite, not large, and has no invisible characters."""
    if isinstance(value, str):
        return len(value) <= max_chars and (value.isprintable() or value.replace("\n", "").isprintable())
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, list) and depth < 5 and len(value) <= 100:
        return all(is_plain(item, max_chars, depth + 1) for item in value)
    if isinstance(value, dict) and depth < 5 and len(value) <= 100:
        return all(is_plain(part, max_chars, depth + 1) for pair in value.items() for part in pair)
    return is_number(value)


@lru_cache(maxsize=10_000)
def is_pattern(pattern: str) -> bool:
    """Return whether ``pattern`` is a regular expression that arguments can be checked with."""
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for({"pattern": pattern})
    except ValueError:
        return False
    return True
