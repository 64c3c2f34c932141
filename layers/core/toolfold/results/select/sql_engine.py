"""Run SQL over the tables of one answer, in a database in memory that is closed after the call.

SQLite is the one of the standard library (3.31 or newer, for ``PRAGMA hard_heap_limit``; a build without mathematical
functions is enough). Statements may be hostile. An authorizer lets them read these tables and call
:data:`toolfold.results.select.sql_guard.ALLOWED_FUNCTIONS`, nothing else; ``sql_guard`` bounds texts, expressions, time
and memory; the rows of a result are reserved while they are fetched.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import threading
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.fuzzy import normalize
from toolfold.results.render import dumps_compact
from toolfold.results.select import sql_errors, sql_guard
from toolfold.results.select.sql_functions import FunctionBudget, add_functions
from toolfold.results.tables import Table

DEFAULT_NAME = "data"
"""The name of a table that has none in the document."""

_ROWS_AT_ONCE = 5_000
"""Rows loaded between two looks at the budget."""

_MAX_RESULT_BYTES = 224 << 20
"""Memory of a result: that of all cells of 25 MB. It is taken beside ``sql_guard.MAX_HEAP_BYTES``."""

_BYTES_AT_ONCE = 1 << 20
"""Bytes of a result that are fetched before they are reserved."""

_ROW_BYTES, _CELL_BYTES = 16, 9
"""A row and a number in a page of SQLite; texts come on top."""

_MAX_COLUMNS = 1_000
"""Columns up to which all are declared; of a wider table only those that the statement has in its text. A table of
SQLite has at most 2,000."""

_MAX_TABLES = 64
"""Tables of one statement: what SQLite joins at most."""

_PLAIN_TYPES = frozenset((int, float, str, type(None)))
_NUMBER_TYPES = frozenset((int, float, bool, type(None)))
_MAX_INTEGER = 2**63 - 1

_JOIN_BY_NAME = re.compile(r"\b(?:natural|using)\b", re.I)

_turn = threading.Lock()
"""Locked while a statement runs: the bound on the memory of SQLite, in ``sql_guard``, is one of the process."""


class SqlTables:
    """The tables of an answer as tables of SQL. A context manager, used by one thread.

    A table has the name that it has in the document, or :data:`DEFAULT_NAME`; where there is only one, any other name
    means it as well. Columns have their own names. A cell is a number, text, or null; a boolean is 0 or 1, a list or
    an object its JSON text. ``rowid`` is the index of the row in ``Table.rows`` plus one.

    Args:
        tables: the tables.
        budget: what the call may cost.

    Example:
        >>> prices = Table("", ("date", "close"), [("2026-01-05", 7), ("2026-01-06", 9)])
        >>> with SqlTables([prices], WorkBudget()) as tables:
        ...     tables.query("SELECT max(close), rowid FROM data WHERE date >= ?", ["2026"])
        (['max(close)', 'rowid'], [(9, 2)])
    """

    def __init__(self, tables: Sequence[Table], budget: WorkBudget) -> None:
        self.tables, self._budget = tables, budget
        self._schema: sqlite3.Connection | None = None
        self._data: sqlite3.Connection | None = None
        self._declared: dict[str, _Declared] = {}
        self._loaded: dict[str, set[int]] = {}
        self._reserved = 0
        self._functions = FunctionBudget(budget)

    def __enter__(self) -> SqlTables:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._forget_data()
        if self._schema is not None:
            self._schema.close()
            self._schema = None

    def query(self, statement: str, parameters: Sequence[Any] = ()) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the names of the columns and the rows of a statement.

        ``/`` divides as a calculator does: ``7 / 2`` is 3.5.

        Raises:
            InvalidArguments: it is not a statement that can be run.
            AnswerTooLarge: it would take more time or memory than there is.
        """
        with sql_guard.turn(_turn, self._budget):
            try:
                needed = self._needed_columns(statement, len(parameters))
                return self._run(self._load(needed), statement, parameters)
            except MemoryError:
                raise self._budget.too_large(sql_guard.TOO_MUCH_MEMORY) from None
            except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, ValueError, OverflowError) as error:
                if "too big" in str(error):
                    raise self._budget.too_large(sql_guard.TOO_LONG) from None
                raise sql_errors.explain(str(error), statement, self.tables, sql_guard.ALLOWED_FUNCTIONS) from None

    def problem(self, statement: str) -> str:
        """Return what SQLite says of a statement that cannot be run; empty when it can."""
        with sql_guard.turn(_turn, self._budget):
            try:
                self._needed_columns(statement, 0)
            except MemoryError:
                raise self._budget.too_large(sql_guard.TOO_MUCH_MEMORY) from None
            except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError, ValueError) as error:
                return str(error)
        return ""

    # The schema: tables without rows, to find out which columns a statement reads

    def _needed_columns(self, statement: str, parameters: int) -> dict[str, set[int]]:
        """Return the indexes of the columns that a statement reads of each table, by the tables' names in it."""
        schema = self._schema = self._schema or self._connect()
        reads: dict[str, set[str]] = {}
        explained = f"EXPLAIN {sql_guard.divide_exactly(statement)}"
        for _ in range(_MAX_TABLES):
            reads.clear()
            schema.set_authorizer(sql_guard.Authorizer(self._declared, reads))
            cursor = schema.cursor()
            try:
                with sql_guard.time_limit(schema, self._budget):
                    cursor.execute(explained, (None,) * parameters)
                break
            except sqlite3.OperationalError as error:
                missing = sql_errors.missing_table(str(error))
                table = None if missing is None else self._find_table(missing)
                if missing is None or table is None or missing.lower() in self._declared:
                    raise
                self._declare(schema, missing, table, statement)
            finally:
                cursor.close()
        # The authorizer does not see the columns by which NATURAL and USING join, nor their tables.
        joins_by_name = _JOIN_BY_NAME.search(statement) is not None
        return {
            name: set(declared.names) if joins_by_name else declared.indexes_of(reads.get(name, ()))
            for name, declared in self._declared.items()
        }

    def _find_table(self, name: str) -> Table | None:
        """Return the table called ``name``: by its path, by the last part of it, or the only one."""
        normalized = normalize(name)
        for key in (_whole_name, _last_name):
            for table in self.tables:
                if normalize(key(table)) == normalized:
                    return table
        return self.tables[0] if len(self.tables) == 1 else None

    def _declare(self, schema: sqlite3.Connection, name: str, table: Table, statement: str) -> None:
        declared = self._declared[name.lower()] = _Declared(table, statement)
        columns = ",".join(map(sql_guard.quoted, declared.names.values())) or "unread"
        schema.set_authorizer(None)
        schema.execute(f"CREATE TABLE {sql_guard.quoted(name)} ({columns})")

    # The data

    def _load(self, needed: dict[str, set[int]]) -> sqlite3.Connection:
        """Return a connection with the columns, loaded unless they are there already."""
        if self._data is not None and all(
            name in self._loaded and indexes <= self._loaded[name] for name, indexes in needed.items()
        ):
            return self._data
        wanted = {name: needed.get(name, set()) | self._loaded.get(name, set()) for name in {**self._loaded, **needed}}
        self._forget_data()
        data = self._data = self._connect()
        data.execute("BEGIN")
        for name, indexes in wanted.items():
            self._load_table(data, name, self._declared[name], sorted(indexes))
        data.execute("COMMIT")
        self._loaded = wanted
        data.set_authorizer(sql_guard.Authorizer(self._declared, {}))
        return data

    def _load_table(self, data: sqlite3.Connection, name: str, declared: _Declared, indexes: Sequence[int]) -> None:
        rows, quoted = declared.table.rows, sql_guard.quoted(name)
        kinds = [set[type]() for _ in indexes]
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            self._budget.check_time()
            part = rows[start : start + _ROWS_AT_ONCE]
            for index, kind in zip(indexes, kinds, strict=True):
                kind.update(map(type, [row[index] for row in part]))
        names = [sql_guard.quoted(declared.names[index]) for index in indexes]
        # A table needs a column, and `SELECT count(*)` reads none.
        columns = [f"{name} {_affinity(kind)}" for name, kind in zip(names, kinds, strict=True)] or ["unread"]
        data.execute(f"CREATE TABLE {quoted} ({','.join(columns)})")
        targets = ",".join([declared.rowid, *names])
        insert = f"INSERT INTO {quoted} ({targets}) VALUES (?{',?' * len(names)})"  # noqa: S608 - identifiers are quoted
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[start : start + _ROWS_AT_ONCE]
            cells = [_storable([row[index] for row in part], kind) for index, kind in zip(indexes, kinds, strict=True)]
            self._reserve(sum(map(_size, cells)) + _ROW_BYTES * len(part))
            data.executemany(insert, zip(range(start + 1, start + 1 + len(part)), *cells, strict=True))

    def _forget_data(self) -> None:
        if self._data is not None:
            self._data.close()
            self._data = None
        self._loaded = {}
        self._budget.release(self._reserved)
        self._reserved = 0

    def _reserve(self, size: int) -> None:
        self._budget.reserve(size)
        self._reserved += size

    # Running

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
        sql_guard.limit_connection(connection)
        add_functions(connection, self._functions)
        return connection

    def _run(
        self, data: sqlite3.Connection, statement: str, parameters: Sequence[Any]
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        functions, cursor = self._functions, data.cursor()
        try:
            with sql_guard.time_limit(data, self._budget):
                cursor.execute(sql_guard.divide_exactly(statement), tuple(map(_storable_cell, parameters)))
                if cursor.description is None:
                    raise sqlite3.OperationalError("not authorized")
                names = [sql_guard.name_as_written(column[0]) for column in cursor.description]
                return names, self._fetch(cursor)
        except sqlite3.Error:
            if functions.error is not None:
                raise functions.error from None
            raise
        finally:
            cursor.close()  # the memory of the statement is free, although an error may keep this frame
            functions.release()

    def _fetch(self, rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        fetched, unreserved, reserved, size_of = [], 0, 0, sys.getsizeof
        for row in rows:
            fetched.append(row)
            unreserved += size_of(row) + sum(map(size_of, row)) + 8
            if unreserved > _BYTES_AT_ONCE:
                self._budget.reserve(unreserved)
                reserved += unreserved
                unreserved = 0
                if reserved > _MAX_RESULT_BYTES:
                    raise self._budget.too_large("The result of the SQL has too many rows; add LIMIT or GROUP BY.")
        self._budget.reserve(unreserved)
        return fetched


class _Declared:
    """A table as it is declared in SQL.

    Args:
        table: the table.
        statement: the statement that reads it.

    Attributes:
        names: index of a column → its name in SQL; names are unique regardless of case.
        indexes: name in lower case → index of the column.
        rowid: a name of the row's number that no column has.
    """

    def __init__(self, table: Table, statement: str) -> None:
        self.table = table
        self.names: dict[int, str] = {}
        self.indexes: dict[str, int] = {}
        text = statement.lower() if len(table.columns) > _MAX_COLUMNS else ""
        for index, column in enumerate(table.columns):
            if not text or (column.lower() in text and len(self.names) < _MAX_COLUMNS):
                self._add(index, sql_guard.storable_text(column).replace("\0", "\ufffd") or "unnamed")
        self.rowid = next(name for name in ("rowid", "_rowid_", "oid", "") if name not in self.indexes)

    def indexes_of(self, names: Iterable[str]) -> set[int]:
        """Return the indexes of columns by their names in lower case; the row's number is not a column."""
        return {self.indexes[name] for name in names if name in self.indexes}

    def _add(self, index: int, name: str) -> None:
        unique, number = name, 1
        while unique.lower() in self.indexes:  # SQL compares names regardless of case
            number += 1
            unique = f"{name}_{number}"
        self.names[index] = unique
        self.indexes[unique.lower()] = index


def _whole_name(table: Table) -> str:
    return table.name or DEFAULT_NAME


def _last_name(table: Table) -> str:
    return table.name.rpartition(".")[2] or DEFAULT_NAME


def _affinity(kinds: set[type]) -> str:
    """Return the type of a column: what a text or number that it is compared with is converted to."""
    if kinds <= _NUMBER_TYPES:
        return "NUMERIC"
    return "TEXT" if kinds <= {str, type(None)} else ""


def _storable(cells: list[Any], kinds: set[type]) -> Sequence[Any]:
    """Return cells as SQLite stores them."""
    if kinds <= _PLAIN_TYPES and (str not in kinds or _is_encodable(cells)) and (int not in kinds or _is_short(cells)):
        return cells
    return [_storable_cell(cell) for cell in cells]


def _is_encodable(cells: Iterable[Any]) -> bool:
    """Return whether no text has half of a surrogate pair."""
    try:
        "".join(cell for cell in cells if type(cell) is str).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_short(cells: Iterable[Any]) -> bool:
    """Return whether all whole numbers have 64 bits."""
    return all(-_MAX_INTEGER <= cell <= _MAX_INTEGER for cell in cells if type(cell) is int)


def _storable_cell(cell: Any) -> Any:
    if isinstance(cell, bool):
        return int(cell)
    if isinstance(cell, str):
        return sql_guard.storable_text(cell)
    if isinstance(cell, int) and abs(cell) > _MAX_INTEGER:
        return str(cell)
    return sql_guard.storable_text(dumps_compact(cell)) if isinstance(cell, list | tuple | dict) else cell


def _size(cells: Sequence[Any]) -> int:
    """Return about how many bytes a column takes in SQLite."""
    return _CELL_BYTES * len(cells) + sum(len(cell) for cell in cells if type(cell) is str)
