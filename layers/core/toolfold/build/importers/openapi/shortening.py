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
from toolfold.build.importers.openapi.schemas import DEFINITIONS, Schema, SchemaConverter, compact_size, references_of
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
_MAX_STUB_ENUM = 20
_TYPED = ("type", "format")


class _Limits(NamedTuple):
    """How a schema is shortened: levels of arguments that are kept, and characters of descriptions in inner ones."""

    levels: int
    description: int


_LEVELS, _DESCRIPTIONS = (100, 100, 8, 6, 5, 4, 3, 3, 2, 2, 1, 1), (150, 0, 80, 0, 0, 0, 80, 0, 80, 0, 0, 80)
_STEPS = tuple(map(_Limits, _LEVELS, _DESCRIPTIONS))


def complete_schema(root: Schema, converter: SchemaConverter) -> tuple[Schema, bool]:
    """Return ``root`` with the ``$defs`` that it needs, and whether parts were left out."""
    definitions, distances = _collect(root, converter)
    if sum(map(compact_size, definitions.values())) <= MAX_SCHEMA_CHARS and _fits(made := _inlined(root, definitions)):
        return made, False

    @cache  # each step takes as long as compiling the tool
    def shortened(limits: _Limits) -> tuple[Schema, bool]:
        made = _inlined(*_shortened(root, definitions, distances, limits))
        return made, _fits(made)

    first = bisect_left(_STEPS[:-1], True, key=lambda limits: shortened(limits)[1])
    return shortened(_STEPS[first])[0], True


def _fits(schema: Schema) -> bool:
    return compact_size(schema) <= MAX_SCHEMA_CHARS and _levels(schema) <= MAX_LEVELS


def _levels(schema: Any) -> int:
    return 1 + max((_levels(part) for _, part in inner(schema)), default=0)


def _name(schema: Schema) -> str:
    reference: str = schema.get("$ref", "")
    return reference.removeprefix(DEFINITIONS)


def _collect(root: Schema, converter: SchemaConverter) -> tuple[dict[str, Schema], dict[str, int]]:
    """Return the definitions that ``root`` needs, and the levels of arguments between it and each."""
    definitions, distances, left = dict[str, Schema](), dict[str, int](), _MAX_COLLECTED
    level, distance = [root], 0
    while level:
        here, level = level, []
        while here:
            schema = here.pop()
            name = _name(schema)
            if name and name not in definitions and left >= 0:
                definitions[name], distances[name] = converter[name], distance
                left -= compact_size(definitions[name])
                here.append(definitions[name])
            for key, part in inner(schema):
                (here if key in IN_PLACE else level).append(part)
        distance += 1
    return definitions, distances


def _inlined(root: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return ``root`` with the definitions that are used several times, and the others in their place.

    Of each circle that ``root`` leads to, one definition is used several times: from outside, and by the circle.
    """
    links = {name: references_of(definition) for name, definition in definitions.items()}
    uses = Counter(chain(references_of(root), *links.values()))
    is_inlined = {
        name
        for name, targets in links.items()
        if uses[name] == 1 or (not targets and compact_size(definitions[name]) <= _SMALL_CHARS)
    }

    def rebuild(schema: Schema, depth: int) -> Schema:
        made = with_inner(schema, lambda _, part: rebuild(part, depth + 1))
        name = _name(made)
        if name not in is_inlined or depth > _MAX_INLINE_DEPTH:
            return made
        del made["$ref"]
        target = rebuild(definitions[name], depth)
        if (made.keys() & target.keys()) - {"description"}:
            return {**made, "allOf": [target, *made.get("allOf", ())]}
        return {**target, **made}

    made: Schema = rebuild(root, 0)
    kept: dict[str, Schema] = {}
    needed = references_of(made)
    for name in needed:
        if name not in kept:
            kept[name] = rebuild(definitions[name], 1)
            needed += references_of(kept[name])
    return {**made, "$defs": kept} if kept else made


def _shortened(
    root: Schema, definitions: Mapping[str, Schema], distances: Mapping[str, int], limits: _Limits
) -> tuple[Schema, dict[str, Schema]]:
    """Return copies of ``root`` and of the definitions that remain, without what is below the levels of ``limits``."""

    def cut(schema: Schema, level: int) -> Schema:
        name = _name(schema)
        if level > limits.levels or (name and distances.get(name, 1000) > limits.levels):
            # What stays below the last level: the type and the values.
            whole = {**definitions.get(name, {}), **schema}
            keys = ("type", "format", "enum") if len(whole.get("enum", ())) in range(1, _MAX_STUB_ENUM) else _TYPED
            return {key: whole[key] for key in keys if key in whole}
        made = with_inner(schema, lambda key, part: cut(part, level if key in IN_PLACE else level + 1))
        if level > 1 or limits == _STEPS[-1]:
            made.pop("examples", None)
            if description := made.pop("description", ""):
                made |= {"description": first_sentence(description, limits.description)} if limits.description else {}
        return made

    kept = {name: cut(definitions[name], at) for name, at in distances.items() if at <= limits.levels}
    return cut(root, 0), kept
