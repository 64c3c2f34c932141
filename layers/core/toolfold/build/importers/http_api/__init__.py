"""HTTP APIs that a person describes by hand, in ``source.yaml`` and a YAML file for each further category.

``models`` are what the YAML may have, ``tool_binding`` makes the JSON Schema and the HTTP binding of a tool, and
``importer`` reads the files. May import ``build``, ``catalog`` and ``sources.http_api``.
"""

__all__ = ["importer", "models", "tool_binding"]
