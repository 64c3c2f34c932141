"""Bound what a statement of SQL may do, and what it may cost.

Time: SQLite calls a handler every few thousand of its instructions, and a timer interrupts instructions that take long.
Memory: ``PRAGMA hard_heap_limit`` bounds sorters and temporary tables as well, but for the whole process, and it can be
lowered only. Statements therefore run one at a time, and the limit is many times what the response cache takes.
"""

from __future__ import annotations

import math
import re
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from toolfold.budget import WorkBudget
from toolfold.results.select.sql_functions import FUNCTION_NAMES

MAX_QUERY_S = 8.0
"""Seconds that a statement may take without loading its tables: sorting all columns of 25 MB takes two."""

MAX_HEAP_BYTES = 104 << 20
"""Memory that SQLite may allocate in this process; that of the allocator, for small parts, comes on top.

Twice what sorting all columns of an answer of 25 MB takes."""

MAX_TEXT_BYTES = 1 << 20
"""Length of a text or row. The slowest instruction, LIKE, takes half a second for as much."""

TOO_MUCH_MEMORY = "The SQL takes more memory than one call has."

TOO_LONG = "A text or row in the SQL or in its result is longer than a megabyte."

ALLOWED_FUNCTIONS = FUNCTION_NAMES | {
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
}
"""Functions that take memory and time in proportion to their arguments. Not among them: what reads or writes files,
says something about the process, or takes long for one long text (``zeroblob``, ``printf``)."""

_TABLE_FUNCTIONS = frozenset(("json_each", "json_tree"))
_INTERNAL_TABLES = ("sqlite_", "pragma_")

_LIMITS = {
    "SQLITE_LIMIT_LENGTH": MAX_TEXT_BYTES,
    "SQLITE_LIMIT_SQL_LENGTH": 200_000,
    "SQLITE_LIMIT_EXPR_DEPTH": 150,
    "SQLITE_LIMIT_COMPOUND_SELECT": 50,
    "SQLITE_LIMIT_VDBE_OP": 100_000,
    "SQLITE_LIMIT_ATTACHED": 0,
    "SQLITE_LIMIT_LIKE_PATTERN_LENGTH": 200,
    "SQLITE_LIMIT_VARIABLE_NUMBER": 2_000,
    "SQLITE_LIMIT_TRIGGER_DEPTH": 0,
    "SQLITE_LIMIT_WORKER_THREADS": 0,
}

_INSTRUCTIONS_BETWEEN_CHECKS = 5_000

_SLASHES = re.compile(
    r"""'(?:[^']|'')*+'?+|"(?:[^"]|"")*+"?+|`[^`]*+`?+|\[[^]]*+\]?+|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?+|(?P<slash>/)"""
)


def limit_connection(connection: sqlite3.Connection) -> None:
    """Set the limits of a connection, and that of the process."""
    connection.execute(f"PRAGMA hard_heap_limit={MAX_HEAP_BYTES}").close()
    connection.execute("PRAGMA temp_store=MEMORY").close()
    connection.execute("PRAGMA journal_mode=OFF").close()
    for name in _TABLE_FUNCTIONS:  # they declare themselves when they are used first, which the authorizer forbids
        connection.execute(f"SELECT 1 FROM {name}('[]')").close()  # noqa: S608 - a constant
    for name, limit in _LIMITS.items():
        connection.setlimit(getattr(sqlite3, name), limit)


class Authorizer:
    """Allow a statement to read tables and to call functions.

    Args:
        tables: the names of the tables in lower case.
        reads: where the columns that it reads are added, by table; names in lower case.
    """

    def __init__(self, tables: Collection[str], reads: dict[str, set[str]]) -> None:
        self._tables, self._reads = tables, reads

    def __call__(self, action: int, first: str | None, second: str | None, *_database: Any) -> int:
        """Return whether an action is allowed."""
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_OK if (second or "").lower() in ALLOWED_FUNCTIONS else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ:
            table = (first or "").lower()
            if table in self._tables:  # a common table expression of that name is treated alike
                self._reads.setdefault(table, set()).add((second or "").lower())
                return sqlite3.SQLITE_OK
            if table in _TABLE_FUNCTIONS or (not second and not table.startswith(_INTERNAL_TABLES)):
                return sqlite3.SQLITE_OK  # no column: the rows of a common table expression are counted
        return sqlite3.SQLITE_DENY


@contextmanager
def turn(lock: threading.Lock, budget: WorkBudget) -> Iterator[None]:
    """Wait for the statements of other calls.

    Raises:
        AnswerTooLarge: the deadline has passed.
    """
    budget.check_time()
    if not lock.acquire(timeout=-1 if budget.remaining_s == math.inf else budget.remaining_s):
        raise budget.too_large("Other statements were running until the end of this call.")
    try:
        yield
    finally:
        lock.release()


@contextmanager
def time_limit(connection: sqlite3.Connection, budget: WorkBudget) -> Iterator[None]:
    """End the statements of a connection at the deadline of the budget, or after :data:`MAX_QUERY_S`.

    Raises:
        AnswerTooLarge: a statement was ended.
    """
    budget.check_time()
    deadline = min(budget.deadline, time.monotonic() + MAX_QUERY_S)

    def is_late() -> bool:
        return time.monotonic() >= deadline

    connection.set_progress_handler(is_late, _INSTRUCTIONS_BETWEEN_CHECKS)
    timer = threading.Timer(deadline - time.monotonic(), connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except sqlite3.OperationalError as error:
        if is_late() or "interrupt" in str(error):
            raise budget.too_large("The SQL takes longer than one call may.") from None
        raise
    finally:
        timer.cancel()
        connection.set_progress_handler(None, 0)


def quoted(name: str) -> str:
    """Return an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def storable_text(text: str) -> str:
    """Return a text that UTF-8 can encode: halves of surrogate pairs are replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


_DIVISION = "*1.0/"


def divide_exactly(statement: str) -> str:
    """Return a statement in which ``/`` divides whole numbers as it does others: ``7 / 2`` is 3.5."""
    return _SLASHES.sub(lambda match: _DIVISION if match["slash"] else match[0], statement)


def name_as_written(name: str) -> str:
    """Return the name that SQLite gives to a column as it is in the statement before :func:`divide_exactly`."""
    return name.replace(_DIVISION, "/")
