"""Publish a compiled catalog to S3: the immutable object first, the pointer to it last."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from toolfold.catalog.block_cache import CachedBlockReader
from toolfold.catalog.model import Catalog
from toolfold.catalog.reader import parse_head
from toolfold.catalog.store import POINTER, object_name
from toolfold.errors import CatalogUnavailable, SettingsError

_ATTEMPTS = 3
"""Requests for one object, where S3 is busy or the connection fails."""

_CONNECT_S, _READ_S = 5, 60
"""Seconds to connect to S3, and to wait for a part of its answer."""


def publish(content: bytes, location: str, client: Any = None, on_step: Callable[[str], None] | None = None) -> str:
    """Make ``content`` the current catalog at ``location``.

    Can be repeated. A reader finds a complete catalog at any moment, because the pointer is written after its object.
    Every line and every hash is checked first: a reader checks only what it reads, when it reads it.

    Args:
        content: A compiled catalog.
        location: ``s3://bucket/prefix``.
        client: A boto3 client of S3; None: one with the credentials of this machine.
        on_step: Called with a sentence before each step.

    Returns:
        The SHA-256 of the catalog, in hexadecimal.

    Raises:
        SettingsError: ``location`` has no bucket, or ``content`` is not a compiled catalog.
        botocore.exceptions.BotoCoreError: S3 cannot be reached, or there are no credentials.
        botocore.exceptions.ClientError: S3 refuses.
    """
    parts = urlsplit(location)
    if parts.scheme != "s3" or not parts.netloc:
        raise SettingsError(f"The location to publish to must be s3://bucket/prefix, not {location!r}.")
    head_line = content[: content.find(b"\n") + 1]
    tool_count = len(check_catalog(content))
    sha256 = hashlib.sha256(content).hexdigest()
    prefix = f"{parts.path.strip('/')}/".lstrip("/")
    if client is None:
        client = _open_client()
    tell = on_step or (lambda _: None)
    common = {"Bucket": parts.netloc, "ContentType": "application/json"}
    tell(f"Uploading {len(content):,} bytes to s3://{parts.netloc}/{prefix}{object_name(sha256)} …")
    client.put_object(**common, Key=prefix + object_name(sha256), Body=content)
    pointer = {
        "sha256": sha256,
        "bytes": len(content),
        "head": {"bytes": len(head_line), "sha256": hashlib.sha256(head_line).hexdigest()},
        "tools": tool_count,
    }
    body = (json.dumps(pointer) + "\n").encode()
    tell(f"Making it the current one: s3://{parts.netloc}/{prefix}{POINTER} …")
    client.put_object(**common, Key=prefix + POINTER, Body=body, CacheControl="no-cache")
    return sha256


def _open_client() -> Any:
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=_CONNECT_S, read_timeout=_READ_S, retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"}
    )
    # botocore itself does not read AWS_REGION, which other SDKs do.
    return boto3.session.Session().client("s3", region_name=os.environ.get("AWS_REGION") or None, config=config)


def check_catalog(content: bytes) -> Catalog:
    """Check every line, tool and hash of ``content``, and return the catalog.

    Raises:
        SettingsError: It is not a compiled catalog.
    """
    head_line = content[: content.find(b"\n") + 1]

    def fetch(starts: Sequence[int], lengths: Sequence[int]) -> list[bytes]:
        return [content[start : start + length] for start, length in zip(starts, lengths, strict=True)]

    try:
        head = parse_head(head_line)
        catalog = Catalog(head, CachedBlockReader(fetch, len(head_line)))
        if head.get("bytes") != len(content) - len(head_line):
            raise ValueError("incomplete")
        catalog.verify()
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise SettingsError("The file is not a compiled catalog (not JSON).") from None
    except ValueError as error:
        raise SettingsError(f"The file is not a compiled catalog ({error}).") from None
    except CatalogUnavailable:
        raise SettingsError("The file is not a compiled catalog (parts of it are damaged).") from None
    return catalog
