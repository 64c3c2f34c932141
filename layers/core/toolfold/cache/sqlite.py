"""A store in one SQLite file, shared by all processes of a user and readable by that user only."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolfold.cache.base import MAX_CLOCK_SKEW_S

logger = logging.getLogger("toolfold")

_TABLES = """
CREATE TABLE IF NOT EXISTS entries (key TEXT PRIMARY KEY, value BLOB, created_at REAL, expires_at REAL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS numbers (key TEXT PRIMARY KEY, value REAL, expires_at REAL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entries_expires_at ON entries (expires_at);
"""
_LAYOUT = 2
"""``user_version`` of the file. A file of another layout is replaced."""

_MAX_SHARE = 4
"""A value may take a fourth of the space: one long history must not evict everything else."""

_EVICT_TO = 0.9
"""Part of the space that eviction leaves in use, so that not every further value has to evict."""


class SQLiteStore:
    """Store values in a SQLite file; those that expire first are evicted first. A damaged file is replaced.

    Args:
        path: the file; it is made, with its folder, where it does not exist.
        max_bytes: limit of all values together, approximately.
        timeout_s: seconds to wait for another process that writes.

    Raises:
        OSError, sqlite3.Error: the file cannot be made, or is busy or full.
    """

    def __init__(self, path: Path, max_bytes: int, timeout_s: float) -> None:
        self._path, self._max_bytes, self._timeout_s = path, max_bytes, timeout_s
        self._lock = threading.Lock()
        self._connection = self._run_repairing(self._connect)

    def get(self, key: str) -> bytes | None:
        """Return the value last put, or None."""
        rows = self._execute("SELECT value FROM entries WHERE key = ?", key)
        return bytes(rows[0][0]) if rows else None

    def put(self, key: str, value: bytes, created_at: float, expires_at: float) -> None:
        """Store ``value``, unless a newer one is stored."""
        if len(value) * _MAX_SHARE > self._max_bytes:
            return
        self._execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE"
            " SET value = excluded.value, created_at = excluded.created_at, expires_at = excluded.expires_at"
            " WHERE excluded.created_at >= entries.created_at OR entries.created_at > ?",
            key, value, created_at, expires_at, created_at + MAX_CLOCK_SKEW_S,
        )  # fmt: skip
        self._evict(created_at)

    def increment(self, key: str, expires_at: float) -> int:
        """Add 1 to the counter ``key`` and return its new value."""
        rows = self._execute(
            "INSERT INTO numbers VALUES (?, 1, ?) ON CONFLICT (key) DO UPDATE SET value = value + 1 RETURNING value",
            key, expires_at,
        )  # fmt: skip
        return int(rows[0][0])

    def acquire_slot(self, key: str, now: float, expires_at: float) -> float:
        """Take the slot ``key``: return 0, or the time at which it becomes free."""
        acquired = self._execute(
            "INSERT INTO numbers VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE"
            " SET value = excluded.value, expires_at = excluded.expires_at WHERE value <= ? RETURNING value",
            key, expires_at, expires_at, now,
        )  # fmt: skip
        return 0.0 if acquired else float(self._execute("SELECT value FROM numbers WHERE key = ?", key)[0][0])

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __del__(self) -> None:
        with suppress(Exception):  # never opened, or already closed
            self._connection.close()

    def _evict(self, now: float) -> None:
        [(size,)] = self._execute("SELECT total(length(value)) FROM entries")
        if size <= self._max_bytes:
            return
        self._execute("DELETE FROM numbers WHERE expires_at < ?", now)
        for key, length in self._execute("SELECT key, length(value) FROM entries ORDER BY expires_at"):
            if size <= self._max_bytes * _EVICT_TO:
                break
            self._execute("DELETE FROM entries WHERE key = ?", key)
            size -= length

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            return list(self._run_repairing(lambda: self._connection.execute(statement, values).fetchall()))

    def _run_repairing(self, operation: Callable[[], Any]) -> Any:
        """Run ``operation``; where the file is damaged, replace it by an empty one and run it again."""
        try:
            return operation()
        except sqlite3.OperationalError:  # busy, full or read-only: not a damaged file
            raise
        except sqlite3.DatabaseError:
            logger.warning("Cache file damaged; replacing it")
            self._delete_files()
            self._connection = self._connect()
            return self._connection if operation == self._connect else operation()

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made before SQLite opens it, which would use the process's default mode.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        self._path.chmod(0o600)
        connection = sqlite3.connect(
            self._path, timeout=self._timeout_s, isolation_level=None, check_same_thread=False, cached_statements=16
        )
        try:
            # Readers and a writer do not block each other. A crash may lose the last entries, not the file.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            [(layout,)] = connection.execute("PRAGMA user_version").fetchall()
            if layout not in (0, _LAYOUT):
                raise sqlite3.DatabaseError("another layout")
            connection.executescript(_TABLES)
            connection.execute(f"PRAGMA user_version = {_LAYOUT}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _delete_files(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
