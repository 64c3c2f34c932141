"""Find out whether a role of PostgreSQL can do more than read.

A read-only transaction is not enough: a superuser reads and writes files of the server by functions, and what
ends the transaction ends its protection. So a role that could write is not used at all.

Read the tables of a PostgreSQL database that its role may read: three statements for any number of tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from toolfold.sources.sql.schema import Column, DatabaseSchema, Table, TableFilter

_SCHEMAS = """
SELECT nspname FROM pg_catalog.pg_namespace
WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'USAGE')
ORDER BY nspname
"""

# One row for each table, its columns as JSON. Partitions cannot be named: they are read through their table.
_TABLES = """
SELECT n.nspname, c.relname, c.relkind, coalesce(obj_description(c.oid, 'pg_class'), ''),
  NOT c.relispartition AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT')),
  (SELECT json_agg(json_build_array(
      a.attname,
      format_type(a.atttypid, a.atttypmod) || coalesce(
        (SELECT ' (' || string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder) || ')'
         FROM (SELECT * FROM pg_catalog.pg_enum WHERE enumtypid = a.atttypid ORDER BY enumsortorder LIMIT 30) e), ''),
      NOT a.attnotnull,
      coalesce(
        (SELECT string_agg(CASE k.contype WHEN 'p' THEN 'primary key' WHEN 'u' THEN 'unique' ELSE
           format('references %s%s(%s)', CASE WHEN {several} OR m.nspname <> n.nspname THEN m.nspname || '.' END,
                  f.relname, b.attname) END, ', ' ORDER BY k.contype DESC, k.conname)
         FROM pg_catalog.pg_constraint k
         LEFT JOIN pg_catalog.pg_class f ON f.oid = k.confrelid
         LEFT JOIN pg_catalog.pg_namespace m ON m.oid = f.relnamespace
         LEFT JOIN pg_catalog.pg_attribute b ON b.attrelid = k.confrelid
           AND b.attnum = k.confkey[array_position(k.conkey, a.attnum)]
         WHERE k.conrelid = c.oid AND a.attnum = ANY(k.conkey)
           AND (k.contype IN ('p', 'f') OR (k.contype = 'u' AND cardinality(k.conkey) = 1))), ''),
      coalesce(col_description(c.oid, a.attnum), '')) ORDER BY a.attnum)
   FROM pg_catalog.pg_attribute a
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     AND has_column_privilege(c.oid, a.attnum, 'SELECT'))
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND has_schema_privilege(n.oid, 'USAGE')
ORDER BY n.nspname, c.relname
"""

# Functions of one argument. Those of PostgreSQL that have the name of a type convert to it, and three do no harm.
_FUNCTIONS = """
SELECT DISTINCT p.proname FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_type t ON t.oid = p.prorettype
WHERE p.prokind = 'f' AND p.pronargs > 0 AND (p.pronargs - p.pronargdefaults < 2 OR p.provariadic <> 0)
  AND (p.pronamespace, p.proname) <> ('pg_catalog'::regnamespace, t.typname)
  AND p.proname NOT IN ('bernoulli', 'format', 'system')
"""

_KINDS = {"r": "table", "p": "table", "v": "view", "m": "materialized view", "f": "foreign table"}


def read_schema(read_rows: ReadRows, tables: TableFilter) -> DatabaseSchema:
    """Return the tables of a database that ``tables`` accepts and the role may read."""
    schemas = [name for (name,) in read_rows(_SCHEMAS) if name is not None and tables.has_schema(name)]
    given = tables.schemas  # in this order; those of patterns after them
    schemas.sort(key=lambda name: (given.index(name) if name in given else len(given), name))
    found, left_out = [], set()
    others: dict[str, None] = {}
    for *texts, columns in read_rows(_TABLES.format(several=len(schemas) > 1)):
        schema, name, kind, description, is_readable = map(str, texts)
        if schema not in schemas:
            if is_readable == "t":
                others[schema] = None
        elif is_readable == "t" and tables.has_table(schema, name):
            read = tuple(Column(*column) for column in json.loads(columns or "[]"))
            found.append(Table(schema, name, _KINDS[kind], description, read))
        else:
            left_out.add((schema, name))
    functions = frozenset(name for (name,) in read_rows(_FUNCTIONS) if name)
    path = tuple(schemas) or ("public",)
    return DatabaseSchema(tuple(found), frozenset(left_out), path, tuple(others), functions=functions)


ReadRows = Callable[[str], Sequence[Sequence[str | None]]]

_DANGEROUS_ROLES = (
    "pg_read_server_files pg_write_server_files pg_execute_server_program pg_write_all_data pg_signal_backend"
    " pg_maintain pg_checkpoint pg_create_subscription pg_use_reserved_connections rds_superuser rds_replication"
    " rdsadmin cloudsqlsuperuser alloydbsuperuser azure_pg_admin"
)
"""Roles of PostgreSQL and of its managed services that do more than read tables."""

# What the role may do, or one that it may become: what it owns, and what it and PUBLIC were granted.
_RIGHTS = f"""
WITH me AS (
  SELECT * FROM pg_catalog.pg_roles
  WHERE pg_has_role(session_user, oid, 'MEMBER') OR pg_has_role(current_user, oid, 'MEMBER')
)
SELECT concat_ws(', ', CASE WHEN rolsuper THEN 'SUPERUSER' END, CASE WHEN rolcreaterole THEN 'CREATEROLE' END,
  CASE WHEN rolcreatedb THEN 'CREATEDB' END, CASE WHEN rolreplication THEN 'REPLICATION' END,
  'the rights of ' || quote_ident(rolname)) FROM me
WHERE rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication
  OR rolname = ANY(string_to_array('{_DANGEROUS_ROLES}', ' '))
UNION SELECT format('changing %I.%I', n.nspname, c.relname)
FROM me, pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND (c.relowner = me.oid OR CASE c.relkind
    WHEN 'S' THEN has_sequence_privilege(me.oid, c.oid, 'USAGE, UPDATE')
    ELSE has_table_privilege(me.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
      OR has_any_column_privilege(me.oid, c.oid, 'INSERT, UPDATE') END)
UNION SELECT format('CREATE in the schema %I', n.nspname) FROM me, pg_catalog.pg_namespace n
WHERE has_schema_privilege(me.oid, n.oid, 'CREATE') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
UNION SELECT format('CREATE in the database %I', current_database()) FROM me
WHERE has_database_privilege(me.oid, current_database(), 'CREATE')
ORDER BY 1 DESC LIMIT 3
"""  # noqa: S608 - constants


def probe_role(read_rows: ReadRows, schemas: Sequence[str]) -> str:
    """Return why the role of a connection is refused and what makes a right one; empty for one that can only read."""
    rights = [str(right) for (right,) in read_rows(_RIGHTS)]
    if not rights:
        return ""
    ((role,),) = read_rows("SELECT session_user")
    grants = " ".join(
        f"GRANT USAGE ON SCHEMA {schema} TO toolfold_reader; "
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO toolfold_reader;"
        for schema in list(schemas)[:3] or ["public"]
    )
    return (
        f"The role {role} may do more than read: {', '.join(rights)}. Revoke that from it, its groups and PUBLIC, or "
        f"make one that can only read, and use it: CREATE ROLE toolfold_reader LOGIN PASSWORD '…'; {grants}"
    )
