"""Read an operation of a Swagger 2.0 document as one of OpenAPI 3.0.

Kubernetes and many older services still publish 2.0. References stay as they are: each definition keeps its location.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolfold.build.importers.openapi.document import DocumentError, References
from toolfold.build.yaml_loader import Location

Located = tuple[Location, Any]

_SCHEMA_KEYS = (
    *("type", "format", "items", "enum", "default", "pattern", "minimum", "maximum", "exclusiveMinimum"),
    *("exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "multipleOf"),
)
_STYLES: Mapping[str, Mapping[str, Any]] = {
    "csv": {"explode": False},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
    "multi": {"explode": True},
}
_FORM, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"


def parameters_of(listed: list[Located], references: References) -> list[Located]:
    """Return the parameters of an operation without its body.

    Raises:
        DocumentError: A reference is broken, or a list is separated by tabs.
    """
    found: list[Located] = []
    for at, value in listed:
        at_definition, parameter = references.follow(value, at)
        if isinstance(parameter, dict) and parameter.get("in") not in ("body", "formData"):
            found.append((at_definition, _parameter(parameter, at_definition)))
    return found


def _parameter(parameter: Mapping[str, Any], at: Location) -> dict[str, Any]:
    made = {key: parameter[key] for key in ("name", "in", "description", "required") if key in parameter}
    made["schema"] = {key: parameter[key] for key in _SCHEMA_KEYS if key in parameter}
    if parameter.get("type") == "array":
        style = _STYLES.get(parameter.get("collectionFormat", "csv"))
        if style is None:
            raise DocumentError(at, f"collectionFormat {parameter.get('collectionFormat')!r} cannot be sent")
        made |= style if parameter.get("in") == "query" else {}
    return made


def body_of(listed: list[Located], consumes: Any, references: References) -> Located | None:
    """Return the request body of an operation, or None.

    Raises:
        DocumentError: A reference is broken.
    """
    fields: dict[str, Any] = {}
    required: list[str] = []
    encoding: dict[str, Any] = {}
    form_at: Location = ()
    types = [name for name in consumes if isinstance(name, str)] if isinstance(consumes, list) else []
    for at, value in listed:
        at_definition, parameter = references.follow(value, at)
        if not isinstance(parameter, dict):
            continue
        if parameter.get("in") == "body":
            # The first content type of a body is JSON in all but few documents, some of which do not state it.
            content = {name: {"schema": parameter.get("schema", {})} for name in types or ["application/json"]}
            kept = {key: parameter[key] for key in ("description", "required") if key in parameter}
            return at_definition, {**kept, "content": content}
        if parameter.get("in") == "formData" and isinstance(parameter.get("name"), str):
            form_at = at_definition
            described = {"description": parameter["description"]} if "description" in parameter else {}
            fields[parameter["name"]] = {**_parameter(parameter, at_definition)["schema"], **described}
            if parameter.get("required") is True:
                required.append(parameter["name"])
            if style := _STYLES.get(parameter.get("collectionFormat", "csv")):
                encoding[parameter["name"]] = dict(style) if parameter.get("type") == "array" else {}
    if not fields:
        return None
    has_file = any(field.get("type") == "file" for field in fields.values())
    content_type = _MULTIPART if has_file or (_MULTIPART in types and _FORM not in types) else _FORM
    schema = {"type": "object", "properties": fields, "required": required}
    media = {"schema": schema, "encoding": {name: one for name, one in encoding.items() if one}}
    return form_at, {"required": bool(required), "content": {content_type: media}}


def responses_of(responses: Any, produces: Any) -> Any:
    """Return the responses of an operation with their schemas under a content type."""
    if not isinstance(responses, dict):
        return {}
    types = [name for name in produces if isinstance(name, str)] if isinstance(produces, list) else []
    json_type = next((name for name in types if "json" in name), "application/json" if not types else "")
    return {
        status: {"content": {json_type: {"schema": value["schema"]}}}
        if isinstance(value, dict) and "schema" in value and json_type
        else value
        for status, value in responses.items()
    }


def with_servers_and_security(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a document with the servers and the security schemes of OpenAPI 3.0; what it refers to stays."""
    return {**data, "servers": _servers(data), "components": {"securitySchemes": _security_schemes(data)}}


def _servers(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the servers: https where a document has several schemes."""
    host, base_path, schemes = data.get("host"), data.get("basePath", "/"), data.get("schemes")
    path = base_path if isinstance(base_path, str) else "/"
    if not isinstance(host, str) or not host:
        return [{"url": path}]
    names = [name for name in schemes if isinstance(name, str)] if isinstance(schemes, list) else ["https"]
    return [{"url": f"{name}://{host}{path}"} for name in sorted(names, key=lambda name: name != "https")]


def _security_schemes(data: Mapping[str, Any]) -> dict[str, Any]:
    given = data.get("securityDefinitions")
    made: dict[str, Any] = {}
    for name, scheme in given.items() if isinstance(given, dict) else ():
        if not isinstance(scheme, dict):
            continue
        if scheme.get("type") == "basic":
            made[name] = {"type": "http", "scheme": "basic"}
        elif scheme.get("type") == "oauth2":
            flow = "clientCredentials" if scheme.get("flow") == "application" else "authorizationCode"
            made[name] = {"type": "oauth2", "flows": {flow: scheme}}
        else:
            made[name] = scheme
    return made
