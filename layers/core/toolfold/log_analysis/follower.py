"""Follow a log that other processes append to, as ``execution.audit`` writes it.

A full file is renamed to ``NAME.1`` and begun again; a user may delete it, truncate it, or put another one in its
place. Nothing stays open between two reads, so that no reader hinders that.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from typing import Any

MAX_READ_BYTES = 2_000_000
"""Most that one call of :meth:`LogFollower.read` reads: a tenth of a second. The next call goes on."""

MAX_LINE_BYTES = 1 << 20
"""Longest line that is read: a line of the log has some 500 bytes."""

_HEAD_BYTES = 64
"""The beginning of a file, by which it is distinguished from another one: its first line has a time."""

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class LogFollower:
    """Read what is new in a file. Used by one thread at a time.

    Args:
        path: The file; ``~`` stands for the user's home. It may be missing, and appear later.

    Attributes:
        path: The file.
        lines: Lines that were read.
        problem: Why the file cannot be read; empty when it can.
        is_complete: Whether everything that the file had at the last read was read.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(os.path.expanduser(path))
        self.lines, self.problem, self.is_complete = 0, "", False
        self._identity: tuple[int, int] | None = None
        self._offset = 0
        self._head = self._partial = b""
        self._skips = self._has_begun = False

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield the JSON object of each line that is new, at most :data:`MAX_READ_BYTES` of them. Never raises OSError.

        The first read begins with ``NAME.1``, where there is one, so that the figures are those of ``toolfold stats``.
        """
        self.problem, self.is_complete = "", False
        if not self._has_begun:
            self._has_begun = True
            before = self._read_from(f"{self.path}.1", is_same=False)
            if before is not None:
                yield from self._parse(before)
                return
            self.problem = ""  # of a file that is not needed
        if self._identity is not None and self._was_replaced():
            rest = self._read_from(f"{self.path}.1", is_same=True)  # what was written before it was renamed
            if rest is not None:
                yield from self._parse(rest)
                if not self.is_complete:
                    return
            if os.path.exists(self.path):
                self._begin()
        yield from self._parse(self._read_from(self.path, is_same=self._identity is not None) or b"")

    def _begin(self) -> None:
        self._identity, self._offset, self._head, self._partial, self._skips = None, 0, b"", b"", False

    def _was_replaced(self) -> bool:
        """Return whether the file at the path is missing, shorter, or another one than that which was read."""
        try:
            status = os.stat(self.path)
        except OSError:
            return True
        if self._identity != (status.st_dev, status.st_ino) or status.st_size < self._offset:
            return True
        try:  # a deleted file's number may be that of the next one
            with open(self.path, "rb", opener=lambda path, _: os.open(path, _READ)) as file:
                return file.read(len(self._head)) != self._head
        except OSError:
            return False

    def _read_from(self, path: str, *, is_same: bool) -> bytes | None:
        """Return what follows in the file at ``path``, or None where there is no such file.

        Args:
            path: The file.
            is_same: Whether it must be the file that was read before.
        """
        try:
            descriptor = os.open(path, _READ)
        except FileNotFoundError:
            if path == self.path:
                self.problem, self.is_complete = "The file does not exist yet.", True
            return None
        except OSError as error:
            self.problem = f"The file cannot be read: {error.strerror}."
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                self.problem = "It is not a file."
                return None
            identity = status.st_dev, status.st_ino
            if is_same and identity != self._identity:
                return None
            if not is_same:
                self._identity = identity
            if len(self._head) < _HEAD_BYTES:
                os.lseek(descriptor, 0, os.SEEK_SET)
                self._head = os.read(descriptor, _HEAD_BYTES)
            os.lseek(descriptor, self._offset, os.SEEK_SET)
            found = os.read(descriptor, MAX_READ_BYTES)
            self._offset += len(found)
            self.is_complete = self._offset >= status.st_size
            return found
        except OSError as error:
            self.problem = f"The file cannot be read: {error.strerror}."
            return None
        finally:
            os.close(descriptor)

    def _parse(self, found: bytes) -> Iterator[dict[str, Any]]:
        """Yield the objects of complete lines; keep the last line until its end is there."""
        *complete, partial = (self._partial + found).split(b"\n")
        if self._skips and complete:  # the rest of a line that is too long
            del complete[0]
            self._skips = False
        if len(partial) > MAX_LINE_BYTES:
            partial, self._skips = b"", True
        self._partial = partial
        for line in filter(None, map(parse_line, complete)):
            self.lines += 1
            yield line


def parse_line(raw: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a line, or None where it has none.

    A line may begin with something else: ``aws logs tail`` prints the time and the stream before it.
    """
    start = raw.find(b"{")
    try:
        line = json.loads(raw[start:]) if start >= 0 else None
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None
