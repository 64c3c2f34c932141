"""The log of the local server, written by a thread of its own."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from queue import Full, Queue

from toolfold.telemetry import CurrentStdout
from toolfold.text_safety import escape_terminal

__all__ = ["BackgroundStdout"]

MAX_UNWRITTEN_LINES = 10_000
"""Some 3 MB of log lines."""


class BackgroundStdout(CurrentStdout):
    """Write to stdout from a thread of its own, so that a reader who does not read stops no request.

    Lines are lost while more than :data:`MAX_UNWRITTEN_LINES` wait. On Lambda, where a process is frozen after each
    response, lines are written at once instead.
    """

    def __init__(self) -> None:
        self._lines: Queue[str] = Queue(MAX_UNWRITTEN_LINES)
        threading.Thread(target=self._write_lines, name="log", daemon=True).start()

    def write(self, text: str) -> int:
        """Queue ``text``."""
        with suppress(Full):
            self._lines.put_nowait(text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: the thread flushes each line."""

    def drain(self, timeout_s: float = 1.0) -> None:
        """Wait until the lines are written, but not longer than ``timeout_s``."""
        end = time.monotonic() + timeout_s
        while self._lines.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.005)

    def _write_lines(self) -> None:
        while True:
            self._write_line(self._lines.get())
            self._lines.task_done()

    def _write_line(self, text: str) -> None:
        """Write a line past the buffer of stdout: Python flushes that at exit, and waits for who is writing to it."""
        try:
            file = sys.stdout.fileno()
        except (AttributeError, OSError, ValueError):  # closed, or replaced by a stream of its own
            super().write(text)
            return
        line = escape_terminal(text).encode(errors="backslashreplace")
        with suppress(OSError):
            while line:
                line = line[os.write(file, line) :]
