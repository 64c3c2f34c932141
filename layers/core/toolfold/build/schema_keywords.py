"""Remove from a JSON Schema that others wrote the keywords with values that no JSON Schema 2020-12 can have.

A tool is usable without one: the service checks its arguments again.
"""

from __future__ import annotations

import copy
import operator
from functools import cache, lru_cache, reduce
from itertools import islice
from typing import Any

import jsonschema_rs

from toolfold.catalog.json_schema import NAMED
from toolfold.execution.validation import SchemaError, compile_schema

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MAX_REMOVED = 100


def usable_schema(schema: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return ``schema`` without the keywords that it cannot have, and where these were: ``properties.a.pattern``.

    A property remains one, of any value.
    """
    errors = islice(_validator().iter_errors(schema), _MAX_REMOVED)
    paths: list[tuple[str | int, ...]] = []
    for path in sorted({tuple(error.instance_path) for error in errors}, key=len):
        if not any(path[: len(outer)] == outer for outer in paths):
            paths.append(path)
    if () in paths or not paths:
        return schema, []
    made: Any = copy.deepcopy(schema)
    # The last of a list first: removing one moves those after it.
    for *at, keyword in sorted(paths, key=repr, reverse=True):
        holder: Any = reduce(operator.getitem, at, made)
        if at and at[-1] in NAMED:
            holder[keyword] = {}
        else:
            del holder[keyword]
    return made, sorted(".".join(map(str, path)) for path in paths)


@lru_cache(maxsize=10_000)
def is_pattern(pattern: str) -> bool:
    """Return whether ``pattern`` is a regular expression of JSON Schema, and one that arguments can be checked with."""
    try:
        compile_schema({"pattern": pattern})
    except SchemaError:
        return False
    return _expressions().is_valid(pattern)


@cache
def _expressions() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({"format": "regex"}, validate_formats=True)


@cache
def _validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for({"$ref": _DIALECT}, formats={"regex": is_pattern}, validate_formats=True)
