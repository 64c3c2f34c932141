"""Convert the schemas of OpenAPI 3.0 to 3.2 to JSON Schema 2020-12, and shorten what is too large for a model to read.

Each schema that a reference points to is converted once, and has one name among the ``$defs`` of every tool that needs
it. Circular references therefore stay references.

The body of a request can refer to hundreds of definitions: that of a Kubernetes pod has 250 KB. What is left out is the
innermost part. It accepts any value then, so that a caller who knows the service can still send it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from toolfold.build.checks import is_pattern
from toolfold.build.emitter import first_sentence
from toolfold.build.importers.openapi import schema_parts as parts
from toolfold.build.importers.openapi.document import DanglingReference, DocumentError, References
from toolfold.build.yaml_loader import Location
from toolfold.catalog import json_schema
from toolfold.catalog.json_schema import IN_PLACE, LISTS, SINGLE, TYPES, inner, with_inner

MAX_DEPTH = 24
"""Levels of a schema between two references. A catalog allows 32 in the schema of a tool, with its ``$defs``."""

MAX_DESCRIPTION = 600
"""Characters of the description of a property. GitHub's longest have 1,500, of which the first sentences say what to
send."""

_MAX_TEXT_VALUE, _MAX_EXAMPLES = 200, 2
_MAX_ENUM = 5000
_MAX_APPLIED = 100
"""Definitions that apply to one value, each in the one before."""

_NUMBERS = (
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minContains", "maxContains"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
)
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")

_BESIDE_REFERENCES = frozenset({"$ref", "description", "default", "example", "deprecated", "nullable"})
"""What is read beside a reference of OpenAPI 3.0, which ignores it: notes, and null, which authors mean. A type that
contradicts the referenced schema would make one that takes no value."""


class SchemaConverter:
    """Convert schemas of what is sent: without ``readOnly`` properties.

    It has the ``$defs`` of what it has converted, by name: each of them is converted when it is first read.

    ``note`` is called with a location and a sentence for what is left out of a schema without harm to the tool.
    """

    def __init__(self, references: References, note: Callable[[Location, str], None]) -> None:
        self.references, self.note = references, note
        self._has_siblings = not str(references.data.get("openapi", "3.0")).startswith("3.0")
        self._names: dict[Location, str] = {}
        self._sources: dict[str, tuple[Location, Any]] = {}
        self._definitions: dict[str, parts.Schema] = {}
        self._is_checked: set[str] = set()

    def text(self, value: Any, at: Location, max_chars: int = MAX_DESCRIPTION) -> str:
        """Return a text of the document as one paragraph that a model may read."""
        text, removed = parts.without_instructions(parts.one_paragraph(value, max_chars))
        if removed:
            self.note(at, f"{removed}; it is left out")
        return text

    def __getitem__(self, name: str) -> parts.Schema:
        if name not in self._definitions:
            at, schema = self._sources[name]
            converted = self.convert(schema, at)
            self._definitions[name] = converted if isinstance(converted, dict) else {"not": {}}
        return self._definitions[name]

    def definitions(self, schema: Any, max_chars: int) -> dict[str, parts.Schema]:
        """Return the definitions that ``schema`` needs, in the order of the first reference to each."""
        found: dict[str, parts.Schema] = {}
        open_ = deque(parts.references_of(schema))
        while open_ and max_chars >= 0:
            name = open_.popleft()
            if name not in found:
                self.break_circles(name)
                found[name] = self[name]
                max_chars -= parts.compact_size(found[name])
                open_ += parts.references_of(found[name])
        return found

    def break_circles(self, name: str, applied: Sequence[str] = ()) -> None:
        """Remove each reference that leads back to a definition in which it applies to the same value.

        A definition that applies itself to the same value (``allOf`` with itself) has no meaning in JSON Schema.
        """
        if name in self._is_checked:
            return
        at, _ = self._sources[name]
        if len(applied) > _MAX_APPLIED:
            raise DocumentError(at, f"more than {_MAX_APPLIED} schemas apply to one value")
        applied, definition = (*applied, name), self[name]
        for part in [definition, *parts.in_place(definition)]:
            target = part.get("$ref", "").removeprefix(parts.DEFINITIONS)
            if target in applied:
                self.note(at, f"{name} applies {target} to the same value in a circle; this reference is left out")
                del part["$ref"]
            elif target:
                self.break_circles(target, applied)
        # What is left of an alternative without its reference would accept every value.
        for part in [definition, *parts.in_place(definition)]:
            for key in ("oneOf", "anyOf"):
                if {} in part.get(key, ()):
                    del part[key]
        self._is_checked.add(name)

    def _reference(self, reference: Any, at: Location) -> str:
        target, schema = self.references.locate(reference, at)
        # A reference to a reference has the name of the last one.
        if isinstance(schema, dict) and set(schema) == {"$ref"}:
            target, schema = self.references.follow(schema, target)
        if target not in self._names:
            tokens = [token for token in target if isinstance(token, str) and token not in ("schema", "items")]
            base = _NAME.sub("_", tokens[-1] if tokens else "").strip("_")[:100] or "schema"
            name, number = base, 1
            while name in self._sources:
                number += 1
                name = f"{base}_{number}"
            self._names[target] = name
            self._sources[name] = target, schema
        return self._names[target]

    def convert(self, schema: Any, at: Location, depth: int = 0) -> Any:
        """Return ``schema`` as JSON Schema 2020-12, whose references are to ``#/$defs/<name>``."""
        if schema is None or isinstance(schema, bool):  # YAML with nothing after a key says nothing
            return False if schema is False else {}
        if not isinstance(schema, dict):
            raise DocumentError(at, "is not a schema")
        if depth > MAX_DEPTH:
            self.note(at, f"is nested more than {MAX_DEPTH} levels deep; what is deeper accepts any value")
            return {}
        made: parts.Schema = {}
        if "$ref" in schema and not self._has_siblings:
            schema = {key: value for key, value in schema.items() if key in _BESIDE_REFERENCES}
        if description := self.text(schema.get("description"), (*at, "description")):
            made["description"] = description
        if "$ref" in schema or "$dynamicRef" in schema:
            key = "$ref" if "$ref" in schema else "$dynamicRef"
            try:
                made["$ref"] = parts.DEFINITIONS + self._reference(schema[key], (*at, key))
            except DanglingReference as error:
                if depth == 0 and "properties" not in at[-2:]:
                    raise  # all of a body, of which nothing is known
                self.note(error.at, f"{error.problem}; any value is accepted")
        self._add_types(schema, made, at)
        self._add_values(schema, made)
        self._add_bounds(schema, made, at)
        self._add_subschemas(schema, made, at, depth)
        self._add_discriminator(schema, made, at)
        return parts.nullable(parts.unwrapped(made)) if schema.get("nullable") is True else parts.unwrapped(made)

    def _add_types(self, schema: Mapping[str, Any], made: parts.Schema, at: Location) -> None:
        given = schema.get("type")
        named = [name for name in (given if isinstance(given, list) else [given]) if isinstance(name, str)]
        if "file" in named:  # Swagger 2.0
            made["type"], made["format"] = "string", "binary"
            return
        known = list(dict.fromkeys(name for name in named if name in TYPES))
        if len(known) < len(named):
            self.note((*at, "type"), f"type {given!r} is not one of JSON Schema; any value is accepted")
        elif known:
            made["type"] = known[0] if len(known) == 1 else known
        for key, most in (("format", 50), ("contentMediaType", 100), ("contentEncoding", 100)):
            if isinstance(text := schema.get(key), str) and len(text) <= most and text.isprintable():
                made[key] = text

    def _add_values(self, schema: Mapping[str, Any], made: parts.Schema) -> None:
        types, values = made.get("type"), schema.get("enum")
        allowed = values if isinstance(values, list) and len(values) <= _MAX_ENUM else []
        # By their form: 1 and true are different values.
        if plain := {repr(value): value for value in allowed if parts.is_plain(value)}:
            made["enum"] = [parts.fitting(value, types) for value in plain.values()]
        if "const" in schema and parts.is_plain(schema["const"]):
            made["const"] = parts.fitting(schema["const"], types)
        if schema.get("default") is not None and parts.is_plain(schema["default"]):
            made["default"] = parts.fitting(schema["default"], types)
        if schema.get("deprecated") is True:
            made["deprecated"] = True
        listed = schema.get("examples")
        examples = [schema["example"]] if "example" in schema else listed if isinstance(listed, list) else []
        examples = [value for value in examples if value is not None and parts.is_plain(value, _MAX_TEXT_VALUE)]
        if examples and "default" not in made and "enum" not in made:
            made["examples"] = [parts.fitting(value, types) for value in examples[:_MAX_EXAMPLES]]

    def _add_bounds(self, schema: Mapping[str, Any], made: parts.Schema, at: Location) -> None:
        for key in _NUMBERS:  # those that none can have, such as a negative length, are left out of a tool later
            number: Any = schema.get(key)
            number = int(number) if isinstance(number, float) and number.is_integer() else number
            if type(number) in (int, float) and parts.is_plain(number):
                made[key] = number
        # In OpenAPI 3.0 a boolean beside minimum and maximum.
        for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if schema.get(exclusive) is True and inclusive in made:
                made[exclusive] = made.pop(inclusive)
        if schema.get("uniqueItems") is True:
            made["uniqueItems"] = True
        if isinstance(pattern := schema.get("pattern"), str):
            if len(pattern) <= _MAX_TEXT_VALUE * 5 and pattern.isprintable() and is_pattern(pattern):
                made["pattern"] = pattern
            else:
                self.note((*at, "pattern"), "pattern is not a regular expression of JSON Schema; it is left out")

    def _add_subschemas(self, schema: Mapping[str, Any], made: parts.Schema, at: Location, depth: int) -> None:
        for key in LISTS:
            listed = schema.get("items") if key == "prefixItems" and isinstance(schema.get("items"), list) else None
            if isinstance(given := listed or schema.get(key), list) and given:
                made[key] = [self.convert(part, (*at, key, index), depth + 1) for index, part in enumerate(given)]
        # Few alternatives exclude each other, and a service accepts a value that fits several.
        if "oneOf" in made and "anyOf" not in made:
            made["anyOf"] = made.pop("oneOf")
        for key in SINGLE:
            if key in schema and isinstance(schema[key], dict | bool):
                converted = self.convert(schema[key], (*at, key), depth + 1)
                if converted != {} or key not in ("additionalProperties", "items"):
                    made[key] = converted
        hidden = self._add_members(schema, made, at, depth)
        if isinstance(required := schema.get("required"), list):
            names = [name for name in required if isinstance(name, str) and name not in hidden and parts.is_plain(name)]
            if names:
                made["required"] = list(dict.fromkeys(names))
        if isinstance(dependent := schema.get("dependentRequired"), dict) and parts.is_plain(dependent):
            made["dependentRequired"] = dependent

    def _add_members(self, schema: Mapping[str, Any], made: parts.Schema, at: Location, depth: int) -> set[str]:
        """Add schemas by names of properties, and return the names of the properties that are left out."""
        hidden: set[str] = set()
        for key in parts.MAPPINGS:
            if not isinstance(members := schema.get(key), dict):
                continue
            converted: parts.Schema = {}
            for name, part in members.items():
                if key == "properties" and json_schema.keyword(self.references.data, part, "readOnly") is True:
                    hidden.add(name)
                elif name and parts.is_plain(name) and (key != "patternProperties" or is_pattern(name)):
                    converted[name] = self.convert(part, (*at, key, name), depth + 1)
            if converted or key == "properties":
                made[key] = converted
        return hidden

    def _add_discriminator(self, schema: Mapping[str, Any], made: parts.Schema, at: Location) -> None:
        """Describe the property that selects an alternative, for which JSON Schema has no keyword."""
        discriminator = schema.get("discriminator")
        name = discriminator.get("propertyName") if isinstance(discriminator, dict) else discriminator
        if not (isinstance(name, str) and parts.is_plain(name) and name):
            return
        values = list(parts.dict_at(discriminator, "mapping"))
        if not values:
            branches = [part.get("$ref", "") for key in ("oneOf", "anyOf") for part in parts.dicts_in(made.get(key))]
            values = [branch.removeprefix(parts.DEFINITIONS) for branch in branches if branch]
        shown = ", ".join(value for value in values if isinstance(value, str))
        sentence = self.text(f"{name} states the form{': ' if shown else ''}{shown}.", at)
        made["description"] = f"{made['description']} {sentence}" if "description" in made else sentence


MAX_SCHEMA_CHARS = 16_000
"""Characters of the schema of one tool as compact JSON, about 4,000 tokens."""

MAX_LEVELS = 28
"""Levels of one schema. A catalog allows 32."""

_MAX_COLLECTED = 10 * MAX_SCHEMA_CHARS
"""Characters of all definitions that are looked at. An entity of Microsoft Graph refers to thousands of others."""

_SMALL_CHARS = 120
"""A definition up to this size is repeated where it is used: a reference would be as long."""

_MAX_INLINE_DEPTH = 12
_MAX_STUB_ENUM, _MAX_LISTED_ENUM = 20, 200
_TYPED = ("type", "format")
_SHORT, _SHORTEST = 150, 80


class _Limits(NamedTuple):
    """How a schema is shortened: levels of arguments that are kept, and characters of descriptions from a level on."""

    levels: int
    description: int
    from_level: int = 2


_STEPS = (
    _Limits(100, _SHORT),
    _Limits(100, 0),
    _Limits(8, _SHORTEST),
    _Limits(6, 0),
    _Limits(5, 0),
    _Limits(4, 0),
    _Limits(3, _SHORTEST),
    _Limits(3, 0),
    _Limits(2, _SHORTEST),
    _Limits(2, 0),
    _Limits(1, 0),
    _Limits(1, _SHORTEST, from_level=1),
)


def complete_schema(root: parts.Schema, converter: SchemaConverter) -> tuple[parts.Schema, bool]:
    """Return ``root`` with the ``$defs`` that it needs, and whether parts were left out."""
    definitions = converter.definitions(root, _MAX_COLLECTED)
    if sum(map(parts.compact_size, definitions.values())) <= MAX_SCHEMA_CHARS:
        made = _inlined(root, definitions)
        if _fits(made):
            return made, False
    distances = _distances(root, definitions)

    @cache  # each step takes as long as compiling the tool
    def shortened(limits: _Limits) -> tuple[parts.Schema, bool]:
        made = _inlined(*_shortened(root, definitions, distances, limits))
        return made, _fits(made)

    first = bisect_left(_STEPS[:-1], True, key=lambda limits: shortened(limits)[1])
    return shortened(_STEPS[first])[0], True


def _fits(schema: parts.Schema) -> bool:
    return parts.compact_size(schema) <= MAX_SCHEMA_CHARS and _levels(schema) <= MAX_LEVELS


def _levels(schema: Any) -> int:
    return 1 + max((_levels(part) for _, part in inner(schema)), default=0)


def _inlined(root: parts.Schema, definitions: Mapping[str, parts.Schema]) -> parts.Schema:
    """Return ``root`` with the definitions that are used several times, and the others in their place.

    Of each circle that ``root`` leads to, one definition is used several times: from outside, and by the circle.
    """
    links = {name: parts.references_of(definition) for name, definition in definitions.items()}
    uses = Counter(chain(parts.references_of(root), *links.values()))
    is_inlined = {
        name
        for name, targets in links.items()
        if uses[name] == 1 or (not targets and parts.compact_size(definitions[name]) <= _SMALL_CHARS)
    }

    def rebuild(schema: parts.Schema, depth: int) -> parts.Schema:
        made = with_inner(schema, lambda _, part: rebuild(part, depth + 1))
        name = made.get("$ref", "").removeprefix(parts.DEFINITIONS)
        if name not in is_inlined or depth > _MAX_INLINE_DEPTH:
            return made
        beside = {key: value for key, value in made.items() if key != "$ref"}
        target = rebuild(definitions[name], depth)
        if (set(beside) & set(target)) - {"description"}:
            return {**beside, "allOf": [target, *beside.get("allOf", ())]}
        return {**target, **beside}

    made: parts.Schema = rebuild(root, 0)
    kept: dict[str, parts.Schema] = {}
    open_ = parts.references_of(made)
    while open_:
        name = open_.pop(0)
        if name not in kept:
            kept[name] = rebuild(definitions[name], 1)
            open_ += parts.references_of(kept[name])
    return {**made, "$defs": kept} if kept else made


def _shortened(
    root: parts.Schema, definitions: Mapping[str, parts.Schema], distances: Mapping[str, int], limits: _Limits
) -> tuple[parts.Schema, dict[str, parts.Schema]]:
    """Return copies of ``root`` and of the definitions that remain, without what is below the levels of ``limits``."""

    def cut(schema: parts.Schema, level: int) -> parts.Schema:
        name = schema.get("$ref", "").removeprefix(parts.DEFINITIONS)
        if level > limits.levels or (name and distances.get(name, 1000) > limits.levels):
            # What stays below the last level: the type and the values.
            whole = {**definitions.get(name, {}), **schema}
            keys = ("type", "format", "enum") if len(whole.get("enum", ())) in range(1, _MAX_STUB_ENUM) else _TYPED
            return {key: whole[key] for key in keys if key in whole}
        made = with_inner(schema, lambda key, part: cut(part, level if key in IN_PLACE else level + 1))
        if level >= limits.from_level:
            made.pop("examples", None)
            if description := made.pop("description", ""):
                made |= {"description": first_sentence(description, limits.description)} if limits.description else {}
            if limits.from_level == 1 and len(values := made.get("enum", ())) > _MAX_LISTED_ENUM:
                shown = ", ".join(map(str, values[:_MAX_STUB_ENUM]))
                made["description"] = f"One of {len(made.pop('enum'))} values: {shown}, …"
        return made

    kept = {
        name: cut(part, distances[name])
        for name, part in definitions.items()
        if distances.get(name, 1000) <= limits.levels
    }
    return cut(root, 0), kept


def _distances(root: parts.Schema, definitions: Mapping[str, parts.Schema]) -> dict[str, int]:
    """Return the levels of arguments between ``root`` and each definition, on the shortest way."""
    distances: dict[str, int] = {}
    level = [root]
    for distance in range(len(definitions) * MAX_LEVELS + MAX_LEVELS):
        here, level = level, []
        while here:
            schema = here.pop()
            name = schema.get("$ref", "").removeprefix(parts.DEFINITIONS)
            if name in definitions and name not in distances:
                distances[name] = distance
                here.append(definitions[name])
            for key, part in inner(schema):
                (here if key in IN_PLACE else level).append(part)
        if not level:
            break
    return distances
