"""Turn the parameters and the body of an operation into arguments of a tool, and how each is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

from toolfold.build.importers.openapi.access import Credentials
from toolfold.build.importers.openapi.document import DocumentError, References
from toolfold.build.importers.openapi.schema_parts import DEFINITIONS, Schema, dict_at, dicts_in, without_null
from toolfold.build.importers.openapi.schemas import SchemaConverter
from toolfold.build.yaml_loader import Location
from toolfold.fuzzy import spell_comparisons
from toolfold.sources.http_api.binding import RESERVED_HEADERS, TOKEN
from toolfold.sources.http_api.body import FORM, JSON
from toolfold.sources.http_api.styles import STYLES

MAX_ARGUMENTS = 300
"""Parameters and fields of one operation. The largest of Stripe has 60."""

_IGNORED_HEADERS = RESERVED_HEADERS | {"accept"}
"""Header parameters that OpenAPI says to ignore, and those that no argument can set."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_ENCODED = re.compile(r"\bURL[ -]?encoded", re.IGNORECASE)
"""What GitLab says of a path in the path, such as ``group/project``."""

_WORD = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_NAME = 64


def argument_name(name: str) -> str:
    """Return the name of the argument for a parameter called ``name``; "" where it has no letter or digit.

    Example:
        >>> argument_name("filter[status]"), argument_name("X-Request-ID"), argument_name("$top"), argument_name("At>=")
        ('filter_status', 'X-Request-ID', 'top', 'At_gte')
    """
    name = spell_comparisons(name)
    made = _WORD.sub("_", name).strip("_.-") if _WORD.search(name) or name[:1] in "-." else name
    if made[:1].isdigit():
        made = f"_{made}"
    return made[:_MAX_NAME]


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


class Arguments:
    """The arguments of one tool, and what is sent for them: ``parameters`` and ``body`` are as in ``call``."""

    def __init__(self, converter: SchemaConverter, credentials: Credentials) -> None:
        self._converter, self._credentials = converter, credentials
        self._properties: dict[str, Any] = {}
        self._required: list[str] = []
        self.parameters: dict[str, dict[str, Any]] = {}
        self.body: dict[str, Any] | None = None

    def schema(self) -> Schema:
        """Return the JSON Schema of all arguments."""
        made: Schema = {"type": "object", "properties": self._properties}
        if self._required:
            made["required"] = self._required
        return {**made, "additionalProperties": False}

    def _add(self, name: str, schema: Any, *, is_required: bool) -> None:
        self._properties[name] = schema
        if is_required:
            self._required.append(name)

    def add_parameters(
        self, path: str, operation_at: Location, listed: list[tuple[Location, Any]], in_query: Mapping[str, str]
    ) -> None:
        """Add the arguments for the parameters of an operation; ``in_query``: placeholders in the query of the path."""
        found: dict[tuple[str, str], tuple[Location, Mapping[str, Any]]] = {}
        for at, value in listed:
            at_definition, parameter = self._converter.references.follow(value, at)
            found[_kind(parameter, at)] = at_definition, parameter
        placeholders = list(dict.fromkeys(_PLACEHOLDER.findall(path)))
        # A placeholder without a parameter is a mistake of many documents; its value can only be text.
        missing = operation_at, {"schema": {"type": "string"}}
        for name in placeholders:
            found.setdefault(("path", name), missing)
        for name, sent in in_query.items():
            at, parameter = found.get(("path", name), missing)
            found.setdefault(("query", sent), (at, {**parameter, "required": True}))
        for (location, name), (at, parameter) in sorted(found.items(), key=lambda item: list(STYLES).index(item[0][0])):
            is_ignored = location == "header" and name.lower() in _IGNORED_HEADERS
            is_sent = self._credentials.include(location, name, parameter.get("description"))
            if not (is_sent or is_ignored or (location == "path" and name not in placeholders)):
                self._add_parameter(location, name, parameter, at)
        if len(self._properties) > MAX_ARGUMENTS:
            raise DocumentError(operation_at, f"has more than {MAX_ARGUMENTS} parameters")

    def _add_parameter(self, location: str, name: str, parameter: Mapping[str, Any], at: Location) -> None:
        sent: dict[str, Any] = {"in": location, "name": name}
        if isinstance(content := parameter.get("content"), dict) and content:
            content_type, media = next(iter(content.items()))
            made = self._converter.convert(dict_at(media).get("schema", {}), (*at, "content", content_type, "schema"))
            # Spring writes */* for any parameter. What is not JSON is sent as the text that it is.
            sent["content_type"] = JSON if "json" in str(content_type) else "text/plain"
        else:
            made = self._converter.convert(parameter.get("schema", {}), (*at, "schema"))
            sent |= _style(location, name, parameter, at)
        if parameter.get("allowReserved") is True and location == "query":
            sent["reserved"] = True
        described = _described(made, parameter, at, self._converter)
        if location == "path" and parameter.get("x-multi-segment") is True:
            sent["slashes"] = "plain"  # GitHub's word for a branch or a path of a file
        elif location == "path":
            shown = [*described.get("enum", ()), *described.get("examples", ())]
            if _ENCODED.search(str(parameter.get("description"))) or any("/" in str(value) for value in shown):
                sent["slashes"] = "encoded"  # as OpenAPI sends any sign of a value that a path gives a meaning
        if spell_comparisons(name) != name:
            described["description"] = f"{described.get('description', '').rstrip('.')}. Sent as {name}.".lstrip(". ")
        short, taken = argument_name(name) or location, {known.lower() for known in self._properties}
        suffixes = chain(("", f"_{location}"), (f"_{number}" for number in range(2, MAX_ARGUMENTS + 3)))
        candidates = (f"{short[: _MAX_NAME - 8]}{suffix}" if suffix else short for suffix in suffixes)
        argument = next(candidate for candidate in candidates if candidate.lower() not in taken)
        self._add(argument, described, is_required=location == "path" or parameter.get("required") is True)
        self.parameters[argument] = sent

    def add_body(self, value: Any, at: Location) -> None:
        """Add the arguments for the request body ``value``, and how it is sent.

        The properties of an object become arguments where that is unambiguous: where it has a fixed set of them, where
        none has the name of a parameter, and where the body is required or has no required property. Otherwise the body
        is one argument.
        """
        at, body = self._converter.references.follow(value, at)
        if not isinstance(body, dict) or not isinstance(body.get("content"), dict):
            raise DocumentError(at, "is not a request body: it has no content")
        if not body["content"]:
            return
        media = _choose(body["content"], (*at, "content"), self._converter.references)
        schema = media.value.get("schema", {} if media.kind == "json" else {"type": "string"})
        converted = self._converter.convert(schema, (*media.at, "schema"))
        is_required = body.get("required") is True
        if media.kind in ("json", "form"):
            # Many documents leave out that a form is required, although its fields are.
            found = _as_object(converted, self._converter)
            if found is not None:
                kept = {
                    name: part
                    for name, part in found.properties.items()
                    if not (isinstance(part, dict) and self._credentials.include("body", name, part.get("description")))
                }
                found = _Object(kept, found.required - (found.properties.keys() - kept.keys()))
            if self._add_fields(media, found, is_required=is_required or media.kind == "form"):
                return
        self._add_whole(media, converted, body, at, is_required=is_required)

    def _add_fields(self, media: _Media, found: _Object | None, *, is_required: bool) -> bool:
        """Add the properties of a body as arguments; return whether they can be."""
        if found is None or not found.properties or len(found.properties) > MAX_FIELDS:
            return False
        if (found.required and not is_required) or found.required - found.properties.keys():
            return False
        fields: dict[str, str] = {}
        taken = {name.lower() for name in self._properties}
        for wire_name in found.properties:
            name = argument_name(wire_name)
            if not name or name.lower() in taken:
                return False
            taken.add(name.lower())
            fields[name] = wire_name
        encoding = _encoding(media, found.properties)
        for name, wire_name in fields.items():
            part = found.properties[wire_name]
            is_file = encoding.get(wire_name, {}).get("base64", False)
            self._add(name, _file(part) if is_file else part, is_required=wire_name in found.required)
        self.body = {
            "content_type": media.content_type,
            "fields": fields,
            **({"encoding": encoding} if encoding else {}),
        }
        return True

    def _add_whole(
        self, media: _Media, converted: Any, body: Mapping[str, Any], at: Location, *, is_required: bool
    ) -> None:
        taken = {name.lower() for name in self._properties}
        names = ("body", "request_body", "body_", "body_content", "_body_")
        argument = next(name for name in names if name not in taken)
        self.body = {"content_type": media.content_type, "argument": argument}
        made = dict(dict_at(converted))
        target = self._converter[made["$ref"].removeprefix(DEFINITIONS)] if "$ref" in made else made
        if media.kind == "form" and "object" not in target.get("type", "object"):  # one type or several
            raise DocumentError(media.at, f"has a form whose schema is of the type {target['type']}, not object")
        if media.kind == "binary":
            # Of base64, which OpenAPI 3.0 calls byte as well, the text is what is sent.
            if {target.get("contentEncoding"), target.get("format")}.isdisjoint({"base64", "byte"}):
                self.body["base64"] = True
            made = _file(target)
        if encoding := _encoding(media, {}):
            self.body["encoding"] = encoding
        described = [self._converter.text(body.get("description"), (*at, "description"))]
        is_text = target.get("type") in ("string", "number", "integer", "boolean")
        if media.content_type in _LINES_OF_JSON and target.get("type") in ("array", "object"):
            made = made if target["type"] == "array" else {"type": "array", "items": made}  # one for each line
        elif media.kind == "text" and not media.content_type.endswith("yaml") and not is_text:
            # An object for XML would be sent as JSON; only its schema says what the text has.
            made = {"type": "string"}
            members = ", ".join(list(target.get("properties", ()))[:MAX_FIELDS])
            described.append(
                f"The body as text of the type {media.content_type}{', with ' if members else ''}{members}."
            )
        if "$ref" in made:  # a description beside a reference replaces that of its target
            described.append(target.get("description", ""))
        made.setdefault("description", " ".join(filter(None, described)) or "Body of the request")
        self._add(argument, made, is_required=is_required)


def _kind(parameter: Any, at: Location) -> tuple[str, str]:
    if not isinstance(parameter, dict):
        raise DocumentError(at, "is not a parameter")
    location, name = parameter.get("in"), parameter.get("name")
    if not isinstance(location, str) or location not in STYLES:
        problem = f"parameter {str(name)[:60]!r} is in {location!r}, which is not one of {', '.join(STYLES)}"
        raise DocumentError(at, problem)
    if not isinstance(name, str) or not name or not name.isprintable() or len(name) > 200:
        raise DocumentError(at, "has a parameter without a usable name")
    if location in ("header", "cookie") and not TOKEN.fullmatch(name):
        raise DocumentError(at, f"{location} parameter {name[:60]!r} has a name that cannot be sent")
    return location, name


def _style(location: str, name: str, parameter: Mapping[str, Any], at: Location) -> dict[str, Any]:
    default, *_ = known = STYLES[location]
    style = parameter.get("style", default)
    if style not in known:
        raise DocumentError(at, f"parameter {name!r} has the style {style!r}; in {location} it is {', '.join(known)}")
    made = {} if style == default else {"style": style}
    explode = parameter.get("explode")
    if isinstance(explode, bool) and explode != (style == "form"):
        made["explode"] = explode
    return made


def _described(schema: Any, parameter: Mapping[str, Any], at: Location, converter: SchemaConverter) -> Any:
    """Return the schema of a parameter with the description and the examples of the parameter itself."""
    made = without_null(schema) if isinstance(schema, dict) else {}
    if description := converter.text(parameter.get("description"), (*at, "description")):
        made["description"] = description
    if parameter.get("deprecated") is True:
        made["deprecated"] = True
    example = parameter.get("example")
    if example is None:
        example = next((one.get("value") for one in dicts_in([*dict_at(parameter, "examples").values()])), None)
    is_short = isinstance(example, bool | int | float) or (isinstance(example, str) and len(example) <= 100)
    if is_short and not {"examples", "default", "enum"} & made.keys():
        made["examples"] = [example]
    return made


def _choose(content: Mapping[str, Any], at: Location, references: References) -> _Media:
    """Return the content type that expresses arguments best: JSON, then forms, then text."""
    ranked: list[tuple[int, _Media]] = []
    for content_type, value in content.items():
        rank, kind, sent = _rank(content_type)
        if not kind:
            continue
        media_at, media = references.follow(value, (*at, content_type))
        ranked.append((rank, _Media(kind, sent, media_at, dict_at(media))))
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
    if name.endswith("+json") or name == "text/json":
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
        parts.append(converter[name])
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


def _encoding(media: _Media, properties: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return how fields of a form are sent where that is not the default, by name in the body."""
    if media.kind != "form":
        return {}
    made: dict[str, dict[str, Any]] = {}
    for name, value in dict_at(media.value, "encoding").items():
        one, given = dict[str, Any](), dict_at(value)
        if given.get("style") in STYLES["query"]:
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
            part = without_null(optional) if isinstance(optional, dict) else {}
            if _is_binary(part) or _is_binary(part.get("items")):
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
    schema = without_null(dict(optional))
    if isinstance(schema.get("items"), dict):
        return {**schema, "items": _file(schema["items"])}
    description = schema.get("description", "")
    sentence = "Base64 text of the content of the file."
    return {
        "type": "string",
        "contentEncoding": "base64",
        "description": f"{description.rstrip('.')}. {sentence}" if description else sentence,
    }
