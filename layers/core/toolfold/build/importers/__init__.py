"""Importers: read the tools of sources that describe themselves, a module for each kind.

``base`` is their interface, and :func:`find_importer` returns the one of a kind. ``Importer.read`` reads the files in
the folder of its source and nothing else; ``Importer.fetch`` is what reaches a service.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolfold.build.importers.base import Importer

_BY_HAND = "toolfold.build.importers.http_api:HttpApiImporter"

IMPORTERS: Mapping[str, str] = {
    "http_api": _BY_HAND,
    "mcp": "toolfold.build.importers.mcp:McpImporter",
    "openapi": "toolfold.build.importers.openapi.importer:OpenApiImporter",
    "skills": "toolfold.build.importers.skills:SkillsImporter",
    "sql": "toolfold.build.importers.sql:SqlImporter",
}
"""Kind of source → module and class. Tools of any other kind are written by hand, as those of ``http_api`` are."""


def find_importer(kind: str) -> type[Importer[Any]]:
    """Return the importer of a kind of source."""
    module, _, name = IMPORTERS.get(kind, _BY_HAND).partition(":")
    importer: type[Importer[Any]] = getattr(importlib.import_module(module), name)
    return importer
