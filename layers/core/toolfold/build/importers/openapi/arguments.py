"""Turn the parameters and the body of an operation into arguments of a tool, and how each is sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from toolfold.build.importers.openapi.access import Credentials
from toolfold.build.importers.openapi.document import Api, DocumentError, dict_at, dicts_in
from toolfold.build.importers.openapi.operations import Answer, Operation, convert_operation, describe_answer
from toolfold.build.importers.openapi.schemas import OPEN, Schema, SchemaConverter, without_null
from toolfold.build.importers.openapi.shortening import complete_schema
from toolfold.fuzzy import spell_comparisons
from toolfold.sources.http_api.binding import RESERVED_HEADERS, TOKEN, BindingError, check_binding
from toolfold.sources.http_api.body import FORM, JSON, NO_BODY_EXPECTED
from toolfold.sources.http_api.styles import STYLES

MAX_ARGUMENTS = 300
"""Parameters and fields of one operation. The largest of Stripe has 60."""

_IGNORED_HEADERS = RESERVED_HEADERS | {"accept"}
"""Header parameters that OpenAPI says to ignore, and those that no argument can set."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_ENCODED = re.compile(r"\bURL[ -]?encoded", re.IGNORECASE)
"""What GitLab says of a path in the path, such as ``group/project``."""

_WORD = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_NAME, _MAX_WIRE_NAME, _MAX_EXAMPLE = 64, 200, 100
_WITHOUT_BODY = ("get", "head")
"""Methods whose body has no meaning (RFC 9110, 9.3.1). Some documents state one that is not required."""

MAX_FIELDS = 60
"""Fields of an object that become arguments. Stripe has 53 in a body; a body with more stays one argument."""

_KINDS = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"application/json", "json"),
        (r"application/merge-patch\+json", "json"),
        # A list of operations (RFC 6902) is the hardest to write, a strategic merge patch needs the server's rules.
        (r"(?!application/json-patch\+json).*\+json|text/json", "json"),
        (r"\*/\*|application/\*", "json"),
        (r".*\+json", "json"),
        (re.escape(FORM), "form"),
        (r"multipart/.*", "form"),
        (r"text/(?!\*).*|application/(x-ndjson|jsonl|json-seq|xml|(x-)?yaml|graphql|sql)|.*\+(xml|yaml)", "text"),
        (r"text/\*", "text"),
        (r".*", "binary"),
    )
)
"""Content types of bodies, the one that expresses arguments best first, and what a body of each is."""

_SENT_AS = {"*/*": JSON, "application/*": JSON, "text/*": "text/plain"}
_CONTENT_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,80}/[a-z0-9!#$&^_.+-]{1,80}")
"""RFC 6838, section 4.2, in lower case."""

_NOT_FIXED = frozenset(
    {"anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "propertyNames", "enum", "const"}
    | {"minProperties", "maxProperties", "dependentRequired"}
)
"""Keywords of an object that arguments cannot express."""


def argument_name(name: str) -> str:
    """Return the name of the argument for a parameter called ``name``; "" where it has no letter or digit.

    Example:
        >>> argument_name("filter[status]"), argument_name("X-Request-ID"), argument_name("$top"), argument_name("At>=")
        ('filter_status', 'X-Request-ID', 'top', 'At_gte')
    """
    name = spell_comparisons(name)
    made = _WORD.sub("_", name).strip("_.-") if _WORD.search(name) or name[:1] in "-." else name
    return f"{'_' if made[:1].isdigit() else ''}{made}"[:_MAX_NAME]


def _free_name(candidates: Iterable[str], taken: Iterable[str]) -> str:
    known = {name.lower() for name in taken}
    return next(name for name in candidates if name.lower() not in known)


class Binding(NamedTuple):
    """The JSON Schema of the arguments, the HTTP binding without the path of the server, and what the answer has."""

    parameters: Mapping[str, Any]
    call: dict[str, Any]
    answer: Answer
    is_shortened: bool


def bind_operation(operation: Operation, converter: SchemaConverter, credentials: Credentials) -> Binding:
    """Return what a call of ``operation`` takes, sends and returns.

    Raises:
        DocumentError: It cannot be expressed.
    """
    value, api = operation.value, converter.api
    listed = list(operation.parameters(api))
    if "swagger" in api.data:
        listed = convert_operation(api, value, listed)
    arguments = _Arguments(converter, credentials)
    arguments.add_parameters(operation.path, listed)
    if "requestBody" in value:
        body = api.follow(value["requestBody"])
        is_required = dict_at(body).get("required") is True
        if is_required or operation.method not in _WITHOUT_BODY:
            arguments.add_body(body, value)
        else:
            problem = f"{operation.title}: the body is left out, which this method does not have"
            api.note(problem, value, "requestBody")
        if is_required and operation.method.upper() in NO_BODY_EXPECTED and "fields" in arguments.body:
            arguments.body["required"] = True  # also where a call has no argument for it
    required = {"required": arguments.required} if arguments.required else {}
    schema = {"type": "object", "properties": arguments.properties, **required, "additionalProperties": False}
    parameters, is_shortened = complete_schema(schema, converter)
    call: dict[str, Any] = {"method": operation.method.upper(), "path": operation.path}
    call |= {key: part for key in ("parameters", "body") if (part := getattr(arguments, key))}
    try:
        check_binding(call)
    except BindingError as error:
        raise DocumentError(str(error), value) from None
    return Binding(parameters, call, describe_answer(value.get("responses"), api), is_shortened)


class _Media(NamedTuple):
    """One content type of a body. ``kind`` is ``json``, ``form``, ``text`` or ``binary``."""

    kind: str
    content_type: str
    value: dict[str, Any]


class _Arguments:
    """The arguments of one tool, and what is sent for them: ``parameters`` and ``body`` are as in ``call``."""

    def __init__(self, converter: SchemaConverter, credentials: Credentials) -> None:
        self._converter, self._credentials = converter, credentials
        self.properties: dict[str, Any] = {}
        self.required: list[str] = []
        self.parameters: dict[str, dict[str, Any]] = {}
        self.body: dict[str, Any] = {}

    def add_parameters(self, path: str, listed: list[dict[str, Any]]) -> None:
        """Add the arguments for the parameters of an operation."""
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for parameter in listed:
            location, name = str(parameter.get("in")), parameter.get("name")
            is_name = isinstance(name, str) and name.isprintable() and 0 < len(name) <= _MAX_WIRE_NAME
            is_token = location not in ("header", "cookie") or TOKEN.fullmatch(str(name)) is not None
            if not (is_name and is_token and location in STYLES):
                problem = f"parameter {str(name)[:60]!r} in {location[:60]!r} cannot be sent"
                raise DocumentError(f"{problem}; it needs a usable name in {', '.join(STYLES)}", parameter)
            found[location, str(name)] = parameter
        placeholders = list(dict.fromkeys(_PLACEHOLDER.findall(path)))
        # A placeholder without a parameter is a mistake of many documents; its value can only be text.
        for name in placeholders:
            found.setdefault(("path", name), {"schema": {"type": "string"}})
        for (location, name), parameter in sorted(found.items(), key=lambda item: list(STYLES).index(item[0][0])):
            is_ignored = location == "header" and name.lower() in _IGNORED_HEADERS
            is_sent = self._credentials.include(location, name, parameter.get("description"))
            if not (is_sent or is_ignored or (location == "path" and name not in placeholders)):
                self._add_parameter(location, name, parameter)
        if len(self.properties) > MAX_ARGUMENTS:
            raise DocumentError(f"has more than {MAX_ARGUMENTS} parameters", listed[-1])

    def _add_parameter(self, location: str, name: str, parameter: Mapping[str, Any]) -> None:
        sent: dict[str, Any] = {"in": location, "name": name}
        if isinstance(content := parameter.get("content"), dict) and content:
            content_type, media = next(iter(content.items()))
            schema = self._converter.convert(dict_at(media).get("schema", {}), media, "schema")
            # Spring writes */* for any parameter. What is not JSON is sent as the text that it is.
            sent["content_type"] = JSON if "json" in str(content_type) else "text/plain"
        else:
            schema = self._converter.convert(parameter.get("schema", {}), parameter, "schema")
            sent |= _style(location, name, parameter)
        described = self._described(schema, parameter)
        if location == "path" and parameter.get("x-multi-segment") is True:
            sent["slashes"] = "plain"  # GitHub's word for a branch or a path of a file
        elif location == "path":
            shown = [*described.get("enum", ()), *described.get("examples", ())]
            if _ENCODED.search(str(parameter.get("description"))) or any("/" in str(value) for value in shown):
                sent["slashes"] = "encoded"  # as OpenAPI sends any sign of a value that a path gives a meaning
        if spell_comparisons(name) != name:
            described["description"] = f"{described.get('description', '').rstrip('.')}. Sent as {name}.".lstrip(". ")
        short = argument_name(name) or location
        suffixes = (f"_{location}", *(f"_{number}" for number in range(2, MAX_ARGUMENTS + 3)))
        candidates = chain([short], (f"{short[: _MAX_NAME - 8]}{suffix}" for suffix in suffixes))
        argument = _free_name(candidates, self.properties)
        self.properties[argument], self.parameters[argument] = described, sent
        self.required += [argument] if location == "path" or parameter.get("required") is True else []

    def _described(self, schema: Any, parameter: Mapping[str, Any]) -> dict[str, Any]:
        made = without_null(schema) if isinstance(schema, dict) else {}
        if description := self._converter.text(parameter.get("description"), parameter):
            made["description"] = description
        if parameter.get("deprecated") is True:
            made["deprecated"] = True
        example = parameter.get("example")
        if example is None:
            example = next((one.get("value") for one in dicts_in([*dict_at(parameter, "examples").values()])), None)
        is_short = isinstance(example, bool | int | float) or (
            isinstance(example, str) and len(example) <= _MAX_EXAMPLE
        )
        if is_short and made.keys().isdisjoint({"examples", "default", "enum"}):
            made["examples"] = [example]
        return made

    def add_body(self, body: Any, operation: Any) -> None:
        """Add the arguments for the request body of an operation, and how it is sent.

        The properties of an object become arguments where that is unambiguous: where it has a fixed set of them, where
        none has the name of a parameter, and where the body is required or has no required property. Otherwise the body
        is one argument.
        """
        if not isinstance(body, dict) or not isinstance(body.get("content"), dict):
            raise DocumentError("is not a request body: it has no content", operation, "requestBody")
        if not body["content"]:
            return
        media = _choose(body["content"], self._converter.api)
        schema = media.value.get("schema", {} if media.kind == "json" else {"type": "string"})
        converted = self._converter.convert(schema, media.value, "schema")
        is_required = body.get("required") is True
        is_closed = OPEN not in self._converter.target(dict_at(converted))
        found = self._as_object(converted) if media.kind in ("json", "form") and is_closed else None
        # Many documents leave out that a form is required, although its fields are.
        if found is None or not self._add_fields(media, found, needs_body=not (is_required or media.kind == "form")):
            self._add_whole(media, dict(dict_at(converted)), body, is_required=is_required)

    def _add_fields(self, media: _Media, found: Schema, *, needs_body: bool) -> bool:
        """Add the properties of a body as arguments; return whether they can be."""
        properties, required = dict[str, Any](found["properties"]), set[str](found["required"])
        for name, part in found["properties"].items():
            if self._credentials.include("body", name, dict_at(part).get("description")):
                del properties[name]
                required.discard(name)
        names = {argument_name(wire_name): wire_name for wire_name in properties}
        distinct = {name.lower() for name in (*names, *self.properties)}
        is_clear = "" not in names and len(distinct) == len(properties) + len(self.properties)
        if not (0 < len(properties) <= MAX_FIELDS and is_clear and required <= properties.keys()):
            return False
        if required and needs_body:
            return False
        encoding = _encoding(media, properties)
        for name, wire_name in names.items():
            is_file = encoding.get(wire_name, {}).get("base64", False)
            self.properties[name] = _file(properties[wire_name]) if is_file else properties[wire_name]
        self.required += (name for name, wire_name in names.items() if wire_name in required)
        self.body = {"content_type": media.content_type, "fields": names}
        self.body |= {"encoding": encoding} if encoding else {}
        return True

    def _add_whole(self, media: _Media, made: Schema, body: Mapping[str, Any], *, is_required: bool) -> None:
        argument = _free_name(("body", "request_body", "body_", "body_content", "_body_"), self.properties)
        self.body = {"content_type": media.content_type, "argument": argument}
        target = self._converter.target(made)
        if media.kind == "form" and "object" not in target.get("type", "object"):  # one type or several
            problem = f"has a form whose schema is of the type {target['type']}, not object"
            raise DocumentError(problem, media.value)
        if media.kind == "binary":
            # Of base64, which OpenAPI 3.0 calls byte as well, the text is what is sent.
            if {target.get("contentEncoding"), target.get("format")}.isdisjoint({"base64", "byte"}):
                self.body["base64"] = True
            made = _file(target)
        if encoding := _encoding(media, {}):
            self.body["encoding"] = encoding
        described = [self._converter.text(body.get("description"), body)]
        is_text = target.get("type") in ("string", "number", "integer", "boolean")
        if media.kind == "text" and not media.content_type.endswith("yaml") and not is_text:
            # An object for XML would be sent as JSON.
            made = {"type": "string"}
            described.append(f"The body as text of the type {media.content_type}.")
        if "$ref" in made:  # a description beside a reference replaces that of its target
            described.append(target.get("description", ""))
        made.setdefault("description", " ".join(filter(None, described)) or "Body of the request")
        self.properties[argument] = made
        self.required += [argument] if is_required else []

    def _as_object(self, schema: Any, depth: int = 0) -> Schema | None:
        """Return an object with the properties of ``schema``, or None where these are not a fixed set."""
        if not isinstance(schema, dict) or depth > 10 or not _NOT_FIXED.isdisjoint(schema):
            return None
        if schema.get("type", "object") != "object" or schema.get("additionalProperties", False) is not False:
            return None
        properties, required = dict[str, Any](), [*schema.get("required", ())]
        referred = [self._converter.target(schema)] if "$ref" in schema else []
        for part in (*schema.get("allOf", ()), *referred):
            inner = self._as_object(part, depth + 1)
            if inner is None or any(properties.get(key, part) != part for key, part in inner["properties"].items()):
                return None
            properties |= inner["properties"]
            required += inner["required"]
        for key, value in schema.get("properties", {}).items():
            is_narrowed = key in properties and properties[key] != value
            properties[key] = {"allOf": [properties[key], value]} if is_narrowed else value
        is_object = properties or "type" in schema or depth
        return {"properties": properties, "required": required} if is_object else None


def _style(location: str, name: str, parameter: Mapping[str, Any]) -> dict[str, Any]:
    default, *_ = known = STYLES[location]
    style = parameter.get("style", default)
    if style not in known:
        problem = f"parameter {name!r} has the style {style!r}; in {location} it is {', '.join(known)}"
        raise DocumentError(problem, parameter)
    made = {} if style == default else {"style": style}
    explode = parameter.get("explode")
    if isinstance(explode, bool) and explode != (style == "form"):
        made["explode"] = explode
    return made


def _choose(content: Mapping[str, Any], api: Api) -> _Media:
    ranked: list[tuple[int, _Media]] = []
    for content_type, value in content.items():
        name = str(content_type).partition(";")[0].strip().lower()
        if _CONTENT_TYPE.fullmatch(sent := _SENT_AS.get(name, name)):
            rank, kind = next((at, kind) for at, (pattern, kind) in enumerate(_KINDS) if pattern.fullmatch(name))
            ranked.append((rank, _Media(kind, sent, dict_at(api.follow(value)))))
    if not ranked:
        shown = ", ".join(str(name)[:60] for name in list(content)[:3])
        raise DocumentError(f"has a body of a type that cannot be sent as text: {shown}", content)
    return min(ranked, key=lambda entry: entry[0])[1]


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
        content_type = str(given.get("contentType", "")).partition(",")[0].strip().lower()
        one |= {"content_type": content_type} if _CONTENT_TYPE.fullmatch(content_type) else {}
        if one:
            made[name] = one
    for name, optional in properties.items() if media.content_type.startswith("multipart/") else ():
        part = without_null(optional) if isinstance(optional, dict) else {}
        if _is_binary(part) or _is_binary(part.get("items")):
            made.setdefault(name, {})["base64"] = True
    return made


def _is_binary(schema: Any) -> bool:
    """Return whether a value is bytes: ``format: binary`` in OpenAPI 3.0, a content type without text in 3.1."""
    media_type = dict_at(schema).get("contentMediaType") or "text/"
    is_bytes = not media_type.startswith("text/") and "json" not in media_type
    return dict_at(schema).get("format") == "binary" or (is_bytes and "contentEncoding" not in schema)


def _file(optional: Mapping[str, Any]) -> dict[str, Any]:
    schema = without_null(dict(optional))
    if isinstance(schema.get("items"), dict):
        return {**schema, "items": _file(schema["items"])}
    description, sentence = schema.get("description", "").rstrip("."), "Base64 text of the content of the file."
    shown = f"{description}. {sentence}" if description else sentence
    return {"type": "string", "contentEncoding": "base64", "description": shown}
