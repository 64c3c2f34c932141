"""Complete the schema of a tool with its definitions, and shorten what is too large for a model to read.

The body of a request can refer to hundreds of definitions: that of a Kubernetes pod has 250 KB. What is left out is the
innermost part. It accepts any value then, so that a caller who knows the service can still send it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from toolfold.build.emitter import first_sentence
from toolfold.build.importers.openapi import schema_parts as parts
from toolfold.build.importers.openapi.schemas import SchemaConverter
from toolfold.catalog.json_schema import IN_PLACE, inner, with_inner

MAX_SCHEMA_CHARS = 16_000
"""Characters of the schema of one tool as compact JSON, about 4,000 tokens."""

MAX_LEVELS = 28
"""Levels of one schema. A catalog allows 32."""

_MAX_COLLECTED = 10 * MAX_SCHEMA_CHARS
"""Characters of all definitions that are looked at. An entity of Microsoft Graph refers to thousands of others."""

_SMALL_CHARS = 120
"""A definition up to this size is repeated where it is used: a reference would be as long."""

_MAX_INLINE_DEPTH = 12
_MAX_STUB_ENUM, _MAX_ENUM = 20, 200
_TYPED = ("type", "format")
_SHORT, _SHORTEST = 150, 80


class _Limits(NamedTuple):
    """How a schema is shortened: levels of arguments that are kept, and characters of descriptions from a level on."""

    levels: int
    description: int
    from_level: int = 2


_STEPS = (
    _Limits(100, _SHORT),
    _Limits(100, 0),
    _Limits(8, _SHORTEST),
    _Limits(6, 0),
    _Limits(5, 0),
    _Limits(4, 0),
    _Limits(3, _SHORTEST),
    _Limits(3, 0),
    _Limits(2, _SHORTEST),
    _Limits(2, 0),
    _Limits(1, 0),
    _Limits(1, _SHORTEST, from_level=1),
)


def complete_schema(root: parts.Schema, converter: SchemaConverter) -> tuple[parts.Schema, bool]:
    """Return ``root`` with the ``$defs`` that it needs, and whether parts were left out."""
    definitions = converter.definitions(root, _MAX_COLLECTED)
    if sum(map(parts.compact_size, definitions.values())) <= MAX_SCHEMA_CHARS:
        made = _inlined(root, definitions)
        if _fits(made):
            return made, False
    distances = _distances(root, definitions)

    @cache  # each step takes as long as compiling the tool
    def shortened(limits: _Limits) -> tuple[parts.Schema, bool]:
        made = _inlined(*_shortened(root, definitions, distances, limits))
        return made, _fits(made)

    first = bisect_left(_STEPS[:-1], True, key=lambda limits: shortened(limits)[1])
    return shortened(_STEPS[first])[0], True


def _fits(schema: parts.Schema) -> bool:
    return parts.compact_size(schema) <= MAX_SCHEMA_CHARS and _levels(schema) <= MAX_LEVELS


def _levels(schema: Any) -> int:
    return 1 + max((_levels(part) for _, part in inner(schema)), default=0)


def _inlined(root: parts.Schema, definitions: Mapping[str, parts.Schema]) -> parts.Schema:
    """Return ``root`` with the definitions that are used several times, and the others in their place.

    Of each circle that ``root`` leads to, one definition is used several times: from outside, and by the circle.
    """
    links = {name: parts.references_of(definition) for name, definition in definitions.items()}
    uses = Counter(chain(parts.references_of(root), *links.values()))
    is_inlined = {
        name
        for name, targets in links.items()
        if uses[name] == 1 or (not targets and parts.compact_size(definitions[name]) <= _SMALL_CHARS)
    }

    def rebuild(schema: parts.Schema, depth: int) -> parts.Schema:
        made = with_inner(schema, lambda _, part: rebuild(part, depth + 1))
        name = made.get("$ref", "").removeprefix(parts.DEFINITIONS)
        if name not in is_inlined or depth > _MAX_INLINE_DEPTH:
            return made
        beside = {key: value for key, value in made.items() if key != "$ref"}
        target = rebuild(definitions[name], depth)
        if (set(beside) & set(target)) - {"description"}:
            return {**beside, "allOf": [target, *beside.get("allOf", ())]}
        return {**target, **beside}

    made: parts.Schema = rebuild(root, 0)
    kept: dict[str, parts.Schema] = {}
    open_ = parts.references_of(made)
    while open_:
        name = open_.pop(0)
        if name not in kept:
            kept[name] = rebuild(definitions[name], 1)
            open_ += parts.references_of(kept[name])
    return {**made, "$defs": kept} if kept else made


def _shortened(
    root: parts.Schema, definitions: Mapping[str, parts.Schema], distances: Mapping[str, int], limits: _Limits
) -> tuple[parts.Schema, dict[str, parts.Schema]]:
    """Return copies of ``root`` and of the definitions that remain, without what is below the levels of ``limits``."""

    def cut(schema: parts.Schema, level: int) -> parts.Schema:
        name = schema.get("$ref", "").removeprefix(parts.DEFINITIONS)
        if level > limits.levels or (name and distances.get(name, 1000) > limits.levels):
            # What stays below the last level: the type and the values.
            whole = {**definitions.get(name, {}), **schema}
            keys = ("type", "format", "enum") if len(whole.get("enum", ())) in range(1, _MAX_STUB_ENUM) else _TYPED
            return {key: whole[key] for key in keys if key in whole}
        made = with_inner(schema, lambda key, part: cut(part, level if key in IN_PLACE else level + 1))
        if level >= limits.from_level:
            made.pop("examples", None)
            if description := made.pop("description", ""):
                made |= {"description": first_sentence(description, limits.description)} if limits.description else {}
            if limits.from_level == 1 and len(values := made.get("enum", ())) > _MAX_ENUM:
                shown = ", ".join(map(str, values[:_MAX_STUB_ENUM]))
                made["description"] = f"One of {len(made.pop('enum'))} values: {shown}, …"
        return made

    kept = {
        name: cut(part, distances[name])
        for name, part in definitions.items()
        if distances.get(name, 1000) <= limits.levels
    }
    return cut(root, 0), kept


def _distances(root: parts.Schema, definitions: Mapping[str, parts.Schema]) -> dict[str, int]:
    """Return the levels of arguments between ``root`` and each definition, on the shortest way."""
    distances: dict[str, int] = {}
    level = [root]
    for distance in range(len(definitions) * MAX_LEVELS + MAX_LEVELS):
        here, level = level, []
        while here:
            schema = here.pop()
            name = schema.get("$ref", "").removeprefix(parts.DEFINITIONS)
            if name in definitions and name not in distances:
                distances[name] = distance
                here.append(definitions[name])
            for key, part in inner(schema):
                (here if key in IN_PLACE else level).append(part)
        if not level:
            break
    return distances
