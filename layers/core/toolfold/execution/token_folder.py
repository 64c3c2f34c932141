"""Files with tokens, each encrypted: a folder of this user alone, with the key of the encryption in it.

A copy of one file, or of a log or cache of toolfold, contains no token; who can read the whole folder as this user can
read the tokens.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from toolfold.execution.token_records import KEY_BYTES, MAX_RECORD_BYTES, Tokens, decrypt_tokens, encrypt_record
from toolfold.files import replace_file
from toolfold.private_folder import check_owned_file, lock_folder, resolve

_KEY_FILE = "key"


class TokenFolder:
    """Records by name. Safe to use from many threads and processes.

    Args:
        path: the folder, which is made by the first record.

    Each method raises OSError or PathRefused where the folder cannot be used.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()

    def read(self, name: str) -> Tokens | None:
        """Return a record; None where it is absent, damaged, or encrypted with another key."""
        try:
            folder = resolve(self._path)
            text, key = _read(os.path.join(folder, name)), _read(os.path.join(folder, _KEY_FILE))
        except FileNotFoundError:
            return None
        return decrypt_tokens(name, text, key)

    def write(self, name: str, tokens: Tokens) -> None:
        """Store a record, within :meth:`locked`."""
        folder = resolve(self._path)
        content = encrypt_record(name, tokens._asdict(), _key(folder)).encode()
        replace_file(os.path.join(folder, name), content, mode=0o600)

    def delete(self, name: str) -> None:
        """Delete a record, within :meth:`locked`."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(resolve(self._path), name))

    @contextlib.contextmanager
    def locked(self, _name: str, timeout_s: float) -> Iterator[None]:
        """Keep other threads and processes from changing records.

        Raises:
            TimeoutError: another one has the lock.
        """
        if not self._lock.acquire(timeout=max(0.0, timeout_s)):
            raise TimeoutError
        try:
            with lock_folder(resolve(self._path, create=True), timeout_s):
                yield
        finally:
            self._lock.release()


def _key(folder: str) -> bytes:
    """Return the key of a folder. One is made for the first record, and in place of a damaged one."""
    path = os.path.join(folder, _KEY_FILE)
    if not os.path.lexists(path) or len(_read(path)) != KEY_BYTES:
        replace_file(path, os.urandom(KEY_BYTES), mode=0o600)
    return _read(path)


def _read(path: str) -> bytes:
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        check_owned_file(path, os.fstat(file.fileno()))
        return file.read(MAX_RECORD_BYTES)
