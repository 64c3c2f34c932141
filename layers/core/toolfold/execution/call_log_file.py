"""A log of requests and calls in a file of the user, where ``TOOLFOLD_CALL_LOG`` names one: for ``toolfold stats``.

The lines have the fields of the deployed function's log (docs/reference/metrics.md), so that one command reads both.
They contain no arguments, no answers and no keys. A log that cannot be written stops no call.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from toolfold.private_folder import PathRefused, absolute_path, check_owned_file, resolve

if TYPE_CHECKING:
    from toolfold.execution.call_log import CallLog

__all__ = ["MAX_BYTES", "CallLogFile"]

logger = logging.getLogger("toolfold")

MAX_BYTES = 20_000_000
"""Size at which a file is renamed to ``NAME.1``, which replaces the one before: some 60,000 calls."""

_BEGINNING = b'{"timestamp":'
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class CallLogFile:
    """Append lines to a file. Several processes may use the same one. Safe to use from many threads.

    Args:
        path: the file; ``~`` stands for the user's home.
        now: the time, in seconds since 1970.

    Attributes:
        on_line: called with each line before it is appended, by who also reads the file; None: by none.
    """

    def __init__(self, path: str, now: Callable[[], float] = time.time) -> None:
        self._path, self._now = path, now
        self.on_line: Callable[[str], None] | None = None
        self._lock = threading.Lock()
        self._is_off = False

    def record_call(self, call: CallLog) -> None:
        """Append the line of one finished call of a tool."""
        if call.is_counted:
            self._write("call", call.fields())

    def record_request(self, fields: Mapping[str, Any]) -> None:
        """Append the line of one answered request."""
        self._write("request", fields)

    def _write(self, message: str, fields: Mapping[str, Any]) -> None:
        if self._is_off:
            return
        timestamp = datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"timestamp": timestamp, "level": "INFO", "message": message, **fields})
        if self.on_line is not None:
            self.on_line(line)
        with self._lock:
            try:
                self._append(line.encode() + b"\n")
            except (OSError, ValueError, PathRefused) as error:
                self._is_off = True
                reason = error.strerror if isinstance(error, OSError) else error
                logger.warning("TOOLFOLD_CALL_LOG is not written: %s", reason)

    def _append(self, line: bytes) -> None:
        """Append a line by one write, which other processes cannot divide."""
        folder, name = os.path.split(absolute_path(self._path))
        path = os.path.join(resolve(folder), name)
        self._check(path)
        file = os.open(path, _APPEND, 0o600)
        try:
            check_owned_file(path, os.fstat(file))
            os.write(file, line)
            is_full = os.fstat(file).st_size > MAX_BYTES
        finally:
            os.close(file)
        if is_full:
            with contextlib.suppress(OSError):  # another process has just done it
                os.replace(path, f"{path}.1")

    @staticmethod
    def _check(path: str) -> None:
        """Check that the file is missing, empty or a log of toolfold. It is read before it is opened for writing.

        Raises:
            PathRefused: it is something else.
        """
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return
        check_owned_file(path, status)
        file = os.open(path, _READ)
        try:
            found = os.read(file, len(_BEGINNING))
        finally:
            os.close(file)
        if found not in (b"", _BEGINNING):
            raise PathRefused(f"{path} was not made by toolfold")
