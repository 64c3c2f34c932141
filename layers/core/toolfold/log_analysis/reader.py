"""Read the lines of a log: from files, from a pipe, as they are or as tools of AWS print them."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import IO, Any

from toolfold.errors import ToolfoldError

__all__ = ["read_lines", "read_log"]

MAX_LINE_BYTES = 1 << 20
"""Longest line that is read: a line of the log has some 500 bytes."""


class _LongLine(Exception):
    """A line has no end within :data:`MAX_LINE_BYTES`."""


def read_log(paths: Iterable[str], since: datetime | None) -> Iterator[dict[str, Any]]:
    """Yield the lines of several logs.

    Args:
        paths: files, those that end in ``.gz`` compressed; ``-``: stdin.
        since: earlier lines, and those without a time, are left out; None: none are.

    Raises:
        ToolfoldError: a file cannot be read, is a device, which may have no end, or has a line that is too long.
    """
    for path in paths:
        name = "stdin" if path == "-" else path
        try:
            with _open(path) as file:
                if _is_device(file):
                    raise ToolfoldError(f"{name} is a device, not a log. Name a file, or read a pipe with --log -")
                yield from read_lines(file, since)
        except _LongLine:
            raise ToolfoldError(f"{name} has a line of more than 1 MB, so it is not a log of toolfold.") from None
        except (OSError, EOFError) as error:
            reason = getattr(error, "strerror", None) or str(error) or "it is damaged"
            raise ToolfoldError(f"The log {name} cannot be read: {reason}.") from None


def read_lines(stream: IO[bytes] | Any, since: datetime | None) -> Iterator[dict[str, Any]]:
    """Yield each JSON object of ``stream`` that is written since then.

    A line may begin with something else: ``aws logs tail`` prints the time and the stream before it.

    Raises:
        _LongLine: a line has more than :data:`MAX_LINE_BYTES`.
    """
    while raw := stream.readline(MAX_LINE_BYTES):
        if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
            raise _LongLine
        start = raw.find(b"{")
        if start < 0:
            continue
        try:
            line = json.loads(raw[start:])
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict) and (since is None or _is_since(line.get("timestamp"), since)):
            yield line


def _open(path: str) -> contextlib.AbstractContextManager[IO[bytes] | Any]:
    if path == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    return gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")


def _is_device(file: IO[bytes] | Any) -> bool:
    """Return whether a file is a device other than a terminal and the one that is always empty."""
    try:
        status = os.fstat(file.fileno())
    except (OSError, AttributeError):  # in memory
        return False
    if not (stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)) or file.isatty():
        return False
    return not os.path.samestat(status, os.stat(os.devnull))


def _is_since(timestamp: Any, since: datetime) -> bool:
    try:
        written = datetime.fromisoformat(timestamp)
    except (TypeError, ValueError):
        return False
    return (written if written.tzinfo else written.replace(tzinfo=UTC)) >= since
