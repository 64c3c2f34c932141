"""A store in one SQLite file, shared by all processes of a user and readable by that user only.

A file is toolfold's when its header has ``APPLICATION_ID``, which SQLite stores for this purpose
(https://sqlite.org/fileformat.html, 1.3.10), or when it has a name of ``_OWN_NAMES`` and is not a database. Any other
file is refused and stays as it is.

A process that uses the file locks its folder together with others, one that replaces it locks the folder alone. So no
process writes a journal for a file that was replaced (https://sqlite.org/howtocorrupt.html, 4.4).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote

from toolfold import private_folder
from toolfold.cache.base import MAX_CLOCK_SKEW_S, LockedStore
from toolfold.errors import SettingsError
from toolfold.private_folder import PathRefused, replace_file

if TYPE_CHECKING:
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

T = TypeVar("T")

APPLICATION_ID = int.from_bytes(b"tfld", "big")
LAYOUT = 4
"""``user_version`` of the file. A file of another layout is replaced."""

_ENDINGS = ("-journal", "-wal", "-shm")
"""Of files that SQLite keeps beside its own."""

_OWN_NAMES = ("responses.sqlite", "approvals.sqlite", "sign-ins.sqlite")
"""Names that toolfold gives."""

_TABLES = """
CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB, created_at REAL, expires_at REAL) WITHOUT ROWID;
CREATE INDEX entries_expires_at ON entries (expires_at);
"""
"""Counters and slots are JSON, a TEXT, under ``#`` and their key, and never evicted."""

_UPSERT = """INSERT INTO entries VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value,
created_at = excluded.created_at, expires_at = excluded.expires_at"""
_PRAGMAS = (
    "secure_delete = OFF",  # on Debian it is on, and writes each deleted page
    "temp_store = MEMORY",
    "mmap_size = 0",  # reading a mapped file that gets shorter ends the process
    "trusted_schema = OFF",
    "cell_size_check = ON",
)
_UNUSABLE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""Codes of a file that is damaged, or has other tables than these statements name."""

_PAGE_BYTES = 4096
_MIN_FILE_BYTES = 256_000
"""A smaller limit counts as this: the empty tables take a tenth of it."""

_MAX_SHARE = 8
"""A value may take an eighth of the limit: one long history must not evict everything else."""

_ENTRIES, _FILE = 0.65, 0.7
"""Parts of the limit: for entries, and for the file with the counters. The rest is for the journal of a write."""

_LOCK = threading.RLock()
"""One operation at a time in this process: closing a file ends the locks of other connections of this process to it
(https://sqlite.org/howtocorrupt.html, 2.2)."""


class Counts(NamedTuple):
    """The values in a file, and its size."""

    entries: int
    file_bytes: int


class SQLiteStore(LockedStore):
    """Store values in a SQLite file; those that expire first are evicted first. A file that does not open is replaced.

    Args:
        path: the file; it is made, with its folder, where it does not exist.
        max_bytes: limit of the file and its journal together.
        timeout_s: seconds to wait for another process that writes.
        is_durable: whether a loss of power undoes no write. Otherwise it may damage the file, which is then replaced.

    Raises:
        PathRefused: the file is not toolfold's.
        OSError, sqlite3.Error: the file cannot be made, or is busy or full.
    """

    def __init__(
        self, path: str | os.PathLike[str], max_bytes: int, timeout_s: float, *, is_durable: bool = False
    ) -> None:
        self._given, self._path, self._timeout_s = os.fspath(path), "", timeout_s
        self._synchronous = "FULL" if is_durable else "OFF"
        self._max_bytes = max(max_bytes, _MIN_FILE_BYTES)
        self._max_pages = int(self._max_bytes * _ENTRIES) // _PAGE_BYTES
        self._connection: sqlite3.Connection | None = None
        self._opened: tuple[int, int] | None = None
        self._failed_at = 0.0
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
            connection.execute("DELETE FROM entries WHERE expires_at < ?", (created_at,))
            needed = len(value) // _PAGE_BYTES + 8  # with the pages of the tree and of the index
            used = "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count"
            while self._max_pages - connection.execute(used).fetchone()[0] < needed:
                evicted = connection.execute(  # a tenth, so that not every further value has to evict
                    "WITH held AS (SELECT key, expires_at FROM entries WHERE typeof(value) = 'blob')"
                    " DELETE FROM entries WHERE key IN"
                    " (SELECT key FROM held ORDER BY expires_at LIMIT (SELECT 1 + count(*) / 10 FROM held))"
                )
                if not evicted.rowcount:
                    return
            connection.execute(
                f"{_UPSERT} WHERE excluded.created_at >= entries.created_at OR entries.created_at > ?",
                (key, value, created_at, expires_at, created_at + MAX_CLOCK_SKEW_S),
            )

        self._write(put)

    def replace(self, key: str, expected: bytes | None, value: bytes, expires_at: float | None = None) -> bool:
        """Store a record if the one before is ``expected``, None for a new one; return whether it was."""
        if expected is None:
            now = time.time()
            self._execute("DELETE FROM entries WHERE expires_at < ?", now)
            insert = "INSERT INTO entries VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"
            return bool(self._execute(f"{insert} RETURNING 1", key, value, now, expires_at))
        update = "UPDATE entries SET value = ?, expires_at = coalesce(?, expires_at) WHERE key = ? AND value = ?"
        return bool(self._execute(f"{update} RETURNING 1", value, expires_at, key, expected))

    def unexpired(self, now: float, most: int) -> list[tuple[str, bytes]]:
        """Return key and value of at most ``most`` entries, those first that expire soonest."""
        return self._execute(
            "SELECT key, value FROM entries WHERE expires_at > ? AND typeof(value) = 'blob'"
            " ORDER BY expires_at LIMIT ?",
            now, most,
        )  # fmt: skip

    def _change(self, key: str, expires_at: float, change: Callable[[Any], tuple[T, Any]]) -> T:
        def change_row(connection: sqlite3.Connection) -> T:
            row = connection.execute("SELECT value FROM entries WHERE key = ?", (f"#{key}",)).fetchone()
            result, after = change(json.loads(row[0]) if row else None)
            if after is not None:
                connection.execute(_UPSERT, (f"#{key}", json.dumps(after), 0, expires_at))
            return result

        return self._write(change_row)

    def count(self) -> Counts:
        """Count what is stored."""
        [found] = self._execute(
            "SELECT count(*), (SELECT page_count FROM pragma_page_count) * ? FROM entries WHERE typeof(value) = 'blob'",
            _PAGE_BYTES,
        )
        return Counts(*found)

    def clear(self) -> None:
        """Delete everything, and give the space back to the disk. Other processes may use the file."""
        self._run(lambda file: file.executescript("DELETE FROM entries; VACUUM"))

    def close(self) -> None:
        """Close the file."""
        with _LOCK:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def __del__(self) -> None:
        # Without the lock: at the end of the process, a thread that has it may run no more.
        with contextlib.suppress(Exception):  # never opened
            if self._connection is not None:
                self._connection.close()

    def _write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        def write(connection: sqlite3.Connection) -> T:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                return operation(connection)

        return self._run(write)

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        return self._run(lambda connection: connection.execute(statement, values).fetchall())

    def _run(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``operation``, unless the one that it has waited for found the file busy, full or read-only."""
        began = time.monotonic()
        with _LOCK:
            if began < self._failed_at:  # else as many threads would wait for another process in turn
                raise TimeoutError("the file could not be used a moment ago")
            try:
                return self._run_alone(operation)
            except (TimeoutError, sqlite3.OperationalError):
                self._failed_at = time.monotonic()
                raise

    def _run_alone(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``operation``. If the file does not open, or is damaged, also when used alone, it is replaced."""
        if not os.path.lexists(self._path):
            self._path = _resolve_file(self._given, create=True)
        for is_shared in (True, False):  # alone, another process may have replaced it
            with private_folder.lock_folder(os.path.dirname(self._path), self._timeout_s, shared=is_shared):
                try:
                    return operation(self._open())
                except sqlite3.DatabaseError as error:
                    if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in _UNUSABLE:
                        raise  # busy, full, or read-only
                    self.close()
                if not is_shared:
                    self._recreate()
                    return operation(self._open())
        raise AssertionError

    def _open(self) -> sqlite3.Connection:
        """Return the connection to the file that is at the path now: another process may have replaced it.

        Raises:
            PathRefused: it is not toolfold's.
            sqlite3.DatabaseError: it is missing, damaged, or of another version.
        """
        try:
            status = os.lstat(self._path)
        except FileNotFoundError:
            raise sqlite3.DatabaseError("no file") from None
        if self._connection is not None and self._opened == (status.st_dev, status.st_ino):
            return self._connection
        self.close()
        # Before SQLite opens the file for writing: it would complete what another application left there.
        if _layout(self._path) != LAYOUT:
            raise sqlite3.DatabaseError("another layout")
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(self._path))}?mode=rw",  # never makes a file
            uri=True, timeout=self._timeout_s, isolation_level=None, check_same_thread=False, cached_statements=32,
        )  # fmt: skip
        self._connection, self._opened = connection, (status.st_dev, status.st_ino)
        pages = int(self._max_bytes * _FILE) // _PAGE_BYTES
        try:
            marks = [connection.execute(f"PRAGMA {mark}").fetchone()[0] for mark in ("application_id", "user_version")]
            if marks != [APPLICATION_ID, LAYOUT]:  # a link since the file was looked at
                raise sqlite3.DatabaseError("another file")
            for pragma in (*_PRAGMAS, f"synchronous = {self._synchronous}", f"max_page_count = {pages}"):
                connection.execute(f"PRAGMA {pragma}").fetchall()
        except sqlite3.DatabaseError:
            self.close()
            raise
        return connection

    def _recreate(self) -> None:
        """Make an empty file, which gets its name when it is complete. The folder is locked alone."""
        if os.path.lexists(self._path):
            _layout(self._path)
            logger.warning("Cache file damaged; replaced by an empty one")
        for ending in _ENDINGS:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self._path}{ending}")  # of the file that is replaced
        with contextlib.closing(sqlite3.connect(":memory:")) as memory:
            memory.executescript(
                f"PRAGMA page_size = {_PAGE_BYTES};"
                f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {LAYOUT}; {_TABLES}"
            )
            replace_file(self._path, memory.serialize(), mode=0o600)


def _resolve_file(path: str, *, create: bool) -> str:
    """Return ``path`` without symbolic links in its folder, which is made if ``create``.

    Raises:
        PathRefused: others can change files in the folder.
        OSError: the folder does not exist, or cannot be made.
    """
    parent, name = os.path.split(private_folder.absolute_path(path))
    folder = private_folder.resolve(parent, create=create)
    # SQLite opens its files by their names, so the sticky bit is not enough here.
    if os.name != "nt" and private_folder.is_writable_by_others(os.stat(folder)):
        raise PathRefused(f"{folder} can be changed by other users, who could replace files of the cache")
    return os.path.join(folder, name)


def check_cache_file(settings: Settings) -> None:
    """Check that the file that ``settings.cache`` names, if it names one, is toolfold's or does not exist.

    Called when a process starts for a user, who can then correct the setting. Nothing is changed.

    Raises:
        SettingsError: it is something else.
    """
    if not settings.cache_file:
        return
    try:
        with contextlib.suppress(OSError):  # permissions and space on the disk may change
            _layout(_resolve_file(settings.cache_file, create=False))
    except PathRefused as error:
        raise SettingsError(
            f"TOOLFOLD_CACHE cannot be used: {error}. Nothing was changed. Name a file that does not exist yet, in a "
            "folder of your own."
        ) from None


def _layout(path: str) -> int:
    """Return the layout of a file of toolfold; 0: it was damaged.

    Raises:
        PathRefused: it is something else than a file that toolfold has made for this user.
        FileNotFoundError: it does not exist.
    """
    private_folder.check_owned_file(path, os.lstat(path))
    with open(os.open(path, os.O_RDONLY | private_folder.NO_FOLLOW), "rb") as file:
        header = file.read(100)
    is_database = len(header) == 100 and header.startswith(b"SQLite format 3\0")
    if is_database and int.from_bytes(header[68:72], "big") == APPLICATION_ID:
        return int.from_bytes(header[60:64], "big")
    if is_database or os.path.basename(path) not in _OWN_NAMES:
        raise PathRefused(f"{path} was not made by toolfold; delete or move it")
    return 0
