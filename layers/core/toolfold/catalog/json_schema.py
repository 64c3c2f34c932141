"""Read parameters from a JSON Schema: local references, properties, allowed types.

Pure functions over plain data. They do not raise exceptions: an unknown or malformed schema allows every value.
``execution.validation`` decides whether a value matches a schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

DIALECT = "https://json-schema.org/draft/2020-12/schema"

TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
"""The types of JSON Schema; ``number`` includes ``integer``."""

NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose value is name → schema."""

DATA_KEYWORDS = frozenset({"const", "enum", "default", "examples", "dependentRequired"})
"""Keywords whose value is data, and no schema."""

LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
SINGLE = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
"""Keywords whose value is a list of schemas, and one schema."""

IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "dependentSchemas", "not", "if", "then", "else"})
"""Keywords whose schemas apply to the same value."""

_ANY = frozenset(TYPES)
_MAX_DEPTH, _MAX_PARTS = 16, 64
"""Maximum depth and number of references and unions that are followed: a schema may refer to itself."""

_MAX_DIGITS = 10
"""Of the index of a list in a reference: Python reads a number of any length slowly, or not at all."""

_COMBINING = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
"""Keywords by which a schema has properties of other schemas."""

_TYPES_OF_PYTHON = {str: "string", bool: "boolean", int: "integer", list: "array", dict: "object", type(None): "null"}


def json_type(value: Any) -> str:
    """Return the JSON Schema type of ``value``; a float without a fraction is an integer."""
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    return _TYPES_OF_PYTHON.get(type(value), "")


def locate(root: Any, reference: Any) -> tuple[tuple[str | int, ...], Any] | None:
    """Return keys and value of the part of ``root`` that a local reference (``#``, ``#/…``) points to, or None."""
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        return None
    found, at = root, list[str | int]()
    for token in reference[2:].split("/") if len(reference) > 1 else ():
        key: str | int = unquote(token).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and str(key).isdecimal() and len(token) < _MAX_DIGITS:
            key = int(key)
        if not (key in found if isinstance(found, Mapping) else isinstance(key, int) and key < len(found)):
            return None
        found = found[key]
        at.append(key)
    return tuple(at), found


def resolve(root: Any, reference: Any) -> Any:
    """Return the part of ``root`` that a local reference points to, or None."""
    located = locate(root, reference)
    return None if located is None else located[1]


def with_inner(schema: Mapping[str, Any], change: Callable[[str, Any], Any]) -> dict[str, Any]:
    """Return ``schema`` with ``change`` of the keyword and the value of each object that is a schema directly inside.

    Example:
        >>> with_inner({"type": "array", "items": {"type": "string"}}, lambda keyword, part: {**part, "of": keyword})
        {'type': 'array', 'items': {'type': 'string', 'of': 'items'}}
    """
    made = dict(schema)
    for keyword, value in schema.items():
        if keyword in DATA_KEYWORDS:
            continue
        if isinstance(value, list):
            made[keyword] = [change(keyword, part) if isinstance(part, dict) else part for part in value]
        elif isinstance(value, dict) and keyword in NAMED:
            made[keyword] = {
                name: change(keyword, part) if isinstance(part, dict) else part for name, part in value.items()
            }
        elif isinstance(value, dict):
            made[keyword] = change(keyword, value)
    return made


def inner(schema: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return the keyword and the value of each object that is a schema directly inside ``schema``."""
    found: list[tuple[str, dict[str, Any]]] = []
    if isinstance(schema, dict):
        with_inner(schema, lambda keyword, part: found.append((keyword, part)))
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
        open_ += [resolve(root, part["$ref"])] if "$ref" in part else []
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
    for part in applied(root, schema):
        described = part.get("properties")
        for name, rule in described.items() if isinstance(described, Mapping) else ():
            if rule is not False:
                found.setdefault(name, rule if isinstance(rule, Mapping) else {})
    return found


def property_rule(root: Any, schema: Any, name: str) -> Mapping[str, Any]:
    """Return the schema of a property, or ``{}``. Values that alternatives fix are those of all."""
    first = properties(root, schema).get(name, {})
    described = [part.get("properties") for part in parts(root, schema)]
    if any(isinstance(rules, Mapping) and name in rules for rules in described):
        return first
    found = [properties(root, branch).get(name, {}) for branch in branches(parts(root, schema))]
    fixed = [[rule["const"]] if "const" in rule else _list(rule.get("enum")) for rule in found if rule]
    if len(fixed) < 2 or not all(fixed):
        return first
    return {"enum": list({repr(value): value for values in fixed for value in values}.values())}


def applied(
    root: Any, schema: Any, depth: int = 0, known: dict[int, Mapping[str, Any]] | None = None
) -> Iterator[Mapping[str, Any]]:
    """Yield the :func:`parts` of ``schema``, and then those of its alternatives, each once."""
    known = {} if known is None else known
    rules = [rule for rule in parts(root, schema) if id(rule) not in known]
    known |= {id(rule): rule for rule in rules}
    yield from rules
    for branch in branches(rules) if depth < _MAX_DEPTH else ():
        yield from applied(root, branch, depth + 1, known)


def required(root: Any, schema: Any = None) -> list[str]:
    """Return the names that ``schema`` always requires, in its order."""
    rules = parts(root, root if schema is None else schema)
    return list(dict.fromkeys(name for rule in rules for name in _list(rule.get("required")) if isinstance(name, str)))


def keywords(root: Any, schema: Any) -> dict[str, Any]:
    """Return the keywords of all :func:`parts` of ``schema``, each with its first value."""
    found: dict[str, Any] = {}
    for rule in parts(root, schema):
        found = {**rule, **found}
    return found


def keyword(root: Any, schema: Any, name: str) -> Any:
    """Return the first value of the keyword ``name`` in the :func:`parts` of ``schema``, or None."""
    return keywords(root, schema).get(name)


def allowed_types(
    root: Any, schema: Any, depth: int = 0, known: dict[int, frozenset[str]] | None = None
) -> frozenset[str]:
    """Return the types that ``schema`` allows by ``type``, ``enum``, ``const`` and alternatives.

    ``known`` has the types of the alternatives found so far, by identity: references to references multiply them.
    """
    if schema is False:
        return frozenset()
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return _ANY
    known = {} if known is None else known
    if id(schema) in known:
        return known[id(schema)]
    types = known[id(schema)] = _ANY
    for rule in parts(root, schema):
        if isinstance(given := rule.get("type"), str | list):
            named = {given} if isinstance(given, str) else {name for name in given if isinstance(name, str)}
            types &= named | ({"integer"} if "number" in named else set())
        if "const" in rule or isinstance(rule.get("enum"), list):
            values = [rule["const"]] if "const" in rule else rule["enum"]
            types &= {json_type(value) for value in values} | {"number" for v in values if isinstance(v, float)}
        for key in ("anyOf", "oneOf"):
            if choices := _list(rule.get(key)):
                types &= frozenset().union(*(allowed_types(root, one, depth + 1, known) for one in choices))
    known[id(schema)] = types
    return types


def type_words(root: Any, schema: Any) -> list[str]:
    """Return the types that ``schema`` allows, in the order of :data:`TYPES`; empty when it allows all."""
    types = allowed_types(root, schema)
    if types == _ANY:
        return []
    return [name for name in TYPES if name in types and not (name == "integer" and "number" in types)]


BOUNDS = (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
"""Keyword with a bound of a value → what it is in :func:`value_words`."""


def value_words(
    root: Any,
    schema: Any,
    shown: Callable[[Any], str] = str,
    signs: Sequence[tuple[str, str]] = BOUNDS,
    most: int | None = None,
) -> list[str]:
    """Return what ``schema`` takes in a few words: type or allowed values, bounds, and a default that is not empty.

    Args:
        root: the schema that its references point into.
        schema: the JSON Schema of a value.
        shown: returns how a value is written.
        signs: keywords, with the words before their values.
        most: how many of the allowed values, and of the names in an object, are listed; None: all.

    Example:
        >>> value_words({}, {"type": "integer", "minimum": 1, "default": 10})
        ['integer', '≥1', 'default 10']
    """

    def listed(values: Sequence[Any]) -> list[str]:
        return [*map(shown, values[:most]), *(["…"] if most is not None and values[most:] else [])]

    types, described = type_words(root, schema), keywords(root, schema)
    words = [_options(root, schema, listed) or _with_members(root, schema, "|".join(types), most) or "any"]
    if types == ["array"]:
        sizes = [str(described.get(key, "")) for key in ("minItems", "maxItems")]
        size = f"{' to '.join(sizes) if all(sizes) else f'≥{sizes[0]}' if sizes[0] else f'≤{sizes[1]}'} "
        item = described.get("items")
        plural = _with_members(root, item, "/".join(f"{type_}s" for type_ in type_words(root, item)), most)
        items = _options(root, item, listed) or plural or "values"
        words = [f"array of {size if any(sizes) else ''}{items}"]
    words += [f"{sign}{described[key]}" for key, sign in signs if key in described]
    return [*words, *([f"default {shown(described['default'])}"] if described.get("default") not in (None, "") else [])]


def _with_members(root: Any, schema: Any, types: str, most: int | None) -> str:
    """Return the words of types with the names in an object, those first that it must have: ``object {id, name?}``."""
    if "object" not in types:
        return types
    required = frozenset(_list(keywords(root, schema).get("required")))
    names = sorted(properties(root, schema), key=lambda name: name not in required)
    shown = [name if name in required else f"{name}?" for name in names[:most]]
    more = ["…"] if names[len(shown) :] else []
    return f"{types} {{{', '.join(shown + more)}}}" if names else types


def _options(
    root: Any,
    schema: Any,
    listed: Callable[[Sequence[Any]], list[str]],
    depth: int = 0,
    known: dict[int, str] | None = None,
) -> str:
    """Return the values that ``schema`` lists, or one of its alternatives does beside types: ``a|b|null``."""
    known = {} if known is None else known
    if id(schema) in known or depth > _MAX_DEPTH:
        return known.get(id(schema), "")
    known[id(schema)] = ""
    rules = parts(root, schema)
    for rule in rules:
        if values := [rule["const"]] if "const" in rule else _list(rule.get("enum")):
            words = listed(values)
            break
    else:
        choices = branches(rules)
        texts = [_options(root, one, listed, depth + 1, known) for one in choices]
        found = zip(texts, choices, strict=True) if any(texts) else ()
        words = list(dict.fromkeys(text or "|".join(type_words(root, one)) or "any" for text, one in found))
    known[id(schema)] = "|".join(words)
    return known[id(schema)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
