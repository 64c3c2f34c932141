"""SQL databases as sources: ``adapter`` answers calls; ``guard`` checks statements; one module reads each dialect.

May import ``catalog``, ``models``, ``settings``, ``errors``, ``sources.base`` and ``sources.errors``. sqlglot, sqlite3
and psycopg are imported by the first call that needs them.
"""

__all__ = [
    "adapter",
    "connection_secret",
    "database_reader",
    "errors",
    "functions",
    "guard",
    "pool",
    "postgresql_database",
    "postgresql_errors",
    "postgresql_parameters",
    "postgresql_role",
    "postgresql_schema",
    "rows",
    "schema",
    "source_settings",
    "sqlite_authorizer",
    "sqlite_database",
    "sqlite_errors",
    "sqlite_functions",
    "sqlite_schema",
    "statement_parameters",
    "syntax",
    "table_references",
]
