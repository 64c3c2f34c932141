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

IMPORTERS: Mapping[str, str] = {
    "http_api": "toolfold.build.importers.http_api:HttpApiImporter",
    "mcp": "toolfold.build.importers.mcp:McpImporter",
    "openapi": "toolfold.build.importers.openapi.importer:OpenApiImporter",
    "skills": "toolfold.build.importers.skills:SkillsImporter",
    "sql": "toolfold.build.importers.sql:SqlImporter",
}
"""Kind of source → module and class. A kind without an importer is written by hand, in files of categories."""


def find_importer(kind: str) -> Importer[Any] | None:
    """Return the importer of a kind of source, or None for a kind that is written by hand."""
    if kind not in IMPORTERS:
        return None
    module, _, name = IMPORTERS[kind].partition(":")
    importer: Importer[Any] = getattr(importlib.import_module(module), name)()
    return importer
