"""Read the tables of an SQLite database."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import suppress

from toolfold.sources.sql.schema import Column, DatabaseSchema, Table, TableFilter, sql_name

__all__ = ["read_schema", "shadow_tables"]

_TABLES = """
SELECT name, type FROM pragma_table_list
WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
ORDER BY name COLLATE NOCASE
"""
_SHADOWS = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'"
_KINDS = {"table": "table", "virtual": "table", "view": "view"}


def read_schema(connection: sqlite3.Connection, tables: TableFilter) -> DatabaseSchema:
    """Return the tables of a database that ``tables`` accepts."""
    found, left_out = [], set()
    for name, kind in connection.execute(_TABLES).fetchall():
        if kind == "virtual":
            _connect(connection, name)
        if tables.has_table("main", name):
            found.append(Table("", name, _KINDS[kind], "", _read_columns(connection, name)))
        else:
            left_out.add(("", name))
    return DatabaseSchema(tuple(found), frozenset(left_out))


def shadow_tables(connection: sqlite3.Connection) -> list[str]:
    """Return the tables in which virtual tables, such as those of FTS5, store their data."""
    return [name for (name,) in connection.execute(_SHADOWS)]


def _connect(connection: sqlite3.Connection, table: str) -> None:
    """Let a virtual table declare itself, which it does when it is used first, and which the authorizer denies."""
    with suppress(sqlite3.Error):  # a module that is not in this SQLite
        connection.execute(f"SELECT 1 FROM {sql_name(table, folds_case=False)} LIMIT 0").close()  # noqa: S608 - quoted


def _read_columns(connection: sqlite3.Connection, table: str) -> tuple[Column, ...]:
    keys = _read_keys(connection, table)
    columns = []
    try:
        rows = connection.execute("SELECT * FROM pragma_table_xinfo(?)", (table,)).fetchall()
    except sqlite3.OperationalError:  # a view of a table that was dropped
        return ()
    # hidden: 0 a column, 1 that of a virtual table which SELECT * leaves out, 2 and 3 generated.
    for _, name, type_, not_null, _, primary, hidden in rows:
        if hidden != 1:
            key = ", ".join([*(["primary key"] if primary else []), *keys[name]])
            columns.append(Column(name, type_ or "any", not (not_null or primary), key))
    return tuple(columns)


def _read_keys(connection: sqlite3.Connection, table: str) -> defaultdict[str, list[str]]:
    keys: defaultdict[str, list[str]] = defaultdict(list)
    indexes = 'SELECT name FROM pragma_index_list(?) WHERE "unique" AND origin = ? AND NOT partial'
    for (index,) in connection.execute(indexes, (table, "u")).fetchall():
        names = connection.execute("SELECT name FROM pragma_index_info(?)", (index,)).fetchall()
        if len(names) == 1 and names[0][0]:
            keys[names[0][0]].append("unique")
    foreign = 'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)'
    for name, other, column in connection.execute(foreign, (table,)).fetchall():
        keys[name].append(f"references {other}({column})" if column else f"references {other}")
    return keys
