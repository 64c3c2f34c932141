"""A tool on its way into the compiled catalog."""

from __future__ import annotations

import functools
from typing import NamedTuple

from toolfold.build.loaded_source import LoadedSource
from toolfold.build.schema.tools import Category, Tool

__all__ = ["ToolDefinition"]


class ToolDefinition(NamedTuple):
    """A tool with the source and the category that it belongs to.

    Attributes:
        source: Its source.
        category: Its category, as the source has it.
        label: The name of the category in the catalog.
        tool: The tool, under its name in the catalog.
        where: Returns ``file:line`` of a key of the tool.
    """

    source: LoadedSource
    category: Category
    label: str
    tool: Tool
    where: functools.partial[str]
