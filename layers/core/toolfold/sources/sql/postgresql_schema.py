"""Read the tables of a PostgreSQL database that its role may read: two statements for any number of tables."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence

from toolfold.sources.sql.schema import Column, DatabaseSchema, Table, TableFilter

__all__ = ["read_schema"]

ReadRows = Callable[[str], Sequence[Sequence[str | None]]]
"""Runs a statement without parameters and returns its rows as texts."""

_SCHEMAS = """
SELECT nspname FROM pg_catalog.pg_namespace
WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'USAGE')
ORDER BY nspname
"""

# One row for each table, its columns as JSON. Partitions are left out: they are read through their table.
_TABLES = """
SELECT n.nspname, c.relname, c.relkind, obj_description(c.oid, 'pg_class'), c.reltuples::bigint,
  has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'),
  (SELECT json_agg(json_build_array(
      a.attname,
      format_type(a.atttypid, a.atttypmod) || coalesce(
        (SELECT ' (' || string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder) || ')'
         FROM (SELECT * FROM pg_catalog.pg_enum WHERE enumtypid = a.atttypid ORDER BY enumsortorder LIMIT 30) e), ''),
      NOT a.attnotnull,
      col_description(c.oid, a.attnum)) ORDER BY a.attnum)
   FROM pg_catalog.pg_attribute a
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     AND has_column_privilege(c.oid, a.attnum, 'SELECT'))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND has_schema_privilege(n.oid, 'USAGE')
ORDER BY n.nspname, c.relname
"""

_KEYS = """
SELECT n.nspname, c.relname, k.contype, m.nspname, f.relname,
  (SELECT json_agg(json_build_array(a.attname, b.attname) ORDER BY u.position)
   FROM unnest(k.conkey, coalesce(k.confkey, '{}')) WITH ORDINALITY AS u(own, other, position)
   JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.own
   LEFT JOIN pg_catalog.pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.other)
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_class f ON f.oid = k.confrelid LEFT JOIN pg_catalog.pg_namespace m ON m.oid = f.relnamespace
WHERE k.contype IN ('p', 'u', 'f') AND NOT c.relispartition
  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY n.nspname, c.relname, k.contype DESC, k.conname
"""

_KINDS = {"r": "table", "p": "table", "v": "view", "m": "materialized view", "f": "foreign table"}


def read_schema(read_rows: ReadRows, tables: TableFilter) -> DatabaseSchema:
    """Return the tables of a database that ``tables`` accepts and the role may read."""
    schemas = [name for (name,) in read_rows(_SCHEMAS) if name is not None and tables.has_schema(name)]
    schemas.sort(key=lambda name: _position(name, tables))
    keys = _read_keys(read_rows, several=len(schemas) > 1)
    found, left_out = [], set()
    others: dict[str, None] = {}
    for schema, name, kind, description, rows, is_readable, columns in read_rows(_TABLES):
        if schema is None or name is None or kind is None:
            continue
        if schema not in schemas:
            if is_readable == "t":
                others[schema] = None
            continue
        if is_readable != "t" or not tables.has_table(schema, name):
            left_out.add((schema, name))
            continue
        count = int(rows or -1)
        found.append(
            Table(
                schema,
                name,
                _KINDS[kind],
                description or "",
                tuple(
                    Column(column, type_, nullable, ", ".join(keys[schema, name, column]), comment or "")
                    for column, type_, nullable, comment in json.loads(columns or "null") or ()
                ),
                count if count >= 0 and kind in "rpm" else None,
            )
        )
    return DatabaseSchema(tuple(found), frozenset(left_out), tuple(schemas) or ("public",), tuple(others))


def _position(schema: str, tables: TableFilter) -> tuple[int, str]:
    """Return where a schema is in the search path: in the order of the source's own list."""
    exact = tables.schemas.index(schema) if schema in tables.schemas else len(tables.schemas)
    return exact, schema


def _read_keys(read_rows: ReadRows, *, several: bool) -> defaultdict[tuple[str, str, str], list[str]]:
    """Return the keys of each column, by schema, table and column."""
    keys: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for schema, table, kind, other_schema, other, columns in read_rows(_KEYS):
        pairs = json.loads(columns or "[]")
        for own, referred in pairs:
            name = f"{other_schema}.{other}" if several or other_schema != schema else other
            text = {"p": "primary key", "u": "unique", "f": f"references {name}({referred})"}[kind or "u"]
            if kind != "u" or len(pairs) == 1:  # a column of a unique pair is not unique
                keys[schema or "", table or "", own].append(text)
    return keys
