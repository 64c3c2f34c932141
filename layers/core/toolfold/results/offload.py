"""Save a response that is too long for the model: in a folder of this machine, or in S3 behind a presigned URL.

Equal responses are one file. Files are named by their content, readable by their owner alone, and bounded in number,
size and age; URLs expire. A failure costs the URL, never the call.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import logging
import math
import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from toolfold import private_folder
from toolfold.aws.clients import AwsClients, error_code
from toolfold.client_call import iso_time
from toolfold.errors import ANSWER_NOT_SAVED
from toolfold.private_folder import PathRefused

logger = logging.getLogger("toolfold")

FOLDER = "toolfold-answers"
"""The folder that toolfold makes in the folder of the settings. Only files in it are ever deleted."""

TTL_S = 24 * 3600
"""Seconds after which a file is deleted, when the next one is written. The lifecycle rule of a bucket keeps an object
at least as long: S3 counts whole days."""

MAX_FILES = 500
MAX_TOTAL_BYTES = 200_000_000
"""Limits of all files together, eight answers of the largest size. The oldest are deleted first."""

_MAX_CLOCK_SKEW_S = 3600  # a file from further in the future was written while the clock was wrong: it has expired
_UNKNOWN_SESSION_S = 3600  # a session of STS by default: the variables that Lambda sets do not state its end

_NAME = re.compile(r"answer-[0-9a-f]{64}\.(csv|json|txt)\Z")
_TEMPORARY = re.compile(r"\.answer-[0-9a-f]{16}\.tmp\Z")
_CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "txt": "text/plain; charset=utf-8"}


class SessionExpired(Exception):
    """The credentials that would sign a URL have expired."""


class AnswerFile(NamedTuple):
    """A file that toolfold made."""

    modified_at: float
    size: int
    name: str


def list_answers(location: str, timeout_s: float) -> list[AnswerFile]:
    """Return the files of toolfold below ``location``.

    Raises:
        PathRefused: others can change the folder.
        OSError: it cannot be read.
    """
    with _locked_files(location, timeout_s) as files:
        return files.own()


def delete_answers(location: str, timeout_s: float) -> None:
    """Delete the files of toolfold below ``location``, and nothing else. Raises as :func:`list_answers`."""
    with _locked_files(location, timeout_s) as files:
        for file in files.own():
            files.delete(file.name)


@contextlib.contextmanager
def _locked_files(location: str, timeout_s: float, *, create: bool = False) -> Iterator[_Files]:
    folder = os.path.join(private_folder.resolve(location, create=create), FOLDER)
    if create:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
    with private_folder.lock_folder(folder, timeout_s) as descriptor:
        if descriptor is not None:
            status = os.fstat(descriptor)
            if status.st_uid != os.geteuid() or private_folder.is_writable_by_others(status):
                raise PathRefused(f"{folder} is not a folder of this user alone")
        yield _Files(folder, descriptor)


class _Files:
    """The files of a folder, while it is locked. The descriptor of the folder is None on Windows."""

    def __init__(self, path: str, descriptor: int | None) -> None:
        self._path, self._descriptor = path, descriptor

    def prune(self, now: float, size: int, name: str) -> None:
        """Delete expired files, and the oldest until one more with ``size`` bytes, that may replace ``name``, fits."""
        files = sorted(file for file in self.own() if file.name != name)
        count, total = len(files), sum(file.size for file in files)
        for file in files:
            is_fresh = now - TTL_S <= file.modified_at <= now + _MAX_CLOCK_SKEW_S
            # Answers are written under the lock, so a temporary file is what a killed process left.
            is_expired = not is_fresh or _TEMPORARY.match(file.name)
            if is_expired or count >= MAX_FILES or total + size > MAX_TOTAL_BYTES:
                self.delete(file.name)
                count, total = count - 1, total - file.size

    def write(self, name: str, content: bytes) -> None:
        """Write ``content`` to a new file, which gets its name, and replaces an earlier one, when it is complete.

        Raises:
            PathRefused: what has this name is not a file of toolfold.
        """
        folder, temporary = self._descriptor, f".answer-{os.urandom(8).hex()}.tmp"
        with contextlib.suppress(FileNotFoundError):
            status = os.lstat(self._at(name), dir_fd=folder)
            private_folder.check_owned_file(os.path.join(self._path, name), status)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            with open(os.open(self._at(temporary), flags, 0o600, dir_fd=folder), "wb") as file:
                file.write(content)
            os.replace(self._at(temporary), self._at(name), src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            self.delete(temporary)

    def delete(self, name: str) -> None:
        """Delete a file, unless the user has deleted it."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._at(name), dir_fd=self._descriptor)

    def own(self) -> list[AnswerFile]:
        """Return the files of toolfold."""
        files = []
        for name in os.listdir(self._path if self._descriptor is None else self._descriptor):
            if not (_NAME.match(name) or _TEMPORARY.match(name)):
                continue
            with contextlib.suppress(FileNotFoundError, PathRefused):
                status = os.lstat(self._at(name), dir_fd=self._descriptor)
                private_folder.check_owned_file(name, status)
                files.append(AnswerFile(status.st_mtime, status.st_size, name))
        return files

    def _at(self, name: str) -> str:
        return name if self._descriptor is not None else os.path.join(self._path, name)


class AnswerStore:
    """Save long answers in one place. Made once per process; safe to use from many threads. A reason is logged once.

    Args:
        location: a folder, or ``s3://bucket/prefix``.
        presigned_url_ttl_s: seconds for which a URL can be opened, at most until the credentials that sign it expire.
        timeout_s: seconds that S3 may take, or the wait for another process that writes to the folder.
        aws: creates the client of S3.
        on_failure: called with ``ANSWER_NOT_SAVED`` after each failure.
    """

    def __init__(
        self,
        location: str,
        presigned_url_ttl_s: float = 3600,
        timeout_s: float = 5,
        aws: AwsClients | None = None,
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        self._location, self._timeout_s, self._aws = location, timeout_s, aws or AwsClients()
        self._presigned_url_ttl_s, self._on_failure = presigned_url_ttl_s, on_failure
        self._secret = os.urandom(32)
        self._warned: set[str] = set()

    def save(self, text: str, suffix: str, remaining_s: float = math.inf) -> dict[str, Any]:
        """Save ``text`` and return where it is.

        Args:
            text: the whole response.
            suffix: ``csv``, ``json`` or ``txt``.
            remaining_s: seconds until the call's deadline.

        Returns:
            ``{"url" or "path": …, "expires_at": UTC}``, or ``{}`` when it could not be saved.
        """
        save = self._save_object if self._location.startswith("s3://") else self._save_file
        try:
            # In JSON a lone surrogate is valid as an escape, and in no encoding.
            place, expires_at = save(text.encode(errors="backslashreplace"), suffix, remaining_s)
        except Exception as error:  # noqa: BLE001 - of boto3, or of the file system
            # The code alone: an error's text may quote a signed URL.
            reason = f"TOOLFOLD_OFFLOAD: {error}" if isinstance(error, PathRefused) else error_code(error)
            if reason not in self._warned:
                self._warned.add(reason)
                logger.warning("Long response could not be saved: %s", reason)
            if self._on_failure is not None:
                self._on_failure(ANSWER_NOT_SAVED)
            return {}
        return {**place, "expires_at": iso_time(expires_at)}

    def _save_file(self, content: bytes, suffix: str, remaining_s: float) -> tuple[dict[str, str], float]:
        if remaining_s <= 0:
            raise TimeoutError
        if len(content) > MAX_TOTAL_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        name = f"answer-{hashlib.sha256(content).hexdigest()}.{suffix}"
        with _locked_files(self._location, min(self._timeout_s, remaining_s), create=True) as files:
            now = time.time()
            files.prune(now, len(content), name)
            files.write(name, content)
        path = os.path.join(private_folder.absolute_path(self._location), FOLDER, name)
        path.encode()  # a path that is not Unicode cannot be part of an answer
        return {"path": path}, now + TTL_S

    def _save_object(self, content: bytes, suffix: str, remaining_s: float) -> tuple[dict[str, str], float]:
        # Clients are cached by their time-outs: whole seconds make few of them.
        timeout_s = self._timeout_s if remaining_s >= self._timeout_s else float(math.floor(remaining_s))
        if timeout_s <= 0:
            raise TimeoutError
        # Half to connect, half for the response; S3 gets one request.
        s3 = self._aws.client("s3", timeout_s=timeout_s / 2)
        # The name is the same for equal content, and cannot be guessed from the content.
        digest = hmac.digest(self._secret, hashlib.sha256(content).digest(), "sha256").hex()
        parts = urlsplit(self._location)
        place = {"Bucket": parts.netloc, "Key": f"{parts.path.strip('/')}/answer-{digest}.{suffix}".lstrip("/")}
        now = time.time()
        # Before it is signed: credentials that are renewed in between only last longer.
        expires_at = min(now + self._presigned_url_ttl_s, self._aws.session_end(_UNKNOWN_SESSION_S))
        if expires_at < now + 1:
            raise SessionExpired
        s3.put_object(**place, Body=content, ContentType=_CONTENT_TYPES[suffix])
        url = s3.generate_presigned_url("get_object", Params=place, ExpiresIn=int(expires_at - now))
        return {"url": url}, expires_at
