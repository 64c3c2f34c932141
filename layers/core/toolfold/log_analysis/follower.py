"""Follow a log that other processes append to, as ``execution.audit`` writes it.

A full file is renamed to ``NAME.1`` and begun again; a user may delete it, truncate it, or put another one in its
place. Nothing stays open between two reads, so that no reader hinders that.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple

MAX_READ_BYTES = 2_000_000
"""Most that one call of :meth:`LogFollower.read` reads of a file: a tenth of a second. The next call goes on, also
within a line that is longer, which is left out."""

_HEAD_BYTES = 64
"""The beginning of a file, by which it is distinguished from another one: its first line has a time."""

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class _File(NamedTuple):
    """What was read of a file: its device and number, its beginning, and how much."""

    identity: tuple[int, int]
    head: bytes
    offset: int


class LogFollower:
    """Read what is new in a file. Used by one thread at a time.

    Args:
        path: The file; ``~`` stands for the user's home. It may be missing, and appear later.

    Attributes:
        lines: Lines that were read.
        problem: Why the file cannot be read; empty when it can.
        is_complete: Whether everything that the file had at the last read was read.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(os.path.expanduser(path))
        self.lines, self.problem, self.is_complete = 0, "", False
        self._files: dict[str, _File] = {}

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield the JSON object of each line that is new, of some :data:`MAX_READ_BYTES`. Never raises OSError.

        What ``NAME.1`` has, before or after the file was renamed to it, comes first, as in ``toolfold stats``.
        """
        yield from self._read(f"{self.path}.1")
        if self.is_complete or self.problem:  # of a file that is not needed
            yield from self._read(self.path)

    def _read(self, path: str) -> Iterator[dict[str, Any]]:
        self.problem, self.is_complete = "", False
        try:
            with open(path, "rb", buffering=0, opener=lambda name, _: os.open(name, _READ)) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    self.problem = "It is not a file."
                    return
                head, identity = file.read(_HEAD_BYTES), (status.st_dev, status.st_ino)
                # It may have had the other path, and both. A deleted file's number may be that of the next one.
                known = (of for of in self._files.values() if of.identity == identity and head.startswith(of.head))
                offset = file.seek(max((of.offset for of in known if of.offset <= status.st_size), default=0))
                found = file.read(MAX_READ_BYTES)
        except FileNotFoundError:
            self.problem, self.is_complete = "The file does not exist yet.", True
            return
        except OSError as error:
            self.problem = f"The file cannot be read: {error.strerror}."
            return
        # The last line waits for its end.
        read = found.rfind(b"\n") + 1 or len(found) // MAX_READ_BYTES * MAX_READ_BYTES
        self._files[path] = _File(identity, head, offset + read)
        self.is_complete = offset + len(found) >= status.st_size
        for line in filter(None, map(parse_line, found[:read].split(b"\n"))):
            self.lines += 1
            yield line


def parse_line(raw: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line, or None where it has none.

    A line may begin with something else: ``aws logs tail`` prints the time and the stream before it.
    """
    try:
        line = json.loads(raw[raw.find(b"{") :])
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None
