"""What is written of calls in files: the audit log, and the call log of a user. No arguments, no API keys.

The audit log has one line for each call of a tool, also for one that was refused.

On Lambda and in ``toolfold serve`` its fields are in the log line of the call, which is then written at every
TOOLFOLD_LOG_LEVEL. TOOLFOLD_AUDIT_FILE names a file instead. Lines are appended to it, and nothing else is ever done
with it.

A file that does not begin as one of toolfold's is refused, and stays as it is.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from toolfold import private_folder
from toolfold.errors import SettingsError
from toolfold.execution.call import canonical_arguments
from toolfold.execution.credentials import principal_id
from toolfold.private_folder import NO_FOLLOW, PathRefused

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.execution.call import CallContext, CallLog
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

HEADER = b'{"kind": "audit-log", "made_by": "toolfold", "format": 1}\n'
"""The first line of the file, by which it is known as one that toolfold may append to."""

_REPORTED_EVERY_S = 60.0
"""Seconds between two reports of the same fault: a full disk concerns each line."""


class _Cut(OSError):
    """A part of a line was written."""


class _OwnFile(NamedTuple):
    """A file of this user to which several processes append lines, opened for each line: it may be renamed any time.

    Attributes:
        path: ``~`` stands for the user's home. The file is made by the first line.
        beginnings: what it begins with, by which it is known as one that toolfold made.
        header: the first line of a new one.
        is_secret: whether one that other users can read is refused.
    """

    path: str
    beginnings: tuple[bytes, ...]
    header: bytes = b""
    is_secret: bool = False

    def append(self, line: bytes) -> int:
        """Append a line by one write, which other processes cannot divide; return the size of the file.

        Raises:
            PathRefused: it is another file.
            OSError: it cannot be opened or written.
        """
        found = self.find()
        try:
            descriptor = self.open(found, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            try:
                descriptor = os.open(found, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600)
                line = self.header + line
            except FileExistsError:  # another process has just made it
                descriptor = self.open(found, os.O_RDWR | os.O_APPEND)
        try:
            if os.write(descriptor, line) != len(line):
                raise _Cut(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    def find(self) -> str:
        """Return the absolute path."""
        parent, name = os.path.split(private_folder.absolute_path(self.path))
        if not name:
            raise PathRefused(f"{self.path} is not the name of a file")
        return os.path.join(private_folder.resolve(parent), name)

    def open(self, found: str, flags: int) -> int:
        """Open the file at ``found``. It is read before it is opened for writing.

        Raises:
            PathRefused: it is another file.
            OSError: it cannot be opened.
        """
        private_folder.check_owned_file(found, os.lstat(found))
        reading = os.open(found, os.O_RDONLY | NO_FOLLOW)
        try:
            status = os.fstat(reading)
            if os.read(reading, max(map(len, self.beginnings))) not in self.beginnings:
                raise PathRefused(f"{found} was not made by toolfold: it does not begin as a log of this kind does")
            if self.is_secret and os.name != "nt" and status.st_mode & 0o077:
                raise PathRefused(f"other users can read {found}")
            if not flags & os.O_RDWR:
                return os.dup(reading)
            descriptor = os.open(found, flags | NO_FOLLOW)
            opened = os.fstat(descriptor)
            if (opened.st_dev, opened.st_ino) != (status.st_dev, status.st_ino):
                os.close(descriptor)
                raise PathRefused(f"{found} was replaced at this moment")
            return descriptor
        finally:
            os.close(reading)


def _reason(error: Exception) -> str:
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)


def _audit_file(path: str) -> _OwnFile:
    return _OwnFile(path, (HEADER,), HEADER, is_secret=True)


class AuditFile:
    """Appends lines to a file, which only this user can read. Several processes may append to the same file.

    Where a line cannot be written, calls go on: an error is logged once a minute, and the next line that is written has
    the number of missing ones, as ``lost``.
    """

    def __init__(self, path: str) -> None:
        self._file = _audit_file(path)
        self._lost, self._is_cut, self._reported_at = 0, False, float("-inf")
        self._lock = threading.Lock()

    def append(self, fields: Mapping[str, Any]) -> None:
        """Append ``fields`` as a line of JSON."""
        with self._lock:
            line = {**fields, "lost": self._lost} if self._lost else fields
            try:
                # An empty line ends one that was cut by a full disk.
                self._file.append(b"\n" * self._is_cut + json.dumps(line).encode() + b"\n")
            except (OSError, PathRefused) as error:
                self._lost += 1
                self._is_cut = self._is_cut or isinstance(error, _Cut)
                self._report(error)
            else:
                self._lost, self._is_cut = 0, False

    def _report(self, error: Exception) -> None:
        if time.monotonic() - self._reported_at >= _REPORTED_EVERY_S:
            self._reported_at = time.monotonic()
            logger.error("audit file cannot be written, calls go on: %s (%d lines lost)", _reason(error), self._lost)


def check_audit_setting(settings: Settings) -> None:
    """Check the file that ``settings.audit_file`` names, if it names one. Nothing is changed.

    Called when a process starts for a user, who can then correct the setting.

    Raises:
        SettingsError: lines cannot be appended to it.
    """
    if not settings.audit_file:
        return
    file = _audit_file(settings.audit_file)
    try:
        if os.path.lexists(found := file.find()):
            os.close(file.open(found, os.O_RDONLY))
    except (PathRefused, OSError) as error:
        raise SettingsError(
            f"TOOLFOLD_AUDIT_FILE cannot be used: {_reason(error)}. Nothing was changed. Name a file that does not "
            "exist yet, in a folder of your own that exists."
        ) from None


MAX_BYTES = 20_000_000
"""Size at which a call log is renamed to ``NAME.1``, which replaces the one before: some 60,000 calls."""


class CallLogFile:
    """Append lines to the file that ``TOOLFOLD_CALL_LOG`` names, for ``toolfold stats``.

    The lines have the fields of the deployed function's log (docs/reference/metrics.md), so that one command reads
    both. They contain no arguments, no answers and no keys. A log that cannot be written stops no call. Several
    processes may use the same one. Safe to use from many threads.

    Args:
        path: the file; ``~`` stands for the user's home.
        now: the time, in seconds since 1970.

    Attributes:
        on_line: called with each line before it is appended, by who also reads the file; None: by none.
    """

    def __init__(self, path: str, now: Callable[[], float] = time.time) -> None:
        self._file, self._now = _OwnFile(path, (b'{"timestamp":', b"")), now
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
                if self._file.append(line.encode() + b"\n") > MAX_BYTES:
                    with contextlib.suppress(OSError):  # another process has just done it
                        found = self._file.find()
                        os.replace(found, f"{found}.1")
            except (OSError, ValueError, PathRefused) as error:
                self._is_off = True
                logger.warning("TOOLFOLD_CALL_LOG is not written: %s", _reason(error))


_HASH_DIGITS = 32


class AuditLog:
    """Writes audit lines. One for a process; safe to use from many threads."""

    def __init__(self, settings: Settings, now: Callable[[], float] = time.time) -> None:
        self._settings, self._now = settings, now
        self._file: AuditFile | None = None
        if settings.audit_file:
            self._file = AuditFile(settings.audit_file)
        self._key = b""

    def write(self, call: CallContext) -> None:
        """Append the line of a finished call to the file, or add its fields to the log line, which has tool and code.

        Never raises: a file that cannot be written is reported, and stops no call.
        """
        # The salt of the deployment, the secret of this user, or one of this process.
        self._key = self._key or self._settings.key_salt.encode(errors="surrogatepass") or self._own_key()
        tool, key = call.tool, self._key
        principal, arguments = principal_id(call.credentials, key), _hash(key, tool, call.arguments)
        caller = {"principal": principal, "profile": call.credentials.profile}
        changes = {"effect": tool.effect, "arguments": arguments}
        if self._file is None:
            fields = {**caller, **changes, "approval": call.approval_id}
            call.log.audit = {name: value for name, value in fields.items() if value}
        else:
            at = datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            outcome = {"code": call.log.code, "approval": call.approval_id}
            self._file.append({"time": at, "kind": "audit", **caller, "tool": tool.name, **changes, **outcome})

    def _own_key(self) -> bytes:
        if self._file is not None:
            from toolfold.execution.approval_store import SecretUnavailable, local_secret

            try:
                return local_secret(self._settings)
            except (SecretUnavailable, PathRefused, OSError) as error:
                logging.getLogger("toolfold").warning(
                    "hashes in the audit file cannot be compared with those of other processes: %s",
                    type(error).__name__,
                )
        return os.urandom(32)


def _hash(key: bytes, tool: Tool, arguments: Mapping[str, Any]) -> str:
    try:
        text = canonical_arguments(tool, arguments)
    except (TypeError, ValueError, RecursionError):  # refused: not JSON, or nested too deeply
        return ""
    return hmac.new(key, b"arguments " + text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()[:_HASH_DIGITS]
