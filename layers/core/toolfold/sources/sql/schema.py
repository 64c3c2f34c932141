"""Describe a database: how it is reached and read, its tables as a snapshot has them, and the rows of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from toolfold.catalog.contract import is_part
from toolfold.catalog.reader import damaged
from toolfold.fuzzy import match_any
from toolfold.results.values import sql_identifier, unique_names

if TYPE_CHECKING:
    from toolfold.catalog.entries import Source

_RESERVED = frozenset(
    word
    for line in (
        "all analyse analyze and any array as asc asymmetric authorization between binary both case cast check collate",
        "column concurrently constraint create cross current_catalog current_date current_role current_schema",
        "current_time current_timestamp current_user default deferrable desc distinct do else end escape except",
        "exists false fetch for foreign freeze from full grant group having ilike in index initially inner intersect",
        "into is isnull join lateral leading left like limit localtime localtimestamp natural not notnull null offset",
        "on only or order outer overlaps placing primary references returning right select session_user set similar",
        "some symmetric system_user table tablesample then to trailing transaction true union unique update user using",
        "values variadic verbose when where window with",
    )
    for word in line.split()
)
"""Words that name a table or column in quotes alone, in SQLite or PostgreSQL."""

_MAX_NAMES = 10
"""Names of views in a sentence."""

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


def sql_name(name: str, *, folds_case: bool = True) -> str:
    """Return ``name`` as a statement writes it: in quotes where it needs them.

    Args:
        name: of a table or column.
        folds_case: whether the database reads a name without quotes in lower case, as PostgreSQL does.

    Example:
        >>> sql_name("total"), sql_name("createdAt"), sql_name("order")
        ('total', '"createdAt"', '"order"')
    """
    plain = name if folds_case else name.lower()
    if _PLAIN.fullmatch(plain) and plain not in _RESERVED:
        return name
    return sql_identifier(name)


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: its name.
        type: its type as the database writes it.
        nullable: whether it may be NULL.
        key: ``primary key``, ``unique`` and ``references table(column)``, separated by commas; may be empty.
        description: the comment on it; SQLite has none.
    """

    name: str
    type: str
    nullable: bool = True
    key: str = ""
    description: str = ""


@dataclass(frozen=True)
class Table:
    """A table or view.

    Attributes:
        schema: the schema that it is in; empty in SQLite.
        name: its name.
        kind: ``table``, ``view``, ``materialized view`` or ``foreign table``.
        description: the comment on it; SQLite has none.
        columns: the columns that the role may read.
    """

    schema: str
    name: str
    kind: str = "table"
    description: str = ""
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True)
class SqlSettings:
    """Which tables of a database a source has.

    Attributes:
        schemas: patterns of schemas. SQLite has none.
        include: patterns of tables, as ``name`` or ``schema.name``; ``*`` and ``?`` as in file names.
        exclude: the same, for tables that are left out although ``include`` names them.
    """

    dialect: Literal["sqlite", "postgresql"]
    schemas: tuple[str, ...] = ("public",)
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()

    @classmethod
    def from_source(cls, source: Source) -> SqlSettings:
        """Return the settings in the catalog's entry of ``source``."""
        connection: Mapping[str, Any] = source.connection
        if not is_part("DatabaseConnection", connection):
            raise damaged(f"the connection of source {source.id!a} is not one of a database")
        patterns = [name for name in ("schemas", "include", "exclude") if name in connection]
        return cls(connection["dialect"], **{name: tuple(connection[name]) for name in patterns})

    def has_schema(self, schema: str) -> bool:
        """Return whether the tables of ``schema`` may be read."""
        return match_any([schema], self.schemas)

    def has_table(self, schema: str, name: str) -> bool:
        """Return whether a table of an accepted schema may be read."""
        names = (name.lower(), f"{schema}.{name}".lower())
        return match_any(names, map(str.lower, self.include)) and not match_any(names, map(str.lower, self.exclude))


@dataclass(frozen=True)
class DatabaseSchema:
    """The tables of a database that a source has.

    Attributes:
        tables: sorted by schema and name.
        left_out: schema and name of each other table in the same schemas.
        search_path: the schemas in which PostgreSQL finds a table that is named without one, in this order.
        skipped: views that the database cannot plan.
        functions: those that PostgreSQL calls for a name behind a dot.
    """

    tables: tuple[Table, ...] = ()
    left_out: frozenset[tuple[str, str]] = frozenset()
    search_path: tuple[str, ...] = ()
    skipped: tuple[str, ...] = field(default=(), compare=False)
    functions: frozenset[str] = field(default=frozenset(), compare=False)

    def display_name(self, table: Table) -> str:
        """Return the name by which a statement reads ``table``: with its schema where there are several."""
        name = self.sql_name(table.name)
        return f"{self.sql_name(table.schema)}.{name}" if len(self.search_path) > 1 else name

    def sql_name(self, name: str) -> str:
        """Return the name of a table or column as a statement writes it."""
        return sql_name(name, folds_case=bool(self.search_path))

    def find(self, name: str) -> Table | None:
        """Return the table that a caller names, with or without schema and quotes, in any case; None without it.

        Where several schemas have it, the first of the search path decides.
        """
        wanted = name.replace('"', "").strip()
        path = self.search_path
        tables = sorted(self.tables, key=lambda one: path.index(one.schema) if one.schema in path else len(path))
        for folded in (str, str.lower):
            for table in tables:
                if folded(wanted) in (folded(table.name), folded(f"{table.schema or 'main'}.{table.name}")):
                    return table
        return None

    def names(self) -> list[str]:
        """Return the names of all tables."""
        return [self.display_name(table) for table in self.tables]

    def skipped_note(self) -> str:
        """Return a sentence about the views that the database cannot plan; empty without any."""
        listed = ", ".join(ascii(name) for name in self.skipped[:_MAX_NAMES])
        more = f", and {len(self.skipped) - _MAX_NAMES:,} more" if len(self.skipped) > _MAX_NAMES else ""
        return f"the database cannot plan these views, which are left out: {listed}{more}" if listed else ""


MAX_NAME_BYTES = 63
"""Of an identifier of PostgreSQL, which cuts longer ones."""

_UNNAMED = ("", "?column?")


@dataclass(frozen=True)
class Rows:
    """The first rows of a result.

    Attributes:
        columns: the names of the columns; no two are equal.
        lines: the rows, each a JSON object.
        has_more: whether there were more rows.
    """

    columns: tuple[str, ...]
    lines: Sequence[str]
    has_more: bool = False


def column_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names for columns: an expression without a name is ``column_2``, a repeated name ``id_2``.

    Example:
        >>> column_names(["id", "?column?", "id"])
        ('id', 'column_2', 'id_2')
    """
    return unique_names(f"column_{place}" if name in _UNNAMED else name for place, name in enumerate(names, 1))


MAX_ROWS = 1000
"""Rows of one answer. What needs more rows is better aggregated by the database."""

MAX_BYTES = 20_000_000
"""Bytes of one answer as JSON: what a function with 512 MB can parse and select from."""
