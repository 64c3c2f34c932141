"""Replace the names of tools where tools and vocabularies refer to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolfold.build.schema.tools import Tool
from toolfold.build.schema.vocabulary import Vocabulary

__all__ = ["renamed", "renamed_vocabulary"]


def renamed(tool: Tool, names: Mapping[str, str]) -> Tool:
    """Return a tool under its name in the catalog, with references to tools of the same source.

    Args:
        tool: The tool.
        names: The name that the source has for a tool → its name in the catalog.
    """

    def name(old: str) -> str:
        return names.get(old, old)

    changes: dict[str, Any] = {
        "name": name(tool.function or tool.name) if tool.binding is not None else name(tool.name)
    }
    if tool.binding is None:
        changes["function"] = tool.function or tool.name
    changes["use_instead"] = [other.model_copy(update={"tool": name(other.tool)}) for other in tool.use_instead]
    changes["parameters"] = [
        parameter
        if parameter.found_by is None
        else parameter.model_copy(
            update={"found_by": parameter.found_by.model_copy(update={"tool": name(parameter.found_by.tool)})}
        )
        for parameter in tool.parameters
    ]
    if tool.free_instead is not None:
        changes["free_instead"] = tool.free_instead.model_copy(update={"tool": name(tool.free_instead.tool)})
    if tool.adjusted_by is not None:
        changes["adjusted_by"] = name(tool.adjusted_by)
    return tool.model_copy(update=changes)


def renamed_vocabulary(vocabulary: Vocabulary, names: Mapping[str, str]) -> Vocabulary:
    """Return a vocabulary that names tools as the catalog does."""
    kinds = {
        kind: found.model_copy(
            update={key: [names.get(tool, tool) for tool in getattr(found, key)] for key in ("tools", "preferred")}
        )
        for kind, found in vocabulary.names.items()
    }
    return vocabulary.model_copy(update={"names": kinds})
