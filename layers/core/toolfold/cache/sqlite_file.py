"""The file of the SQLite cache: which file is toolfold's, and how it is opened and made.

A file is toolfold's when its header has ``APPLICATION_ID``, which SQLite stores for this purpose
(https://sqlite.org/fileformat.html, 1.3.10), or when it has a name of ``OWN_NAMES`` in a folder with the mark of
toolfold. Any other file is refused and stays as it is.

A process that uses the file locks its folder together with others, one that replaces it locks the folder alone. So no
process writes a journal for a file that was replaced (https://sqlite.org/howtocorrupt.html, 4.4).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from urllib.parse import quote

from toolfold import private_folder
from toolfold.private_folder import PathRefused

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
    if create and not os.path.lexists(parent):
        above = private_folder.resolve(os.path.dirname(parent), create=True)
        private_folder.make_marked_folder(os.path.join(above, os.path.basename(parent)))
    folder = private_folder.resolve(parent)
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
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(_empty_file())
        for ending in _BESIDE:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + ending)
        replaces = os.path.lexists(path)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
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
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
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
