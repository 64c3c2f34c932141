"""Folders and files of this user on this machine: found safely, locked while they change, and written as a whole.

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
from typing import TYPE_CHECKING

from toolfold.errors import ToolfoldError

if TYPE_CHECKING:
    from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # not on Windows

_LOCK_POLL_S = 0.01

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags of every open: no symbolic link, no wait for the other end of a FIFO."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


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
    # Who owns the root can redirect everything: in a user namespace, as in a container, that is the overflow user.
    owners = {0, os.geteuid(), os.stat(os.sep).st_uid}
    names = absolute.strip(os.sep).split(os.sep)
    resolved = os.sep
    for index, name in enumerate(names):
        resolved = os.path.join(resolved, name)
        if create and not os.path.lexists(resolved):
            with contextlib.suppress(FileExistsError):  # another process has just made it
                os.mkdir(resolved, 0o700)
        status = os.lstat(resolved)
        if status.st_uid not in owners:
            raise PathRefused(f"{resolved} belongs to another user")
        if stat.S_ISLNK(status.st_mode):
            if not os.path.exists(resolved):  # nor is what a chain of links without an end leads to
                raise PathRefused(f"{resolved} is a symbolic link to nothing")
            target = os.path.join(os.path.dirname(resolved), os.readlink(resolved), *names[index + 1 :])
            return resolve(target, create=create)
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not status.st_mode & stat.S_ISVTX and is_writable_by_others(status):
            raise PathRefused(f"{resolved} can be changed by other users")
    return resolved


def absolute_path(path: str) -> str:
    """Return ``path`` from the root, with the home of the user for ``~``.

    Raises:
        PathRefused: there is no such home, or ``path`` is empty.
    """
    if not path:
        raise PathRefused("this user has no folder for it")
    expanded = os.path.expanduser(path)
    if path.startswith("~") and not os.path.isabs(expanded):
        raise PathRefused(f"{path} names a home folder that does not exist")
    return os.path.abspath(expanded)


def is_writable_by_others(status: os.stat_result) -> bool:
    """Return whether other users can write; the user's own group counts as the user, as many systems set it up."""
    by_group = status.st_mode & stat.S_IWGRP and status.st_gid != os.getegid()
    return bool(by_group or status.st_mode & stat.S_IWOTH)


def check_owned_file(path: str, status: os.stat_result) -> None:
    """Check that ``status`` is that of a regular file of this user.

    Raises:
        PathRefused: it is something else.
    """
    if not stat.S_ISREG(status.st_mode):
        raise PathRefused(f"{path} is a link, a folder or a device, and not a file")
    if os.name != "nt" and status.st_uid != os.geteuid():
        raise PathRefused(f"{path} belongs to another user")


@contextlib.contextmanager
def lock_folder(path: str, timeout_s: float, *, shared: bool = False) -> Iterator[int | None]:
    """Open and lock a folder without writing to it; other processes and threads wait.

    Args:
        path: the folder; the one above it was returned by :func:`resolve`.
        timeout_s: seconds to wait for the lock.
        shared: whether others may lock it together with this caller.

    Yields:
        A descriptor of the folder for ``dir_fd``; None on Windows, which has neither such descriptors nor the lock.

    Raises:
        PathRefused: it is not a folder.
        TimeoutError: another process has the lock.
        OSError: the folder cannot be opened, or the file system has no locks.
    """
    if fcntl is None:
        yield None
        return
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | NO_FOLLOW)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise PathRefused(f"{path} is not a folder of toolfold") from None
        raise
    try:
        ends = time.monotonic() + timeout_s
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(folder, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                break
            if time.monotonic() >= ends:
                raise TimeoutError("a folder is locked by another process")
            time.sleep(_LOCK_POLL_S)
        yield folder
    finally:
        os.close(folder)


def replace_file(path: str | Path, content: bytes, *, overwrite: bool = True, mode: int = 0o666) -> None:
    """Write ``content`` to ``path`` in one step: another process sees the whole file or none.

    Args:
        path: the file; a symbolic link is replaced, not followed.
        content: its bytes.
        overwrite: whether a file of that name is replaced, which keeps its rights.
        mode: the rights of a new file, less those that the umask takes.

    Raises:
        FileExistsError: it exists, and ``overwrite`` is false.
        OSError: it cannot be written. It is then as it was.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:100]}.{os.urandom(8).hex()}")
    try:
        with open(os.open(temporary, _NEW_FILE, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not overwrite:
            try:
                os.link(temporary, path)  # fails where the file exists by now
                return
            except FileExistsError:
                raise
            except (AttributeError, OSError):  # a system or a file system without hard links
                if os.path.lexists(path):
                    raise FileExistsError from None
        with contextlib.suppress(OSError):
            os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
