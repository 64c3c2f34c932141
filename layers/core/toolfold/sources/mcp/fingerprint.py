"""Compare the description of a tool with the one in the snapshot.

A fingerprint covers what decides whether a call is valid and what it does: the schemas of arguments and of the answer,
and the annotations. Titles and descriptions are left out: some servers write the time zone or the version of the
machine into them, and the model reads those of the snapshot anyway.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["tool_fingerprint"]

_PROSE = frozenset({"title", "description", "examples", "$comment", "markdownDescription"})
"""Keywords of JSON Schema that change nothing about which values are valid."""

_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose members are schemas under names that the server chose, such as ``description``."""

_VALUES = frozenset({"const", "enum", "default", "required", "dependentRequired"})
"""Keywords whose values are data, not schemas."""

_MAX_DEPTH = 60
"""Levels of a schema that are read. Deeper ones count as they are."""

_ANNOTATIONS = ("readOnlyHint", "destructiveHint")


def tool_fingerprint(tool: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits for an entry of ``tools/list``.

    Args:
        tool: the entry, with the names of the protocol (``inputSchema``).
    """
    annotations = tool.get("annotations")
    known = annotations if isinstance(annotations, Mapping) else {}
    facts = [
        _without_prose(tool.get("inputSchema"), 0),
        _without_prose(tool.get("outputSchema"), 0),
        [known.get(name) for name in _ANNOTATIONS],
    ]
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _without_prose(schema: Any, depth: int) -> Any:
    if depth >= _MAX_DEPTH:
        return schema
    if isinstance(schema, list):
        return [_without_prose(item, depth + 1) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _PROSE:
            continue
        if keyword in _BY_NAME and isinstance(value, Mapping):
            kept[keyword] = {name: _without_prose(inner, depth + 1) for name, inner in value.items()}
        else:
            kept[keyword] = value if keyword in _VALUES else _without_prose(value, depth + 1)
    return kept
