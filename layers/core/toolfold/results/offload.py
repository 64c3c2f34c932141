"""Keeping the whole of an answer that was too long to hand out: a file on this machine, or an object in S3.

Names cannot be guessed, files are readable by their owner alone, links end. Whatever fails here costs the link, never
the call.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

logger = logging.getLogger("toolfold")

_PREFIX = "answer-"
_KEPT_S = 24 * 3600
"""Seconds after which a file is removed, when the next one is written. In S3 the bucket's lifecycle does that."""

_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "txt": "text/plain; charset=utf-8"}


def keep(text: str, suffix: str, place: str, presigned_url_ttl_s: float, within_s: float = 5.0) -> dict[str, Any]:
    """Keep ``text`` at ``place`` (``s3://bucket/prefix`` or a folder) and return the way to it. S3 may take
    ``within_s`` seconds, repetitions included; with none left it is not asked.

    Returns:
        ``{"url" or "path", "expires_at": UTC}``, or ``{}`` when it could not be kept.
    """
    name = f"{_PREFIX}{secrets.token_urlsafe(24)}.{suffix}"
    try:
        if place.startswith("s3://"):
            return _in_s3(text, name, suffix, place, presigned_url_ttl_s, within_s)
        return _in_folder(text, name, Path(place).expanduser())
    except Exception as error:  # noqa: BLE001 - obstore's errors have no base but Exception
        # The type alone: an error of S3 may quote a signed address.
        logger.warning("the whole answer could not be kept: %s", type(error).__name__)
        return {}


def _in_folder(text: str, name: str, folder: Path) -> dict[str, Any]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = time.time()
    for old in folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another process was faster
            if old.stat().st_mtime < now - _KEPT_S:
                old.unlink()
    path = folder / name
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return {"path": str(path), "expires_at": _iso(now + _KEPT_S)}


def _in_s3(
    text: str, name: str, suffix: str, place: str, presigned_url_ttl_s: float, within_s: float
) -> dict[str, Any]:
    if within_s <= 0:
        raise TimeoutError
    import obstore

    from toolfold.aws.s3 import open_bucket

    parts = urlsplit(place)
    store = open_bucket(parts.netloc, parts.path.strip("/"), within_s, retries=1)
    expires = time.time() + presigned_url_ttl_s
    obstore.put(store, name, text.encode(), attributes={"Content-Type": _TYPES[suffix]}, use_multipart=False)
    url = obstore.sign(store, "GET", name, timedelta(seconds=presigned_url_ttl_s))
    return {"url": url, "expires_at": _iso(expires)}


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
