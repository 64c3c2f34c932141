"""A store in one SQLite file, shared by all processes of a user and readable by that user only."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from toolfold.cache.base import MAX_CLOCK_SKEW_S
from toolfold.cache.sqlite_file import PAGE_BYTES, CacheFile

logger = logging.getLogger("toolfold")

T = TypeVar("T")

_MIN_FILE_BYTES = 256_000
"""A smaller limit counts as this: the empty tables and a small log take a fifth of it."""

_MAX_SHARE = 8
"""A value may take an eighth of the limit: one long history must not evict everything else."""

_ENTRIES, _FILE = 0.65, 0.7
"""Parts of the limit: for entries, and for the file with the counters."""

_LOG_FOR_VALUES, _LOG = 0.25, 0.3
"""Parts of the limit up to which the write-ahead log takes values, and counters."""

_CHECKPOINT_PAGES = 1000
"""Pages of the log that are copied to the file together, unless the limit is small; SQLite's own default."""

_EVICTED_AT_ONCE = 256
"""Most entries that one write deletes, so that its time has a bound."""

_EXPIRED_AT_ONCE = 32
_VACUUMED_PAGES = 1000
_HYSTERESIS = 0.05
"""Part of the limit that eviction frees beyond what it needs, so that not every further value has to evict."""


class Counts(NamedTuple):
    """What a file holds: values, those that are expired, counters, when the oldest value was stored, and its size."""

    entries: int
    expired: int
    numbers: int
    oldest_at: float | None
    file_bytes: int


class SQLiteStore:
    """Store values in a SQLite file; those that expire first are evicted first. A damaged file is replaced.

    Args:
        path: the file; it is made, with its folder, where it does not exist.
        max_bytes: limit of the file and its write-ahead log together.
        timeout_s: seconds to wait for another process that writes.

    Raises:
        PathRefused: the file is not toolfold's.
        OSError, sqlite3.Error: the file cannot be made, or is busy or full.
    """

    def __init__(self, path: str | os.PathLike[str], max_bytes: int, timeout_s: float) -> None:
        self._file = CacheFile(os.fspath(path), timeout_s)
        self._max_bytes, self._timeout_s = max(max_bytes, _MIN_FILE_BYTES), timeout_s
        self._max_pages = int(self._max_bytes * _ENTRIES) // PAGE_BYTES
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._run(lambda _: None)

    def get(self, key: str) -> bytes | None:
        """Return the value last put, or None."""
        rows = self._execute("SELECT value FROM entries WHERE key = ? AND typeof(value) = 'blob'", key)
        return bytes(rows[0][0]) if rows else None

    def put(self, key: str, value: bytes, created_at: float, expires_at: float) -> None:
        """Store ``value``, unless a newer one is stored, or there is no space for it."""
        if len(value) * _MAX_SHARE > self._max_bytes:
            return

        def put(connection: sqlite3.Connection) -> None:
            self._reserve_log(connection, len(value), _LOG_FOR_VALUES)
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                if self._make_space(connection, len(value), created_at):
                    connection.execute(
                        "INSERT INTO entries VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
                        " value = excluded.value, created_at = excluded.created_at, expires_at = excluded.expires_at"
                        " WHERE excluded.created_at >= entries.created_at OR entries.created_at > ?",
                        (key, value, created_at, expires_at, created_at + MAX_CLOCK_SKEW_S),
                    )

            self._shrink(connection)

        self._run(put)

    def increment(self, key: str, expires_at: float) -> int:
        """Add 1 to the counter ``key`` and return its new value."""
        rows = self._write(
            "INSERT INTO numbers VALUES (?, 1, ?) ON CONFLICT (key) DO UPDATE SET value = value + 1 RETURNING value",
            key, expires_at,
        )  # fmt: skip
        return int(rows[0][0])

    def count_within(
        self, key: str, limits: Mapping[str, int], expires_at: float, over: Sequence[str] = ()
    ) -> Mapping[str, int]:
        """Add 1 to each counter of ``key`` unless one has reached its limit; return the counters before."""
        rows = {name: f"{key}/{name}" for name in limits}

        def count(connection: sqlite3.Connection) -> dict[str, int]:
            self._reserve_log(connection, 0, _LOG)
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("DELETE FROM numbers WHERE key = ?", [(f"{key}/{name}",) for name in over])
                before = {}
                for name, row in rows.items():
                    found = connection.execute("SELECT value FROM numbers WHERE key = ?", (row,)).fetchone()
                    before[name] = int(found[0]) if found else 0
                if all(before[name] < limit for name, limit in limits.items()):
                    connection.executemany(
                        "INSERT INTO numbers VALUES (?, 1, ?) ON CONFLICT (key) DO UPDATE SET value = value + 1",
                        [(row, expires_at) for row in rows.values()],
                    )
            return before

        return self._run(count)

    def acquire_slot(self, key: str, now: float, expires_at: float) -> float:
        """Take the slot ``key``: return 0, or the time at which it becomes free."""
        acquired = self._write(
            "INSERT INTO numbers VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE"
            " SET value = excluded.value, expires_at = excluded.expires_at WHERE value <= ? RETURNING value",
            key, expires_at, expires_at, now,
        )  # fmt: skip
        if acquired:
            return 0.0
        rows = self._execute("SELECT value FROM numbers WHERE key = ?", key)
        return float(rows[0][0]) if rows else 0.0

    def count(self, now: float) -> Counts:
        """Count what is stored."""

        def count(connection: sqlite3.Connection) -> Counts:
            [(entries, expired, oldest)] = connection.execute(
                "SELECT count(*), coalesce(sum(expires_at < ?), 0), min(created_at) FROM entries", (now,)
            )
            [(numbers,)] = connection.execute("SELECT count(*) FROM numbers")
            return Counts(entries, expired, numbers, oldest, self._file.total_bytes())

        return self._run(count)

    def clear(self) -> None:
        """Delete everything, and give the space back to the disk. Other processes may use the file."""

        def clear(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("DELETE FROM entries")
                connection.execute("DELETE FROM numbers")
            connection.executescript("PRAGMA incremental_vacuum")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # not while another process reads

        self._run(clear)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def __del__(self) -> None:
        with suppress(Exception):  # never opened, or already closed
            self._close()

    def _reserve_log(self, connection: sqlite3.Connection, size: int, part: float) -> None:
        """Empty the write-ahead log if it would exceed ``part`` of the limit with ``size`` more bytes.

        SQLite does so after a write, but not while other processes read all the time, or one is stopped while it reads.

        Raises:
            sqlite3.OperationalError: it could not be emptied in time.
        """
        limit = self._max_bytes * part - size
        if self._file.wal_bytes() <= limit:
            return
        ends = time.monotonic() + self._timeout_s
        connection.execute(f"PRAGMA busy_timeout = {int(self._timeout_s * 250)}")
        try:
            while True:
                # Returns at once, without waiting, while another process does the same.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                if self._file.wal_bytes() <= limit:
                    return
                if time.monotonic() >= ends:
                    raise sqlite3.OperationalError("the write-ahead log is in use")
                time.sleep(0.001)
        finally:
            connection.execute(f"PRAGMA busy_timeout = {int(self._timeout_s * 1000)}")

    def _make_space(self, connection: sqlite3.Connection, size: int, now: float) -> bool:
        """Delete expired entries, and as many others as needed; return whether a value of ``size`` bytes fits."""
        for table in ("entries", "numbers"):
            connection.execute(
                f"DELETE FROM {table} WHERE key IN"  # noqa: S608 - one of two names
                f" (SELECT key FROM {table} WHERE expires_at < ? ORDER BY expires_at LIMIT ?)",
                (now, _EXPIRED_AT_ONCE),
            )
        needed = size // PAGE_BYTES + 8  # with the pages of the tree and of the index
        free = self._max_pages - _used_pages(connection)
        if free >= needed:
            return True
        missing = (needed - free + self._max_pages * _HYSTERESIS) * PAGE_BYTES
        victims = []
        for key, length in connection.execute(
            "SELECT key, length(value) FROM entries ORDER BY expires_at LIMIT ?", (_EVICTED_AT_ONCE,)
        ).fetchall():
            if missing <= 0:
                break
            victims.append((key,))
            missing -= length or 0
        connection.executemany("DELETE FROM entries WHERE key = ?", victims)
        return self._max_pages - _used_pages(connection) >= needed

    def _shrink(self, connection: sqlite3.Connection) -> None:
        """Give pages back to the disk if the file is too large, because an earlier process had a higher limit."""
        [(pages,)] = connection.execute("PRAGMA page_count")
        if pages > self._max_bytes * _FILE / PAGE_BYTES:
            # By executescript: execute ends after the first of the rows, and there is one for each page.
            count = min(_VACUUMED_PAGES, self._max_bytes // 16 // PAGE_BYTES)
            connection.executescript(f"PRAGMA incremental_vacuum({count})")

    def _write(self, statement: str, *values: Any) -> list[Any]:
        def write(connection: sqlite3.Connection) -> list[Any]:
            self._reserve_log(connection, 0, _LOG)
            return connection.execute(statement, values).fetchall()

        return self._run(write)

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        return self._run(lambda connection: connection.execute(statement, values).fetchall())

    def _run(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``operation``; where the file is damaged, replace it by an empty one and run it again."""
        with self._lock:
            try:
                return operation(self._open())
            except sqlite3.DatabaseError as error:
                if not _means_damaged(error):
                    raise
            # The open file keeps its inode, so that no new file can be taken for it.
            is_open = self._connection is not None and os.name != "nt"
            if not is_open:
                self._close()
            self._file.delete_damaged(is_open=is_open)
            self._close()
            logger.warning("Cache file damaged; replaced by an empty one")
            return operation(self._open())

    def _open(self) -> sqlite3.Connection:
        """Return the connection to the file that is at the path now: another process may have replaced it."""
        if self._connection is not None and not self._file.was_replaced():
            return self._connection
        self._close()
        self._connection = connection = self._file.open()
        log_pages = max(1, min(_CHECKPOINT_PAGES, self._max_bytes // 16 // PAGE_BYTES))
        for pragma in (
            "synchronous = NORMAL",  # a crash may lose the last entries, not the file
            f"wal_autocheckpoint = {log_pages}",
            f"journal_size_limit = {log_pages * PAGE_BYTES}",
            f"max_page_count = {int(self._max_bytes * _FILE) // PAGE_BYTES}",
            "secure_delete = OFF",  # on Debian it is on, and writes each deleted page to the log
            "temp_store = MEMORY",
            "mmap_size = 0",  # reading a mapped file that gets shorter ends the process
            "trusted_schema = OFF",
            "cell_size_check = ON",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        return connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _used_pages(connection: sqlite3.Connection) -> int:
    [(pages,)] = connection.execute("PRAGMA page_count")
    [(free,)] = connection.execute("PRAGMA freelist_count")
    return int(pages - free)


def _means_damaged(error: sqlite3.DatabaseError) -> bool:
    """Return whether the content of the file is the reason; "busy", "full" and "read-only" are not."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return type(error) is sqlite3.DatabaseError  # another layout
    return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
