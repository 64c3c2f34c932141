"""A store in one SQLite file, shared by all processes of a user and readable by that user only.

A file is toolfold's when its header has ``APPLICATION_ID``, which SQLite stores for this purpose
(https://sqlite.org/fileformat.html, 1.3.10), or when it has a name of ``OWN_NAMES`` in a folder with the mark of
toolfold. Any other file is refused and stays as it is.

A process that uses the file locks its folder together with others, one that replaces it locks the folder alone. So no
process writes a journal for a file that was replaced (https://sqlite.org/howtocorrupt.html, 4.4).
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from toolfold import private_folder
from toolfold.cache.base import MAX_CLOCK_SKEW_S
from toolfold.files import replace_file
from toolfold.private_folder import PathRefused

logger = logging.getLogger("toolfold")

T = TypeVar("T")

_MIN_FILE_BYTES = 256_000
"""A smaller limit counts as this: the empty tables take a tenth of it."""

_MAX_SHARE = 8
"""A value may take an eighth of the limit: one long history must not evict everything else."""

_ENTRIES, _FILE = 0.65, 0.7
"""Parts of the limit: for entries, and for the file with the counters. The rest is for the journal of a write."""

_EVICTED_AT_ONCE = 256
"""Most entries that one write deletes, so that its time has a bound."""

_EXPIRED_AT_ONCE = 32
_VACUUMED_PAGES = 1000
_HYSTERESIS = 0.05
"""Part of the limit that eviction frees beyond what it needs, so that not every further value has to evict."""

_LOCK = threading.Lock()
"""One operation at a time in this process: to open a file ends the locks of other connections of this process to it."""


class Counts(NamedTuple):
    """What a file holds: values, those that are expired, counters, when the oldest value was stored, and its size."""

    entries: int
    expired: int
    numbers: int
    oldest_at: float | None
    file_bytes: int


class SQLiteStore:
    """Store values in a SQLite file; those that expire first are evicted first. A file that does not open is replaced.

    Args:
        path: the file; it is made, with its folder, where it does not exist.
        max_bytes: limit of the file and its journal together.
        timeout_s: seconds to wait for another process that writes.

    Raises:
        PathRefused: the file is not toolfold's.
        OSError, sqlite3.Error: the file cannot be made, or is busy or full.
    """

    def __init__(self, path: str | os.PathLike[str], max_bytes: int, timeout_s: float) -> None:
        self._given, self._path, self._timeout_s = os.fspath(path), "", timeout_s
        self._max_bytes = max(max_bytes, _MIN_FILE_BYTES)
        self._max_pages = int(self._max_bytes * _ENTRIES) // PAGE_BYTES
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
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

    def count_within(
        self, key: str, limits: Mapping[str, int], expires_at: float, over: Sequence[str] = ()
    ) -> Mapping[str, int]:
        """Add 1 to each counter of ``key`` unless one has reached its limit; return the counters before."""
        rows = {name: f"{key}/{name}" for name in limits}

        def count(connection: sqlite3.Connection) -> dict[str, int]:
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
        acquired = self._execute(
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
            [(pages,)] = connection.execute("PRAGMA page_count")
            return Counts(entries, expired, numbers, oldest, pages * PAGE_BYTES)

        return self._run(count)

    def clear(self) -> None:
        """Delete everything, and give the space back to the disk. Other processes may use the file."""

        def clear(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("DELETE FROM entries")
                connection.execute("DELETE FROM numbers")
            connection.executescript("PRAGMA incremental_vacuum")

        self._run(clear)

    def close(self) -> None:
        """Close the file."""
        with _LOCK:
            self._close()

    def __del__(self) -> None:
        with suppress(Exception):  # never opened, or already closed
            self._close()

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

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        return self._run(lambda connection: connection.execute(statement, values).fetchall())

    def _run(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``operation``. If the file does not open, or is damaged, also when used alone, it is replaced."""
        with _LOCK:
            if not os.path.lexists(self._path):
                self._path = resolve_file(self._given, create=True)
            folder = os.path.dirname(self._path)
            with private_folder.lock_folder(folder, self._timeout_s, shared=True):
                try:
                    return operation(self._open())
                except sqlite3.DatabaseError as error:
                    self._close_damaged(error)
            with private_folder.lock_folder(folder, self._timeout_s):
                try:  # another process may have replaced it
                    return operation(self._open())
                except sqlite3.DatabaseError as error:
                    self._close_damaged(error)
                if recreate(self._path):
                    logger.warning("Cache file damaged; replaced by an empty one")
                return operation(self._open())

    def _open(self) -> sqlite3.Connection:
        """Return the connection to the file that is at the path now: another process may have replaced it."""
        found = _file_id(self._path)
        if self._connection is not None and self._opened == found:
            return self._connection
        self._close()
        self._connection = connection = connect(self._path, self._timeout_s)
        self._opened = found
        for pragma in (
            "synchronous = OFF",  # a loss of power may damage the file, which is then replaced
            f"max_page_count = {int(self._max_bytes * _FILE) // PAGE_BYTES}",
            "secure_delete = OFF",  # on Debian it is on, and writes each deleted page
            "temp_store = MEMORY",
            "mmap_size = 0",  # reading a mapped file that gets shorter ends the process
            "trusted_schema = OFF",
            "cell_size_check = ON",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        return connection

    def _close_damaged(self, error: sqlite3.DatabaseError) -> None:
        """Close the file if its content is the reason of ``error``; "busy", "full" and "read-only" are raised."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if not isinstance(error, DoesNotOpen) and code not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise error
        self._close()

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _file_id(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _used_pages(connection: sqlite3.Connection) -> int:
    [(pages,)] = connection.execute("PRAGMA page_count")
    [(free,)] = connection.execute("PRAGMA freelist_count")
    return int(pages - free)


APPLICATION_ID = int.from_bytes(b"tfld", "big")
LAYOUT = 4
"""``user_version`` of the file. A file of another layout is replaced."""

OWN_NAMES = frozenset({"responses.sqlite", "approvals.sqlite"})
"""Names that toolfold gives in a folder that it has made."""

PAGE_BYTES = 4096

TABLES = """
CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB, created_at REAL, expires_at REAL) WITHOUT ROWID;
CREATE TABLE numbers (key TEXT PRIMARY KEY, value REAL, expires_at REAL) WITHOUT ROWID;
CREATE INDEX entries_expires_at ON entries (expires_at);
CREATE INDEX numbers_expires_at ON numbers (expires_at);
"""

_MAGIC, _HEADER_BYTES = b"SQLite format 3\0", 100
_JOURNALS = (bytes.fromhex("d9d505f920a163d7"), bytes(8), b"")
"""How a journal begins: a complete one, and one that a process has just made."""

_BESIDE = ("-journal", "-wal", "-shm")
"""Ends of the names of the files that SQLite reads, writes and deletes beside a database. Here it makes the first."""


class DoesNotOpen(sqlite3.DatabaseError):
    """There is no file, or not one that this version has made."""


def resolve_file(path: str, *, create: bool) -> str:
    """Return ``path`` without symbolic links in its folder.

    Args:
        path: of the file; ``~`` stands for the user's home.
        create: whether to make the folder.

    Raises:
        PathRefused: others can change files in the folder.
        OSError: the folder does not exist and cannot be made.
    """
    parent, name = os.path.split(private_folder.absolute_path(path))
    if not name or name.endswith(_BESIDE) or path.endswith((os.sep, f"{os.sep}.")):
        raise PathRefused(f"{path} is not the name of a file for a cache")
    folder = private_folder.own_folder(parent) if create else private_folder.resolve(parent)
    # SQLite opens its files by their names, so the sticky bit is not enough here.
    if os.name != "nt" and private_folder.is_writable_by_others(os.stat(folder)):
        raise PathRefused(f"{folder} can be changed by other users, who could replace files of the cache")
    return os.path.join(folder, name)


def check_location(path: str) -> None:
    """Check, without changing anything, that ``path`` is a file of toolfold or can become one.

    Raises:
        PathRefused: it cannot, regardless of permissions and of space on the disk.
    """
    with contextlib.suppress(OSError):
        _check_own(resolve_file(path, create=False), "", *_BESIDE)


def connect(path: str, timeout_s: float) -> sqlite3.Connection:
    """Open the file. No other connection of this process may be in a transaction: its locks would end here.

    Args:
        path: what :func:`resolve_file` returned.
        timeout_s: seconds to wait for another process that writes.

    Raises:
        PathRefused: it, or a file beside it that SQLite would use, is not toolfold's.
        sqlite3.DatabaseError: it is missing or damaged.
    """
    # Before SQLite opens the file for writing: it would complete what another application left there.
    header = _beginning(path) or b""
    if not _has_own_header(header) or int.from_bytes(header[60:64], "big") != LAYOUT:
        raise DoesNotOpen("no file of this layout")
    _check_own(path, *_BESIDE)
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?mode=rw",  # never makes a file
        uri=True, timeout=timeout_s, isolation_level=None, check_same_thread=False, cached_statements=32,
    )  # fmt: skip
    try:
        tables = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
        if tables != {statement.strip() for statement in TABLES.split(";") if statement.strip()}:
            raise DoesNotOpen("other tables")
        connection.execute("SELECT 1 FROM entries LIMIT 1").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def recreate(path: str) -> bool:
    """Make an empty cache at ``path``. The caller has locked the folder alone.

    The file gets its name when it is complete, so that a process that is killed leaves none that is not toolfold's.

    Returns:
        Whether it replaces another file.

    Raises:
        PathRefused: what is there, or beside it, is not toolfold's.
        OSError: it cannot be written.
    """
    _check_own(path, "", *_BESIDE)
    for ending in _BESIDE:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + ending)
    replaces = os.path.lexists(path)
    replace_file(path, _empty_file(), mode=0o600)
    return replaces


def _check_own(path: str, *endings: str) -> None:
    """Check those of the files ``path`` + ``endings`` that exist.

    Raises:
        PathRefused: one of them is not toolfold's.
    """
    folder, name = os.path.split(path)
    is_marked = name in OWN_NAMES and private_folder.is_marked(folder)
    for ending in endings:
        beginning = _beginning(path + ending)
        if beginning is None or is_marked:
            continue
        if ending == "-journal":
            # Another process that has just made it writes zeros first.
            is_own = beginning[:8] in _JOURNALS and (beginning[:8] != b"" or os.path.lexists(path))
        else:
            is_own = not ending and _has_own_header(beginning)
        if not is_own:
            raise PathRefused(f"{path}{ending} was not made by toolfold; delete or move it")


def _beginning(path: str) -> bytes | None:
    """Return the first bytes of the file, or None where it is missing.

    To close it ends the locks that connections of this process have on it (https://sqlite.org/howtocorrupt.html, 2.2).

    Raises:
        PathRefused: it is something else than a file of this user.
    """
    try:
        private_folder.check_owned_file(path, os.lstat(path))
        descriptor = os.open(path, os.O_RDONLY | private_folder.NO_FOLLOW)
    except FileNotFoundError:
        return None
    try:
        return os.read(descriptor, _HEADER_BYTES)
    finally:
        os.close(descriptor)


def _has_own_header(header: bytes) -> bool:
    return header.startswith(_MAGIC) and int.from_bytes(header[68:72], "big") == APPLICATION_ID


def _empty_file() -> bytes:
    with contextlib.closing(sqlite3.connect(":memory:")) as memory:
        memory.executescript(
            f"PRAGMA page_size = {PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL;"
            f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {LAYOUT}; {TABLES}"
        )
        return memory.serialize()
