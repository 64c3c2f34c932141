"""Long answers as files of a user: named by their content, in a folder of toolfold, bounded in number, size and age."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import time
from typing import BinaryIO, NamedTuple

from toolfold import private_folder
from toolfold.private_folder import PathRefused

__all__ = ["FOLDER", "TTL_S", "AnswerFile", "delete_answers", "list_answers", "save_answer"]

FOLDER = "toolfold-answers"
"""The folder that toolfold makes in the folder of the settings. Only files in it are ever deleted."""

TTL_S = 24 * 3600
"""Seconds after which a file is deleted, when the next one is written."""

MAX_FILES = 500
MAX_TOTAL_BYTES = 200_000_000
"""Limits of all files together, eight answers of the largest size. The oldest are deleted first."""

_MAX_CLOCK_SKEW_S = 3600
"""A file from further in the future was written while the clock was wrong, and counts as expired."""

_NAME = re.compile(r"answer-[0-9a-f]{64}\.(csv|json|txt)\Z")
_TEMPORARY = re.compile(r"\.answer-[0-9a-f]{16}\.tmp\Z")
_CHUNK = 1 << 20


class AnswerFile(NamedTuple):
    """A file that toolfold made."""

    modified_at: float
    size: int
    name: str


def save_answer(content: bytes, suffix: str, location: str, timeout_s: float) -> tuple[str, float]:
    """Save ``content`` in the folder of toolfold below ``location``, unless it is there already.

    Args:
        content: the answer.
        suffix: ``csv``, ``json`` or ``txt``.
        location: a folder of the user. Nothing in it is changed but this folder.
        timeout_s: seconds to wait for another process that saves an answer.

    Returns:
        The path of the file, and the time at which it may be deleted.

    Raises:
        PathRefused: the folder was not made by toolfold, or others can change it.
        OSError: it cannot be written.
    """
    if len(content) > MAX_TOTAL_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    folder = os.path.join(private_folder.resolve(location, create=True), FOLDER)
    private_folder.make_marked_folder(folder)
    name = f"answer-{hashlib.sha256(content).hexdigest()}.{suffix}"
    with private_folder.open_marked_folder(folder, timeout_s) as descriptor:
        files = _Files(folder, descriptor)
        now = time.time()
        if not files.refresh(name, content):
            files.prune(now, len(content), name)
            files.write(name, content)
        else:
            files.prune(now, 0, name)
    return os.path.join(private_folder.absolute_path(location), FOLDER, name), now + TTL_S


def list_answers(location: str, timeout_s: float) -> tuple[list[AnswerFile], int]:
    """Return the files of toolfold below ``location``, and the number of others. Raises as :func:`save_answer`."""
    folder = os.path.join(private_folder.resolve(location), FOLDER)
    with private_folder.open_marked_folder(folder, timeout_s) as descriptor:
        files = _Files(folder, descriptor)
        own = files.own_files()
        others = {*files.names()} - {private_folder.MARK} - {file.name for file in own}
    return own, len(others)


def delete_answers(location: str, timeout_s: float) -> None:
    """Delete the files of toolfold below ``location``, and nothing else. Raises as :func:`save_answer`."""
    folder = os.path.join(private_folder.resolve(location), FOLDER)
    with private_folder.open_marked_folder(folder, timeout_s) as descriptor:
        _Files(folder, descriptor).delete_all()


class _Files:
    """The files of a marked folder, while it is locked.

    Args:
        path: the folder.
        descriptor: of the folder; None on Windows.
    """

    def __init__(self, path: str, descriptor: int | None) -> None:
        self._path, self._descriptor = path, descriptor

    def refresh(self, name: str, content: bytes) -> bool:
        """Set the time of the file ``name`` to now, and return True, if it has ``content``.

        A damaged file is deleted.

        Raises:
            PathRefused: what has this name is not a file of toolfold.
        """
        try:
            status = os.lstat(self._at(name), dir_fd=self._descriptor)
        except FileNotFoundError:
            return False
        private_folder.check_owned_file(os.path.join(self._path, name), status)
        with open(self._open(name, os.O_RDONLY), "rb") as file:
            opened = os.fstat(file.fileno())
            if _identity(opened) != _identity(status) or not stat.S_ISREG(opened.st_mode):
                raise PathRefused(f"{os.path.join(self._path, name)} was replaced")
            if opened.st_size == len(content) and _is_content(file, content):
                os.utime(file.fileno() if os.utime in os.supports_fd else self._at(name))
                return True
        self._delete(name)
        return False

    def prune(self, now: float, size: int, kept: str) -> None:
        """Delete expired files, and the oldest until ``size`` more bytes fit. The file ``kept`` is not deleted."""
        files = sorted(self.own_files())
        count, total = len(files), sum(file.size for file in files)
        limit = MAX_FILES - (size > 0)
        for file in files:
            fresh = now - TTL_S <= file.modified_at <= now + _MAX_CLOCK_SKEW_S
            # Answers are written under the lock, so a temporary file is what a killed process left.
            expired = not fresh or _TEMPORARY.match(file.name)
            if file.name != kept and (expired or count > limit or total + size > MAX_TOTAL_BYTES):
                with contextlib.suppress(FileNotFoundError):  # the user has deleted it
                    self._delete(file.name)
                count, total = count - 1, total - file.size

    def write(self, name: str, content: bytes) -> None:
        """Write ``content`` to a new file, which gets its name when it is complete."""
        temporary = f".answer-{os.urandom(8).hex()}.tmp"
        try:
            with open(self._open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                file.write(content)
            self._rename(temporary, name)
        finally:
            with contextlib.suppress(FileNotFoundError):
                self._delete(temporary)

    def _rename(self, temporary: str, name: str) -> None:
        try:  # fails if the name was taken
            os.link(
                self._at(temporary), self._at(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor
            )  # fmt: skip
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK):
                raise
            # A file system without hard links. The lock excludes toolfold, and only the user can write here.
            os.rename(
                self._at(temporary), self._at(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor
            )  # fmt: skip

    def delete_all(self) -> None:
        """Delete the files of toolfold."""
        for file in self.own_files():
            with contextlib.suppress(FileNotFoundError):  # the user has deleted it
                self._delete(file.name)

    def names(self) -> list[str]:
        """Return the names of all files, also of others."""
        return os.listdir(self._path if self._descriptor is None else self._descriptor)

    def own_files(self) -> list[AnswerFile]:
        """Return the files of toolfold."""
        files = []
        for name in self.names():
            if not (_NAME.match(name) or _TEMPORARY.match(name)):
                continue
            with contextlib.suppress(FileNotFoundError, PathRefused):
                status = os.lstat(self._at(name), dir_fd=self._descriptor)
                private_folder.check_owned_file(name, status)
                files.append(AnswerFile(status.st_mtime, status.st_size, name))
        return files

    def _open(self, name: str, flags: int) -> int:
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        return os.open(self._at(name), flags, 0o600, dir_fd=self._descriptor)

    def _delete(self, name: str) -> None:
        os.unlink(self._at(name), dir_fd=self._descriptor)

    def _at(self, name: str) -> str:
        return name if self._descriptor is not None else os.path.join(self._path, name)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _is_content(file: BinaryIO, content: bytes) -> bool:
    view = memoryview(content)
    return all(file.read(_CHUNK) == view[start : start + _CHUNK] for start in range(0, len(content), _CHUNK))
