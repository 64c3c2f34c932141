"""Compile OpenAPI 3.0 and 3.1 documents to tools with HTTP bindings, and fetch documents that a service publishes.

May import ``build.importers.base``, ``catalog``, ``results.values`` and pydantic; ``refresh`` also ``network``.
Imported by ``build.importers``, by kind.
"""

__all__ = [
    "arguments",
    "bodies",
    "document",
    "filters",
    "importer",
    "operations",
    "pruning",
    "references",
    "refresh",
    "returns",
    "schema_parts",
    "schemas",
    "security",
    "servers",
    "settings",
    "swagger",
    "texts",
    "yaml_document",
]
