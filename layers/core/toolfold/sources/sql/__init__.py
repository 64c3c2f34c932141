"""SQL databases as sources: ``adapter`` answers calls; ``guard`` checks statements; one module reads each dialect.

sqlglot, sqlite3 and psycopg are imported by the first call that needs them.
"""
