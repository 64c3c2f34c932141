"""The secret that signs approval tokens: from the settings, from AWS, or generated beside the file of the approvals."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolfold import private_folder
from toolfold.execution.approval_store import approval_file, is_in_memory

if TYPE_CHECKING:
    from toolfold.settings import Settings

__all__ = ["SecretUnavailable", "local_secret", "signing_secret"]

FILE_NAME = "approvals.secret"
_MIN_CHARACTERS = 32
_TEXT = re.compile(rb"[0-9a-f]{64}\n")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class SecretUnavailable(Exception):
    """There is no secret to sign with; ``str()`` says why, and names no secret."""


def signing_secret(settings: Settings, read_reference: Callable[[str], str], own: bytes) -> bytes:
    """Return the secret that signs and checks tokens.

    Args:
        settings: the settings in force.
        read_reference: reads a secret of AWS, or returns "".
        own: a secret of this process, for approvals in its memory.

    Raises:
        SecretUnavailable: there is no secret.
        OSError, PathRefused: the file of the generated one cannot be used.
    """
    given = settings.approval_secret
    if given.startswith(("arn:", "ssm:")):
        given = read_reference(given)
        if len(given) < _MIN_CHARACTERS:
            raise SecretUnavailable("TOOLFOLD_APPROVAL_SECRET cannot be read from AWS, or is too short")
    if given:
        return given.encode()
    if settings.cache.startswith("dynamodb://"):
        raise SecretUnavailable("TOOLFOLD_APPROVAL_SECRET is not set")
    if is_in_memory(settings):
        return own
    return local_secret(settings)


def local_secret(settings: Settings) -> bytes:
    """Return the secret of this user, which is generated when it is needed first: a file that only the user can read.

    Raises:
        SecretUnavailable: there is no place for it, or the file is not one that toolfold has made.
        OSError, PathRefused: the file cannot be used.
    """
    path = approval_file(settings)
    if not path:
        raise SecretUnavailable("this user has no home folder")
    parent = os.path.dirname(path)
    if not os.path.lexists(parent):
        above = private_folder.resolve(os.path.dirname(parent), create=True)
        private_folder.make_marked_folder(os.path.join(above, os.path.basename(parent)))
    path = os.path.join(private_folder.resolve(parent), FILE_NAME)
    if not os.path.lexists(path):
        _make(path)
    return _read(path)


def _make(path: str) -> None:
    """Write a new secret. It gets its name when it is complete; of several processes, the first one writes it."""
    temporary = f"{path}.{os.urandom(8).hex()}"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600), "wb") as file:
            file.write(os.urandom(32).hex().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW)
    try:
        status = os.fstat(descriptor)
        content = os.read(descriptor, 100) if stat.S_ISREG(status.st_mode) else b""
    finally:
        os.close(descriptor)
    if os.name != "nt" and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
        raise SecretUnavailable(f"other users can read {path}, or it belongs to one: delete it")
    if _TEXT.fullmatch(content) is None:
        raise SecretUnavailable(f"{path} was not made by toolfold: delete or move it")
    return content.strip()
