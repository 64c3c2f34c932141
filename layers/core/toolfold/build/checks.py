"""Check what the pydantic models cannot: JSON Schemas, defaults, examples, and references between tools.

Each check yields its findings as ``file:line: problem``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from toolfold.build.importers.base import Tool
from toolfold.build.schema import VOCABULARY, Vocabulary
from toolfold.catalog import json_schema
from toolfold.catalog.contract import check_line, check_schema
from toolfold.execution import validation

_MAX_MESSAGE = 200
"""Characters of a message of the library that are shown: the message contains the whole value."""


def check_tool(freshness: Collection[str], tool: Tool, entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield problems of a tool: its freshness class, its schemas, and the defaults and examples of its parameters."""
    where = tool.where
    if tool.freshness not in freshness:
        yield f"{where('freshness')}: freshness {tool.freshness!r} is not one of {', '.join(freshness)}"
    try:
        validation.compile_schema(entry["parameters"])
        check_line("tools", {"name": tool.name, "see_also": [], "hash": "0", **entry})
    except validation.SchemaError as error:
        at = error.path[1:] if error.path[:1] == ["properties"] else error.path
        shown, said = ".".join(map(str, ("parameters", *error.path))), str(error)[:_MAX_MESSAGE]
        try:
            check_schema(entry["parameters"])
        except ValueError as other:  # the library names one of several references to other documents, at random
            said = str(other)
        yield f"{where('parameters', *at)}: {shown}: {said}"
        return
    except ValueError as error:
        yield f"{where()}: {tool.name}: {error}"
        return
    rules = json_schema.properties(entry["parameters"])
    alone = {"properties": rules, "$defs": entry["parameters"].get("$defs", {})}
    validator = validation.ArgumentValidator(alone, entry["call"])
    for name, rule in rules.items():
        for kind, value in _values(name, rule, entry["hints"]):
            for problem in validator.validate({name: value})[1]:
                found = f"{kind} {value!r}: {problem['problem']} ({problem['expected']})"
                yield f"{where('parameters', name)}: {name}: {found}"


def check_example(entry: Mapping[str, Any], where: Callable[..., str]) -> Iterator[str]:
    """Yield problems of the example of a compiled tool whose schemas are valid."""
    _, violations = validation.ArgumentValidator(entry["parameters"], entry["call"]).validate(entry["example"])
    for problem in violations:
        yield f"{where('example')}: example: {problem['parameter']} {problem['problem']} ({problem['expected']})"


def _values(name: str, rule: Any, hints: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the values that the schema of a parameter and the hints of its tool give, each with what it is."""
    given = rule if isinstance(rule, dict) else {}
    if given.get("default") is not None:
        yield "default", given["default"]
    examples = given.get("examples")
    yield from (("example", example) for example in (examples if isinstance(examples, list) else ()))
    yield from ((kind, hints[kind][name]) for kind in ("complete", "finest") if name in hints.get(kind, {}))
    yield from (("premium", value) for value in hints.get("premium", {}).get(name, ()))


def references(entry: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield each place of a compiled tool with the name of another: what it is called, the object, and its key."""
    hints = entry["hints"]
    yield from (("use_instead", entry["use_instead"], phrase) for phrase in entry["use_instead"])
    yield from ((f"found_by of {name}", finder, "tool") for name, finder in hints.get("found_by", {}).items())
    if "free_instead" in hints:
        yield "free_instead", hints["free_instead"], "tool"
    if "adjusted_by" in hints:
        yield "adjusted_by", hints, "adjusted_by"


def check_references(tools: Mapping[str, Any], locations: Mapping[str, str]) -> Iterator[str]:
    """Yield tools that others name and that do not exist, or cannot be called in place of the tool."""
    for name, entry in tools.items():
        where = locations[name]
        for label, holder, key in references(entry):
            other = holder[key]
            if other not in tools or (other == name and not label.startswith("found_by")):
                yield f"{where}: {label} names {other}, which is not another tool"
        for parameter, finder in entry["hints"].get("found_by", {}).items():
            found, its = tools.get(finder["tool"]), finder["parameter"]
            if found is not None and its and its not in json_schema.properties(found["parameters"]):
                yield f"{where}: found_by of {parameter} names {finder['tool']} and {its}, which do not exist"
        instead = entry["hints"].get("free_instead", {})
        if (free := tools.get(instead.get("tool"))) is not None:
            if free["access"] == "premium":
                yield f"{where}: free_instead names {instead['tool']}, which is premium"
            given = {**free["example"], **instead["arguments"]}
            for problem in validation.ArgumentValidator(free["parameters"], free["call"]).validate(given)[1]:
                yield f"{where}: free_instead: {problem['parameter']} {problem['problem']}"


def check_vocabulary(vocabularies: Iterable[Vocabulary], tools: Mapping[str, Any]) -> Iterator[str]:
    """Yield tools that a vocabulary names for a kind of proper names and that do not exist."""
    for vocabulary in vocabularies:
        for kind, names in vocabulary.names.items():
            for name in {*names.tools, *names.preferred} - tools.keys():
                yield f"{VOCABULARY}: names.{kind}: there is no tool {name!r}"
