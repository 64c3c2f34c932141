"""Convert the schemas of OpenAPI 3.0 to 3.2 to JSON Schema 2020-12.

Each schema that a reference points to is converted once, and has one name among the ``$defs`` of every tool that needs
it. Circular references therefore stay references. What no JSON Schema can have is removed later, as from any tool that
is imported (``build.checks``).

Make the texts of a document fit for a catalog: one paragraph of visible characters, without markup.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

from toolfold.build.emitter import clean_text, shorten
from toolfold.build.importers.openapi.document import Api, DanglingReference, DocumentError, dict_at
from toolfold.build.text_safety import find_prompt_injection
from toolfold.build.yaml_loader import Location
from toolfold.catalog import json_schema
from toolfold.catalog.contract import check_value
from toolfold.catalog.json_schema import LISTS, SINGLE, TYPES, inner
from toolfold.sources.http_api.styles import scalar_text

_COMMENT = re.compile(r"<!--.{0,5000}?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"^[ \t]{0,3}(?:#{1,6}|>+|[*+-])[ \t]+", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<![\w*])(\*\*|__|\*)(?=\S)([^*_\n]{1,300}?)(?<=\S)\1(?![\w*])")
_FENCED = re.compile(
    r"^[ \t]{0,3}(`{3,}|~{3,})[^\n]{0,100}\n.{0,20000}?(?:^[ \t]{0,3}\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
"""Code, mostly a command with curl: what a tool is called with is in its schema."""


def one_paragraph(text: object, max_chars: int) -> str:
    r"""Return ``text`` in one line: without markup, invisible characters, and web addresses that no catalog may have.

    Example:
        >>> one_paragraph("# Pets\n\nReturns **all** [pets](https://x.test/doc).", 100)
        'Pets Returns all pets.'
    """
    if not isinstance(text, str):
        return ""
    # What is cut off later is not worth the time: the description of a document may be a whole manual.
    text = text[: 4 * max_chars + 2000].replace("\r\n", "\n")
    if "```" in text or "~~~" in text:
        text = _FENCED.sub(" ", text)
    text = html.unescape(_COMMENT.sub(" ", text))
    return shorten(clean_text(_EMPHASIS.sub(r"\2", _HEADING.sub("", text))), max_chars)


Schema = dict[str, Any]

DEFINITIONS = "#/$defs/"

OPEN = "x-open"
"""Keyword of a schema that others extend whom only the mapping of a discriminator names. No catalog has it."""

MAX_VALUE = 2000
"""Characters of a value in a schema."""


def compact_size(schema: Any) -> int:
    """Return the characters of ``schema`` as compact JSON."""
    return len(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))


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
    if {"$ref", "allOf", "anyOf", "oneOf", "not", "const"}.isdisjoint(schema):
        made = dict(schema)
        if "type" in schema:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            made["type"] = list(dict.fromkeys((*types, "null")))
        if None not in schema.get("enum", [None]):
            made["enum"] = [*schema["enum"], None]
        return made
    outside: Schema = {key: schema[key] for key in ("description", "default", "deprecated") if key in schema}
    inside = {key: value for key, value in schema.items() if key not in outside}
    # Where no alternative accepts null itself, null is one more.
    is_union = inside.keys() in ({"anyOf"}, {"oneOf"}) and '"null"' not in json.dumps(inside)
    ((key, branches),) = inside.items() if is_union else (("anyOf", [inside]),)
    return {**outside, key: [*branches, {"type": "null"}]}


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
            first = branches[0] if len(branches) == 1 and isinstance(branches[0], dict) else made
            if not rest.keys() & first.keys() - {"description"}:
                made = {**first, **rest}
    return made


def references_of(schema: Schema) -> list[str]:
    """Return the names in all references in ``schema``, in their order and with repetitions."""
    own = [schema["$ref"].removeprefix(DEFINITIONS)] if "$ref" in schema else []
    return own + [name for _, part in inner(schema) for name in references_of(part)]


def fitting(value: Any, types: Any) -> Any:
    """Return a number or a boolean as text where ``types`` has text alone: authors of YAML leave out its quotes.

    >>> fitting(3, "string"), fitting(True, ["null", "string"]), fitting(3, ["string", "integer"])
    ('3', 'true', 3)
    """
    known = {types} if isinstance(types, str) else set(types or ())
    is_text = "string" in known and known <= {"string", "null"}
    return scalar_text(value) if is_text and isinstance(value, bool | int | float) else value


def is_plain(value: Any, max_chars: int = MAX_VALUE) -> bool:
    """Return whether a value can be shown: a catalog may have it, and it is not large."""
    try:
        check_value(value)
    except ValueError:
        return False
    return compact_size(value) <= max_chars


MAX_DESCRIPTION = 600
"""Characters of the description of a property. GitHub's longest have 1,500, of which the first sentences say what to
send."""

_MAX_EXAMPLE, _MAX_EXAMPLES, _MAX_ENUM = 200, 2, 5000
_FIRST = ("format", "contentMediaType", "contentEncoding")
_LAST = (
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("minContains", "maxContains"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("uniqueItems", "pattern", "dependentRequired"),
)
"""Keywords that stay as they are, before and after the values."""

_PLAIN = frozenset({*_FIRST, *_LAST, "default", "deprecated"})
_MAPPINGS = ("properties", "patternProperties", "dependentSchemas")
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")

_BESIDE_REFERENCES = frozenset({"$ref", "description", "default", "example", "deprecated", "nullable"})
"""What is read beside a reference of OpenAPI 3.0, which ignores it: notes, and null, which authors mean. A type that
contradicts the referenced schema would make one that takes no value."""


class SchemaConverter:
    """Convert schemas of what is sent: without ``readOnly`` properties.

    It has the ``$defs`` of what it has converted, by name: each of them is converted when it is first read. What is
    left out of a schema without harm to the tool is a note of ``api``.
    """

    def __init__(self, api: Api) -> None:
        self.api = api
        self._has_siblings = not str(api.data.get("openapi", "3.0")).startswith("3.0")
        self._names: dict[Location, str] = {}
        self._sources: dict[str, tuple[Location, Any]] = {}
        self._definitions: dict[str, Schema] = {}

    def text(self, value: Any, holder: Any, key: str = "description", max_chars: int = MAX_DESCRIPTION) -> str:
        """Return a text of the document, ``key`` of ``holder``, as one paragraph; "" where it addresses a model."""
        text = one_paragraph(value, max_chars)
        if not (found := find_prompt_injection(text)):
            return text
        self.api.note(f"{key} {found[0][0]}: {found[0][1]}; it is left out", holder, key)
        return ""

    def __getitem__(self, name: str) -> Schema:
        if name not in self._definitions:
            at, schema = self._sources[name]
            converted = self.convert(schema, schema, is_whole="properties" not in at[-2:])
            self._definitions[name] = converted if isinstance(converted, dict) else {"not": {}}
        return self._definitions[name]

    def target(self, schema: Schema) -> Schema:
        """Return the definition that a converted schema refers to, or itself."""
        return self[schema["$ref"].removeprefix(DEFINITIONS)] if "$ref" in schema else schema

    def convert(self, schema: Any, *place: Any, is_whole: bool = True) -> Any:
        """Return ``schema`` as JSON Schema 2020-12, whose references are to ``#/$defs/<name>``.

        Args:
            schema: The schema, which is at ``place``.
            place: As in :class:`DocumentError`.
            is_whole: Whether nothing is known of a value where it refers to nothing.
        """
        if schema is None or isinstance(schema, bool):  # YAML with nothing after a key says nothing
            return False if schema is False else {}
        if not isinstance(schema, dict):
            raise DocumentError("is not a schema", *place)
        given = schema
        if "$ref" in schema and not self._has_siblings:
            given = {key: value for key, value in schema.items() if key in _BESIDE_REFERENCES}
        made: Schema = {}
        if description := self.text(given.get("description"), schema):
            made["description"] = description
        for key in ("$ref", "$dynamicRef"):
            if key in given and "$ref" not in made:
                made |= self._reference(schema, key, is_whole=is_whole)
        self._add_values(given, made)
        self._add_subschemas(given, made)
        self._add_discriminator(given, made, schema)
        return nullable(unwrapped(made)) if given.get("nullable") is True else unwrapped(made)

    def _reference(self, schema: Schema, key: str, *, is_whole: bool) -> Schema:
        try:
            at, target = self.api.locate(schema, key)
        except DanglingReference as error:
            if is_whole:
                raise
            self.api.note(f"{error.problem}; any value is accepted", *error.place)
            return {}
        if at not in self._names:
            tokens = [token for token in at if isinstance(token, str) and token not in ("schema", "items")]
            base = name = _NAME.sub("_", tokens[-1] if tokens else "").strip("_")[:100] or "schema"
            number = 1
            while name in self._sources:
                number += 1
                name = f"{base}_{number}"
            self._names[at], self._sources[name] = name, (at, target)
        return {"$ref": DEFINITIONS + self._names[at]}

    def _add_values(self, schema: Mapping[str, Any], made: Schema) -> None:
        stated = {key: value for key, value in schema.items() if key in _PLAIN and value is not None}
        whole = {key: int(value) for key, value in stated.items() if isinstance(value, float) and value.is_integer()}
        plain = {key: value for key, value in (stated | whole).items() if is_plain(value)}
        given = schema.get("type")
        named = ["null" if name is None else name for name in given] if isinstance(given, list) else [given]
        known = list(dict.fromkeys(name for name in named if name in TYPES))
        if given == "file":  # Swagger 2.0
            known, plain["format"] = ["string"], "binary"
        elif given is not None and any(name not in TYPES for name in named):
            self.api.note(f"type {str(given)[:60]!r} is not one of JSON Schema; any value is accepted", schema, "type")
            known = []
        made |= {"type": known[0] if len(known) == 1 else known} if known else {}
        made |= {key: plain[key] for key in _FIRST if isinstance(plain.get(key), str)}
        types, values, listed = made.get("type"), schema.get("enum"), schema.get("examples")
        allowed = values if isinstance(values, list) and len(values) <= _MAX_ENUM else []
        # By their form: 1 and true are different values.
        if distinct := {repr(value): value for value in allowed if is_plain(value)}:
            made["enum"] = [fitting(value, types) for value in distinct.values()]
        if "const" in schema and is_plain(schema["const"]):
            made["const"] = fitting(schema["const"], types)
        if "default" in plain:
            made["default"] = fitting(plain["default"], types)
        if plain.get("deprecated") is True:
            made["deprecated"] = True
        examples = [schema["example"]] if "example" in schema else listed if isinstance(listed, list) else []
        examples = [value for value in examples if value is not None and is_plain(value, _MAX_EXAMPLE)]
        if examples and made.keys().isdisjoint({"default", "enum"}):
            made["examples"] = [fitting(value, types) for value in examples[:_MAX_EXAMPLES]]
        for key in (key for key in _LAST if plain.get(key, False) is not False):
            made[key] = plain[key]
        # In OpenAPI 3.0 a boolean beside minimum and maximum.
        for exclusive, inclusive in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if made.get(exclusive) is True:
                del made[exclusive]
                made |= {exclusive: made.pop(inclusive)} if inclusive in made else {}

    def _add_subschemas(self, schema: Mapping[str, Any], made: Schema) -> None:
        for key in LISTS:
            listed = schema.get("items") if key == "prefixItems" and isinstance(schema.get("items"), list) else None
            if isinstance(given := listed or schema.get(key), list) and given:
                converted = [self._part(part, schema, key, index) for index, part in enumerate(given)]
                # One that accepts any value, beside properties: "or one that extends this", as OData writes it.
                if not ({} in converted and key in ("anyOf", "oneOf") and "properties" in schema):
                    made[key] = converted
        # Few alternatives exclude each other, and a service accepts a value that fits several.
        if "oneOf" in made and "anyOf" not in made:
            made["anyOf"] = made.pop("oneOf")
        for key in SINGLE:
            if isinstance(part := schema.get(key), dict | bool):
                inner = self._part(part, schema, key)
                if inner != {} or key not in ("additionalProperties", "items"):
                    made[key] = inner
        properties = dict_at(schema, "properties")
        root = self.api.data
        read_only = {name for name in properties if json_schema.keyword(root, properties[name], "readOnly") is True}
        for key in _MAPPINGS:
            if isinstance(members := schema.get(key), dict):
                shown = (name for name in members if name and is_plain(name))
                sent = [name for name in shown if key != "properties" or name not in read_only]
                if sent or key == "properties":
                    made[key] = {name: self._part(members[name], schema, key, name) for name in sent}
        if isinstance(required := schema.get("required"), list):
            given = [name for name in required if isinstance(name, str) and is_plain(name)]
            if names := [name for name in dict.fromkeys(given) if name not in read_only]:
                made["required"] = names

    def _part(self, part: Any, *place: Any) -> Any:
        return self.convert(part, *place, is_whole=False)

    def _add_discriminator(self, schema: Mapping[str, Any], made: Schema, holder: Any) -> None:
        """Describe the property that selects an alternative, for which JSON Schema has no keyword."""
        discriminator = schema.get("discriminator")
        name = discriminator.get("propertyName") if isinstance(discriminator, dict) else discriminator
        if isinstance(name, str) and name and is_plain(name):
            branches = [branch for key in ("oneOf", "anyOf") for branch in made.get(key, ())]
            references = [branch["$ref"].removeprefix(DEFINITIONS) for branch in branches if "$ref" in branch]
            values = list(dict_at(discriminator, "mapping")) or references
            if not branches and dict_at(discriminator, "mapping"):
                made.pop("additionalProperties", None)
                made[OPEN] = True
            shown = ", ".join(value for value in values if isinstance(value, str))
            sentence = self.text(f"{name} states the form{': ' if shown else ''}{shown}.", holder, "discriminator")
            made["description"] = f"{made['description']} {sentence}" if "description" in made else sentence
