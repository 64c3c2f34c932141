"""Find the tables and columns that a statement reads, and check that its source has them.

In PostgreSQL ``c.poke`` is the function call ``poke(c)`` where the table ``c`` has no column ``poke``. So a column with
a table before it must be a column of that table.

A name before a column is compared with every query around it that could give it, not with the nearest alone: which of
them the database sees depends on ``LATERAL``. The column must be known in each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from toolfold.sources.sql.errors import DatabaseFailure, FailureKind
from toolfold.sources.sql.schema import MAX_NAME_BYTES, DatabaseSchema, Table

_MAX_CHARS = 60

_MAX_COLUMNS = 2_000
"""Columns of a query: more than either database allows. Stars of stars would double them."""

_FUNCTION_COLUMNS = {
    "sqlite": dict.fromkeys(("json_each", "json_tree"), "key value type atom id parent fullkey path json root"),
    "postgresql": {
        **dict.fromkeys(("json_each", "jsonb_each", "json_each_text", "jsonb_each_text"), "key value"),
        **dict.fromkeys((f"json{b}_array_elements{text}" for b in ("", "b") for text in ("", "_text")), "value"),
    },
}
"""The columns of functions that return rows; of every other one the column has the name of its table."""

_ROW_NUMBERS = {"sqlite": ("rowid", "oid", "_rowid_"), "postgresql": ()}
"""Columns that every table has."""

_SOURCES = (exp.Table, exp.Subquery, exp.Lateral, exp.Unnest, exp.Values)


class TableReference(NamedTuple):
    """A table as a statement names it, in lower case where the database reads it so."""

    catalog: str
    schema: str
    name: str
    offset: int | None

    def __str__(self) -> str:
        return ".".join(part for part in self[:3] if part)


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


class References:
    """The names in one statement.

    Args:
        tree: the statement.
        dialect: ``sqlite`` or ``postgresql``.
        schema: the tables of the source.
        functions: names that may be called; ``c.upper`` is ``upper(c)``, and may be written.
    """

    def __init__(self, tree: exp.Expr, dialect: str, schema: DatabaseSchema, functions: frozenset[str]) -> None:
        self._tree, self._dialect, self._schema, self._functions = tree, dialect, schema, functions
        self._columns: dict[int, list[str]] = {}
        self._sources: dict[int, list[exp.Expr]] = {}
        self._withs: dict[int, dict[str, exp.CTE]] = {}

    def check_tables(self) -> tuple[Table, ...]:
        """Return the tables that the statement reads."""
        found = []
        for node in self._tree.find_all(exp.Table):
            # What returns rows is a function, whose name is checked as that of every other one.
            if not isinstance(node.this, exp.Func) and self._common_table(node) is None:
                reference = self._reference(node)
                table = find_table(reference, self._schema)
                if table is None:
                    raise DatabaseFailure(FailureKind.NO_TABLE, str(reference), reference.offset)
                found.append(table)
        return tuple(found)

    def check_columns(self) -> None:
        """Check that each column with a table before it is a column of that table."""
        for column in self._tree.find_all(exp.Column):
            qualifier = column.args.get("table")
            if qualifier is None or isinstance(column.this, exp.Star):
                continue
            table, name = self._folded(qualifier), self._folded(column.this)
            candidates = [
                source
                for query in _queries_around(column)
                for source in self._sources_of(query)
                if self._has_name(source, table)
            ]
            if candidates and name in self._functions:
                continue
            if not candidates or any(name not in self._columns_of(source) for source in candidates):
                written, offset = f"{qualifier.name}.{column.name}", qualifier.meta.get("start")
                raise DatabaseFailure(FailureKind.NO_COLUMN, written, offset)

    def _reference(self, node: exp.Table) -> TableReference:
        if not isinstance(node.this, exp.Identifier):
            return TableReference("", "", node.sql()[:_MAX_CHARS], None)
        schema, catalog = node.args.get("db"), node.args.get("catalog")
        return TableReference(
            self._folded(catalog) if catalog else "",
            self._folded(schema) if schema else "",
            self._folded(node.this),
            node.this.meta.get("start"),
        )

    def _folded(self, identifier: exp.Expr) -> str:
        is_exact = self._dialect == "postgresql" and bool(identifier.args.get("quoted"))
        name = identifier.name if is_exact else _lower(identifier.name)
        return name.encode()[:MAX_NAME_BYTES].decode(errors="ignore") if self._dialect == "postgresql" else name

    def _common_table(self, node: exp.Table) -> exp.CTE | None:
        """Return the common table expression that ``node`` reads; None: it is a table.

        Without ``RECURSIVE``, PostgreSQL knows the earlier ones of the same WITH alone: in
        ``WITH a AS (SELECT * FROM a)`` the inner ``a`` is a table.
        """
        if not isinstance(node.this, exp.Identifier) or node.args.get("db"):
            return None
        name = self._folded(node.this)
        child: exp.Expr = node
        parent = node.parent
        while parent is not None:
            is_inside = isinstance(parent, exp.With)
            clause = parent if is_inside else parent.args.get("with_")
            if isinstance(clause, exp.With):
                found = self._common_tables(clause).get(name)
                is_recursive = self._dialect == "sqlite" or bool(clause.args.get("recursive"))
                if found is not None and (not is_inside or is_recursive or (found.index or 0) < (child.index or 0)):
                    return found
            if is_inside:  # the query that has this WITH does not see more of it from in here
                parent = parent.parent or parent
            child, parent = parent, parent.parent
        return None

    def _common_tables(self, clause: exp.With) -> dict[str, exp.CTE]:
        """Return the common table expressions of a WITH by name; of equal names the first."""
        if id(clause) not in self._withs:
            known = [one for one in reversed(clause.expressions) if isinstance(one, exp.CTE)]
            self._withs[id(clause)] = {self._alias_of(one): one for one in known}
        return self._withs[id(clause)]

    # Sources: what a query reads in FROM and JOIN

    def _sources_of(self, query: exp.Select) -> list[exp.Expr]:
        """Return what a query may read, also inside the parentheses of joins."""
        if id(query) not in self._sources:
            parts = [query.args.get("from_"), *(query.args.get("joins") or ()), *(query.args.get("laterals") or ())]
            self._sources[id(query)] = [
                node
                for part in parts
                if part is not None
                for node in part.walk(prune=lambda one: isinstance(one, exp.Select | exp.SetOperation))
                if isinstance(node, _SOURCES)
            ]
        return self._sources[id(query)]

    def _has_name(self, source: exp.Expr, name: str) -> bool:
        if alias := self._alias_of(source):
            return alias == name
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            return self._folded(source.this) == name
        # A function without an alias has its own name. sqlglot has not kept how that was written.
        called = source.this if isinstance(source, exp.Table | exp.Lateral) else source
        if isinstance(called, exp.Anonymous):
            return _lower(called.name) == name
        return isinstance(called, exp.Func) and name in self._functions

    def _alias_of(self, source: exp.Expr) -> str:
        alias = source.args.get("alias")
        name = alias.this if isinstance(alias, exp.TableAlias) else None
        return self._folded(name) if isinstance(name, exp.Identifier) else ""

    def _columns_of(self, source: exp.Expr) -> list[str]:
        if id(source) not in self._columns:
            self._columns[id(source)] = []  # of a common table expression that reads itself
            alias = source.args.get("alias")
            renamed = [self._folded(one if isinstance(one, exp.Identifier) else one.this) for one in
                       (alias.args.get("columns") or () if isinstance(alias, exp.TableAlias) else ())]  # fmt: skip
            self._columns[id(source)] = renamed + self._own_columns(source)[len(renamed) :]
        return self._columns[id(source)]

    def _own_columns(self, source: exp.Expr) -> list[str]:
        if isinstance(source, exp.Values | exp.CTE):
            return self._outputs(source if isinstance(source, exp.Values) else source.this)
        if isinstance(source, exp.Subquery):
            inner = source.this
            if isinstance(inner, exp.Query):
                return self._outputs(inner)
            parts = inner.walk(prune=lambda one: isinstance(one, exp.Query) and bool(one.args.get("alias")))
            return [name for node in parts if isinstance(node, _SOURCES) for name in self._columns_of(node)]
        if isinstance(source, exp.Lateral) and isinstance(source.this, exp.Subquery):
            return self._own_columns(source.this)
        called = source.this if isinstance(source, exp.Table | exp.Lateral) else source
        if not isinstance(called, exp.Identifier):
            ordinality = source.args.get("offset")
            return [
                *(_FUNCTION_COLUMNS[self._dialect].get(_lower(called.name), "").split() or [self._alias_of(source)]),
                *([self._folded(ordinality)] if isinstance(ordinality, exp.Identifier) else []),
                *(["ordinality"] if source.args.get("ordinality") else []),
            ]
        assert isinstance(source, exp.Table)  # noqa: S101 - nothing else has an identifier
        if (common := self._common_table(source)) is not None:
            return self._columns_of(common)
        table = find_table(self._reference(source), self._schema)
        if table is None:
            return []
        names = (*(column.name for column in table.columns), *table.hidden_columns, *_ROW_NUMBERS[self._dialect])
        return [name if self._dialect == "postgresql" else _lower(name) for name in names]

    def _outputs(self, query: exp.Expr) -> list[str]:
        """Return the names of the columns that a query returns; empty for an expression without one."""
        while isinstance(query, exp.SetOperation | exp.Subquery):
            query = query.this
        if isinstance(query, exp.Values):
            width = max((len(row.expressions) for row in query.expressions), default=0)
            return [f"column{number}" for number in range(1, width + 1)]
        if not isinstance(query, exp.Select):
            return []
        names = []
        for expression in query.expressions:
            is_star = isinstance(expression, exp.Star) or isinstance(expression.this, exp.Star)
            if is_star and isinstance(expression, exp.Star | exp.Column):
                table = expression.args.get("table")
                for source in self._sources_of(query):
                    if table is None or self._has_name(source, self._folded(table)):
                        names += self._columns_of(source)
                    if len(names) > _MAX_COLUMNS:
                        problem = f"a query has more than {_MAX_COLUMNS:,} columns"
                        raise DatabaseFailure(FailureKind.NOT_ALLOWED, problem)
            else:
                inner = expression
                while isinstance(inner, exp.Cast | exp.Collate | exp.Paren):
                    inner = inner.this
                name = inner.args.get("alias") if isinstance(inner, exp.Alias) else inner.this
                if isinstance(inner, exp.Alias | exp.Column) and isinstance(name, exp.Identifier):
                    names.append(self._folded(name))
                else:
                    names.append("")
        return names


def _queries_around(node: exp.Expr) -> Iterator[exp.Select]:
    """Yield the queries whose tables may be visible at ``node``: not that which has the WITH around it."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.With):
            parent = parent.parent
        elif isinstance(parent, exp.Select):
            yield parent
        parent = parent.parent if parent is not None else None


def _lower(name: str) -> str:
    """Return ``name`` with the letters of ASCII in lower case, and no others: as both databases read it."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)
