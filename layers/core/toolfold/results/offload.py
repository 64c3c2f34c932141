"""Save a response that is too long for the model: in a folder of this machine, or in S3 behind a presigned URL.

Equal responses are saved once. Files are readable by their owner alone, URLs expire. A failure costs the URL, never the
call.

Long answers as files of a user: named by their content, in a folder of toolfold, bounded in number, size and age.
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
import stat
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple
from urllib.parse import urlsplit

from toolfold import private_folder
from toolfold.aws.clients import AwsClients, error_code
from toolfold.errors import ANSWER_NOT_SAVED
from toolfold.private_folder import PathRefused

if TYPE_CHECKING:
    from cachetools import TTLCache

FOLDER = "toolfold-answers"
"""The folder that toolfold makes in the folder of the settings. Only files in it are ever deleted."""

TTL_S = 24 * 3600
"""Seconds after which a file is deleted, when the next one is written."""

MAX_FILES = 500
MAX_TOTAL_BYTES = 200_000_000
"""Limits of all files together, eight answers of the largest size. The oldest are deleted first."""

_MAX_CLOCK_SKEW_S = 3600
"""A file from further in the future was written while the clock was wrong, and counts as expired."""

_NAME = re.compile(r"answer-[0-9a-f]{64}\.(csv|json|txt)\Z")
_TEMPORARY = re.compile(r"\.answer-[0-9a-f]{16}\.tmp\Z")
_CHUNK = 1 << 20


class AnswerFile(NamedTuple):
    """A file that toolfold made."""

    modified_at: float
    size: int
    name: str


def save_answer(content: bytes, suffix: str, location: str, timeout_s: float) -> tuple[str, float]:
    """Save ``content`` in the folder of toolfold below ``location``, unless it is there already.

    Args:
        content: the answer.
        suffix: ``csv``, ``json`` or ``txt``.
        location: a folder of the user. Nothing in it is changed but this folder.
        timeout_s: seconds to wait for another process that saves an answer.

    Returns:
        The path of the file, and the time at which it may be deleted.

    Raises:
        PathRefused: the folder was not made by toolfold, or others can change it.
        OSError: it cannot be written.
    """
    if len(content) > MAX_TOTAL_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    folder = os.path.join(private_folder.resolve(location, create=True), FOLDER)
    private_folder.make_marked_folder(folder)
    name = f"answer-{hashlib.sha256(content).hexdigest()}.{suffix}"
    with private_folder.open_marked_folder(folder, timeout_s) as descriptor:
        files = _Files(folder, descriptor)
        now = time.time()
        if not files.refresh(name, content):
            files.prune(now, len(content), name)
            files.write(name, content)
        else:
            files.prune(now, 0, name)
    return os.path.join(private_folder.absolute_path(location), FOLDER, name), now + TTL_S


def list_answers(location: str, timeout_s: float) -> tuple[list[AnswerFile], int]:
    """Return the files of toolfold below ``location``, and the number of others. Raises as :func:`save_answer`."""
    folder = os.path.join(private_folder.resolve(location), FOLDER)
    with private_folder.open_marked_folder(folder, timeout_s) as descriptor:
        files = _Files(folder, descriptor)
        own = files.own_files()
        others = {*files.names()} - {private_folder.MARK} - {file.name for file in own}
    return own, len(others)


def delete_answers(location: str, timeout_s: float) -> None:
    """Delete the files of toolfold below ``location``, and nothing else. Raises as :func:`save_answer`."""
    folder = os.path.join(private_folder.resolve(location), FOLDER)
    with private_folder.open_marked_folder(folder, timeout_s) as descriptor:
        _Files(folder, descriptor).delete_all()


class _Files:
    """The files of a marked folder, while it is locked.

    Args:
        path: the folder.
        descriptor: of the folder; None on Windows.
    """

    def __init__(self, path: str, descriptor: int | None) -> None:
        self._path, self._descriptor = path, descriptor

    def refresh(self, name: str, content: bytes) -> bool:
        """Set the time of the file ``name`` to now, and return True, if it has ``content``.

        A damaged file is deleted.

        Raises:
            PathRefused: what has this name is not a file of toolfold.
        """
        try:
            status = os.lstat(self._at(name), dir_fd=self._descriptor)
        except FileNotFoundError:
            return False
        private_folder.check_owned_file(os.path.join(self._path, name), status)
        with open(self._open(name, os.O_RDONLY), "rb") as file:
            opened = os.fstat(file.fileno())
            if _identity(opened) != _identity(status) or not stat.S_ISREG(opened.st_mode):
                raise PathRefused(f"{os.path.join(self._path, name)} was replaced")
            if opened.st_size == len(content) and _is_content(file, content):
                os.utime(file.fileno() if os.utime in os.supports_fd else self._at(name))
                return True
        self._delete(name)
        return False

    def prune(self, now: float, size: int, kept: str) -> None:
        """Delete expired files, and the oldest until ``size`` more bytes fit. The file ``kept`` is not deleted."""
        files = sorted(self.own_files())
        count, total = len(files), sum(file.size for file in files)
        limit = MAX_FILES - (size > 0)
        for file in files:
            fresh = now - TTL_S <= file.modified_at <= now + _MAX_CLOCK_SKEW_S
            # Answers are written under the lock, so a temporary file is what a killed process left.
            expired = not fresh or _TEMPORARY.match(file.name)
            if file.name != kept and (expired or count > limit or total + size > MAX_TOTAL_BYTES):
                with contextlib.suppress(FileNotFoundError):  # the user has deleted it
                    self._delete(file.name)
                count, total = count - 1, total - file.size

    def write(self, name: str, content: bytes) -> None:
        """Write ``content`` to a new file, which gets its name when it is complete."""
        temporary = f".answer-{os.urandom(8).hex()}.tmp"
        try:
            with open(self._open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                file.write(content)
            self._rename(temporary, name)
        finally:
            with contextlib.suppress(FileNotFoundError):
                self._delete(temporary)

    def _rename(self, temporary: str, name: str) -> None:
        try:  # fails if the name was taken
            os.link(
                self._at(temporary), self._at(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor
            )  # fmt: skip
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK):
                raise
            # A file system without hard links. The lock excludes toolfold, and only the user can write here.
            os.rename(
                self._at(temporary), self._at(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor
            )  # fmt: skip

    def delete_all(self) -> None:
        """Delete the files of toolfold."""
        for file in self.own_files():
            with contextlib.suppress(FileNotFoundError):  # the user has deleted it
                self._delete(file.name)

    def names(self) -> list[str]:
        """Return the names of all files, also of others."""
        return os.listdir(self._path if self._descriptor is None else self._descriptor)

    def own_files(self) -> list[AnswerFile]:
        """Return the files of toolfold."""
        files = []
        for name in self.names():
            if not (_NAME.match(name) or _TEMPORARY.match(name)):
                continue
            with contextlib.suppress(FileNotFoundError, PathRefused):
                status = os.lstat(self._at(name), dir_fd=self._descriptor)
                private_folder.check_owned_file(name, status)
                files.append(AnswerFile(status.st_mtime, status.st_size, name))
        return files

    def _open(self, name: str, flags: int) -> int:
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        return os.open(self._at(name), flags, 0o600, dir_fd=self._descriptor)

    def _delete(self, name: str) -> None:
        os.unlink(self._at(name), dir_fd=self._descriptor)

    def _at(self, name: str) -> str:
        return name if self._descriptor is not None else os.path.join(self._path, name)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _is_content(file: BinaryIO, content: bytes) -> bool:
    view = memoryview(content)
    return all(file.read(_CHUNK) == view[start : start + _CHUNK] for start in range(0, len(content), _CHUNK))


logger = logging.getLogger("toolfold")

_CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "txt": "text/plain; charset=utf-8"}

_OBJECT_TTL_S = 24 * 3600
"""Seconds that the lifecycle rule of a bucket keeps an object at least: S3 counts whole days."""

_REUSE_S = 3600
"""Most seconds for which an object is assumed to exist after it was written. An operator may empty the bucket."""

_MAX_REUSED = 1000

_UNKNOWN_SESSION_S = 3600
"""Seconds that a session is assumed to last whose end is unknown: the variables that Lambda sets do not state it. STS
issues sessions of an hour by default."""

_WARNING_INTERVAL_S = 3600


class SessionExpired(Exception):
    """The credentials that would sign a URL have expired."""


class AnswerStore:
    """Save long answers in one place. Made once per process; safe to use from many threads.

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
        self._objects: TTLCache[str, None] | None = None
        self._warned_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def save(self, text: str, suffix: str, remaining_s: float = math.inf) -> dict[str, Any]:
        """Save ``text`` and return where it is.

        Args:
            text: the whole response.
            suffix: ``csv``, ``json`` or ``txt``.
            remaining_s: seconds until the call's deadline.

        Returns:
            ``{"url" or "path": …, "expires_at": UTC}``, or ``{}`` when it could not be saved.
        """
        try:
            # In JSON a lone surrogate is valid as an escape, and in no encoding.
            content = text.encode(errors="backslashreplace")
            if self._location.startswith("s3://"):
                saved = self._save_object(content, suffix, remaining_s)
            else:
                saved = self._save_file(content, suffix, remaining_s)
        except Exception as error:  # noqa: BLE001 - of boto3, or of the file system
            self._warn(error)
            if self._on_failure is not None:
                self._on_failure(ANSWER_NOT_SAVED)
            return {}
        return saved

    def _warn(self, error: Exception) -> None:
        """Log an error, unless an equal one was logged in the last hour."""
        # The code alone: an error's text may quote a signed URL.
        reason = f"TOOLFOLD_OFFLOAD: {error}" if isinstance(error, PathRefused) else error_code(error)
        with self._lock:
            now = time.monotonic()
            is_due = now - self._warned_at.get(reason, -math.inf) >= _WARNING_INTERVAL_S
            if is_due:
                self._warned_at[reason] = now
        if is_due:
            logger.warning("Long response could not be saved: %s", reason)

    def _save_file(self, content: bytes, suffix: str, remaining_s: float) -> dict[str, Any]:
        if remaining_s <= 0:
            raise TimeoutError
        path, expires_at = save_answer(content, suffix, self._location, min(self._timeout_s, remaining_s))
        path.encode()  # a path that is not Unicode cannot be part of an answer
        return {"path": path, "expires_at": _iso(expires_at)}

    def _save_object(self, content: bytes, suffix: str, remaining_s: float) -> dict[str, Any]:
        # Clients are cached by their time-outs: whole seconds make few of them.
        timeout_s = self._timeout_s if remaining_s >= self._timeout_s else float(math.floor(remaining_s))
        if timeout_s <= 0:
            raise TimeoutError
        # Half to connect, half for the response; S3 gets one request.
        s3 = self._aws.client("s3", timeout_s=timeout_s / 2)
        parts = urlsplit(self._location)
        name = self._object_name(content, suffix)
        place = {"Bucket": parts.netloc, "Key": f"{parts.path.strip('/')}/{name}".lstrip("/")}
        now = time.time()
        # Before it is signed: credentials that are renewed in between only last longer.
        expires_at = min(now + self._presigned_url_ttl_s, self._aws.session_end(_UNKNOWN_SESSION_S))
        if expires_at < now + 1:
            raise SessionExpired
        if not self._is_saved(name):
            s3.put_object(**place, Body=content, ContentType=_CONTENT_TYPES[suffix])
            self._remember(name)
        url = s3.generate_presigned_url("get_object", Params=place, ExpiresIn=int(expires_at - now))
        return {"url": url, "expires_at": _iso(expires_at)}

    def _object_name(self, content: bytes, suffix: str) -> str:
        """Return a name that is the same for equal content, and that cannot be guessed from the content."""
        digest = hmac.digest(self._secret, hashlib.sha256(content).digest(), "sha256")
        return f"answer-{digest.hex()}.{suffix}"

    def _is_saved(self, name: str) -> bool:
        with self._lock:
            return self._objects is not None and name in self._objects

    def _remember(self, name: str) -> None:
        with self._lock:
            if self._objects is None:
                from cachetools import TTLCache

                # The object must exist for as long as a URL that is signed now.
                reuse_s = min(_REUSE_S, _OBJECT_TTL_S - self._presigned_url_ttl_s)
                self._objects = TTLCache(_MAX_REUSED, ttl=max(0.0, reuse_s))
            self._objects[name] = None


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
