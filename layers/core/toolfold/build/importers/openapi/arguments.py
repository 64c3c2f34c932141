"""Turn the parameters of an operation into arguments of a tool, and how each is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolfold.build.importers.openapi.access import Credentials
from toolfold.build.importers.openapi.document import DocumentError
from toolfold.build.importers.openapi.schema_parts import Schema, without_null
from toolfold.build.importers.openapi.schemas import SchemaConverter
from toolfold.build.yaml_loader import Location
from toolfold.fuzzy import spell_comparisons
from toolfold.sources.http_api.binding import RESERVED_HEADERS, TOKEN
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


@dataclass
class Arguments:
    """The arguments of one tool, and what is sent for them: ``parameters`` and ``body`` are as in ``call``."""

    properties: dict[str, Any] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    body: dict[str, Any] | None = None

    def add(self, name: str, schema: Any, *, is_required: bool) -> None:
        """Add one argument."""
        self.properties[name] = schema
        if is_required:
            self.required.append(name)

    def schema(self) -> Schema:
        """Return the JSON Schema of all arguments."""
        made: Schema = {"type": "object", "properties": self.properties}
        if self.required:
            made["required"] = self.required
        return {**made, "additionalProperties": False}


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


def add_parameters(
    path: str,
    operation_at: Location,
    listed: list[tuple[Location, Any]],
    converter: SchemaConverter,
    credentials: Credentials,
) -> Arguments:
    """Return the arguments for the parameters of an operation.

    Raises:
        DocumentError: A parameter cannot be sent.
    """
    found: dict[tuple[str, str], tuple[Location, Mapping[str, Any]]] = {}
    for at, value in listed:
        at_definition, parameter = converter.references.follow(value, at)
        location, name = _kind(parameter, at)
        found[location, name] = at_definition, parameter
    placeholders = list(dict.fromkeys(_PLACEHOLDER.findall(path)))
    arguments = Arguments()
    # A placeholder without a parameter is a mistake of many documents; its value can only be text.
    for name in placeholders:
        found.setdefault(("path", name), (operation_at, {"schema": {"type": "string"}}))
    for (location, name), (at, parameter) in sorted(found.items(), key=lambda item: list(STYLES).index(item[0][0])):
        if credentials.include(location, name, parameter.get("description")):
            continue
        is_ignored = location == "header" and name.lower() in _IGNORED_HEADERS
        if is_ignored or (location == "path" and name not in placeholders):
            continue
        _add(arguments, location, name, parameter, at, converter)
    if len(arguments.properties) > MAX_ARGUMENTS:
        raise DocumentError(operation_at, f"has more than {MAX_ARGUMENTS} parameters")
    return arguments


def _kind(parameter: Any, at: Location) -> tuple[str, str]:
    if not isinstance(parameter, dict):
        raise DocumentError(at, "is not a parameter")
    location, name = parameter.get("in"), parameter.get("name")
    if not isinstance(location, str) or location not in STYLES:
        raise DocumentError(
            at, f"parameter {str(name)[:60]!r} is in {location!r}, which is not one of {', '.join(STYLES)}"
        )
    if not isinstance(name, str) or not name or not name.isprintable() or len(name) > 200:
        raise DocumentError(at, "has a parameter without a usable name")
    if location in ("header", "cookie") and not TOKEN.fullmatch(name):
        raise DocumentError(at, f"{location} parameter {name[:60]!r} has a name that cannot be sent")
    return location, name


def _add(
    arguments: Arguments,
    location: str,
    name: str,
    parameter: Mapping[str, Any],
    at: Location,
    converter: SchemaConverter,
) -> None:
    sent: dict[str, Any] = {"in": location, "name": name}
    if isinstance(content := parameter.get("content"), dict) and content:
        content_type, media = next(iter(content.items()))
        if "json" not in content_type:
            raise DocumentError((*at, "content"), f"parameter {name!r} has content of the type {content_type[:60]!r}")
        schema = media.get("schema", {}) if isinstance(media, dict) else {}
        made = converter.convert(schema, (*at, "content", content_type, "schema"))
        sent["content_type"] = "application/json"
    else:
        made = converter.convert(parameter.get("schema", {}), (*at, "schema"))
        sent |= _style(location, name, parameter, at)
    if parameter.get("allowReserved") is True and location == "query":
        sent["reserved"] = True
    if location == "path" and parameter.get("x-multi-segment") is True:  # GitHub's, for a branch or a path of a file
        sent["slashes"] = "plain"
    elif location == "path" and _ENCODED.search(str(parameter.get("description"))):
        sent["slashes"] = "encoded"
    argument = _free_name(arguments, name, location)
    is_required = location == "path" or parameter.get("required") is True
    described = _described(made, parameter, at, converter)
    if spell_comparisons(name) != name:
        described["description"] = f"{described.get('description', '').rstrip('.')}. Sent as {name}.".lstrip(". ")
    arguments.add(argument, described, is_required=is_required)
    arguments.parameters[argument] = sent


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


def _free_name(arguments: Arguments, name: str, location: str) -> str:
    made, taken = argument_name(name) or location, {known.lower() for known in arguments.properties}
    suffixes = ("", f"_{location}", *(f"_{number}" for number in range(2, MAX_ARGUMENTS + 3)))
    candidates = (f"{made[: _MAX_NAME - 8]}{suffix}" if suffix else made for suffix in suffixes)
    return next(candidate for candidate in candidates if candidate.lower() not in taken)


def _described(schema: Any, parameter: Mapping[str, Any], at: Location, converter: SchemaConverter) -> Any:
    """Return the schema of a parameter with the description and the examples of the parameter itself."""
    made = without_null(schema) if isinstance(schema, dict) else {}
    if description := converter.text(parameter.get("description"), (*at, "description")):
        made["description"] = description
    if parameter.get("deprecated") is True:
        made["deprecated"] = True
    example = parameter.get("example")
    if example is None and isinstance(examples := parameter.get("examples"), dict):
        example = next((one.get("value") for one in examples.values() if isinstance(one, dict)), None)
    is_short = isinstance(example, bool | int | float) or (isinstance(example, str) and len(example) <= 100)
    if is_short and not {"examples", "default", "enum"} & made.keys():
        made["examples"] = [example]
    return made
