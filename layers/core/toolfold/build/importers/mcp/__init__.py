"""Import the tools of MCP servers: ``source.yaml`` says how a server is reached, ``snapshot.json`` what it lists.

``importer`` reads both, converts older schemas, and never connects; ``refresh`` connects and writes the snapshot, which
a person reviews before it is compiled. May import ``build.importers.base``, ``sources.mcp`` and
what those may.
"""
