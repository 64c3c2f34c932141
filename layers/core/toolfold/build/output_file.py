"""Write the compiled catalog: completely or not at all, and only over a compiled catalog."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from toolfold.errors import ToolfoldError

__all__ = ["read_output_file", "replace_catalog_file", "replace_file"]

_BEGINNING = '{"format":'
"""How a compiled catalog begins; see :mod:`toolfold.build.writer`."""


def read_output_file(path: Path) -> str | None:
    """Return the text of the file at ``path``, or None where there is no file.

    Raises:
        ToolfoldError: there is something that is not a file, or it cannot be read.
    """
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            raise ToolfoldError(f"{path} is a symbolic link to {path.readlink()}. Name that file itself.")
        if not stat.S_ISREG(status.st_mode):
            raise ToolfoldError(f"{path} is not a file. Name a file for the compiled catalog with --output.")
        return path.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolfoldError(f"{path} cannot be read: {error.strerror}.") from None


def replace_catalog_file(path: Path, text: str) -> None:
    """Replace the file at ``path`` in one step; a process that reads the old file never sees half of the new one.

    The new file has the permissions of the old one.

    Raises:
        ToolfoldError: it cannot be written, or the old file is not a compiled catalog. It is then as it was.
    """
    current = read_output_file(path)
    if current and not current.startswith(_BEGINNING):
        raise ToolfoldError(f"{path} is not a compiled catalog. It was not changed; delete it, or name another file.")
    try:
        replace_file(path, text)
    except OSError as error:
        raise ToolfoldError(f"{path} cannot be written: {error.strerror}. It is as it was.") from None


def replace_file(path: Path, text: str) -> None:
    """Replace the file at ``path`` in one step, with the permissions of the old one.

    Raises:
        OSError: it cannot be written. It is then as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, 0o666), "wb") as file:
            if path.exists() and os.name != "nt":
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
