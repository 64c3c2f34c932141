"""Find out whether a role of PostgreSQL can do more than read, and which statement takes that from it.

A read-only transaction is not enough: a superuser reads and writes files of the server by functions, and what
ends the transaction ends its protection. So a role that could write is not used at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

__all__ = ["Refusal", "probe_role"]

ReadRows = Callable[[str], Sequence[Sequence[str | None]]]

_DANGEROUS_ROLES = (
    "pg_read_server_files",
    "pg_write_server_files",
    "pg_execute_server_program",
    "pg_write_all_data",
    "pg_signal_backend",
    "pg_maintain",
    "pg_checkpoint",
    "pg_create_subscription",
    "pg_use_reserved_connections",
    "rds_superuser",
    "rds_replication",
    "rdsadmin",
    "cloudsqlsuperuser",
    "alloydbsuperuser",
    "azure_pg_admin",
)
"""Roles of PostgreSQL and of its managed services that do more than read tables."""

_NAMES = ", ".join(f"'{name}'" for name in _DANGEROUS_ROLES)

# Role, whether superuser, createrole, createdb and replication; superusers and dangerous roles that it is a member of.
_ROLE = f"""
SELECT quote_ident(r.rolname), r.rolname, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication,
  (SELECT json_agg(quote_ident(m.rolname) ORDER BY NOT m.rolsuper, m.rolname) FROM pg_catalog.pg_roles m
   WHERE m.oid <> r.oid AND (m.rolsuper OR m.rolname IN ({_NAMES})) AND pg_has_role(r.oid, m.oid, 'MEMBER'))
FROM pg_catalog.pg_roles r WHERE r.rolname IN (session_user, current_user)
"""  # noqa: S608 - constants

# What the role owns, and what it, its groups or PUBLIC were granted: kind, name, privilege, who has it.
_RIGHTS = """
WITH me AS (SELECT oid FROM pg_catalog.pg_roles WHERE rolname IN (session_user, current_user)),
relations AS (
  SELECT c.oid, c.relacl, c.relowner, c.relkind, n.nspname, format('%I.%I', n.nspname, c.relname) AS name
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
),
rights AS (
  SELECT 'TABLE' AS kind, t.name, 'OWNER' AS privilege, t.relowner AS grantee FROM relations t
  UNION ALL
  SELECT CASE t.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, t.name, x.privilege_type, x.grantee
  FROM relations t CROSS JOIN LATERAL aclexplode(t.relacl) x
  WHERE x.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'MAINTAIN')
     OR (t.relkind = 'S' AND x.privilege_type = 'USAGE')
  UNION ALL
  SELECT 'TABLE', t.name, format('%s (%I)', x.privilege_type, a.attname), x.grantee
  FROM relations t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid CROSS JOIN LATERAL aclexplode(a.attacl) x
  WHERE x.privilege_type IN ('INSERT', 'UPDATE')
  UNION ALL
  SELECT 'SCHEMA', quote_ident(n.nspname), x.privilege_type, x.grantee
  FROM pg_catalog.pg_namespace n
  CROSS JOIN LATERAL aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) x
  WHERE x.privilege_type = 'CREATE' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  UNION ALL
  SELECT 'DATABASE', quote_ident(d.datname), x.privilege_type, x.grantee
  FROM pg_catalog.pg_database d CROSS JOIN LATERAL aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) x
  WHERE d.datname = current_database() AND x.privilege_type = 'CREATE'
)
SELECT DISTINCT r.kind, r.name, r.privilege, CASE r.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(g.rolname) END
FROM rights r LEFT JOIN pg_catalog.pg_roles g ON g.oid = r.grantee
WHERE r.grantee = 0 OR EXISTS (SELECT FROM me WHERE pg_has_role(me.oid, r.grantee, 'USAGE'))
ORDER BY 1 DESC, 2, 3
LIMIT 1000
"""


class Refusal(NamedTuple):
    """Why a role is refused.

    Attributes:
        problem: one sentence that says what it may do.
        remedy: one sentence with the statements that make a right role.
    """

    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}"


def probe_role(read_rows: ReadRows, schemas: Sequence[str]) -> Refusal | None:
    """Return why the role of a connection is refused, or None for one that can only read.

    Args:
        read_rows: runs a statement.
        schemas: the schemas that the source reads, for the statements of the remedy.
    """
    for quoted, name, is_super, may_create_roles, may_create_databases, may_replicate, groups in read_rows(_ROLE):
        new_role = _new_role(schemas)
        if is_super == "t":
            return Refusal(f"The role {name} is a superuser.", new_role)
        for has, what, attribute in (
            (may_create_roles, "may create roles", "NOCREATEROLE"),
            (may_create_databases, "may create databases", "NOCREATEDB"),
            (may_replicate, "may replicate the whole server", "NOREPLICATION"),
        ):
            if has == "t":
                return Refusal(f"The role {name} {what}.", f"Run: ALTER ROLE {quoted} {attribute};")
        for group in json.loads(groups or "null") or ():
            return Refusal(
                f"The role {name} is a member of {group}, which may do more than read.",
                f"Run: REVOKE {group} FROM {quoted};",
            )
    return _refuse_rights(read_rows(_RIGHTS), read_rows, schemas)


def _refuse_rights(
    rights: Sequence[Sequence[str | None]], read_rows: ReadRows, schemas: Sequence[str]
) -> Refusal | None:
    if not rights:
        return None
    ((role,),) = read_rows("SELECT session_user")
    kind, name, privilege, grantee = rights[0]
    same = [right for right in rights if right[0] == kind and right[2] == privilege]
    others = f" and {len({right[1] for right in rights}) - 1} more" if len({right[1] for right in rights}) > 1 else ""
    if any(right[2] == "OWNER" for right in rights):
        owned = next(right[1] for right in rights if right[2] == "OWNER")
        return Refusal(f"The role {role} owns {owned}, so it may change it.", _new_role(schemas))
    privileges = ", ".join(dict.fromkeys(str(right[2]) for right in rights if right[1] == name and right[0] == kind))
    group = "" if grantee in (role, f'"{role}"') else f" through {grantee}"
    is_whole_schema = kind == "TABLE" and len(same) > 1 and "(" not in (privilege or "")
    target = f"ALL TABLES IN SCHEMA {(name or '').partition('.')[0]}" if is_whole_schema else f"{kind} {name}"
    return Refusal(
        f"The role {role} has {privileges} on {(kind or '').lower()} {name}{others}{group}.",
        f"Run: REVOKE {privileges} ON {target} FROM {grantee};",
    )


def _new_role(schemas: Sequence[str]) -> str:
    grants = " ".join(
        f"GRANT USAGE ON SCHEMA {schema} TO toolfold_reader; "
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO toolfold_reader;"
        for schema in list(schemas)[:3] or ["public"]
    )
    return f"Make one that can only read, and use it: CREATE ROLE toolfold_reader LOGIN PASSWORD '…'; {grants}"
