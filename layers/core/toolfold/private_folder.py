"""Folders on this machine whose files toolfold may delete: found safely, marked as its own, locked while they change.

A file belongs to toolfold when it is in a folder with the mark of toolfold, has a name that toolfold gives, is a
regular file with one link, and belongs to the user of this process. Nothing else is deleted, replaced or written to.

A path is used when only this user and root can redirect it: each folder on the way, and each symbolic link,
belongs to one of the two, and others cannot write there. A folder with the sticky bit, such as ``/tmp``, may be on the
way: others cannot rename what is in it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator

from toolfold.errors import ToolfoldError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # not on Windows

__all__ = ["PathRefused", "check_owned_file", "lock_folder", "make_marked_folder", "open_marked_folder", "resolve"]

MARK = "CACHEDIR.TAG"
"""The file that marks a folder. Backup programs leave out a folder with this file (https://bford.info/cachedir/)."""

MARK_CONTENT = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# This folder was made by toolfold, which deletes old files in it.\n"
    b"# See https://bford.info/cachedir/\n"
)

_MAX_LINKS = 40
"""Symbolic links in one path, as Linux allows."""

_LOCK_POLL_S = 0.01

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags of every open: no symbolic link, no wait for the other end of a FIFO."""


class PathRefused(ToolfoldError):
    """A path that is not used: another user could redirect it, or what is there was not made by toolfold.

    The text names the path. It may be logged on the machine of the user, and is never part of an answer.
    """


def resolve(path: str, *, create: bool = False) -> str:
    """Return the folder ``path`` as an absolute path without symbolic links.

    Args:
        path: of a folder; ``~`` stands for the user's home.
        create: whether to make missing folders, for this user only.

    Raises:
        PathRefused: another user could redirect the path, or it has no meaning.
        FileNotFoundError: a folder is missing, and ``create`` is false.
        OSError: a folder cannot be read or made.
    """
    absolute = absolute_path(path)
    if os.name == "nt":
        if create:
            os.makedirs(absolute, exist_ok=True)
        return os.path.realpath(absolute)
    owners = _trusted_owners()
    todo = absolute.split(os.sep)[::-1]
    resolved, links = os.sep, 0
    while todo:
        name = todo.pop()
        if name in ("", os.curdir):
            continue
        if name == os.pardir:
            resolved = os.path.dirname(resolved)
            continue
        found = os.path.join(resolved, name)
        try:
            status = os.lstat(found)
        except FileNotFoundError:
            if not create:
                raise
            with contextlib.suppress(FileExistsError):  # another process has just made it
                os.mkdir(found, 0o700)
            status = os.lstat(found)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if status.st_uid not in owners:
                raise PathRefused(f"{found} is a symbolic link of another user")
            if not os.path.exists(found):
                raise PathRefused(f"{found} is a symbolic link to nothing")
            target = os.readlink(found)
            resolved = os.sep if target.startswith(os.sep) else resolved
            todo += target.split(os.sep)[::-1]
            continue
        _check_folder(found, status, owners)
        resolved = found
    return resolved


def absolute_path(path: str) -> str:
    """Return ``path`` from the root, with the home of the user for ``~``.

    Raises:
        PathRefused: there is no such home.
    """
    expanded = os.path.expanduser(path)
    if path.startswith("~") and not os.path.isabs(expanded):
        raise PathRefused(f"{path} names a home folder that does not exist")
    return os.path.abspath(expanded)


def _check_folder(path: str, status: os.stat_result, owners: tuple[int, ...]) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if status.st_uid not in owners:
        raise PathRefused(f"{path} belongs to another user")
    if not status.st_mode & stat.S_ISVTX and is_writable_by_others(status):
        raise PathRefused(f"{path} can be changed by other users")


def is_writable_by_others(status: os.stat_result) -> bool:
    """Return whether other users can write; the user's own group counts as the user, as many systems set it up."""
    by_group = status.st_mode & stat.S_IWGRP and status.st_gid != os.getegid()
    return bool(by_group or status.st_mode & stat.S_IWOTH)


def _trusted_owners() -> tuple[int, ...]:
    """Return the users who may own the folders on the way."""
    user = os.geteuid()
    try:
        with open("/proc/self/uid_map", encoding="ascii") as file:
            mapped = [int(line.split()[2]) for line in file]
    except (OSError, ValueError, IndexError):
        return 0, user
    # In a user namespace, as in a container, the folders of root appear as those of the overflow user.
    return (0, user) if sum(mapped) >= 2**32 - 1 else (0, user, 65534)


def check_owned_file(path: str, status: os.stat_result) -> None:
    """Check that ``status`` is that of a regular file of this user with one link.

    Raises:
        PathRefused: it is something else.
    """
    kinds = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO"}
    if not stat.S_ISREG(status.st_mode):
        raise PathRefused(f"{path} is {kinds.get(stat.S_IFMT(status.st_mode), 'a device or a socket')}, not a file")
    if os.name != "nt" and status.st_uid != os.geteuid():
        raise PathRefused(f"{path} belongs to another user")
    if status.st_nlink != 1:
        raise PathRefused(f"{path} has other names (hard links)")


def make_marked_folder(path: str) -> None:
    """Make the folder ``path`` with the mark, unless something is there.

    The folder gets its name when it has the mark, so that it never appears without.

    Args:
        path: its last part is made; the folder above was returned by :func:`resolve`.
    """
    if os.path.lexists(path):
        return
    parent, name = os.path.split(path)
    temporary = os.path.join(parent, f".{name}.{os.urandom(8).hex()}")
    mark = os.path.join(temporary, MARK)
    os.mkdir(temporary, 0o700)
    try:
        with open(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600), "wb") as file:
            file.write(MARK_CONTENT)
        os.rename(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(mark)
        with contextlib.suppress(OSError):
            os.rmdir(temporary)
        # Another process has made it. Every other error is the caller's.
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR) and not os.path.isdir(path):
            raise


@contextlib.contextmanager
def open_marked_folder(path: str, timeout_s: float) -> Iterator[int | None]:
    """Open and lock a folder with the mark; other processes and threads wait.

    Args:
        path: the folder.
        timeout_s: seconds to wait for the lock.

    Yields:
        A descriptor of the folder for ``dir_fd``; None on Windows, which has no such descriptors.

    Raises:
        PathRefused: the folder has no mark, belongs to another user, or others can write in it.
        TimeoutError: another process has the lock.
        OSError: the folder cannot be opened, or the file system has no locks.
    """
    with contextlib.ExitStack() as stack:
        folder = None
        if os.name != "nt":
            try:
                folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _NO_FOLLOW)
            except (NotADirectoryError, OSError) as error:
                if error.errno in (errno.ENOTDIR, errno.ELOOP):
                    raise PathRefused(f"{path} is not a folder of toolfold") from None
                raise
            stack.callback(os.close, folder)
            status = os.fstat(folder)
            if status.st_uid != os.geteuid() or is_writable_by_others(status):
                raise PathRefused(f"{path} is not a folder of this user alone")
        mark = _open_mark(path, folder)
        stack.callback(os.close, mark)
        _lock(mark, timeout_s)
        yield folder


def _open_mark(path: str, folder: int | None) -> int:
    """Open the mark for reading and writing, which locks on network file systems need."""
    name = MARK if folder is not None else os.path.join(path, MARK)
    refused = PathRefused(f"{path} was not made by toolfold: it has no {MARK} of it")
    try:
        status = os.lstat(name, dir_fd=folder)
        check_owned_file(name, status)
        if status.st_size != len(MARK_CONTENT):
            raise refused
        # Read first: a file that is not ours is never opened for writing.
        for flags in (os.O_RDONLY, os.O_RDWR):
            mark = os.open(name, flags | _NO_FOLLOW, dir_fd=folder)
            opened = os.fstat(mark)
            if (opened.st_dev, opened.st_ino) != (status.st_dev, status.st_ino) or (
                os.read(mark, len(MARK_CONTENT) + 1) != MARK_CONTENT
            ):
                os.close(mark)
                raise refused
            if flags == os.O_RDONLY:
                os.close(mark)
    except (FileNotFoundError, NotADirectoryError, PathRefused):
        raise refused from None
    return mark


@contextlib.contextmanager
def lock_folder(path: str, timeout_s: float, *, shared: bool = False) -> Iterator[None]:
    """Lock a folder without writing to it. ``shared`` excludes only those who lock it alone.

    Raises:
        TimeoutError: another process has the lock.
        OSError: the folder cannot be opened, or the file system has no locks.
    """
    if fcntl is None:
        yield
        return
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _NO_FOLLOW)
    try:
        _lock(folder, timeout_s, shared=shared)
        yield
    finally:
        os.close(folder)


def _lock(descriptor: int, timeout_s: float, *, shared: bool = False) -> None:
    if fcntl is None:
        return
    ends = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= ends:
                raise TimeoutError("a folder is locked by another process") from None
            time.sleep(_LOCK_POLL_S)
        else:
            return
