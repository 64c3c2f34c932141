"""Convert what earlier drafts of JSON Schema wrote otherwise: the SDK of TypeScript sends draft 7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["to_2020_12"]

_VALUES = ("const", "default", "enum", "examples")
"""Keywords with values, in which nothing is a schema."""

_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def to_2020_12(schema: Any) -> Any:
    """Return a schema of draft 4, 6 or 7 as one of 2020-12; one of 2020-12 is returned as it is.

    Example:
        >>> to_2020_12({"type": "array", "items": [{"type": "string"}], "additionalItems": False})
        {'type': 'array', 'prefixItems': [{'type': 'string'}], 'items': False}
    """
    if isinstance(schema, list):
        return [to_2020_12(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _VALUES:
            made[key] = value
        elif key in _BY_NAME and isinstance(value, Mapping):
            made[key] = {name: to_2020_12(part) for name, part in value.items()}
        elif key == "items" and isinstance(value, list):
            made["prefixItems"] = to_2020_12(value)
            if "additionalItems" in schema:
                made["items"] = to_2020_12(schema["additionalItems"])
        elif key == "dependencies" and isinstance(value, Mapping):
            _add_dependencies(value, made)
        elif key != "additionalItems":  # it has no meaning beside one schema for all items
            made[key] = to_2020_12(value)
    for exclusive, inclusive in _BOUNDS:
        if isinstance(made.get(exclusive), bool):  # draft 4
            is_exclusive = made.pop(exclusive)
            if is_exclusive and inclusive in made:
                made[exclusive] = made.pop(inclusive)
    return made


def _add_dependencies(given: Mapping[str, Any], made: dict[str, Any]) -> None:
    names = {name: value for name, value in given.items() if isinstance(value, list)}
    schemas = {name: to_2020_12(value) for name, value in given.items() if not isinstance(value, list)}
    made |= {"dependentRequired": names} if names else {}
    made |= {"dependentSchemas": schemas} if schemas else {}
