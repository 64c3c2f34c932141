"""Import the tools of MCP servers: ``source.yaml`` says how a server is reached, ``snapshot.json`` what it lists.

``importer`` reads both and never connects, and ``older_schemas`` converts the schemas; ``refresh`` connects and writes
the snapshot, which a person reviews before it is compiled. May import ``build.importers.base``, ``sources.mcp`` and
what those may.
"""

__all__ = ["importer", "older_schemas", "refresh", "settings", "snapshot"]
