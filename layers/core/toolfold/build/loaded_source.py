"""A source that was read and checked alone, however its tools are described.

A tool on its way into the compiled catalog.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from toolfold.build.schema.field_types import Vocabulary
from toolfold.build.schema.sources import SourceSettings
from toolfold.build.schema.tools import Category, Tool
from toolfold.build.text_review import UnreadText


class LoadedCategory(NamedTuple):
    """A category, and what returns ``file:line`` of a key of one of its tools: number of the tool, then keys."""

    category: Category
    where: Callable[..., str]


class LoadedSource(NamedTuple):
    """A source with its tools, under the names that the source has for them.

    Attributes:
        freshness: Freshness class → seconds.
        left_out: What the source describes and no tool can express, each as ``file:line: problem``.
        notes: What tools lack without harm, each as ``file:line: sentence``.
        is_imported: Whether the texts were written for other readers; fewer rules are checked then.
        files: Content that calls return: its SHA-256 → text, or bytes.
        unread: Texts that a person has to read first; ``left_out`` has a line about each.
    """

    settings: SourceSettings
    entry: Mapping[str, Any]
    freshness: Mapping[str, int]
    categories: Sequence[LoadedCategory]
    vocabulary: Vocabulary
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()
    is_imported: bool = False
    files: Mapping[str, str | bytes] = MappingProxyType({})
    unread: Sequence[UnreadText] = ()

    @property
    def has_failed(self) -> bool:
        """Whether a source that has no tool in the catalog was to have some."""
        return bool(self.left_out or self.categories)


class ToolDefinition(NamedTuple):
    """A tool under its name in the catalog, with its source and its category, which is called ``label`` in the catalog.

    ``where`` returns ``file:line`` of a key of the tool.
    """

    source: LoadedSource
    category: Category
    label: str
    tool: Tool
    where: functools.partial[str]
