"""What is written of calls in files: the audit log, and the call log of a user. No arguments, no API keys.

The audit log has one line for each call of a tool, also for one that was refused. On Lambda and in ``toolfold serve``
its fields are in the log line of the call, which is then written at every TOOLFOLD_LOG_LEVEL. TOOLFOLD_AUDIT_FILE names
a file instead, to which lines are appended; nothing else is ever done with it.

A file that does not begin as one of toolfold's is refused, and stays as it is; an empty one is as a new one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import json
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from toolfold import private_folder
from toolfold.cache.stores import Unavailable
from toolfold.client_call import iso_time
from toolfold.errors import CallError, SettingsError
from toolfold.execution.approval_store import local_secret
from toolfold.execution.call import canonical_arguments
from toolfold.execution.credentials import principal_id
from toolfold.private_folder import NO_FOLLOW, PathRefused

if TYPE_CHECKING:
    from toolfold.execution.call import CallContext, CallLog
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

HEADER = b'{"kind": "audit-log", "made_by": "toolfold", "format": 1}\n'
"""The first line of an audit file, by which it is known as one that toolfold may append to."""

_REPORTED_EVERY_S = 60.0
"""Seconds between two reports of the same fault: a full disk concerns each line."""

MAX_BYTES = 20_000_000
"""Size at which a call log is renamed to ``NAME.1``, which replaces the one before: some 60,000 calls."""

_HASH_DIGITS = 32


class _Cut(OSError):
    """A part of a line was written."""


class LineFile:
    """A file of this user to which several processes append lines of JSON. Safe to use from many threads.

    It is opened for each line: it may be renamed any time. Where a line cannot be written, calls go on: that is logged
    once a minute, and the next line that is written has the number of missing ones, as ``lost``.

    Args:
        variable: the setting that names it.
        path: ``~`` stands for the user's home. The file is made by the first line.
        beginning: what it begins with, by which it is known as one that toolfold made; or it is empty.
        header: the first line of a new one.
        is_secret: whether one that other users can read is refused.

    Attributes:
        on_line: called with each line before it is appended, by who also reads the file; None: by none.
    """

    def __init__(
        self, variable: str, path: str, beginning: bytes, header: bytes = b"", *, is_secret: bool = False
    ) -> None:
        self._variable, self._path, self._beginning = variable, path, beginning
        self._header, self._is_secret = header, is_secret
        self.on_line: Callable[[str], None] | None = None
        self._lost, self._is_cut, self._reported_at = 0, False, float("-inf")
        self._lock = threading.Lock()

    def write(self, fields: Mapping[str, Any], max_bytes: float = math.inf) -> None:
        """Append a line. A file that is longer then is renamed to ``NAME.1``, which replaces the one before."""
        with self._lock:
            line = json.dumps({**fields, **({"lost": self._lost} if self._lost else {})})
            if self.on_line is not None:
                self.on_line(line)
            try:
                if self._append(line.encode() + b"\n") > max_bytes:
                    with contextlib.suppress(OSError):  # another process has just done it
                        os.replace(found := self._find(), f"{found}.1")
                self._lost, self._is_cut = 0, False
            except (OSError, ValueError, PathRefused) as error:
                self._lost += 1
                self._is_cut = self._is_cut or isinstance(error, _Cut)
                if time.monotonic() - self._reported_at >= _REPORTED_EVERY_S:
                    self._reported_at = time.monotonic()
                    text = "%s is not written, calls go on: %s (%d lines lost)"
                    logger.error(text, self._variable, _reason(error), self._lost)

    def check_usable(self) -> None:
        """Check that lines can be appended, and change nothing.

        Raises:
            SettingsError: they cannot.
        """
        try:
            if os.path.lexists(self._find()):
                os.close(self._open(os.O_RDONLY))
        except (PathRefused, OSError) as error:
            raise SettingsError(
                f"{self._variable} cannot be used: {_reason(error)}. Nothing was changed. Name a file that does not "
                "exist yet, in a folder of your own that exists."
            ) from None

    def _append(self, line: bytes) -> int:
        """Append a line by one write, which other processes cannot divide; return the size of the file."""
        descriptor = self._open(os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            # An empty file is new, or one in which a full disk left nothing. An empty line ends one that was cut: the
            # last byte does not state it, because a line of another process can be seen before all of it is there.
            line = (b"\n" * self._is_cut if os.fstat(descriptor).st_size else self._header) + line
            if os.write(descriptor, line) != len(line):
                raise _Cut(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    def _find(self) -> str:
        folder, name = os.path.split(private_folder.absolute_path(self._path))
        return os.path.join(private_folder.resolve(folder), name)

    def _open(self, flags: int) -> int:
        found = self._find()
        descriptor = os.open(found, flags | NO_FOLLOW, 0o600)
        try:
            status = os.fstat(descriptor)
            private_folder.check_owned_file(found, status)
            if os.read(descriptor, len(self._beginning)) not in (self._beginning, b""):
                raise PathRefused(f"{found} was not made by toolfold: it does not begin as a log of this kind does")
            if self._is_secret and os.name != "nt" and status.st_mode & 0o077:
                raise PathRefused(f"other users can read {found}")
        except (OSError, PathRefused):
            os.close(descriptor)
            raise
        return descriptor


def _reason(error: Exception) -> str:
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)


def _audit_file(settings: Settings) -> LineFile | None:
    path = settings.audit_file
    return LineFile("TOOLFOLD_AUDIT_FILE", path, HEADER, HEADER, is_secret=True) if path else None


def check_audit_setting(settings: Settings) -> None:
    """Check the file that ``settings.audit_file`` names, if it names one. Nothing is changed.

    Called when a process starts for a user, who can then correct the setting.

    Raises:
        SettingsError: lines cannot be appended to it.
    """
    if file := _audit_file(settings):
        file.check_usable()


class CallLogFile(LineFile):
    """The file that ``TOOLFOLD_CALL_LOG`` names, for ``toolfold stats``.

    The lines have the fields of the deployed function's log (docs/reference/metrics.md), so that one command reads
    both. They contain no arguments, no answers and no keys.
    """

    def __init__(self, path: str) -> None:
        super().__init__("TOOLFOLD_CALL_LOG", path, b'{"timestamp":')

    def record_call(self, call: CallLog) -> None:
        """Append the line of one finished call of a tool."""
        if call.is_counted:
            self._record("call", call.fields())

    def record_request(self, fields: Mapping[str, Any]) -> None:
        """Append the line of one answered request."""
        self._record("request", fields)

    def _record(self, message: str, fields: Mapping[str, Any]) -> None:
        timestamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.write({"timestamp": timestamp, "level": "INFO", "message": message, **fields}, MAX_BYTES)


class AuditLog:
    """Writes audit lines. One for a process; safe to use from many threads."""

    def __init__(self, settings: Settings, now: Callable[[], float]) -> None:
        self._settings, self._now, self._file = settings, now, _audit_file(settings)
        self._key = b""

    def write(self, call: CallContext) -> None:
        """Append the line of a finished call to the file, or add its fields to the log line, which has tool and code.

        Never raises: a file that cannot be written is reported, and stops no call.
        """
        # The salt of the deployment, the secret of this user, or one of this process.
        self._key = self._key or self._settings.key_salt.encode(errors="surrogatepass") or self._own_key()
        try:
            text = canonical_arguments(call).encode(errors="surrogatepass")
            hash_ = hmac.new(self._key, b"arguments " + text, hashlib.sha256).hexdigest()[:_HASH_DIGITS]
        except (TypeError, ValueError, RecursionError, CallError):  # refused: no JSON, too deep, or a damaged schema
            hash_ = ""
        fields: dict[str, Any] = {
            "principal": principal_id(call.credentials, self._key),
            "profile": call.credentials.profile,
            "tool": call.tool.name,
            "effect": call.tool.effect,
            "arguments": hash_,
            "code": call.log.code,
            "approval": call.approval_id,
        }
        if self._file is None:
            in_line = ("tool", "code")
            call.log.audit = {name: value for name, value in fields.items() if value and name not in in_line}
        else:
            self._file.write({"time": iso_time(self._now(), has_ms=True), "kind": "audit", **fields})

    def _own_key(self) -> bytes:
        if self._file is not None:
            try:
                return local_secret(self._settings)
            except Unavailable as error:
                logger.warning("hashes in the audit file cannot be compared with those of other processes: %s", error)
        return os.urandom(32)
