"""Save a response that is too long for the model: in a folder of this machine, or in S3 behind a presigned URL.

Equal responses are saved once. Files are readable by their owner alone, URLs expire. A failure costs the URL, never the
call.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import math
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolfold.aws.clients import AwsClients, error_code
from toolfold.errors import ANSWER_NOT_SAVED
from toolfold.private_folder import PathRefused

if TYPE_CHECKING:
    from cachetools import TTLCache

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
        from toolfold.results.answer_folder import save_answer

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
