"""The audit log: one line for each call of a tool, also for one that was refused. No arguments, no API keys.

On Lambda and in ``toolfold serve`` its fields are in the log line of the call, which is then written at every
TOOLFOLD_LOG_LEVEL. TOOLFOLD_AUDIT_FILE names a file instead. Lines are appended to it, and nothing else is ever done
with it.

A file is toolfold's when it begins with :data:`HEADER`; any other file is refused and stays as it is. The file is
opened for each line, so that it can be renamed (rotated) at any time.
"""

from __future__ import annotations

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
from typing import TYPE_CHECKING, Any

from toolfold import private_folder
from toolfold.errors import SettingsError
from toolfold.execution.approval_token import canonical_arguments
from toolfold.execution.credentials import principal_id
from toolfold.private_folder import PathRefused

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.execution.call_context import CallContext
    from toolfold.settings import Settings

logger = logging.getLogger("toolfold")

HEADER = b'{"kind": "audit-log", "made_by": "toolfold", "format": 1}\n'
"""The first line of the file, by which it is known as one that toolfold may append to."""

_REPORTED_EVERY_S = 60.0
"""Seconds between two reports of the same fault: a full disk concerns each line."""

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class _Cut(OSError):
    """A part of a line was written."""


class AuditFile:
    """Appends lines to a file, which only this user can read. Several processes may append to the same file.

    Where a line cannot be written, calls go on: an error is logged once a minute, and the next line that is written has
    the number of missing ones, as ``lost``.

    Args:
        path: of the file; ``~`` stands for the user's home. It is made when the first line is written.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lost, self._is_cut, self._reported_at = 0, False, float("-inf")
        self._lock = threading.Lock()

    def append(self, fields: Mapping[str, Any]) -> None:
        """Append ``fields`` as a line of JSON."""
        with self._lock:
            line = {**fields, "lost": self._lost} if self._lost else fields
            try:
                # An empty line ends one that was cut by a full disk.
                _append(self._path, b"\n" * self._is_cut + json.dumps(line).encode() + b"\n")
            except (OSError, PathRefused) as error:
                self._lost += 1
                self._is_cut = self._is_cut or isinstance(error, _Cut)
                self._report(error)
            else:
                self._lost, self._is_cut = 0, False

    def _report(self, error: Exception) -> None:
        if time.monotonic() - self._reported_at >= _REPORTED_EVERY_S:
            self._reported_at = time.monotonic()
            reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
            logger.error("audit file cannot be written, calls go on: %s (%d lines lost)", reason, self._lost)


def check_audit_file(path: str) -> None:
    """Check, without changing anything, that lines can be appended to ``path``, or that it can be made.

    Raises:
        PathRefused: it is another file.
        OSError: its folder does not exist.
    """
    folder, name = _location(path)
    found = os.path.join(folder, name)
    if os.path.lexists(found):
        os.close(_open(found, os.O_RDONLY))


def check_audit_setting(settings: Settings) -> None:
    """Check the file that ``settings.audit_file`` names, if it names one. Nothing is changed.

    Called when a process starts for a user, who can then correct the setting.

    Raises:
        SettingsError: lines cannot be appended to it.
    """
    if not settings.audit_file:
        return
    try:
        check_audit_file(settings.audit_file)
    except (PathRefused, OSError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise SettingsError(
            f"TOOLFOLD_AUDIT_FILE cannot be used: {reason}. Nothing was changed. Name a file that does not exist yet, "
            "in a folder of your own that exists."
        ) from None


def _append(path: str, line: bytes) -> None:
    found = os.path.join(*_location(path))
    try:
        descriptor = _open(found, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError:
        descriptor = os.open(found, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
        line = HEADER + line
    try:
        written = os.write(descriptor, line)  # one call: lines of several processes do not mix
        if written != len(line):
            raise _Cut(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)


def _location(path: str) -> tuple[str, str]:
    parent, name = os.path.split(private_folder.absolute_path(path))
    if not name:
        raise PathRefused(f"{path} is not the name of a file")
    return private_folder.resolve(parent), name


def _open(path: str, flags: int) -> int:
    """Open a file that is toolfold's.

    Raises:
        PathRefused: it is another one.
        OSError: it cannot be opened.
    """
    private_folder.check_owned_file(path, os.lstat(path))
    reading = os.open(path, os.O_RDONLY | _NO_FOLLOW)  # first: a file that is not ours is never opened for writing
    try:
        status = os.fstat(reading)
        if os.read(reading, len(HEADER)) != HEADER:
            raise PathRefused(f"{path} was not made by toolfold: it does not begin with the first line of an audit log")
        if os.name != "nt" and status.st_mode & 0o077:
            raise PathRefused(f"other users can read {path}")
        if not flags & os.O_RDWR:
            return os.dup(reading)
        descriptor = os.open(path, flags | _NO_FOLLOW)
        opened = os.fstat(descriptor)
        if (opened.st_dev, opened.st_ino) != (status.st_dev, status.st_ino):
            os.close(descriptor)
            raise PathRefused(f"{path} was replaced at this moment")
        return descriptor
    finally:
        os.close(reading)


_HASH_DIGITS = 32


class AuditLog:
    """Writes audit lines. One for a process; safe to use from many threads.

    Args:
        settings: the settings in force.
        now: the time, in seconds since 1970.
    """

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
        tool, key = call.tool, self._hash_key()
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

    def _hash_key(self) -> bytes:
        """Return the key of the hashes: the salt of the deployment, the secret of this user, or one of this process."""
        if not self._key:
            self._key = self._settings.key_salt.encode(errors="surrogatepass") or self._own_key()
        return self._key

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
