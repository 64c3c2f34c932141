"""Find the tables that a statement reads: names that are not those of common table expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from toolfold.sources.sql.schema import DatabaseSchema, Table

__all__ = ["TableReference", "find_table", "table_references"]


_MAX_CHARS = 60


class TableReference(NamedTuple):
    """A table as a statement names it, in lower case where the database reads it so."""

    catalog: str
    schema: str
    name: str
    offset: int | None

    def __str__(self) -> str:
        return ".".join(part for part in self[:3] if part)


def table_references(tree: exp.Expr, dialect: str) -> Iterator[TableReference]:
    """Yield the tables that ``tree`` reads."""
    for node in tree.find_all(exp.Table):
        if isinstance(node.this, exp.Func):
            continue  # it returns rows; its name is checked as that of every function
        if not isinstance(node.this, exp.Identifier):
            yield TableReference("", "", node.sql()[:_MAX_CHARS], None)
            continue
        name = _folded(node.this, dialect)
        schema, catalog = node.args.get("db"), node.args.get("catalog")
        if not schema and _is_common_table(node, name, dialect):
            continue
        yield TableReference(
            _folded(catalog, dialect) if catalog else "",
            _folded(schema, dialect) if schema else "",
            name,
            node.this.meta.get("start"),
        )


def find_table(reference: TableReference, schema: DatabaseSchema) -> Table | None:
    """Return the table of the source that the database reads for ``reference``; None where it has no such table."""
    if reference.catalog:
        return None
    if not schema.search_path:  # SQLite: names of any case
        if reference.schema not in ("", "main"):
            return None
        return next((table for table in schema.tables if _lower(table.name) == reference.name), None)
    tables = {(table.schema, table.name): table for table in schema.tables}
    if reference.schema:
        return tables.get((reference.schema, reference.name))
    if reference.name.startswith("pg_"):  # found in pg_catalog first
        return None
    for one in schema.search_path:
        if (one, reference.name) in schema.left_out:
            return None
        if (one, reference.name) in tables:
            return tables[one, reference.name]
    return None


def _folded(identifier: exp.Expr, dialect: str) -> str:
    is_exact = dialect == "postgresql" and bool(identifier.args.get("quoted"))
    return identifier.name if is_exact else _lower(identifier.name)


def _lower(name: str) -> str:
    """Return ``name`` with the letters of ASCII in lower case, and no others: as both databases read it."""
    return name if name.isascii() and name.islower() else "".join(_lower_letter(letter) for letter in name)


def _lower_letter(letter: str) -> str:
    return letter.lower() if letter.isascii() else letter


def _is_common_table(node: exp.Table, name: str, dialect: str) -> bool:
    """Return whether ``name`` is, at ``node``, a common table expression that an enclosing query defines.

    Without ``RECURSIVE``, PostgreSQL knows the earlier ones of the same WITH alone: in ``WITH a AS (SELECT * FROM a)``
    the inner ``a`` is a table.
    """
    child: exp.Expr = node
    parent = node.parent
    while parent is not None:
        clause = parent.args.get("with_") or parent.args.get("with")
        if isinstance(parent, exp.With):
            is_recursive = bool(parent.args.get("recursive")) or dialect == "sqlite"
            known = parent.expressions if is_recursive else parent.expressions[: _index(parent.expressions, child)]
            if any(_cte_name(one, dialect) == name for one in known):
                return True
            # The query that has this WITH does not see more of it from in here.
            child, parent = parent.parent or parent, (parent.parent.parent if parent.parent else None)
            continue
        if isinstance(clause, exp.With) and any(_cte_name(one, dialect) == name for one in clause.expressions):
            return True
        child, parent = parent, parent.parent
    return False


def _index(expressions: list[exp.Expr], child: exp.Expr) -> int:
    return next((index for index, one in enumerate(expressions) if one is child), 0)


def _cte_name(expression: exp.Expr, dialect: str) -> str:
    alias = expression.args.get("alias")
    identifier = alias.this if isinstance(alias, exp.TableAlias) else None
    return _folded(identifier, dialect) if isinstance(identifier, exp.Identifier) else ""
