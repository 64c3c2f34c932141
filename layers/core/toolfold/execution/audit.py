"""The audit log: one line for each call of a tool, also for one that was refused. No arguments, no API keys.

On Lambda and in ``toolfold serve`` the logger ``toolfold.audit`` writes it to the log, at every TOOLFOLD_LOG_LEVEL.
TOOLFOLD_AUDIT_FILE names a file instead; see :mod:`toolfold.execution.audit_file`.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from toolfold.execution.canonical_arguments import canonical_arguments
from toolfold.execution.principal import principal_id

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.execution.audit_file import AuditFile
    from toolfold.execution.credentials import RequestCredentials
    from toolfold.settings import Settings

__all__ = ["LOGGER_NAME", "AuditLine", "AuditLog"]

LOGGER_NAME = "toolfold.audit"
KIND = "audit"
"""Value of the field ``kind`` in all lines of this log, to find them among others."""

_HASH_DIGITS = 32

logger = logging.getLogger(LOGGER_NAME)


@dataclass
class AuditLine:
    """What is known about one call; changed while the call is performed.

    Attributes:
        tool: the tool that is called.
        arguments: as they were given; the validated ones once there are any.
        credentials: of the request.
        code: OK, or the code of the error.
        approval: the id of its approval; empty for a call that needs none.
    """

    tool: Tool
    arguments: Mapping[str, Any]
    credentials: RequestCredentials
    code: str = "OK"
    approval: str = ""

    def note_approval(self, id_: str) -> None:
        """Set the id of the approval."""
        self.approval = id_


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
            from toolfold.execution.audit_file import AuditFile

            self._file = AuditFile(settings.audit_file)
        self._key = b""

    def write(self, line: AuditLine) -> None:
        """Write ``line``. Never raises: a log that cannot be written is reported, and stops no call."""
        tool, key = line.tool, self._hash_key()
        fields = {
            "kind": KIND,
            "principal": principal_id(line.credentials, key),
            "profile": line.credentials.profile,
            "tool": tool.name,
            "effect": tool.effect,
            "arguments": _hash(key, tool, line.arguments),
            "code": line.code,
            "approval": line.approval,
        }
        if self._file is None:
            logger.info("audit", extra=fields)
        else:
            at = datetime.fromtimestamp(self._now(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self._file.append({"time": at, **fields})

    def _hash_key(self) -> bytes:
        """Return the key of the hashes: the salt of the deployment, the secret of this user, or one of this process."""
        if not self._key:
            self._key = self._settings.key_salt.encode(errors="surrogatepass") or self._own_key()
        return self._key

    def _own_key(self) -> bytes:
        if self._file is not None:
            from toolfold.execution.approval_secret import SecretUnavailable, local_secret
            from toolfold.private_folder import PathRefused

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
