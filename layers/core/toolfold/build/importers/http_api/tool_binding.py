"""Make the JSON Schema and the HTTP binding of a tool that is described by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolfold.build.importers.http_api.models import BODY_TYPES, SCHEMA_KEYS, HttpParameter, HttpTool
from toolfold.catalog.entries import Effect
from toolfold.sources.http_api.path_template import placeholders

__all__ = ["EFFECTS", "parameters_schema", "tool_binding", "with_path_parameters"]

EFFECTS: Mapping[str, Effect] = {"GET": "read", "HEAD": "read", "OPTIONS": "read", "DELETE": "destructive"}
"""Method → effect of a tool that names none. The others write."""

_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
"""Methods whose parameters are in the body where no other place is given."""

_ALIASES = {
    name: field.alias for name, field in HttpParameter.model_fields.items() if field.alias and name in SCHEMA_KEYS
}
"""Field of a parameter → keyword of JSON Schema, where they differ."""


def with_path_parameters(tool: HttpTool, parameters: Mapping[str, HttpParameter]) -> dict[str, HttpParameter]:
    """Return ``parameters``, with one for each placeholder of the path that has none, and those required."""
    sent = {parameter.sent_as or name: name for name, parameter in parameters.items()}
    found = dict(parameters)
    for name in placeholders(tool.path):
        own = sent.get(name, name)
        parameter = found.get(own) or HttpParameter(type="string", required=True)
        found[own] = parameter.model_copy(update={"required": parameter.fixed is None, "in_": "path"})
    return found


def parameters_schema(parameters: Mapping[str, HttpParameter]) -> dict[str, Any]:
    """Return the JSON Schema of the arguments; what is fixed is left out."""
    shown = {name: parameter for name, parameter in parameters.items() if parameter.fixed is None}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: _property(parameter) for name, parameter in shown.items()},
    }
    if required := [name for name, parameter in shown.items() if parameter.required]:
        schema["required"] = required
    definitions: dict[str, Any] = {}
    for parameter in shown.values():
        definitions |= (parameter.schema_ or {}).get("$defs", {})
    schema["additionalProperties"] = False
    return {**schema, "$defs": definitions} if definitions else schema


def tool_binding(tool: HttpTool, parameters: Mapping[str, HttpParameter]) -> dict[str, Any]:
    """Return the binding of a tool: see ``sources.http_api.binding``. Keys with their usual value are left out."""
    bound: dict[str, Any] = {"path": tool.path}
    if tool.method != "GET":
        bound = {"method": tool.method, **bound}
    located = {name: parameter.in_ or default_location(tool) for name, parameter in parameters.items()}
    described = {
        name: dict(_binding(name, parameter, located[name], tool.path))
        for name, parameter in parameters.items()
        if located[name] != "body"
    }
    if kept := {name: how for name, how in described.items() if how}:
        bound["parameters"] = kept
    in_body = {name: parameter for name, parameter in parameters.items() if located[name] == "body"}
    if in_body:
        bound["body"] = _body(tool, in_body)
    if fixed := {name: parameter.fixed for name, parameter in parameters.items() if parameter.fixed is not None}:
        bound["sends"] = fixed
    if tool.response in ("csv", "text"):
        bound["response"] = tool.response
    return bound


def default_location(tool: HttpTool) -> str:
    """Return where a parameter is sent that is not in the path and names no location."""
    return "body" if tool.method in _BODY_METHODS else "query"


def _property(parameter: HttpParameter) -> dict[str, Any]:
    described = {"description": parameter.description} if parameter.description else {}
    if parameter.schema_ is not None:
        return {**described, **{key: value for key, value in parameter.schema_.items() if key != "$defs"}}
    rule: dict[str, Any] = {}
    for name in ("type", "description", *sorted(SCHEMA_KEYS - {"type", "description", "example"})):
        value = getattr(parameter, name)
        if value is not None:
            rule[_ALIASES.get(name, name)] = _plain(value)
    if parameter.example is not None and "examples" not in rule:
        rule["examples"] = [parameter.example]
    return rule


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _binding(name: str, parameter: HttpParameter, location: str, path: str) -> Iterator[tuple[str, Any]]:
    wire = parameter.sent_as or name
    if location != ("path" if wire in placeholders(path) else "query"):
        yield "in", location
    if wire != name:
        yield "name", wire
    for key in ("style", "explode", "slashes", "content_type"):
        if (value := getattr(parameter, key)) is not None:
            yield key, value
    if parameter.reserved:
        yield "reserved", True


def _body(tool: HttpTool, parameters: Mapping[str, HttpParameter]) -> dict[str, Any]:
    content_type = BODY_TYPES.get(tool.body.type, tool.body.type)
    body: dict[str, Any] = {} if content_type == BODY_TYPES["json"] else {"content_type": content_type}
    whole = tool.body.parameter or (next(iter(parameters)) if tool.body.type in ("text", "bytes") else None)
    if whole is not None:
        is_base64 = whole in parameters and (parameters[whole].base64 or tool.body.type == "bytes")
        return {**body, "argument": whole, **({"base64": True} if is_base64 else {})}
    fields = {name: parameter.sent_as or name for name, parameter in parameters.items()}
    encoding = {fields[name]: how for name, parameter in parameters.items() if (how := dict(_encoding(parameter)))}
    return {**body, "fields": fields, **({"encoding": encoding} if encoding else {})}


def _encoding(parameter: HttpParameter) -> Iterator[tuple[str, Any]]:
    for key in ("style", "explode", "content_type", "filename"):
        if (value := getattr(parameter, key)) is not None:
            yield key, value
    if parameter.base64:
        yield "base64", True
