"""One text for the arguments of a call, the same for all spellings that validation accepts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.catalog.json_schema import properties

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool

__all__ = ["canonical_arguments"]


def canonical_arguments(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Return validated arguments as JSON: with the defaults of the tool, names in alphabetical order, 5 for 5.0.

    Two calls with the same text ask the source for the same. ``cache.key`` is stricter: it distinguishes what an
    upstream may spell out in its answer.

    Args:
        tool: the tool that is called.
        arguments: as ``execution.validation`` returns them. Others are accepted, for the log of a refused call.
    """
    declared = properties(tool.parameters)
    defaults = {
        name: rule["default"]
        for name, rule in declared.items()
        if isinstance(rule, Mapping) and rule.get("default") is not None
    }
    values = {**defaults, **tool.call.get("sends", {}), **arguments}
    return json.dumps(_canonical(values), sort_keys=True, separators=(",", ":"))


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: _canonical(inner) for name, inner in value.items()}
    return [_canonical(inner) for inner in value] if isinstance(value, list) else value
