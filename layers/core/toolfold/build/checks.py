"""What a model of one value cannot see: defaults and examples that really pass validation, names that exist.

Build side. Each check yields its mistakes as ``file:line: what is wrong``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from toolfold.build.schema import VOCABULARY, Source, Tool, Vocabulary
from toolfold.execution import validation

_MENTION = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")
"""A word in a description that can only be meant as the name of a tool (or an allowed value)."""


def tool(source: Source, written: Tool, entry: Mapping[str, Any], where: Callable[..., str]) -> Iterator[str]:
    """A tool against its source, and its defaults and examples against its own compiled schema (``entry``).

    ``where`` gives the place of a key of the tool.
    """
    if written.freshness not in source.freshness:
        yield f"{where('freshness')}: freshness {written.freshness!r} is not one of {', '.join(source.freshness)}"
    for position, parameter in enumerate(written.parameters):
        at = where("parameters", position)
        alone = {"properties": {parameter.name: entry["parameters"]["properties"][parameter.name]}}
        default = [] if parameter.default is None else [("default", parameter.default)]
        for what, value in [*default, *(("example", example) for example in parameter.examples)]:
            _, problems = validation.validate_arguments(alone, entry["call"], {parameter.name: value})
            for problem in problems:
                yield f"{at}: {parameter.name}: {what} {value!r} {problem['problem']} ({problem['expected']})"
    _, problems = validation.validate_arguments(entry["parameters"], entry["call"], written.example)
    for problem in problems:
        yield f"{where('example')}: example: {problem['parameter']} {problem['problem']} ({problem['expected']})"


def mentions(tools: Mapping[str, Any], places: Mapping[str, str]) -> Iterator[str]:
    """Names of tools in descriptions must exist: a model will call what it reads."""
    values = set(_MENTION.findall(json.dumps([tool["parameters"] for tool in tools.values()])))
    values |= set(_MENTION.findall(" ".join(tool["returns"] for tool in tools.values())))
    for name, entry in tools.items():
        for mention in _MENTION.findall(entry["summary"] + " " + entry["description"]):
            if mention not in tools and mention not in values:
                yield f"{places[name]}: description mentions {mention}, which is no tool"


def neighbours(tools: list[Tool], places: Mapping[str, str]) -> Iterator[str]:
    """What a tool is not for must name another tool that is."""
    for tool in tools:
        for other in tool.use_instead:
            if other.tool not in places or other.tool == tool.name:
                yield f"{places[tool.name]}: use_instead names {other.tool}, which is no other tool"


def meant(vocabularies: Iterable[Vocabulary], tools: Mapping[str, Any]) -> Iterator[str]:
    """Tools that a kind of proper names is said to mean, and that do not exist."""
    for vocabulary in vocabularies:
        for kind, names in vocabulary.names.items():
            for name in {*names.tools, *names.preferred} - tools.keys():
                yield f"{VOCABULARY}: names.{kind}: there is no tool {name!r}"
