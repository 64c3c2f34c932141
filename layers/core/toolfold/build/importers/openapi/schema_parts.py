"""Parts of JSON Schemas and values: what contains what, what can be shown, and schemas that also accept null.

Make the texts of a document fit for a catalog: one paragraph of visible characters, without markup.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

from toolfold.build.emitter import clean_text, shorten
from toolfold.build.text_safety import find_prompt_injection
from toolfold.catalog.contract import check_value
from toolfold.catalog.json_schema import IN_PLACE, inner
from toolfold.sources.http_api.styles import scalar_text

_COMMENT = re.compile(r"<!--.{0,5000}?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"^[ \t]{0,3}(?:#{1,6}|>+|[*+-])[ \t]+", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<![\w*])(\*\*|__|\*)(?=\S)([^*_\n]{1,300}?)(?<=\S)\1(?![\w*])")
_FENCED = re.compile(
    r"^[ \t]{0,3}(`{3,}|~{3,})[^\n]{0,100}\n.{0,20000}?(?:^[ \t]{0,3}\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
"""Code, mostly a command with curl: what a tool is called with is in its schema."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(`])")


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


def without_instructions(text: str) -> tuple[str, str]:
    """Return ``text`` without the sentences that look like instructions to a model, and what they look like.

    Descriptions for programmers have many ("You must be an owner"). Nothing of them is needed for a call.
    """
    if not (found := find_prompt_injection(text)):
        return text, ""
    kept = [sentence for sentence in _SENTENCE_END.split(text) if not find_prompt_injection(sentence)]
    joined = " ".join(kept)
    what = f"a sentence {found[0][0]}: {found[0][1]}"
    return ("" if find_prompt_injection(joined) else joined), what


Schema = dict[str, Any]

DEFINITIONS = "#/$defs/"

MAPPINGS = ("properties", "patternProperties", "dependentSchemas")
"""Keywords with schemas by name."""

MAX_VALUE = 2000
"""Characters of a value in a schema."""


def compact_size(schema: Any) -> int:
    """Return the characters of ``schema`` as compact JSON."""
    return len(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))


def dicts_in(values: Any) -> list[Schema]:
    """Return the objects in ``values``; empty where it is another value than a list."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def dict_at(value: Any, *keys: Any) -> Schema:
    """Return the object in ``value`` below ``keys``; empty where another value or nothing is."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


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
            first = branches[0] if len(branches) == 1 and isinstance(branches[0], dict) else made
            if not rest.keys() & first.keys() - {"description"}:
                made = {**first, **rest}
    return made


def references_of(schema: Any) -> list[str]:
    """Return the names in all references in ``schema``, in their order and with repetitions."""
    found: list[str] = []
    open_ = [schema]
    while open_:
        part = open_.pop()
        if isinstance(part, dict):
            if "$ref" in part:
                found.append(part["$ref"].removeprefix(DEFINITIONS))
            open_ += reversed([below for _, below in inner(part)])
    return found


def in_place(schema: Any) -> Iterator[Schema]:
    """Yield the schemas in ``schema`` that apply to the same value as it does."""
    for key, part in inner(schema):
        if key in IN_PLACE:
            yield part
            yield from in_place(part)


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
