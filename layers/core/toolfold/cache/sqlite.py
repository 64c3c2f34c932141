"""A place on a laptop: one SQLite file, shared by all processes of a user, readable by nobody else."""

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
CREATE TABLE IF NOT EXISTS entries (name TEXT PRIMARY KEY, value BLOB, at REAL, until REAL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS numbers (name TEXT PRIMARY KEY, value REAL, until REAL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entries_until ON entries (until);
"""
_LAYOUT = 1
"""``user_version`` of the file; a file of another layout is replaced."""

_LARGEST_SHARE = 4
"""No value takes more than this part (a fourth) of the space: one long history must not push out all else."""


class SQLiteStore:
    """Values in ``path``, at most about ``limit`` bytes of them; what goes stale first is removed first.

    A file that is damaged is replaced by an empty one. ``timeout_s`` is how long to wait for another process.

    Raises:
        OSError, sqlite3.Error: the file cannot be made, or is busy or full.
    """

    def __init__(self, path: Path, limit: int, timeout_s: float) -> None:
        self._path, self._limit, self._timeout_s = path, limit, timeout_s
        self._lock = threading.Lock()
        self._connection = self._repaired(self._connect)

    def get(self, name: str) -> bytes | None:
        rows = self._run("SELECT value FROM entries WHERE name = ?", name)
        return bytes(rows[0][0]) if rows else None

    def put(self, name: str, value: bytes, at: float, until: float) -> None:
        if len(value) * _LARGEST_SHARE > self._limit:
            return
        self._run(
            "INSERT INTO entries VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE"
            " SET value = excluded.value, at = excluded.at, until = excluded.until"
            " WHERE excluded.at >= entries.at OR entries.at > ?",
            name, value, at, until, at + MAX_CLOCK_SKEW_S,
        )  # fmt: skip
        self._make_room(at)

    def add(self, name: str, until: float) -> int:
        rows = self._run(
            "INSERT INTO numbers VALUES (?, 1, ?) ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value",
            name, until,
        )  # fmt: skip
        return int(rows[0][0])

    def reserve(self, name: str, now: float, until: float) -> float:
        taken = self._run(
            "INSERT INTO numbers VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE"
            " SET value = excluded.value, until = excluded.until WHERE value <= ? RETURNING value",
            name, until, until, now,
        )  # fmt: skip
        return 0.0 if taken else float(self._run("SELECT value FROM numbers WHERE name = ?", name)[0][0])

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def __del__(self) -> None:
        with suppress(Exception):  # never opened, or already closed
            self._connection.close()

    def _make_room(self, now: float) -> None:
        [(size,)] = self._run("SELECT total(length(value)) FROM entries")
        if size <= self._limit:
            return
        self._run("DELETE FROM numbers WHERE until < ?", now)
        # Down to nine tenths, so that not every further value has to make room.
        for name, length in self._run("SELECT name, length(value) FROM entries ORDER BY until"):
            if size <= self._limit * 0.9:
                break
            self._run("DELETE FROM entries WHERE name = ?", name)
            size -= length

    def _run(self, statement: str, *values: Any) -> list[Any]:
        with self._lock:
            return list(self._repaired(lambda: self._connection.execute(statement, values).fetchall()))

    def _repaired(self, work: Callable[[], Any]) -> Any:
        """What ``work`` returns; once more with an empty file, when the file turns out to be none of ours."""
        try:
            return work()
        except sqlite3.OperationalError:  # busy, full, read-only: a damaged file is something else
            raise
        except sqlite3.DatabaseError:
            logger.warning("the cache file is damaged and is replaced")
            self._remove()
            self._connection = self._connect()
            return self._connection if work == self._connect else work()

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Made by us before SQLite opens it: its own mode would be the process's default.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        self._path.chmod(0o600)
        connection = sqlite3.connect(
            self._path, timeout=self._timeout_s, isolation_level=None, check_same_thread=False, cached_statements=16
        )
        try:
            # Readers and a writer do not wait for each other; the file outlives a crash, and may lose its last entries.
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

    def _remove(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
