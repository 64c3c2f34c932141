"""Find the skills in a folder, and read their files without leaving it.

Nothing is executed, and no file outside of the folder is read: a symbolic link may lead to another place in it. Every
file is opened once, checked to be a regular file after that, and read up to its limit.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from toolfold.catalog.skills import SKILL_FILE
from toolfold.errors import SourceError

_MAX_DEPTH = 12
"""Folders inside each other, from the folder of skills to a file."""

_MAX_ENTRIES = 20_000
"""Names that are looked at: a folder with more is not a folder of skills."""

_LEFT_OUT = frozenset({"__pycache__", "node_modules", "Thumbs.db"})
"""What programs leave behind. Hidden names (``.git``, ``.env``, ``.DS_Store``) are left out, too."""


@dataclass(frozen=True)
class Limits:
    """What a skill may have. The defaults are those that every host of the skills extension accepts (SEP-2640)."""

    max_file_bytes: int = 1 << 20
    max_files: int = 512
    max_skill_bytes: int = 16 << 20
    max_source_bytes: int = 64 << 20


def refused(path: Path, problem: str) -> SourceError:
    """Return the error of a file that is not read."""
    return SourceError([f"{path}:1: {problem}"])


def find_skills(folder: Path, root: Path) -> Iterator[Path]:
    """Yield every folder in ``folder``, itself included, that has a SKILL.md; in order, nested ones after theirs.

    No symbolic link may leave ``root``.

    Raises:
        SourceError: a symbolic link leaves ``root``, or leads back to a folder that it is in.
    """
    return (file.parent for file in list_files(folder, root) if file.name == SKILL_FILE)


def list_files(folder: Path, root: Path) -> list[Path]:
    """Return all files below ``folder``, by folders in order, those of nested skills included.

    Raises:
        SourceError: as for :func:`find_skills`.
    """
    top, entries, found = root.resolve(), 0, list[Path]()
    for place, folders, names in os.walk(folder, followlinks=True, onerror=_unreadable):
        directory = Path(place)
        entries += len(folders) + len(names)
        if entries > _MAX_ENTRIES or len(directory.relative_to(folder).parts) > _MAX_DEPTH:
            raise refused(directory, "has too many files, or folders inside each other, for a folder of skills")
        for listed in (folders, names):
            kept = (name for name in listed if name[0] != "." and name not in _LEFT_OUT)
            listed[:] = sorted(name for name in kept if not name.endswith(".pyc"))
        for name in (*folders, *names):
            # Not UTF-8: Python has surrogates for such bytes, which are not printable either.
            if not name.isprintable() or "\\" in name:
                raise refused(directory, f"has a file whose name is not plain text, {name!a}; rename it")
            if (directory / name).is_symlink():
                _check_link(directory / name, top)
        found += (directory / name for name in names)
    return found


def _unreadable(error: OSError) -> None:
    raise refused(Path(error.filename), f"cannot be read: {error.strerror}")


def _check_link(path: Path, top: Path) -> None:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise refused(path, "is a symbolic link that leads nowhere") from None
    if not target.is_relative_to(top):
        raise refused(path, "is a symbolic link that leaves the folder of the skills; copy what it leads to")
    if any(part.startswith(".") for part in target.relative_to(top).parts):
        raise refused(path, "is a symbolic link to a hidden file, and hidden files are not served")
    if target.is_dir() and path.parent.resolve().is_relative_to(target):
        raise refused(path, "is a symbolic link to a folder that it is in")


def read_file(path: Path, root: Path, max_bytes: int) -> bytes:
    """Return the content of a file inside ``root``.

    Raises:
        SourceError: it is not a regular file of at most ``max_bytes``, or cannot be read.
    """
    target = path.resolve()
    if not target.is_relative_to(root.resolve()):
        raise refused(path, "is a symbolic link that leaves the folder of the skills; copy what it leads to")
    # Without O_NONBLOCK, opening a named pipe would wait for its writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if not stat.S_ISREG(target.lstat().st_mode):
            raise refused(path, "is not a regular file")
        descriptor = os.open(target, flags)
    except OSError as error:
        reason = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
        raise refused(path, reason) from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise refused(path, "is not a regular file")
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise refused(path, f"has {max(status.st_size, len(content)):,} bytes; {max_bytes:,} are allowed for a file")
    return content
