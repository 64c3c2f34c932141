"""Save a response that is too long for the model: in a folder of this machine, or in S3 behind a presigned URL.

Names cannot be guessed, files are readable by their owner alone, URLs expire. A failure costs the URL, never the call.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from toolfold.aws.clients import AwsClients, error_code

logger = logging.getLogger("toolfold")

_PREFIX = "answer-"
_FILE_TTL_S = 24 * 3600
"""Seconds after which a file is removed, when the next one is written. In S3 the bucket's lifecycle does that."""

_CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "txt": "text/plain; charset=utf-8"}


def save(
    text: str,
    suffix: str,
    location: str,
    presigned_url_ttl_s: float,
    timeout_s: float = 5.0,
    remaining_s: float = math.inf,
    aws: AwsClients | None = None,
) -> dict[str, Any]:
    """Save ``text`` and return where it is.

    Args:
        text: the whole response.
        suffix: ``csv``, ``json`` or ``txt``.
        location: a folder, or ``s3://bucket/prefix``.
        presigned_url_ttl_s: seconds for which a URL can be opened. One that was signed with the credentials of a role,
            as on Lambda, ends with them, which may be earlier.
        timeout_s: seconds that S3 may take.
        remaining_s: seconds until the call's deadline. With less than ``timeout_s`` S3 gets whole seconds of it.
        aws: creates the client of S3.

    Returns:
        ``{"url" or "path": …, "expires_at": UTC}``, or ``{}`` when it could not be saved.
    """
    name = f"{_PREFIX}{secrets.token_urlsafe(24)}.{suffix}"
    try:
        if not location.startswith("s3://"):
            return _save_file(text, name, Path(location).expanduser())
        # Clients are cached by their time-outs: whole seconds make few of them.
        timeout_s = timeout_s if remaining_s >= timeout_s else float(math.floor(remaining_s))
        if timeout_s <= 0:
            raise TimeoutError
        return _save_object(text, name, location, presigned_url_ttl_s, timeout_s, aws or AwsClients())
    except Exception as error:  # noqa: BLE001 - of boto3, or of the file system
        # The code alone: an error's text may quote a signed URL.
        logger.warning("Long response could not be saved: %s", error_code(error))
        return {}


def _save_file(text: str, name: str, folder: Path) -> dict[str, Any]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = time.time()
    for old in folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another process has removed it
            if old.stat().st_mtime < now - _FILE_TTL_S:
                old.unlink()
    path = folder / name
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return {"path": str(path), "expires_at": _iso(now + _FILE_TTL_S)}


def _save_object(
    text: str, name: str, location: str, presigned_url_ttl_s: float, timeout_s: float, aws: AwsClients
) -> dict[str, Any]:
    parts = urlsplit(location)
    # Half to connect, half for the response; S3 gets one request.
    s3 = aws.client("s3", timeout_s=timeout_s / 2)
    place = {"Bucket": parts.netloc, "Key": f"{parts.path.strip('/')}/{name}".lstrip("/")}
    expires_at = time.time() + presigned_url_ttl_s
    s3.put_object(**place, Body=text.encode(), ContentType=_CONTENT_TYPES[name.rpartition(".")[2]])
    url = s3.generate_presigned_url("get_object", Params=place, ExpiresIn=int(presigned_url_ttl_s))
    return {"url": url, "expires_at": _iso(expires_at)}


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
