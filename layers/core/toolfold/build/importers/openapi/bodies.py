"""Turn the body of a request into arguments of a tool, and how it is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolfold.build.importers.openapi.access import Credentials
from toolfold.build.importers.openapi.arguments import Arguments, argument_name
from toolfold.build.importers.openapi.document import DocumentError, References
from toolfold.build.importers.openapi.schema_parts import DEFINITIONS, given_value
from toolfold.build.importers.openapi.schemas import SchemaConverter
from toolfold.build.yaml_loader import Location
from toolfold.sources.http_api.body import FORM, JSON

MAX_FIELDS = 60
"""Fields of an object that become arguments. Stripe has 53 in a body; a body with more stays one argument."""

_ANY = ("*/*", "application/*")
_TEXT = ("application/xml", "application/yaml", "application/x-yaml", "application/graphql", "application/sql")
_TEXT_ENDINGS = ("+xml", "+yaml")
_LINES_OF_JSON = ("application/x-ndjson", "application/jsonl", "application/json-seq")
_CONTENT_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,80}/[a-z0-9!#$&^_.+-]{1,80}")
"""RFC 6838, section 4.2, in lower case."""


class _Media(NamedTuple):
    """One content type of a body. ``kind`` is ``json``, ``form``, ``text`` or ``binary``."""

    kind: str
    content_type: str
    at: Location
    value: Mapping[str, Any]


class _Object(NamedTuple):
    """An object whose properties can be arguments."""

    properties: Mapping[str, Any]
    required: frozenset[str]


def add_body(
    arguments: Arguments,
    value: Any,
    at: Location,
    converter: SchemaConverter,
    credentials: Credentials,
) -> None:
    """Add the arguments for the request body ``value``, and how it is sent, to ``arguments``.

    The properties of an object become arguments where that is unambiguous: where it has a fixed set of them, where none
    has the name of a parameter, and where the body is required or has no required property. Otherwise the body is one
    argument.

    Raises:
        DocumentError: The body has no content type that can be sent.
    """
    at, body = converter.references.follow(value, at)
    if not isinstance(body, dict) or not isinstance(body.get("content"), dict):
        raise DocumentError(at, "is not a request body: it has no content")
    if not body["content"]:
        return
    media = _choose(body["content"], (*at, "content"), converter.references)
    is_required = body.get("required") is True
    schema = media.value.get("schema", {} if media.kind == "json" else {"type": "string"})
    converted = converter.convert(schema, (*media.at, "schema"))
    if media.kind in ("json", "form"):
        as_object = _as_object(converted, converter)
        if as_object is not None:
            sent = {
                name
                for name, part in as_object.properties.items()
                if isinstance(part, dict) and credentials.include("body", name, part.get("description"))
            }
            kept = {name: part for name, part in as_object.properties.items() if name not in sent}
            as_object = _Object(kept, as_object.required - sent)
        fields = _fields(as_object, arguments, is_required=is_required or media.kind == "form")
        if fields is not None and as_object is not None:
            arguments.body = {"content_type": media.content_type, "fields": fields}
            encoding = _encoding(media, as_object.properties)
            for name, wire_name in fields.items():
                part = as_object.properties[wire_name]
                is_file = encoding.get(wire_name, {}).get("base64", False)
                is_needed = wire_name in as_object.required and is_required
                arguments.add(name, _file(part) if is_file else part, is_required=is_needed)
            if encoding:
                arguments.body["encoding"] = encoding
            return
    taken = {name.lower() for name in arguments.properties}
    names = ("body", "request_body", "body_", "body_content", "_body_")
    argument = next(name for name in names if name not in taken)
    arguments.body = {"content_type": media.content_type, "argument": argument}
    made = dict(converted) if isinstance(converted, dict) else {}
    if media.kind == "binary":
        arguments.body["base64"] = True
        made = _file(made)
    if encoding := _encoding(media, {}):
        arguments.body["encoding"] = encoding
    target = converter.definition(made["$ref"].removeprefix(DEFINITIONS)) if "$ref" in made else made
    described = [converter.text(body.get("description"), (*at, "description"))]
    is_text = target.get("type") in ("string", "number", "integer", "boolean")
    if media.kind == "text" and not media.content_type.endswith("yaml") and not is_text:
        # An object for XML would be sent as JSON; only its schema says what the text has.
        made = {"type": "string"}
        members = ", ".join(list(target.get("properties", ()))[:MAX_FIELDS])
        described.append(f"The body as text of the type {media.content_type}{', with ' if members else ''}{members}.")
    elif "$ref" in made:  # a description beside a reference replaces that of its target
        described.append(target.get("description", ""))
    made.setdefault("description", " ".join(filter(None, described)) or "Body of the request")
    arguments.add(argument, made, is_required=is_required)


def _choose(content: Mapping[str, Any], at: Location, references: References) -> _Media:
    """Return the content type that expresses arguments best: JSON, then forms, then text."""
    ranked: list[tuple[int, _Media]] = []
    for content_type, value in content.items():
        rank, kind, sent = _rank(content_type)
        if not kind:
            continue
        media_at, media = references.follow(value, (*at, content_type))
        ranked.append((rank, _Media(kind, sent, media_at, media if isinstance(media, dict) else {})))
    if not ranked:
        shown = ", ".join(str(name)[:60] for name in list(content)[:3])
        raise DocumentError(at, f"has a body of a type that cannot be sent as text: {shown}")
    return min(ranked, key=lambda entry: entry[0])[1]


def _rank(content_type: Any) -> tuple[int, str, str]:
    """Return the preference of a content type (lowest first), its kind, and the type to send; no kind: unsupported."""
    name = str(content_type).partition(";")[0].strip().lower()
    if name == JSON:
        return 0, "json", JSON
    if name in _ANY:
        return 3, "json", JSON
    if name == "text/*":
        return 8, "text", "text/plain"
    if not _CONTENT_TYPE.fullmatch(name):
        return 10, "", ""
    if name.endswith("+json"):
        # A list of operations (RFC 6902) is the hardest to write, a strategic merge patch needs the server's rules.
        return {"application/json-patch+json": 4, "application/merge-patch+json": 1}.get(name, 2), "json", name
    if name == FORM:
        return 5, "form", name
    if name.startswith("multipart/"):
        return 6, "form", name
    is_text = name.startswith("text/") or name in (*_TEXT, *_LINES_OF_JSON) or name.endswith(_TEXT_ENDINGS)
    return (7, "text", name) if is_text else (9, "binary", name)


def _as_object(schema: Any, converter: SchemaConverter, depth: int = 0) -> _Object | None:
    """Return the properties of ``schema``, or None where it is not an object with a fixed set of properties."""
    if not isinstance(schema, dict) or depth > 10:
        return None
    if set(schema) & {"anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "propertyNames", "enum"}:
        return None
    if {"minProperties", "maxProperties", "dependentRequired", "const"} & schema.keys():
        return None
    if schema.get("type", "object") != "object" or schema.get("additionalProperties", False) is not False:
        return None
    properties: dict[str, Any] = {}
    required: set[str] = set()
    parts: list[Any] = list(schema.get("allOf", ()))
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(DEFINITIONS)
        converter.break_circles(name)
        parts.append(converter.definition(name))
    for part in parts:
        inner = _as_object(part, converter, depth + 1)
        if inner is None or any(properties.get(key, value) != value for key, value in inner.properties.items()):
            return None
        properties |= inner.properties
        required |= inner.required
    for key, value in schema.get("properties", {}).items():
        is_narrowed = key in properties and properties[key] != value
        properties[key] = {"allOf": [properties[key], value]} if is_narrowed else value
    required |= set(schema.get("required", ()))
    return _Object(properties, frozenset(required)) if properties or "type" in schema or depth else None


def _fields(found: _Object | None, arguments: Arguments, *, is_required: bool) -> dict[str, str] | None:
    """Return argument → property, or None where the properties cannot be arguments."""
    if found is None or not found.properties or len(found.properties) > MAX_FIELDS:
        return None
    if (found.required and not is_required) or found.required - found.properties.keys():
        return None
    fields: dict[str, str] = {}
    taken = {name.lower() for name in arguments.properties}
    for wire_name in found.properties:
        name = argument_name(wire_name)
        if not name or name.lower() in taken:
            return None
        taken.add(name.lower())
        fields[name] = wire_name
    return fields


def _encoding(media: _Media, properties: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return how fields of a form are sent where that is not the default, by name in the body."""
    if media.kind != "form":
        return {}
    stated = media.value.get("encoding")
    made: dict[str, dict[str, Any]] = {}
    for name, given in stated.items() if isinstance(stated, dict) else ():
        one: dict[str, Any] = {}
        if not isinstance(given, dict):
            continue
        if given.get("style") in ("form", "spaceDelimited", "pipeDelimited", "deepObject"):
            one["style"] = given["style"]
        if isinstance(given.get("explode"), bool):
            one["explode"] = given["explode"]
        if isinstance(given.get("contentType"), str):
            content_type = given["contentType"].partition(",")[0].strip().lower()
            one |= {"content_type": content_type} if _CONTENT_TYPE.fullmatch(content_type) else {}
        if one:
            made[name] = one
    if media.content_type.startswith("multipart/"):
        for name, optional in properties.items():
            part = given_value(optional)
            if _is_binary(part) or (isinstance(part, dict) and _is_binary(part.get("items"))):
                made.setdefault(name, {})["base64"] = True
    return made


def _is_binary(schema: Any) -> bool:
    """Return whether a value is bytes: ``format: binary`` in OpenAPI 3.0, a content type without text in 3.1."""
    if not isinstance(schema, dict):
        return False
    media_type = schema.get("contentMediaType", "")
    is_bytes = media_type != "" and not media_type.startswith("text/") and "json" not in media_type
    return schema.get("format") == "binary" or (is_bytes and "contentEncoding" not in schema)


def _file(optional: Mapping[str, Any]) -> dict[str, Any]:
    schema = given_value(optional)
    if isinstance(schema.get("items"), dict):
        return {**schema, "items": _file(schema["items"])}
    description = schema.get("description", "")
    sentence = "Base64 text of the content of the file."
    return {
        "type": "string",
        "contentEncoding": "base64",
        "description": f"{description.rstrip('.')}. {sentence}" if description else sentence,
    }
