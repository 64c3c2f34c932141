"""Write a file completely or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from toolfold.errors import ToolfoldError


def replace_file(target: Path, content: bytes, *, overwrite: bool = True, mode: int = 0o666) -> None:
    """Write ``content`` to ``target`` in one step; a file that is replaced keeps its rights.

    Args:
        target: the file; a symbolic link is followed, and stays.
        content: its bytes.
        overwrite: whether a file of that name is replaced.
        mode: the rights of a new file, less those that the umask takes.

    Raises:
        FileExistsError: it exists, and ``overwrite`` is false.
        OSError: it cannot be written. It is then as it was.
    """
    target = Path(os.path.realpath(target))
    partial = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            with contextlib.suppress(OSError):
                partial.chmod(target.stat().st_mode & 0o7777)
            os.replace(partial, target)
            return
        try:
            os.link(partial, target)  # fails where the file exists by now
        except FileExistsError:
            raise
        except (AttributeError, OSError):  # a system or a file system without hard links
            if target.exists():
                raise FileExistsError from None
            os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


class OutputFile:
    """A file that is about to be written. What can be checked before the call is checked when it is made.

    Args:
        path: of the file; ``~`` stands for the user's home.
        overwrite: whether a file of that name is replaced.

    Attributes:
        size: bytes that were written.
    """

    size = 0

    def __init__(self, path: str, *, overwrite: bool) -> None:
        self.path, self._overwrite = Path(path).expanduser(), overwrite
        try:
            os.fsencode(path)
            if "\0" in path:
                raise ValueError
            if self.path.is_dir():
                raise ToolfoldError(f"{path} is a folder. Name a file in it, e.g. --output {self.path / 'answer.csv'}")
            if not self.path.parent.is_dir():
                raise ToolfoldError(f"There is no folder {self.path.parent}. Create it, or name another file.")
            if self.path.is_file() and not overwrite:
                raise self._exists()
        except (OSError, ValueError) as error:
            raise self._failed(error) from None

    def write(self, content: bytes) -> None:
        """Write ``content``; another process sees the whole file or none."""
        self.size = len(content)
        try:
            if self.path.exists() and not self.path.is_file():  # /dev/stdout, a named pipe
                self.path.write_bytes(content)
            else:
                replace_file(self.path, content, overwrite=self._overwrite)
        except FileExistsError:
            raise self._exists() from None
        except (OSError, ValueError) as error:
            raise self._failed(error) from None

    def _exists(self) -> ToolfoldError:
        return ToolfoldError(f"{self.path} exists. Add --force to replace it, or name another file.")

    def _failed(self, error: Exception) -> ToolfoldError:
        reason = getattr(error, "strerror", None) or "not a possible name of a file"
        return ToolfoldError(f"{self.path} cannot be written: {reason}. Name another file.")
