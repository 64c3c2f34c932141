"""Folders and files of this user on this machine: found safely, and locked while they change.

A path is used when only this user and root can redirect it: each folder on the way, and each symbolic link,
belongs to one of the two, and others cannot write there. A folder with the sticky bit, such as ``/tmp``, may be on the
way: others cannot rename what is in it. A folder in which toolfold deletes files has its mark.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator

from toolfold.errors import ToolfoldError
from toolfold.files import replace_file

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # not on Windows

MARK = "CACHEDIR.TAG"
"""The file that marks a folder. Backup programs leave out a folder with this file (https://bford.info/cachedir/)."""

MARK_CONTENT = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# This folder was made by toolfold, which deletes old files in it.\n"
    b"# See https://bford.info/cachedir/\n"
)

_LOCK_POLL_S = 0.01

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
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
        PathRefused: there is no such home.
    """
    expanded = os.path.expanduser(path)
    if path.startswith("~") and not os.path.isabs(expanded):
        raise PathRefused(f"{path} names a home folder that does not exist")
    return os.path.abspath(expanded)


def is_writable_by_others(status: os.stat_result) -> bool:
    """Return whether other users can write; the user's own group counts as the user, as many systems set it up."""
    by_group = status.st_mode & stat.S_IWGRP and status.st_gid != os.getegid()
    return bool(by_group or status.st_mode & stat.S_IWOTH)


def check_owned_file(path: str, status: os.stat_result) -> None:
    """Check that ``status`` is that of a regular file of this user with one link.

    Raises:
        PathRefused: it is something else.
    """
    if not stat.S_ISREG(status.st_mode):
        raise PathRefused(f"{path} is a link, a folder or a device, and not a file")
    if os.name != "nt" and status.st_uid != os.geteuid():
        raise PathRefused(f"{path} belongs to another user")
    if status.st_nlink > 1:  # 0: it has just been deleted
        raise PathRefused(f"{path} has other names (hard links)")


def own_folder(path: str) -> str:
    """Return the folder ``path`` as :func:`resolve` does; a missing one is made, with the mark.

    Raises:
        PathRefused: another user could redirect the path.
        OSError: the folder cannot be made.
    """
    is_new = not os.path.lexists(path)
    folder = resolve(path, create=True)
    if is_new:
        with contextlib.suppress(FileExistsError):  # by another process
            replace_file(os.path.join(folder, MARK), MARK_CONTENT, overwrite=False, mode=0o600)
    return folder


def is_marked(path: str, folder: int | None = None) -> bool:
    """Return whether a folder has the mark of toolfold.

    Args:
        path: the folder.
        folder: a descriptor of it; None to open the mark by its path.

    Raises:
        OSError: the mark cannot be read.
    """
    name = MARK if folder is not None else os.path.join(path, MARK)
    try:
        check_owned_file(name, os.lstat(name, dir_fd=folder))
        with open(os.open(name, os.O_RDONLY | NO_FOLLOW, dir_fd=folder), "rb") as file:
            return file.read(len(MARK_CONTENT) + 1) == MARK_CONTENT
    except (FileNotFoundError, NotADirectoryError, PathRefused):
        return False


@contextlib.contextmanager
def open_marked_folder(path: str, timeout_s: float, *, create: bool = False) -> Iterator[int | None]:
    """Open and lock a folder with the mark, as :func:`lock_folder` does.

    Args:
        path: the folder; the one above it was returned by :func:`resolve`.
        timeout_s: seconds to wait for the lock.
        create: whether to make the folder, or to mark an empty one.

    Raises:
        PathRefused: the folder has no mark, belongs to another user, or others can write in it.
        TimeoutError: another process has the lock.
        OSError: the folder cannot be opened, or the file system has no locks.
    """
    if create:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
    with lock_folder(path, timeout_s) as folder:
        if folder is not None:
            status = os.fstat(folder)
            if status.st_uid != os.geteuid() or is_writable_by_others(status):
                raise PathRefused(f"{path} is not a folder of this user alone")
        if create and not os.listdir(path if folder is None else folder):
            # In the folder that was opened: its path may lead to another one by now.
            name = os.path.join(path, MARK) if folder is None else MARK
            try:
                with open(os.open(name, os.O_WRONLY | os.O_CREAT | NO_FOLLOW, 0o600, dir_fd=folder), "wb") as file:
                    file.write(MARK_CONTENT)
            except OSError:  # a part of the mark would be that of another program
                os.unlink(name, dir_fd=folder)
                raise
        if not is_marked(path, folder):
            raise PathRefused(f"{path} was not made by toolfold: it has no {MARK} of it")
        yield folder


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
