"""Convert the schemas of OpenAPI 3.0 and 3.1 to JSON Schema 2020-12.

Each schema that a reference points to is converted once, and has one name among the ``$defs`` of every tool that needs
it. Circular references therefore stay references.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolfold.build.checks import is_pattern
from toolfold.build.importers.openapi import schema_parts as parts
from toolfold.build.importers.openapi.document import DanglingReference, DocumentError, References
from toolfold.build.yaml_loader import Location
from toolfold.catalog import json_schema
from toolfold.catalog.json_schema import LISTS, SINGLE, TYPES

MAX_DEPTH = 24
"""Levels of a schema between two references. A catalog allows 32 in the schema of a tool, with its ``$defs``."""

MAX_DESCRIPTION = 600
"""Characters of the description of a property. GitHub's longest have 1,500, of which the first sentences say what to
send."""

_MAX_TEXT_VALUE, _MAX_EXAMPLES = 200, 2
_MAX_ENUM = 5000
_MAX_APPLIED = 100
"""Definitions that apply to one value, each in the one before."""

_COUNTS = (
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minContains", "maxContains"),
)
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
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
        self._has_siblings = str(references.data.get("openapi", "")).startswith("3.1")
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
        for key in _COUNTS:
            if type(count := schema.get(key)) is int and 0 <= count <= parts.MAX_NUMBER:
                made[key] = count
        for key in _NUMBERS:
            number: Any = schema.get(key)
            if parts.is_number(number) and (key != "multipleOf" or number > 0):
                made[key] = int(number) if isinstance(number, float) and number.is_integer() else number
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
                rules = json_schema.parts(self.references.data, part) if key == "properties" else ()
                if any(rule.get("readOnly") is True for rule in rules):
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
