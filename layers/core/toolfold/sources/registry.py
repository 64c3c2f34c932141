"""Find the adapter of a source by its kind, ``kind`` in ``source.yaml``."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolfold.errors import CatalogUnavailable
from toolfold.messages import TELL_OPERATOR_TO

logger = logging.getLogger("toolfold")

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source
    from toolfold.sources.base import AdapterContext, AdapterFactory, SourceAdapter

_HTTP = "toolfold.sources.http_api.adapter:HttpApiAdapter"

BUILT_IN: Mapping[str, str] = {
    "alpha_vantage": "toolfold.sources.alpha_vantage:AlphaVantageAdapter",
    "http_api": _HTTP,
    "mcp": "toolfold.sources.mcp.adapter:McpAdapter",
    "openapi": _HTTP,
    "skills": "toolfold.sources.skills:SkillsAdapter",
    "sql": "toolfold.sources.sql.adapter:SqlAdapter",
}
"""Kind → module and factory. Imported by the first call, so that listing tools never pays for it."""

ENTRY_POINT_GROUP = "toolfold.adapters"
"""Installed packages offer adapters under this group of entry points, by the name of the kind."""


class AdapterRegistry:
    """Make adapters by name.

    Args:
        factories: further adapters, by name. They come before built-in ones, and those before entry points.
    """

    def __init__(self, factories: Mapping[str, AdapterFactory] | None = None) -> None:
        self._factories: dict[str, AdapterFactory] = dict(factories or {})

    def create(self, source: Source, context: AdapterContext) -> SourceAdapter:
        """Make the adapter of ``source``.

        Raises:
            CatalogUnavailable: no adapter of that name is installed, or it cannot be imported.
        """
        return (self._factories.get(source.kind) or _load(source))(source, context)


def adapter_names() -> list[str]:
    """Return the names of all adapters that :class:`AdapterRegistry` finds here: built-in ones and entry points."""
    from importlib.metadata import entry_points

    return sorted({*BUILT_IN, *(entry_point.name for entry_point in entry_points(group=ENTRY_POINT_GROUP))})


def _load(source: Source) -> AdapterFactory:
    name = source.kind
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        factory: AdapterFactory = getattr(importlib.import_module(module), attribute)
        return factory
    from importlib.metadata import entry_points

    for entry_point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        try:
            loaded: AdapterFactory = entry_point.load()
        except (ImportError, AttributeError) as error:
            logger.error("adapter %s cannot be imported: %s", name, type(error).__name__)
            break
        return loaded
    raise CatalogUnavailable(
        f"{source.title} cannot be reached: its adapter is not installed here.",
        TELL_OPERATOR_TO.filled(do=f"install the package with the adapter {name}."),
    )
