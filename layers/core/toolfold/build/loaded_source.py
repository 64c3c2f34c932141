"""A source that was read and checked alone, however its tools are described."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from toolfold.build.schema.sources import SourceSettings
from toolfold.build.schema.tools import Category
from toolfold.build.schema.vocabulary import Vocabulary

__all__ = ["LoadedCategory", "LoadedSource"]


class LoadedCategory(NamedTuple):
    """A category, and what returns ``file:line`` of a key of one of its tools: number of the tool, then keys."""

    category: Category
    where: Callable[..., str]


class LoadedSource(NamedTuple):
    """A source with its tools, under the names that the source has for them.

    Attributes:
        settings: The content of ``source.yaml``.
        entry: The source in the compiled catalog.
        freshness: Freshness class → seconds.
        categories: Its categories, in the order of the listing.
        vocabulary: Further meanings of words.
        left_out: What the source describes and no tool can express, each as ``file:line: problem``.
        notes: What tools lack without harm, each as ``file:line: sentence``.
        is_imported: Whether the texts were written for other readers; fewer rules are checked then.
        files: Content that calls return: its SHA-256 → text, or bytes.
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
