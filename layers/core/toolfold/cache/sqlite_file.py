"""The file of the SQLite cache: which file is toolfold's, how it is made, opened and replaced.

A file is toolfold's when its header has ``APPLICATION_ID``, which SQLite stores for this purpose
(https://sqlite.org/fileformat.html, 1.3.10). Any other file is refused and stays as it is.

Processes that open the file lock its folder together, a process that replaces it alone. So the ``-wal`` and ``-shm``
files that a process opens always belong to the file that it opened (https://sqlite.org/howtocorrupt.html, 4.4).
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import quote

from toolfold import private_folder
from toolfold.private_folder import PathRefused

__all__ = ["CacheFile", "check_location", "file_system_of"]

APPLICATION_ID = int.from_bytes(b"tfld", "big")
LAYOUT = 3
"""``user_version`` of the file. A file of an earlier layout is replaced."""

PAGE_BYTES = 4096

TABLES = """
CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB, created_at REAL, expires_at REAL) WITHOUT ROWID;
CREATE TABLE numbers (key TEXT PRIMARY KEY, value REAL, expires_at REAL) WITHOUT ROWID;
CREATE INDEX entries_expires_at ON entries (expires_at);
CREATE INDEX numbers_expires_at ON numbers (expires_at);
"""

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_BESIDE = ("-wal", "-shm", "-journal")
"""Ends of the names of the files that SQLite itself writes, replaces and deletes beside a database."""

_NEW_INDEX_BYTES = 3
"""Size to which SQLite cuts a ``-shm`` file that it has just opened as the first process, before it writes pages
(``unixLockSharedMemory`` in its os_unix.c)."""

_WAL_MAGICS = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", b"\0\0\0\0", b"")
"""How a ``-wal`` file begins; after a loss of power also with zeros, or it is empty."""

_NETWORK_FILE_SYSTEMS = frozenset({
    "afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.glusterfs", "fuse.sshfs", "glusterfs", "gpfs", "lustre",
    "ncpfs", "nfs", "nfs4", "smb3", "smbfs",
})  # fmt: skip
"""WAL needs memory that all processes share (https://sqlite.org/wal.html); two hosts would damage the file."""

_MAX_ATTEMPTS = 5


class FileId(NamedTuple):
    """Identity of a file, which another file with its name does not have."""

    device: int
    inode: int


class CacheFile:
    """A SQLite file by its path.

    Args:
        path: of the file; ``~`` stands for the user's home.
        timeout_s: seconds to wait for other processes.
    """

    def __init__(self, path: str, timeout_s: float) -> None:
        self._given, self._timeout_s = path, timeout_s
        self._path = ""
        self._opened: dict[str, FileId] = {}

    def open(self) -> sqlite3.Connection:
        """Open the file; make it, with its folder, where it does not exist.

        Raises:
            PathRefused: it is not toolfold's, or others can change it.
            sqlite3.DatabaseError: it is damaged.
            OSError: it cannot be made.
        """
        self._path = path = _resolve(self._given, create=True)
        self._delete_orphans()
        with self._lock(shared=True):
            for _ in range(_MAX_ATTEMPTS):
                try:
                    self._opened = {"": inspect(path)}
                except FileNotFoundError:
                    _make(path)
                    continue
                connection = self._connect(path)
                if not self.was_replaced():
                    found = {ending: _file_id(path + ending) for ending in ("-wal", "-shm")}
                    self._opened |= {ending: file_id for ending, file_id in found.items() if file_id is not None}
                    return connection
                connection.close()
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    def was_replaced(self) -> bool:
        """Return whether the path names another file than the one that was opened last, or none."""
        return _file_id(self._path) != self._opened.get("")

    def delete_damaged(self, *, is_open: bool) -> None:
        """Delete the file that was opened last, unless another process has replaced it already.

        Args:
            is_open: whether this process has it open. If not, a new file may have its inode, so it is tried again.

        Raises:
            PathRefused: it is not provably toolfold's.
            OSError: it cannot be deleted.
        """
        with self._lock(shared=False), contextlib.suppress(FileNotFoundError):
            if inspect(self._path) == self._opened.get("") and (is_open or not self._can_open()):
                # The file last: without it, the others would be those of an unknown file.
                for ending in ("-wal", "-shm", ""):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(self._path + ending)

    def _can_open(self) -> bool:
        try:
            self._connect(self._path).close()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            return False
        return True

    def _delete_orphans(self) -> None:
        """Delete the log of the file that was opened last, if the user has deleted the file alone."""
        if len(self._opened) < 2 or os.path.lexists(self._path):
            return
        with self._lock(shared=False):
            if not os.path.lexists(self._path):
                for ending in ("-wal", "-shm"):
                    if _file_id(self._path + ending) == self._opened.get(ending, ()):
                        os.unlink(self._path + ending)
        self._opened = {}

    def wal_bytes(self) -> int:
        """Return the size of the write-ahead log."""
        try:
            return os.stat(self._path + "-wal", follow_symlinks=False).st_size
        except OSError:
            return 0

    def total_bytes(self) -> int:
        """Return the size of the file and of its write-ahead log."""
        return os.stat(self._path, follow_symlinks=False).st_size + self.wal_bytes()

    def _lock(self, *, shared: bool) -> contextlib.AbstractContextManager[None]:
        return private_folder.lock_folder(os.path.dirname(self._path), self._timeout_s, shared=shared)

    def _connect(self, path: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(path))}?mode=rw",  # never makes a file
            uri=True, timeout=self._timeout_s, isolation_level=None, check_same_thread=False, cached_statements=32,
        )  # fmt: skip
        try:
            # Read before anything is written: the path may have changed since it was inspected.
            [(application_id,)] = connection.execute("PRAGMA application_id")
            [(layout,)] = connection.execute("PRAGMA user_version")
            if application_id != APPLICATION_ID or layout > LAYOUT:
                raise PathRefused(f"{path} was not made by this version of toolfold")
            tables = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
            if layout != LAYOUT or tables != _statements(TABLES):
                raise sqlite3.DatabaseError("another layout")
            connection.execute("SELECT 1 FROM entries LIMIT 1").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection


def _file_id(path: str) -> FileId | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return FileId(status.st_dev, status.st_ino)


def check_location(path: str) -> None:
    """Check, without changing anything, that ``path`` is a file of toolfold or can become one.

    Raises:
        PathRefused: it cannot, regardless of permissions and of space on the disk.
    """
    with contextlib.suppress(OSError):
        inspect(_resolve(path, create=False))


def _resolve(path: str, *, create: bool) -> str:
    """Return ``path`` without symbolic links in its folder.

    Raises:
        PathRefused: others can change files in the folder, or SQLite cannot be used in it.
        OSError: the folder does not exist and cannot be made.
    """
    parent, name = os.path.split(private_folder.absolute_path(path))
    if not name or name.endswith(_BESIDE) or path.endswith((os.sep, f"{os.sep}.")):
        raise PathRefused(f"{path} is not the name of a file for a cache")
    if create and not os.path.lexists(parent):
        above = private_folder.resolve(os.path.dirname(parent), create=True)
        private_folder.make_marked_folder(os.path.join(above, os.path.basename(parent)))
    folder = private_folder.resolve(parent)
    status = os.stat(folder)
    # SQLite opens its files by their names, so the sticky bit is not enough here.
    if os.name != "nt" and private_folder.is_writable_by_others(status):
        raise PathRefused(f"{folder} can be changed by other users, who could replace files of the cache")
    kind = file_system_of(status.st_dev, _mounts())
    if kind in _NETWORK_FILE_SYSTEMS:
        raise PathRefused(f"{folder} is on a network file system ({kind}), where SQLite cannot share a file")
    return os.path.join(folder, name)


def inspect(path: str) -> FileId:
    """Return which file is at ``path``, after checking that it and the files beside it are toolfold's.

    Raises:
        FileNotFoundError: there is no file.
        PathRefused: there is one that is not toolfold's.
    """
    for _ in range(_MAX_ATTEMPTS):
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            beside = [path + ending for ending in _BESIDE if os.path.lexists(path + ending)]
            if not beside:
                raise
            if os.path.lexists(path):  # made since
                continue
            raise PathRefused(f"{beside[0]} is there without the file that it belongs to; delete or move it") from None
        private_folder.check_owned_file(path, status)
        if not _has_header(path):
            raise PathRefused(f"{path} was not made by toolfold")
        _check_beside(path)
        return FileId(status.st_dev, status.st_ino)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def _has_header(path: str) -> bool:
    """Return whether the header is that of a file of toolfold, of this or an earlier layout.

    SQLite reads it, as a file that does not change, because closing a descriptor of this process would end the locks
    that its other connections have on the file (https://sqlite.org/howtocorrupt.html, 2.2). It writes nothing.
    """
    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1", uri=True)
        ) as file:
            [(application_id,)] = file.execute("PRAGMA application_id")
            [(layout,)] = file.execute("PRAGMA user_version")
    except sqlite3.OperationalError as error:
        raise OSError(errno.EIO, str(error)) from None
    except sqlite3.DatabaseError:  # damaged, so that losing locks on it does no harm
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            header = os.read(descriptor, _HEADER_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        finally:
            os.close(descriptor)
        application_id, layout = int.from_bytes(header[68:72], "big"), int.from_bytes(header[60:64], "big")
        if not header.startswith(_MAGIC):
            return False
    return bool(application_id == APPLICATION_ID and 0 < layout <= LAYOUT)


def _check_beside(path: str) -> None:
    """Check the files beside the one at ``path``, which SQLite would read, overwrite and delete.

    Raises:
        PathRefused: one of them cannot have been written by SQLite for this file.
    """
    for ending in _BESIDE:
        try:
            status = os.lstat(path + ending)
        except FileNotFoundError:
            continue
        private_folder.check_owned_file(path + ending, status)
        # A file in WAL mode has no rollback journal. The index of the log is made of pages.
        is_index = status.st_size % PAGE_BYTES == 0 or status.st_size == _NEW_INDEX_BYTES
        foreign = ending == "-journal" or (ending == "-shm" and not is_index)
        if ending == "-wal":
            with contextlib.suppress(FileNotFoundError):  # deleted by the last process that used it
                descriptor = os.open(path + ending, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
                try:
                    foreign = os.read(descriptor, 4) not in _WAL_MAGICS
                finally:
                    os.close(descriptor)
        if foreign:
            raise PathRefused(f"{path}{ending} was not made by toolfold")


def _make(path: str) -> None:
    """Make an empty cache at ``path``. It gets this name when it is complete; an existing file is not replaced."""
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(_empty_file())
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass  # another process was first
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
            # A file system without hard links: not complete at once, but never over another file.
            with contextlib.suppress(FileExistsError), open(os.open(path, flags, 0o600), "wb") as file:
                file.write(_empty_file())
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _empty_file() -> bytes:
    """Return the content of a cache without entries, in WAL mode."""
    with contextlib.closing(sqlite3.connect(":memory:")) as memory:
        memory.executescript(
            f"PRAGMA page_size = {PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL;"
            f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {LAYOUT}; {TABLES}"
        )
        content = bytearray(memory.serialize())
    content[18:20] = b"\x02\x02"  # the versions of the format that mean WAL: fileformat.html, 1.3.3
    return bytes(content)


def _statements(script: str) -> set[str]:
    return {statement.strip() for statement in script.split(";") if statement.strip()}


def file_system_of(device: int, mounts: Iterable[str]) -> str:
    """Return the kind of the file system with the number ``device``, or an empty string.

    Args:
        device: ``st_dev`` of a file.
        mounts: the lines of ``/proc/self/mountinfo``.
    """
    number = f"{os.major(device)}:{os.minor(device)}" if hasattr(os, "major") else ""
    for line in mounts:
        fields = line.split()
        if number and len(fields) > 6 and fields[2] == number and "-" in fields:
            return fields[fields.index("-") + 1]
    return ""


def _mounts() -> list[str]:
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            return file.readlines()
    except OSError:  # not Linux
        return []
