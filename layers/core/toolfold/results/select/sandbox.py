"""Run statements over the tables of an answer in SQLite, within the bounds of :mod:`toolfold.sqlite_sandbox`.

Only the columns of a table that a statement reads are loaded. A statement that finds no memory is tried once more, so
that a greedy one of one caller fails alone. Connections belong to one call: no statement waits for
another but for the processor.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.errors import CallError, InvalidSelect
from toolfold.fuzzy import did_you_mean
from toolfold.results import values
from toolfold.results.render import dumps_compact
from toolfold.results.select.functions import FUNCTION_NAMES, add_functions
from toolfold.results.select.names import Column, invalid
from toolfold.results.tables import Origin, Table
from toolfold.results.types import ColumnType, Kind
from toolfold.sqlite_sandbox import SAFE_FUNCTIONS, Authorizer, bounded, is_internal, limit_connection
from toolfold.text_safety import encodable, quoted_name

MAX_QUERY_S = 8.0
"""Seconds that a statement may take without loading its tables: sorting all columns of 25 MB takes two."""

_MAX_RESULT_BYTES = 224 << 20
"""Memory of a result: that of all cells of 25 MB."""

_BYTES_AT_ONCE = 1 << 20
"""Bytes of a result that are fetched before they are reserved."""

_ROWS_FETCHED = 16
"""Rows of a result that are fetched together: each has at most a megabyte."""

CALLABLE = SAFE_FUNCTIONS | FUNCTION_NAMES
"""Functions that a statement may call."""

_RETRY_S = 0.2
"""Wait before a statement is tried once more that found no memory: a greedy one has ended by then."""

_ROWS_AT_ONCE = 5_000
_VARIABLES_AT_ONCE = 200
"""Cells that one INSERT adds: a statement for each row takes three times as long."""

_ROW_BYTES, _CELL_BYTES = 16, 9
"""A row and a number in a page of SQLite; of a text its length is more."""

_MAX_INTEGER = 2**63 - 1

_DIGITS = 12
"""Significant digits of a computed number: what a sum of doubles has."""


class Statements:
    """A connection to a database in memory, for the statements of one call. A context manager, used by one thread."""

    def __init__(self, budget: WorkBudget) -> None:
        self.budget = budget
        self._reserved = self._reserved_by_functions = 0
        self._error: CallError | None = None
        self._tables: set[str] = set()

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        """The connection, from the first statement on: the rows of some steps are never read."""
        connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
        limit_connection(connection)
        connection.execute("PRAGMA temp_store=MEMORY").close()
        connection.execute("PRAGMA journal_mode=OFF").close()
        add_functions(connection, self._reserve_for_functions)
        return connection

    def __enter__(self) -> Statements:
        return self

    def __exit__(self, *_error: object) -> None:
        if "_connection" in vars(self):
            self._connection.close()
        self.budget.release(self._reserved)
        self._reserved = 0

    def load(self, name: str, columns: Sequence[tuple[str, Sequence[Any], Kind]], row_count: int) -> None:
        """Make a table of columns: each its name in SQL, its values and their kind. Rows are numbered from 1.

        Raises:
            AnswerTooLarge: it takes more memory than there is.
        """
        connection = self._connection
        columns = columns or [("unread", [None] * row_count, Kind.EMPTY)]
        table = values.sql_identifier(name, "`")
        connection.execute(f"DROP TABLE IF EXISTS {table}")
        names = ", ".join(values.sql_identifier(column, "`") for column, _, _ in columns)
        connection.execute(f"CREATE TABLE {table} ({names})")
        self._tables.add(name.lower())
        marks = f"({', '.join('?' * len(columns))})"
        connection.execute("BEGIN")
        for start in range(0, row_count, _ROWS_AT_ONCE):
            cells = [_storable(column[start : start + _ROWS_AT_ONCE], kind) for _, column, kind in columns]
            rows = list(zip(*cells, strict=True))
            kinds = (kind for _, _, kind in columns)
            size = sum(map(_size, cells, kinds)) + _ROW_BYTES * len(rows)
            self.budget.reserve(size)
            self._reserved += size
            together = max(1, _VARIABLES_AT_ONCE // len(columns))
            whole = len(rows) // together * together
            try:
                for count, part in ((together, rows[:whole]), (1, rows[whole:])):
                    batches = [
                        tuple(itertools.chain.from_iterable(part[at : at + count])) for at in range(0, len(part), count)
                    ]
                    statement = f"INSERT INTO {table} VALUES {', '.join([marks] * count)}"
                    connection.executemany(statement, batches)
            except (MemoryError, sqlite3.OperationalError, sqlite3.DataError):
                raise self.budget.too_large(_TOO_MUCH_MEMORY) from None
        connection.execute("COMMIT")

    def query(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Return the names of the columns and the rows of a statement.

        Raises:
            AnswerTooLarge: it takes more time or memory than there is.
            sqlite3.Error: it cannot be run; see :func:`explained`.
        """
        for wait_s in (_RETRY_S, 0.0):
            with suppress(MemoryError):
                return self._run(statement)
            time.sleep(wait_s)
        raise self.budget.too_large(_TOO_MUCH_MEMORY)

    def _run(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        self.budget.check_time()
        deadline = min(self.budget.deadline, time.monotonic() + MAX_QUERY_S)
        connection = self._connection
        try:
            with (
                bounded(connection, deadline, Authorizer(self._may_read, CALLABLE)),
                closing(connection.cursor()) as cursor,
            ):
                return self._fetch(cursor, statement)
        except (sqlite3.Error, OverflowError, UnicodeEncodeError) as error:
            if self._error is not None:
                raise self._error from None
            if "interrupt" in str(error) or time.monotonic() >= deadline:
                raise self.budget.too_large("The SQL takes longer than one call may.") from None
            if "too big" in str(error):
                raise self.budget.too_large("A text or row in the SQL is longer than a megabyte.") from None
            raise error if isinstance(error, sqlite3.Error) else sqlite3.DataError(str(error)) from None
        finally:
            self.budget.release(self._reserved_by_functions)
            self._reserved_by_functions, self._error = 0, None

    def _fetch(self, cursor: sqlite3.Cursor, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        cursor.execute(statement)
        names = [column[0] for column in cursor.description or ()]
        fetched: list[tuple[Any, ...]] = []
        unreserved = reserved = 0
        while rows := cursor.fetchmany(_ROWS_FETCHED):
            fetched += rows
            cells = itertools.chain(rows, itertools.chain.from_iterable(rows))
            unreserved += sum(map(sys.getsizeof, cells)) + 8 * len(rows)
            if unreserved > _BYTES_AT_ONCE:
                self.budget.reserve(unreserved)
                reserved += unreserved
                unreserved = 0
                if reserved > _MAX_RESULT_BYTES:
                    raise self.budget.too_large("The result has too many rows; add limit, or by.")
        self.budget.reserve(unreserved)
        return names, fetched

    def _reserve_for_functions(self, size: int) -> None:
        """Reserve memory until the statement has ended; SQLite does not hand on the error of a function."""
        try:
            self.budget.reserve(size)
        except CallError as error:
            self._error = error
            raise
        self._reserved_by_functions += size

    def _may_read(self, table: str, column: str, _view: str) -> bool:
        """Return whether a table is one of the call; without a column it is a subquery of which rows are counted."""
        return table in self._tables or (not column and not is_internal(table))


_TOO_MUCH_MEMORY = "The SQL takes more memory than one call has."

_PROBLEMS: tuple[tuple[str, str, str], ...] = (
    (r"misuse of window function (\w+)\(\)", "{} needs OVER", "Write {}(x) OVER (ORDER BY date)."),
    (r"misuse of aggregate.*?:? ?(\w+)\(\)", "{} cannot be used there", "Use HAVING, or a subquery."),
    (r"ambiguous column name: (.*)", "more than one table has a column {}", "Write the table before it: a.{}."),
    (r"wrong number of arguments to function (\w+).*", "{} takes another number of arguments", ""),
    (r".*(?:authorized|prohibited).*", "only SELECT over the rows of this answer can be run here", ""),
    (r"SELECTs to the left and right.*", "the parts of UNION have different numbers of columns", ""),
    (r"integer overflow", "a sum is too large for whole numbers", "Write sum(1.0 * x)."),
    (r"too many (?:columns|terms|references).*", "the statement is too large", "Name the columns that you need."),
    (r"(?:Expression tree is too large|parser stack overflow).*", "the SQL is nested too deeply", ""),
    (r"circular reference: (.*)", "{} reads itself", "Write WITH RECURSIVE."),
    (r"LIKE or GLOB pattern too complex", "a pattern of LIKE has more than 200 characters", ""),
    (r"near \"(.*)\": syntax error", "the SQL cannot be read at {}", ""),
    (r"user-defined function.*", "a text is no number, or too long", "Write e.g. CAST(replace(x, ' kg', '') AS REAL)."),
)
"""What SQLite returns → problem and next step; ``{}`` is the name in it."""


def explained(error: sqlite3.Error, offset: int | None = None) -> InvalidSelect:
    """Return the error for a statement that SQLite refuses, in our words."""
    message = str(error)
    if match := re.fullmatch(r"(?:no such function: |not authorized to use function: )(\w+)", message):
        known = sorted(CALLABLE)
        return invalid(f"there is no function {quoted_name(match[1].lower())}", did_you_mean(match[1].lower(), known),
                       offset=offset)  # fmt: skip
    for pattern, problem, suggestion in _PROBLEMS:
        if match := re.fullmatch(pattern, message):
            name = quoted_name(match[1].lower()) if match.groups() and match[1] else ""
            return invalid(problem.format(name), suggestion.format(name), offset=offset)
    return invalid("this cannot be calculated", offset=offset)


def _storable(cells: Sequence[Any], kind: Kind) -> Sequence[Any]:
    """Return values as SQLite stores them: texts that can be encoded, lists and objects as JSON."""
    if kind.is_number and max(map(abs, filter(None, cells)), default=0) <= _MAX_INTEGER:
        return cells
    return cells if kind.is_date or kind is Kind.BOOLEAN else [_storable_cell(cell) for cell in cells]


def _storable_cell(cell: Any) -> Any:
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, list | tuple | dict):
        cell = dumps_compact(cell)
    elif isinstance(cell, int) and abs(cell) > _MAX_INTEGER:
        cell = str(cell)
    return encodable(cell) if isinstance(cell, str) else cell


def _size(cells: Sequence[Any], kind: Kind) -> int:
    texts = () if kind.is_number else (cell for cell in cells if type(cell) is str)
    return _CELL_BYTES * len(cells) + sum(map(len, texts))


class Rows:
    """One table of an answer; ``needed`` are the columns that steps have read, by their indexes."""

    def __init__(self, table: Table, statements: Statements) -> None:
        self.table, self._statements, self.budget = table, statements, statements.budget
        self.needed: dict[int, Column] = {}
        self._loaded: set[int] | None = None

    @cached_property
    def date_index(self) -> int | None:
        """The index of the column of dates; None without one."""
        self.budget.check_time(20 * len(self.table.rows))
        return self.table.date_index

    def typed(self, column: Column) -> Column:
        """Return a column of the table with its kind, and load it before the next statement."""
        index = column.index
        assert index is not None  # noqa: S101 - columns of the table have one
        self.budget.check_time(20 * len(self.table.rows) if index not in self.needed else 0)
        found = self.table.type_of(index)
        typed = replace(column, kind=found.kind, unit=found.unit, misfit=found.misfit)
        self.needed.setdefault(index, typed)
        return typed

    def load(self, name: str) -> None:
        """Make a table in the database of the columns that are needed."""
        columns = [(column.sql, self.table.type_of(index).values, column.kind)
                   for index, column in sorted(self.needed.items())]  # fmt: skip
        self._statements.load(name, columns, len(self.table.rows))

    def run(self, ctes: Sequence[str], select: str) -> list[tuple[Any, ...]]:
        """Return the rows of a statement over the steps.

        Raises:
            InvalidSelect: a step cannot be run.
            AnswerTooLarge: it takes more time or memory than there is.
        """
        if self._loaded != self.needed.keys():
            self.load("t0")
            self._loaded = set(self.needed)
        steps = "".join(f", s{index} AS ({cte})" for index, cte in enumerate(ctes))
        statement = f"WITH t AS (SELECT *, rowid AS _n, rowid AS _r FROM t0){steps} {select}"
        try:
            return self._statements.query(statement)[1]
        except sqlite3.Error as error:
            raise explained(error) from None

    def shown(self, columns: Sequence[Column], computed: Sequence[Column], found: Sequence[tuple[Any, ...]]) -> Table:
        """Return rows with the cells of the answer where they are not computed.

        ``found`` has the number of each row in the answer, and the values of the columns that are ``computed``.
        """
        self.budget.reserve((64 + 24 * len(columns)) * len(found))
        places = {column.sql: place for place, column in enumerate(computed, 1)}
        nothing = (None,) * len(self.table.columns)
        rows = [nothing if row[0] is None else self.table.rows[row[0] - 1] for row in self.budget.checked(found)]
        cells = [
            rounded([row[places[column.sql]] for row in found], column.kind)
            if column.index is None
            else [row[column.index] for row in rows]
            for column in columns
        ]
        keys = tuple(column.name for column in columns if column.is_key)
        titles = tuple(column.name for column in columns)
        origin = Origin(self.table, [row[0] for row in found], [column.index for column in columns])
        return Table(self.table.name, titles, list(zip(*cells, strict=True)), keys, origin=origin)

    def restored(self, name: str, cells: Sequence[Any]) -> tuple[Sequence[Any], ColumnType] | None:
        """Return cells of a column of SQL as the answer shows them, with their type; None: some are computed.

        Those that the answer writes in several ways are shown as they are computed with.
        """
        for index in (index for index, column in self.needed.items() if column.sql == name):
            found, shown, typed = self.table.type_of(index), dict[Any, Any](), dict[Any, Any]({None: None})
            given = [row[index] for row in self.table.rows]
            stored = _storable(found.values, found.kind)
            is_same = found.kind is not Kind.BOOLEAN and stored == given  # where true is stored as 1
            if is_same and (tuple(stored) == cells or set(stored).issuperset(cells)):
                return cells, replace(found, values=cells)
            is_one = True
            for key, value, cell in zip(stored, found.values, given, strict=True):
                typed[key] = value
                is_one = (key is None or shown.setdefault(key, cell) == cell) and is_one
            if typed.keys() >= set(cells):
                restored = list(map(shown.get, cells)) if is_one else rounded(cells, found.kind)
                return restored, replace(found, values=list(map(typed.get, cells)))
        return None


def rounded(column: Sequence[Any], kind: Kind = Kind.ANY) -> Sequence[Any]:
    """Return computed values as they are shown: numbers to twelve digits, conditions as true or false."""
    if kind is Kind.BOOLEAN:
        return [bool(value) if isinstance(value, int) else value for value in column]
    if float not in set(map(type, column)):
        return list(map(values.lossless, column))
    # A number of at most 15 digits stays as it is: sums of such numbers have more, and are noise behind twelve.
    return [
        values.lossless(value if float(f"{value:.15g}") == value else float(f"{value:.{_DIGITS}g}"))
        if type(value) is float
        else values.lossless(value)
        for value in column
    ]
