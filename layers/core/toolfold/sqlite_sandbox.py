"""Run statements of callers in SQLite within bounds, over answers as over databases.

What a statement may do an authorizer decides while it is compiled, how long it may take a handler and a timer: SQLite
calls the handler every few thousand of its instructions, and the timer interrupts instructions that take long. Memory
is bounded by ``PRAGMA hard_heap_limit`` for the whole process, sorters and temporary tables included.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from types import MappingProxyType
from typing import Any

MAX_HEAP_BYTES = 128 << 20
"""Memory that SQLite may allocate in this process: twice what sorting all columns of an answer of 25 MB takes. The C
library may keep twice as much of it after a statement with many small values, beside the result of the next one."""

TABLE_FUNCTIONS = frozenset(("json_each", "json_tree"))

SAFE_FUNCTIONS = TABLE_FUNCTIONS | frozenset(
    name
    for line in (
        "avg count group_concat max min string_agg sum total json_group_array",
        "cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number",
        "abs random round sign",
        "char hex length like glob lower ltrim quote rtrim substr substring trim typeof",
        "unicode upper coalesce ifnull iif nullif likely unlikely",
        "date datetime julianday strftime time unixepoch",
        "json json_array json_array_length json_extract json_object json_quote json_type json_valid -> ->>",
    )
    for name in line.split()
)
"""Functions that take memory and time in proportion to their arguments. Not among them: what reads or writes files,
says something about the process, or takes long for one long text (``zeroblob``, ``printf``)."""

_LIMITS: Mapping[int, int] = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1 << 20,  # the slowest instruction, LIKE, takes half a second for as long a text
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 400_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 150,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 250_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 2_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_INSTRUCTIONS_BETWEEN_CHECKS = 5_000


def limit_connection(connection: sqlite3.Connection, limits: Mapping[int, int] = MappingProxyType({})) -> None:
    """Set the limits of a connection, and that of the process.

    Args:
        connection: a new connection.
        limits: those that are others than of an answer, by the constants of ``sqlite3``.
    """
    connection.execute(f"PRAGMA hard_heap_limit={MAX_HEAP_BYTES}").close()
    for name in TABLE_FUNCTIONS:  # they declare themselves when used first, which the authorizer forbids
        connection.execute(f"SELECT 1 FROM {name}('[]')").close()  # noqa: S608 - a constant
    for limit, value in {**_LIMITS, **limits}.items():
        connection.setlimit(limit, value)


@dataclass(frozen=True)
class Authorizer:
    """Decide about each action of a statement while SQLite compiles it. Everything that is not allowed is denied.

    Attributes:
        may_read: whether a column of a table may be read, by the table in lower case, the column, and the view or
            common table expression that reads it. Without a column: rows are counted, of a table or a subquery.
        functions: those that may be called.
        pragmas: those that may be read.
    """

    may_read: Callable[[str, str, str], bool]
    functions: Collection[str]
    pragmas: Collection[str] = ()

    def __call__(
        self, action: int, first: str | None, second: str | None, _database: str | None, view: str | None
    ) -> int:
        """Return whether an action is allowed: ``SQLITE_OK`` or ``SQLITE_DENY``."""
        is_allowed = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
        if action == sqlite3.SQLITE_FUNCTION:
            is_allowed = (second or "").lower() in self.functions
        elif action == sqlite3.SQLITE_PRAGMA:
            is_allowed = first in self.pragmas and second is None
        elif action == sqlite3.SQLITE_READ:
            table = (first or "").lower()
            is_allowed = table in TABLE_FUNCTIONS or self.may_read(table, second or "", (view or "").lower())
        return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def is_internal(table: str) -> bool:
    """Return whether a table, in lower case, is one of SQLite itself."""
    return table.startswith(("sqlite_", "pragma_"))


@contextmanager
def bounded(connection: sqlite3.Connection, deadline: float, authorizer: Authorizer | None = None) -> Iterator[None]:
    """End what a connection runs at ``deadline``, by the monotonic clock: SQLite raises an error."""
    connection.set_authorizer(authorizer)
    connection.set_progress_handler(lambda: time.monotonic() >= deadline, _INSTRUCTIONS_BETWEEN_CHECKS)
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        connection.set_progress_handler(None, 0)
        connection.set_authorizer(None)


SLOW_FUNCTIONS: Mapping[str, int] = {"instr": 2, "replace": 3, "trim": 2, "ltrim": 2, "rtrim": 2}
"""Functions that take a time which is the product of the lengths of two texts, and are not interrupted, with the number
of their arguments."""

_MAX_PRODUCT = 1 << 25
"""Of the lengths of two texts: at most a fifth of a second, for a trim of many characters."""


class _PlainFunctions:
    """The functions of SQLite as they are: a connection for one other, closed with it.

    Of several connections in threads of their own, each would bind values to the statements of the others.
    """

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", check_same_thread=False)  # the other may be closed in any thread
        connection.text_factory = lambda text: text.decode(errors="replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self._max_chars)
        return connection

    def run(self, statement: str, values: Sequence[Any]) -> Any:
        """Return what a statement of one value returns."""
        return self._connection.execute(statement, values).fetchone()[0]

    def __del__(self) -> None:
        if "_connection" in vars(self):
            self._connection.close()


def bound_slow_functions(connection: sqlite3.Connection, max_chars: int) -> None:
    """Bound :data:`SLOW_FUNCTIONS` by the lengths of their texts, and their results by ``max_chars``.

    Raises:
        sqlite3.DataError: raised by a statement with longer texts.
    """
    plain = _PlainFunctions(max_chars)

    def call(statement: str, *values: Any) -> Any:
        lengths = (len(value) for value in values[:2] if isinstance(value, str | bytes))
        try:
            if prod(lengths) <= _MAX_PRODUCT:
                return plain.run(statement, values)
        except sqlite3.DataError:
            pass  # the result is too long
        raise OverflowError  # to SQLite a text that is too long

    for name, count in SLOW_FUNCTIONS.items():
        called = partial(call, f"SELECT {name}({', '.join('?' * count)})")
        connection.create_function(name, count, called, deterministic=True)
