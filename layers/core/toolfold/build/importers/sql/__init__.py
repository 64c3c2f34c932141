"""SQL databases: ``importer`` makes three tools of a snapshot; ``refresh`` reads it from the database.

May import ``build.importers.base``, ``build.schema``, ``build.yaml_loader`` and ``sources.sql``.
"""
