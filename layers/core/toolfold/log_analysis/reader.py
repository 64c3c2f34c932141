"""Read the lines of a log: from files, from a pipe, as they are or as tools of AWS print them."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import IO, Any

from toolfold.errors import ToolfoldError

__all__ = ["read_lines", "read_log"]

MAX_LINE_BYTES = 1 << 20
"""Longest line that is parsed: a line of the log has some 500 bytes."""


def read_log(paths: Iterable[str], since: datetime | None) -> Iterator[dict[str, Any]]:
    """Yield the lines of several logs.

    Args:
        paths: files, those that end in ``.gz`` compressed; ``-``: stdin.
        since: earlier lines, and those without a time, are left out; None: none are.

    Raises:
        ToolfoldError: a file cannot be read.
    """
    for path in paths:
        try:
            if path == "-":
                yield from read_lines(sys.stdin.buffer, since)
            else:
                with gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb") as file:
                    yield from read_lines(file, since)
        except (OSError, EOFError) as error:
            reason = getattr(error, "strerror", None) or str(error) or "it is damaged"
            raise ToolfoldError(f"The log {path} cannot be read: {reason}.") from None


def read_lines(stream: IO[bytes] | Any, since: datetime | None) -> Iterator[dict[str, Any]]:
    """Yield each JSON object of ``stream`` that is written since then.

    A line may begin with something else: ``aws logs tail`` prints the time and the stream before it.
    """
    while raw := stream.readline(MAX_LINE_BYTES):
        start = raw.find(b"{")
        if start < 0:
            continue
        try:
            line = json.loads(raw[start:])
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict) and (since is None or _is_since(line.get("timestamp"), since)):
            yield line


def _is_since(timestamp: Any, since: datetime) -> bool:
    try:
        written = datetime.fromisoformat(timestamp)
    except (TypeError, ValueError):
        return False
    return (written if written.tzinfo else written.replace(tzinfo=UTC)) >= since
