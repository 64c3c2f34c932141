"""Compare the description of a tool with the one in the snapshot.

A fingerprint covers what decides whether a call is valid and what it does: the schemas of arguments and of the answer,
and the annotations. Titles and descriptions are left out: some servers write the time zone or the version of the
machine into them, and the model reads those of the snapshot anyway.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Mapping
from typing import Any

from toolfold.catalog.json_schema import with_inner

_PROSE = frozenset({"title", "description", "examples", "$comment", "markdownDescription"})
"""Keywords of JSON Schema that change nothing about which values are valid."""

_SETS = frozenset({"enum", "required", "type"})
"""Keywords whose lists have no order: some servers write theirs in another one with each start."""

_MAX_DEPTH = 60
"""Levels of a schema that are read. Deeper ones count as they are."""

_ANNOTATIONS = ("readOnlyHint", "destructiveHint")


def tool_fingerprint(tool: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits for an entry of ``tools/list``."""
    annotations = tool.get("annotations")
    known = annotations if isinstance(annotations, Mapping) else {}
    facts = [
        canonical(tool.get("inputSchema"), _PROSE),
        canonical(tool.get("outputSchema"), _PROSE),
        [known.get(name) for name in _ANNOTATIONS],
    ]
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def canonical(schema: Any, without: Container[str] = (), depth: int = 0) -> Any:
    """Return a schema as it can be compared: lists without an order are sorted, keywords ``without`` left out."""
    if depth >= _MAX_DEPTH or not isinstance(schema, Mapping):
        return schema
    kept = {keyword: value for keyword, value in schema.items() if keyword not in without}
    for keyword in _SETS & kept.keys():
        if isinstance(kept[keyword], list):
            kept[keyword] = sorted(kept[keyword], key=lambda item: json.dumps(item, sort_keys=True))
    return with_inner(kept, lambda _, part: canonical(part, without, depth + 1))
