"""Read parameters from a JSON Schema: local references, properties, allowed types.

Pure functions over plain data. They do not raise exceptions: an unknown or malformed schema allows every value.
``execution.validation`` decides whether a value matches a schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
"""The types of JSON Schema; ``number`` includes ``integer``."""

NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose value is name → schema."""

DATA_KEYWORDS = frozenset({"const", "enum", "default", "examples"})
"""Keywords whose value is data, and no schema."""

_ANY = frozenset(TYPES)
_MAX_DEPTH, _MAX_PARTS = 16, 64
"""Maximum depth and number of references and unions that are followed: a schema may refer to itself."""

_COMBINING = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
"""Keywords by which a schema has properties of other schemas."""

_TYPES_OF_PYTHON = {str: "string", bool: "boolean", int: "integer", list: "array", dict: "object", type(None): "null"}


def json_type(value: Any) -> str:
    """Return the JSON Schema type of ``value``; a float without a fraction is an integer."""
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return _TYPES_OF_PYTHON.get(type(value), "")


def resolve(root: Any, reference: Any) -> Any:
    """Return the part of ``root`` that a local reference (``#``, ``#/…``) points to, or None."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    found = root
    for token in reference[2:].split("/") if len(reference) > 1 else ():
        key = unquote(token).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def parts(root: Any, schema: Any) -> list[Mapping[str, Any]]:
    """Return ``schema`` and the schemas that always apply with it: targets of ``$ref``, members of ``allOf``."""
    found: list[Mapping[str, Any]] = []
    open_ = [schema]
    while open_ and len(found) < _MAX_PARTS:
        part = open_.pop(0)
        if not isinstance(part, Mapping) or any(part is known for known in found):
            continue
        found.append(part)
        open_.append(resolve(root, part.get("$ref")))
        open_ += _list(part.get("allOf"))
    return found


def branches(rules: list[Mapping[str, Any]]) -> list[Any]:
    """Return the alternatives (``anyOf``, ``oneOf``) of a schema whose :func:`parts` are ``rules``."""
    return [branch for rule in rules for key in ("anyOf", "oneOf") for branch in _list(rule.get(key))]


def properties(root: Any, schema: Any = None) -> dict[str, Mapping[str, Any]]:
    """Return name → schema of every property that ``schema`` (``root``, where it is not given) describes.

    Properties of alternatives are included. A property that may have any value is ``{}``, a forbidden one is left out.
    """
    schema = root if schema is None else schema
    if isinstance(schema, Mapping) and _COMBINING.isdisjoint(schema):
        described = schema.get("properties")
        rules = described.items() if isinstance(described, Mapping) else ()
        return {name: rule if isinstance(rule, Mapping) else {} for name, rule in rules if rule is not False}
    found: dict[str, Mapping[str, Any]] = {}
    for name, rule in _properties(root, schema, 0):
        if rule is not False:
            found.setdefault(name, rule if isinstance(rule, Mapping) else {})
    return found


def _properties(root: Any, schema: Any, depth: int) -> Iterator[tuple[str, Any]]:
    rules = parts(root, schema)
    for rule in rules:
        described = rule.get("properties")
        if isinstance(described, Mapping):
            yield from described.items()
    if depth < _MAX_DEPTH:
        for branch in branches(rules):
            yield from _properties(root, branch, depth + 1)


def required(root: Any, schema: Any = None) -> list[str]:
    """Return the names that ``schema`` always requires, in its order."""
    rules = parts(root, root if schema is None else schema)
    return list(dict.fromkeys(name for rule in rules for name in _list(rule.get("required")) if isinstance(name, str)))


def keyword(root: Any, schema: Any, name: str) -> Any:
    """Return the first value of the keyword ``name`` in the :func:`parts` of ``schema``, or None."""
    return next((rule[name] for rule in parts(root, schema) if name in rule), None)


def allowed_types(root: Any, schema: Any, depth: int = 0) -> frozenset[str]:
    """Return the types that ``schema`` allows by ``type``, ``enum``, ``const`` and alternatives."""
    if schema is False:
        return frozenset()
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return _ANY
    types = _ANY
    for rule in parts(root, schema):
        if isinstance(given := rule.get("type"), str | list):
            named = {given} if isinstance(given, str) else {name for name in given if isinstance(name, str)}
            types &= named | ({"integer"} if "number" in named else set())
        if "const" in rule or isinstance(rule.get("enum"), list):
            values = [rule["const"]] if "const" in rule else rule["enum"]
            types &= {json_type(value) for value in values} | {"number" for v in values if isinstance(v, float)}
        for key in ("anyOf", "oneOf"):
            if choices := _list(rule.get(key)):
                types &= frozenset().union(*(allowed_types(root, choice, depth + 1) for choice in choices))
    return types


def type_words(root: Any, schema: Any) -> list[str]:
    """Return the types that ``schema`` allows, in the order of :data:`TYPES`; empty when it allows all."""
    types = allowed_types(root, schema)
    if types == _ANY:
        return []
    return [name for name in TYPES if name in types and not (name == "integer" and "number" in types)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
