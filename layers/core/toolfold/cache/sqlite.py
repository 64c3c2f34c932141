"""A store in one SQLite file, shared by all processes of a user and readable by that user only.

A file is toolfold's when its header has ``APPLICATION_ID``, which SQLite stores for this purpose
(https://sqlite.org/fileformat.html, 1.3.10), or when it has a name of ``_OWN_NAMES`` and is not a database. Any other
file is refused and stays as it is.

A process that uses the file locks its folder together with others, one that replaces it locks the folder alone. So no
process writes a journal for a file that was replaced (https://sqlite.org/howtocorrupt.html, 4.4).
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from toolfold import private_folder
from toolfold.cache.stores import MAX_CLOCK_SKEW_S, CacheStore, Change
from toolfold.errors import SettingsError
from toolfold.private_folder import PathRefused, replace_file

if TYPE_CHECKING:
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

T = TypeVar("T")

APPLICATION_ID = int.from_bytes(b"tfld", "big")
LAYOUT = 4
"""``user_version`` of the file. A file of another layout is replaced."""

_OWN_NAMES = ("responses.sqlite", "approvals.sqlite", "sign-ins.sqlite")
"""Names that toolfold gives."""

_PAGE_BYTES = 4096
_NEW_FILE = f"""
PRAGMA page_size = {_PAGE_BYTES}; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {LAYOUT};
CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB, created_at REAL, expires_at REAL) WITHOUT ROWID;
CREATE INDEX entries_expires_at ON entries (expires_at);
"""
"""Records were created at 0, and are never evicted."""

_GET = "SELECT value, expires_at FROM entries WHERE key = ? AND typeof(value) = 'blob'"
_STORE = """INSERT INTO entries VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value,
created_at = excluded.created_at, expires_at = excluded.expires_at"""
_EVICT = """WITH held AS (SELECT key, expires_at FROM entries WHERE created_at > 0) DELETE FROM entries WHERE key IN
(SELECT key FROM held ORDER BY expires_at LIMIT (SELECT 1 + count(*) / 10 FROM held))"""
"""A tenth, so that not every further value has to evict."""

_PRAGMAS = """
PRAGMA secure_delete = OFF; -- on Debian it is on, and writes each deleted page
PRAGMA mmap_size = 0; -- reading a mapped file that gets shorter ends the process
PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
"""
_UNUSABLE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""Codes of a file that is damaged, or has other tables than these statements name."""

_MIN_FILE_BYTES = 256_000
"""A smaller limit counts as this: the empty tables take a tenth of it."""

_MAX_SHARE = 8
"""A value may take an eighth of the limit: one long history must not evict everything else."""

_VALUES, _FILE = 0.65, 0.7
"""Parts of the limit: for values, and for the file with the records. The rest is for the journal of a write."""

_LOCK = threading.RLock()
"""One operation at a time in this process: closing a file ends the locks of other connections of this process to it
(https://sqlite.org/howtocorrupt.html, 2.2)."""


class SQLiteStore(CacheStore):
    """Store values in a SQLite file; those that expire first are evicted first. A file that does not open is replaced.

    Each method raises PathRefused where the file is not toolfold's, and OSError or sqlite3.Error where it cannot be
    made, or is busy or full.

    Args:
        path: the file; it is made, with its folder, where it does not exist.
        max_bytes: limit of the file and its journal together.
        timeout_s: seconds to wait for another process that writes.
        is_durable: whether a loss of power undoes no write. Otherwise it may damage the file, which is then replaced.
    """

    def __init__(
        self, path: str | os.PathLike[str], max_bytes: int, timeout_s: float, *, is_durable: bool = False
    ) -> None:
        self._given, self._path, self._timeout_s = os.fspath(path), "", timeout_s
        self._max_bytes, self._is_durable = max(max_bytes, _MIN_FILE_BYTES), is_durable
        self._connection: sqlite3.Connection | None = None
        self._finalizer: weakref.finalize[[], SQLiteStore] | None = None
        self._opened, self._failed_at = (0, 0), 0.0

    def get(self, key: str) -> bytes | None:
        """Return the value or record last stored, or None."""
        rows = self._execute(_GET, key)
        return rows[0][0] if rows else None

    def put(self, key: str, value: bytes, created_at: float, expires_at: float) -> None:
        """Store ``value``, unless a newer one is stored, or there is no space for it."""
        if len(value) * _MAX_SHARE > self._max_bytes:
            return
        # With the pages of the tree and of the index.
        most = self._max_bytes * _VALUES // _PAGE_BYTES - len(value) // _PAGE_BYTES - 8

        def put(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM entries WHERE expires_at < ?", (created_at,))
            used = "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count"
            while connection.execute(used).fetchone()[0] > most:
                if not connection.execute(_EVICT).rowcount:
                    return
            connection.execute(
                f"{_STORE} WHERE excluded.created_at >= entries.created_at OR entries.created_at > ?",
                (key, value, created_at, expires_at, created_at + MAX_CLOCK_SKEW_S),
            )

        self._write(put)

    def change(self, key: str, change: Change, expires_at: float | None) -> bytes | None:
        """Store what ``change`` makes of a record; return the one before."""

        def change_row(connection: sqlite3.Connection) -> bytes | None:
            before, until = connection.execute(_GET, (key,)).fetchone() or (None, None)
            if (after := change(before)) is not None:
                if before is None and self._is_durable:  # no value is ever put there, which would delete them
                    connection.execute("DELETE FROM entries WHERE expires_at < ?", (time.time(),))
                connection.execute(_STORE, (key, after, 0, until if expires_at is None else expires_at))
            return before

        return self._write(change_row)

    def unexpired(self, now: float, most: int) -> list[tuple[str, bytes]]:
        """Return key and value of at most ``most`` entries, those first that expire soonest."""
        found = "FROM entries WHERE expires_at > ? AND typeof(value) = 'blob' ORDER BY expires_at LIMIT ?"
        return self._execute(f"SELECT key, value {found}", now, most)

    def count(self) -> int:
        """Return the number of values."""
        return int(self._execute("SELECT count(*) FROM entries WHERE created_at > 0")[0][0])

    def clear(self) -> None:
        """Delete everything, and give the space back to the disk. Other processes may use the file."""
        self._run(lambda file: file.executescript("DELETE FROM entries; VACUUM"))

    def close(self) -> None:
        """Close the file."""
        with _LOCK:
            self._connection = None
            if self._finalizer is not None:
                self._finalizer()

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        return self._run(lambda connection: connection.execute(statement, values).fetchall())

    def _write(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        def write(connection: sqlite3.Connection) -> T:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                return operation(connection)

        return self._run(write)

    def _run(self, operation: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``operation``. If the file does not open, or is damaged, also when used alone, it is replaced."""
        began = time.monotonic()
        with _LOCK:
            if began < self._failed_at:  # else as many threads would wait for another process in turn
                raise TimeoutError("the file could not be used a moment ago")
            try:
                if not os.path.lexists(self._path):
                    self._path = _resolve_file(self._given, create=True)
                for is_shared in (True, False):  # alone, another process may have replaced it
                    with private_folder.lock_folder(os.path.dirname(self._path), self._timeout_s, shared=is_shared):
                        try:
                            return operation(self._open())
                        except (sqlite3.DatabaseError, FileNotFoundError) as error:
                            if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in _UNUSABLE:
                                raise  # busy, full, or read-only
                        self.close()
                        if not is_shared:
                            self._recreate()
                            return operation(self._open())
                raise AssertionError
            except (TimeoutError, sqlite3.Error):
                self.close()
                self._failed_at = time.monotonic()
                raise

    def _open(self) -> sqlite3.Connection:
        """Return the connection to the file that is at the path now: another process may have replaced it.

        FileNotFoundError and sqlite3.DatabaseError mean that it is missing, damaged, or of another version.
        """
        status = os.lstat(self._path)
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
        self._finalizer = weakref.finalize(self, connection.close)
        self._connection, self._opened = connection, (status.st_dev, status.st_ino)
        marks = [connection.execute(f"PRAGMA {mark}").fetchone()[0] for mark in ("application_id", "user_version")]
        if marks != [APPLICATION_ID, LAYOUT]:  # a link since the file was looked at
            raise sqlite3.DatabaseError("another file")
        pages, synchronous = int(self._max_bytes * _FILE) // _PAGE_BYTES, "FULL" if self._is_durable else "OFF"
        connection.executescript(f"{_PRAGMAS} PRAGMA synchronous = {synchronous}; PRAGMA max_page_count = {pages}")
        return connection

    def _recreate(self) -> None:
        """Make an empty file, which gets its name when it is complete. The folder is locked alone."""
        if os.path.lexists(self._path):
            _layout(self._path)
            logger.warning("Cache file damaged; replaced by an empty one")
        for ending in ("-journal", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self._path}{ending}")  # of the file that is replaced
        with contextlib.closing(sqlite3.connect(":memory:")) as memory:
            memory.executescript(_NEW_FILE)
            replace_file(self._path, memory.serialize(), mode=0o600)


def _resolve_file(path: str, *, create: bool) -> str:
    """Return ``path`` without symbolic links in its folder, which is made if ``create``, and no other user can change.

    Raises PathRefused where others can, and OSError where it does not exist or cannot be made.
    """
    parent, name = os.path.split(private_folder.absolute_path(path))
    folder = private_folder.resolve(parent, create=create)
    # SQLite opens its files by their names, so the sticky bit is not enough here.
    if os.name != "nt" and private_folder.is_writable_by_others(os.stat(folder)):
        raise PathRefused(f"{folder} can be changed by other users, who could replace files of the cache")
    return os.path.join(folder, name)


def _layout(path: str) -> int:
    """Return the layout of a file of toolfold; 0: it was damaged.

    Raises PathRefused for something else than a file that toolfold has made for this user.
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
