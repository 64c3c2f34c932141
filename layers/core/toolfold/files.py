"""Write a file completely or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


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
        with open(os.open(temporary, _FLAGS, mode), "wb") as file:
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
