"""What a model of one value cannot see: defaults and examples that really pass validation, names that exist.

Build side. Each check yields its mistakes as ``file:line: what is wrong``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from toolfold.build.schema import VOCABULARY, Source, Tool, Vocabulary
from toolfold.catalog import json_schema
from toolfold.execution import validation

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MAX_MESSAGE = 200
"""Characters of the library's message that are shown: it repeats the value."""

_MENTION = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
"""A word in a description that can only be meant as the name of a tool (or an allowed value)."""


def tool(source: Source, written: Tool, entry: Mapping[str, Any], where: Callable[..., str]) -> Iterator[str]:
    """Yield a tool against its source, and its defaults and examples against its own compiled schema (``entry``).

    ``where`` gives the place of a key of the tool.
    """
    if written.freshness not in source.freshness:
        yield f"{where('freshness')}: freshness {written.freshness!r} is not one of {', '.join(source.freshness)}"
    if problems := list(_schemas(written, entry["parameters"], where)):
        yield from problems
        return
    for name, given, place in _samples(written, where):
        rule = json_schema.properties(entry["parameters"]).get(name, {})
        alone = {"properties": {name: rule}, "$defs": entry["parameters"].get("$defs", {})}
        for what, value in given:
            _, wrong = validation.validate_arguments(alone, entry["call"], {name: value})
            for problem in wrong:
                yield f"{place}: {name}: {what} {value!r} {problem['problem']} ({problem['expected']})"
    _, wrong = validation.validate_arguments(entry["parameters"], entry["call"], written.example)
    for problem in wrong:
        yield f"{where('example')}: example: {problem['parameter']} {problem['problem']} ({problem['expected']})"


def _samples(written: Tool, where: Callable[..., str]) -> Iterator[tuple[str, list[tuple[str, Any]], str]]:
    """Yield each parameter with its default and examples, and where it is."""
    for position, parameter in enumerate(written.parameters):
        rule: Mapping[str, Any] = parameter.schema_ or {"default": parameter.default, "examples": parameter.examples}
        yield parameter.name, _values(rule), where("parameters", position)
    for name, inner in json_schema.properties(written.parameters_schema or {}).items():
        yield name, _values(inner), where("parameters", "properties", name)


def _values(rule: Mapping[str, Any]) -> list[tuple[str, Any]]:
    default = [] if rule.get("default") is None else [("default", rule["default"])]
    examples = rule.get("examples")
    return [*default, *(("example", example) for example in (examples if isinstance(examples, list) else ()))]


def _schemas(written: Tool, root: Mapping[str, Any], where: Callable[..., str]) -> Iterator[str]:
    """Yield what is wrong with the JSON Schemas that are given whole, by the meta-schema of 2020-12."""
    whole: list[tuple[tuple[str | int, ...], Any]] = [
        (("parameters", position, "schema"), parameter.schema_)
        for position, parameter in enumerate(written.parameters)
        if parameter.schema_ is not None
    ]
    if written.parameters_schema is not None:
        whole.append((("parameters",), written.parameters_schema))
    found = False
    for at, schema in whole:
        for path, problem in _schema_problems(schema, root):
            found = True
            yield f"{where(*at, *path)}: {'.'.join(map(str, (*at, *path)))}: {problem}"
    if whole and not found:
        try:
            validation.compile_schema(root)
        except validation.SchemaError as error:
            place: tuple[str | int, ...] = ("parameters", *error.path)
            if written.parameters_schema is None and len(error.path) > 1:
                positions = {parameter.name: position for position, parameter in enumerate(written.parameters)}
                if error.path[1] in positions:
                    place = ("parameters", positions[str(error.path[1])], "schema", *error.path[2:])
            yield f"{where(*place)}: {'.'.join(map(str, place))}: {error}"


def _schema_problems(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[tuple[list[str | int], str]]:
    """Yield where in ``schema`` something is wrong, and what. Nothing is fetched."""
    if schema.get("$schema", _DIALECT) != _DIALECT:
        # The library would look for the meta-schema of another dialect on the network.
        yield ["$schema"], f"must be {_DIALECT}, or left out"
        return
    import jsonschema_rs

    try:
        jsonschema_rs.meta.validate(dict(schema))
    except jsonschema_rs.ValidationError as error:
        yield list(error.instance_path), error.message[:_MAX_MESSAGE]
    except ValueError as error:
        yield [], str(error)[:_MAX_MESSAGE]
    for path, reference in _references(schema, []):
        if not isinstance(reference, str) or not reference.startswith("#"):
            yield path, f"{reference!r} leads out of the schema, where nothing is fetched"
        elif reference.startswith("#/") and json_schema.resolve(root, reference) is None:
            yield path, f"{reference!r} leads nowhere"


def _references(schema: Any, path: list[str | int]) -> Iterator[tuple[list[str | int], Any]]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in ("$ref", "$dynamicRef"):
                yield [*path, key], value
            elif key not in ("const", "enum", "default", "examples"):
                yield from _references(value, [*path, key])
    elif isinstance(schema, list):
        for place, value in enumerate(schema):
            yield from _references(value, [*path, place])


def mentions(tools: Mapping[str, Any], places: Mapping[str, str]) -> Iterator[str]:
    """Yield names of tools in descriptions must exist: a model will call what it reads."""
    values = set(_MENTION.findall(json.dumps([tool["parameters"] for tool in tools.values()])))
    values |= set(_MENTION.findall(" ".join(tool["returns"] for tool in tools.values())))
    for name, entry in tools.items():
        for mention in _MENTION.findall(entry["summary"] + " " + entry["description"]):
            if mention not in tools and mention not in values:
                yield f"{places[name]}: description mentions {mention}, which is no tool"


def neighbours(tools: list[Tool], places: Mapping[str, str]) -> Iterator[str]:
    """Yield what a tool is not for must name another tool that is."""
    for tool in tools:
        for other in tool.use_instead:
            if other.tool not in places or other.tool == tool.name:
                yield f"{places[tool.name]}: use_instead names {other.tool}, which is no other tool"


def meant(vocabularies: Iterable[Vocabulary], tools: Mapping[str, Any]) -> Iterator[str]:
    """Yield tools that a kind of proper names is said to mean, and that do not exist."""
    for vocabulary in vocabularies:
        for kind, names in vocabulary.names.items():
            for name in {*names.tools, *names.preferred} - tools.keys():
                yield f"{VOCABULARY}: names.{kind}: there is no tool {name!r}"
