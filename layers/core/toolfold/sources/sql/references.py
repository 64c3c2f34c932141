"""Find the tables that a statement reads, and refuse names that PostgreSQL would call as functions.

In PostgreSQL ``c.poke`` is the function call ``poke(c)`` where the table ``c`` has no column ``poke``. So a name behind
a dot must not be that of such a function, unless it is a column of all that the statement calls ``c``.
"""

from __future__ import annotations

from collections import defaultdict

from sqlglot import exp

from toolfold.sources.sql.errors import DatabaseFailure, FailureKind
from toolfold.sources.sql.schema import MAX_NAME_BYTES, DatabaseSchema, Table
from toolfold.text_safety import quoted_name

_MAX_CHARS = 60
_SOURCES = (exp.Table, exp.Subquery, exp.Lateral, exp.Unnest, exp.Values, exp.CTE)


def _find_table(path: tuple[str, ...], schema: DatabaseSchema) -> Table | None:
    """Return the table that the database reads for a name, perhaps with a schema; None where the source has none."""
    *before, name = path
    if not schema.search_path:  # SQLite: names of any case
        is_main = before in ([], ["main"])
        return next((table for table in schema.tables if is_main and _lower(table.name) == name), None)
    tables = {(table.schema, table.name): table for table in schema.tables}
    if len(before) == 1:
        return tables.get((before[0], name))
    if before or name.startswith("pg_"):  # found in pg_catalog first
        return None
    readable = (one for one in schema.search_path if (one, name) in schema.left_out or (one, name) in tables)
    return tables.get((next(readable, ""), name))


class References:
    """The names in one statement of a dialect over the tables of ``schema``."""

    def __init__(self, tree: exp.Expr, dialect: str, schema: DatabaseSchema) -> None:
        self._tree, self._dialect, self._schema = tree, dialect, schema
        self._withs: dict[int, dict[str, int]] = {}
        self._columns: defaultdict[str, list[frozenset[str]]] = defaultdict(list)

    def check_tables(self) -> tuple[Table, ...]:
        """Return the tables that the statement reads."""
        found = []
        for node in self._tree.find_all(*_SOURCES):
            table = None
            # What returns rows is a function, whose name is checked as that of every other one.
            if isinstance(node, exp.Table) and not isinstance(node.this, exp.Func) and not self._is_common(node):
                parts = node.parts if isinstance(node.this, exp.Identifier) else []
                table = _find_table(tuple(map(self._folded, parts)), self._schema) if parts else None
                if table is None:
                    name = ".".join(map(self._folded, parts)) or node.sql()[:_MAX_CHARS]
                    raise DatabaseFailure(FailureKind.NO_TABLE, name, node.this.meta.get("start") if parts else None)
                found.append(table)
            alias = node.args.get("alias")
            renamed = alias.columns if isinstance(alias, exp.TableAlias) else ()
            columns = table.columns if table and not renamed else ()
            name = alias.this if isinstance(alias, exp.TableAlias) and alias.this else node.this
            if isinstance(name, exp.Identifier):
                self._columns[self._folded(name)].append(frozenset(column.name for column in columns))
        return tuple(found)

    def check_columns(self, allowed: frozenset[str]) -> None:
        """Refuse a name with a table before it that is that of a function, but for those that are ``allowed``."""
        for column in self._tree.find_all(exp.Column):
            qualifier = column.args.get("table")
            if qualifier is None or isinstance(column.this, exp.Star):
                continue
            name, table = self._folded(column.this), self._columns[self._folded(qualifier)]
            if name in self._schema.functions - allowed and not (table and all(name in columns for columns in table)):
                alone = quoted_name(column.name)
                problem = f"{alone} is a function as well, which a name before it would call; write {alone} alone"
                raise DatabaseFailure(FailureKind.STATEMENT, problem, qualifier.meta.get("start"))

    def _folded(self, identifier: exp.Expr) -> str:
        is_exact = self._dialect == "postgresql" and bool(identifier.args.get("quoted"))
        name = identifier.name if is_exact else _lower(identifier.name)
        return name.encode()[:MAX_NAME_BYTES].decode(errors="ignore") if self._dialect == "postgresql" else name

    def _is_common(self, node: exp.Table) -> bool:
        """Return whether ``node`` reads a common table expression.

        Without ``RECURSIVE``, PostgreSQL knows the earlier ones of the same WITH alone: in
        ``WITH a AS (SELECT * FROM a)`` the inner ``a`` is a table.
        """
        if not isinstance(node.this, exp.Identifier) or node.args.get("db"):
            return False
        name = self._folded(node.this)
        child: exp.Expr = node
        while (parent := child.parent) is not None:
            is_inside = isinstance(parent, exp.With)
            clause = parent if is_inside else parent.args.get("with_")
            if isinstance(clause, exp.With):
                place = self._common_tables(clause).get(name)
                sees_all = not is_inside or self._dialect == "sqlite" or bool(clause.args.get("recursive"))
                if place is not None and (sees_all or place < (child.index or 0)):
                    return True
            # The query that has this WITH does not see more of it from in here.
            child = parent.parent or parent if is_inside else parent
        return False

    def _common_tables(self, clause: exp.With) -> dict[str, int]:
        """Return the places of the common table expressions of a WITH by name; of equal names the first."""
        if id(clause) not in self._withs:
            named = [self._folded(one.args["alias"].this) for one in clause.expressions if isinstance(one, exp.CTE)]
            self._withs[id(clause)] = {name: place for place, name in reversed([*enumerate(named)])}
        return self._withs[id(clause)]


def _lower(name: str) -> str:
    """Return ``name`` with the letters of ASCII in lower case, and no others: as both databases read it."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)
